# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen rules`: what was understood is shown, added to the problem, and judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from safegen_ros.cli.main import app

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / 'examples' / 'tower_order.pddl'


def _run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, ['rules', *map(str, arguments)])


def test_a_rule_is_shown_back_and_judges_plans(tmp_path: Path) -> None:
    plan = CliRunner().invoke(app, ['solve', str(EXAMPLE)]).stdout
    assert '(putdown b5)' in plan
    out = tmp_path / 'with_rules.pddl'
    done = _run('b5 must never be on the table', '--problem', EXAMPLE, '--out', out)
    assert (done.exit_code, done.stderr) == (0, ''), done.output
    assert '(always (not (on-table b5)))' in done.stdout
    judged = CliRunner().invoke(
        app, ['validate', '-', str(out), '-', '--json', '--any-name'], input=plan
    )
    assert judged.exit_code == 1, judged.output
    assert json.loads(judged.stdout)['category'] == 'SAFETY_VIOLATION'


def test_rules_about_attributes_come_from_yaml() -> None:
    done = _run(
        '--file', ROOT / 'examples/cold_rooms.yaml', '--problem', ROOT / 'examples/cold_rooms.pddl',
        '--json',
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    values = json.loads(done.stdout)
    assert values['errors'] == []
    assert {reading['origin'] for reading in values['readings']} == {'attributes'}


def test_what_is_not_understood_is_an_error_at_its_place(tmp_path: Path) -> None:
    out = tmp_path / 'out.pddl'
    done = _run('never put anything on b77', '--problem', EXAMPLE, '--out', out)
    assert done.exit_code == 2
    assert '1:23' in done.stderr
    assert 'b77' in done.stderr
    assert not out.exists()
    assert _run('--problem', EXAMPLE).exit_code == 2  # no rule at all
    done = _run('b5 must never be on b1', '--problem', EXAMPLE, '--json', '--out', tmp_path)
    assert done.exit_code == 2  # a folder cannot be written as a file
    assert json.loads(done.stdout)['errors']


def test_rules_that_no_plan_can_keep_are_refused(tmp_path: Path) -> None:
    out = tmp_path / 'out.pddl'
    done = _run('b4 must never be on b3', '--problem', EXAMPLE, '--out', out)
    assert done.exit_code == 1
    assert 'no plan can keep these rules' in done.stderr
    assert not out.exists()

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen rules`: what was understood is shown, added to the problem, and judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.model_server import MODEL, ModelServer, Script
from typer.testing import CliRunner

from safegen_ros.cli.main import app

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / 'examples' / 'tower_order.pddl'


def _run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, ['rules', *map(str, arguments)])


def test_a_rule_is_shown_back_and_judges_plans(tmp_path: Path) -> None:
    plan = CliRunner().invoke(app, ['solve', str(EXAMPLE)]).stdout
    assert '(putdown b5)' in plan
    done = _run('b5 must never be on the table', '--problem', EXAMPLE)
    assert done.stdout.splitlines()[-1].startswith('not written: --out FILE')
    out = tmp_path / 'with_rules.pddl'
    done = _run('b5 must never be on the table', '--problem', EXAMPLE, '--out', out)
    assert (done.exit_code, done.stderr) == (0, ''), done.output
    assert '(always (not (on-table b5)))' in done.stdout
    assert 'not written' not in done.stdout
    judged = CliRunner().invoke(app, ['verify', str(out), '-', '--json', '--any-name'], input=plan)
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


def test_rules_that_are_understood_are_offered_for_a_domain_of_ones_own(tmp_path: Path) -> None:
    domain, problem = tmp_path / 'domain.pddl', tmp_path / 'problem.pddl'
    domain.write_text("""(define (domain lamps) (:predicates (lit ?l))
  (:action light :parameters (?l) :precondition () :effect (lit ?l)))""")
    problem.write_text("""(define (problem p) (:domain lamps) (:objects hall yard) (:init)
  (:goal (and (lit hall) (lit yard))))""")
    place = ('--problem', problem, '--domain', domain)
    for asked in ((), ('be careful',)):
        done = _run(*asked, *place)
        assert done.exit_code == 2
        offered = done.stderr.split('  such as: ')[1:]
        assert len(offered) == 2
        assert _run(*map(str.strip, offered), *place).exit_code == 0


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


FREE = 'the heavy one in the corner, b5, has to stay off the table, please'


def test_free_words_are_put_into_pddl3_by_a_model_and_shown_back(tmp_path: Path) -> None:
    out = tmp_path / 'out.pddl'
    assert _run(FREE, '--problem', EXAMPLE).exit_code == 2  # not in our wording
    with ModelServer() as server:
        # The first answer is talk, so that another one is asked for.
        server.script = Script(['Of course!', '(always (not (on-table b5)))'])
        named = ('--model', f'{server.url}#{MODEL}')
        done = _run(FREE, '--problem', EXAMPLE, '--out', out, *named)
        assert (done.exit_code, done.stderr) == (0, ''), done.output
        assert len(server.requests) == 2
        values = json.loads(_run(FREE, '--problem', EXAMPLE, '--json', *named).stdout)
    assert FREE in done.stdout
    assert 'PDDL3: (always (not (on-table b5)))' in done.stdout
    assert 'means: ' in done.stdout
    assert 'read by: model' in done.stdout
    assert '(always (not (on-table b5)))' in out.read_text()
    assert '(sometime-before (on-table b2) (on-table b3))' in out.read_text()
    (reading,) = values['readings']
    assert (reading['origin'], reading['formula']) == ('model', '(always (not (on-table b5)))')


def test_an_answer_that_is_no_rule_adds_none(tmp_path: Path) -> None:
    out = tmp_path / 'out.pddl'
    with ModelServer() as server:
        server.script = Script(['(always (not (on-table b77)))'])
        done = _run(FREE, '--problem', EXAMPLE, '--model', f'{server.url}#{MODEL}', '--out', out)
        asked = len(server.requests)
    assert (done.exit_code, done.stdout, asked) == (2, '', 3)
    assert f'by {server.url}#{MODEL}' in done.stderr
    assert not out.exists()


@pytest.mark.nightly
def test_a_model_that_cannot_answer_adds_no_rule(tmp_path: Path) -> None:
    out = tmp_path / 'out.pddl'
    with ModelServer() as server:
        gone = f'{server.url}#{MODEL}'
    done = _run(FREE, '--problem', EXAMPLE, '--model', gone, '--json', '--out', out)
    assert done.exit_code == 1
    assert json.loads(done.stdout)['errors'][0]['code'] == 'BACKEND_FAILED'
    assert not out.exists()
    assert _run('--problem', EXAMPLE, '--model', gone).exit_code == 2  # nothing to read

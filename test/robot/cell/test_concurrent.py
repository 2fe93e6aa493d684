# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plans whose actions overlap, moment by moment in the symbolic cell, under the same checks."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal

import pytest

from safegen_ros.errors import ErrorCode, RobotError, SafegenError
from safegen_ros.paths import data_path
from safegen_ros.pddl.model import State
from safegen_ros.pddl.moments import PlanMoment, plan_of_steps, steps_of_plan
from safegen_ros.pddl.plan import Step
from safegen_ros.robot.cell.execution import ExecutionOutcome, carry_out
from safegen_ros.robot.cell.symbolic import SymbolicCell, SymbolicSample
from safegen_ros.tasks.job import WorldJob, prove
from safegen_ros.tasks.pddl3.cells import SymbolicRobots
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.task import Pddl3Task, load_files, load_task
from safegen_ros.verify.run_monitor import TimedRunMonitor

FOLDER = data_path('examples/patrol')
PLAN = """
0: (move r1 dock door) [6]
0: (move r2 door shelf) [2]
2.001: (inspect r2 shelf) [10]
6.001: (inspect r1 door) [10]
"""
MOMENTS = [0.0, 0.0, 2.0, 2.001, 6.0, 6.001, 12.001, 16.001]
Disturb = Callable[[Step, State], State]


def _unharmed(step: Step, state: State) -> State:
    return state


@pytest.fixture(scope='module')
def task() -> Pddl3Task:
    return load_files(FOLDER / 'two_robots.pddl', FOLDER / 'domain.pddl')


class _Clock:
    """A clock that goes as the simulated time of a cell, or faster."""

    def __init__(self, rate: float = 1.0) -> None:
        self.samples: list[SymbolicSample] = []
        self._rate = rate

    def __call__(self) -> float:
        return self._rate * self.samples[-1].time if self.samples else 0.0


def _run(
    task: Pddl3Task, plan: str = PLAN, disturb: Disturb = _unharmed, rate: float = 1.0
) -> tuple[ExecutionOutcome, _Clock]:
    clock = _Clock(rate)
    cell = SymbolicCell(task.problem, sample=clock.samples.append, disturb=disturb)
    steps = task.steps_of(plan)
    monitor = TimedRunMonitor(task.problem, plan_of_steps(steps), clock)
    job = WorldJob(task, steps, SymbolicRobots(cell), monitor)
    return carry_out(job, time_budget_s=60.0), clock


def test_robots_act_at_once(task: Pddl3Task) -> None:
    outcome, clock = _run(task)
    assert outcome.error_code is ErrorCode.NONE, outcome.message
    assert [sample.time for sample in clock.samples] == MOMENTS
    assert outcome.steps_done == len(MOMENTS) - 1
    assert outcome.observed == clock.samples[-1].state
    assert {('patrolled', 'door'), ('patrolled', 'shelf')} <= clock.samples[-1].state
    # Neither robot is anywhere while it moves.
    assert not [atom for atom in clock.samples[1].state if atom[0] == 'robot_at']


def test_one_after_the_other_they_are_too_late(task: Pddl3Task) -> None:
    """So it is the overlap that is proved, and that is carried out."""
    bare = '\n'.join(line[line.index('(') : line.index(')') + 1] for line in PLAN.split('\n')[1:-1])
    verdict = task.verify(bare)
    assert not verdict.ok
    assert 'within 17' in verdict.reason
    assert isinstance(task.monitor(task.steps_of(PLAN)), TimedRunMonitor)


@pytest.mark.parametrize(
    ('action', 'change', 'code', 'text', 'done'),
    [
        (
            'inspect',
            lambda state: state - {('robot_at', 'r2', 'shelf')},
            ErrorCode.MONITOR_VIOLATION,
            r'\(inspect r2 shelf\) runs and needs \(robot_at r2 shelf\) all the time',
            2,
        ),
        (
            'move',
            lambda state: state | {('robot_at', 'r1', 'shelf')},
            ErrorCode.STATE_MISMATCH,
            r'after step 1 \(at 0\) .*unexpected \(robot_at r1 shelf\)',
            0,
        ),
    ],
)
def test_a_world_that_is_not_as_proved_ends_it(
    task: Pddl3Task,
    action: str,
    change: Callable[[State], State],
    code: ErrorCode,
    text: str,
    done: int,
) -> None:
    def disturb(step: Step, state: State) -> State:
        return change(state) if step.action == action else state

    outcome, clock = _run(task, disturb=disturb)
    assert outcome.error_code is code
    assert outcome.remaining is None
    assert outcome.steps_done == done
    assert len(clock.samples) == done + 2
    assert re.search(text, outcome.message)


def test_a_world_that_is_slower_than_the_plan_breaks_the_deadline(task: Pddl3Task) -> None:
    outcome, _ = _run(task, rate=1.2)
    assert outcome.error_code is ErrorCode.MONITOR_VIOLATION
    assert 'within 17' in outcome.message


@pytest.mark.parametrize(
    'plan',
    [
        PLAN.replace('6.001', '5.9'),  # it is not there yet
        PLAN.replace('[6]', '[5]'),  # faster than it can
        PLAN.replace('2.001: (inspect r2 shelf)', '2.001: (inspect r1 shelf)'),
    ],
)
def test_a_plan_that_is_not_proved_moves_nothing(task: Pddl3Task, plan: str) -> None:
    outcome, clock = _run(task, plan)
    assert outcome.error_code is ErrorCode.PLAN_REFUSED
    assert not clock.samples


GUARDED = """
(define (domain guarded)
  (:requirements :typing :durative-actions :timed-initial-literals)
  (:predicates (open) (inside) (done))
  (:durative-action enter :parameters () :duration (= ?duration 2)
    :condition (over all (open)) :effect (at end (inside)))
  (:durative-action work :parameters () :duration (= ?duration 5)
    :condition (over all (inside)) :effect (at end (done))))
"""
HOURS = """
(define (problem hours) (:domain guarded)
  (:init (at 3 (open)) (at 6 (not (open))) (at 50 (open))) (:goal (done)))
"""


@pytest.mark.parametrize(
    ('plan', 'code', 'times'),
    [
        ('3.5: (enter) [2] 5.501: (work) [5]', ErrorCode.NONE, [0, 3, 3.5, 5.5, 5.501, 6, 10.501]),
        ('4.5: (enter) [2] 6.501: (work) [5]', ErrorCode.PLAN_REFUSED, []),  # it closes meanwhile
        ('(enter) (work)', ErrorCode.PLAN_REFUSED, []),  # it is not open yet
    ],
)
def test_what_changes_by_itself_is_waited_for(
    plan: str, code: ErrorCode, times: list[float]
) -> None:
    """What comes after the end of the plan is not."""
    outcome, clock = _run(load_task(HOURS, GUARDED), plan)
    assert outcome.error_code is code, outcome.message
    assert [sample.time for sample in clock.samples] == times


def test_a_literal_that_is_not_sent_along_is_missed() -> None:
    task = load_task(HOURS, GUARDED)
    steps = task.steps_of('3.5: (enter) [2] 5.501: (work) [5]')
    assert prove(task, steps).ok
    with pytest.raises(SafegenError, match='timed initial literals are steps, too'):
        prove(task, steps_of_plan(plan_of_steps(steps)))


@pytest.mark.parametrize('plan', ['(fly)', '(enter now)', 'I cannot.'])
def test_what_is_no_plan_has_no_steps_where_the_time_changes_the_world(plan: str) -> None:
    assert load_task(HOURS, GUARDED).steps_of(plan) == ()


def test_moments_are_for_tasks_with_time() -> None:
    untimed = load_task(kits()['ferry'].problem(3).text)
    with pytest.raises(RobotError, match='no action of this task takes time') as caught:
        SymbolicCell(untimed.problem).happen(PlanMoment(Decimal(1), ()))
    assert caught.value.code is ErrorCode.UNSUPPORTED_SCENE


def test_a_door_that_stays_shut_is_seen() -> None:
    outcome, clock = _run(
        load_task(HOURS, GUARDED), '3.5: (enter) [2] 5.501: (work) [5]',
        lambda step, state: state - {('open',)},
    )  # fmt: skip
    assert outcome.error_code is ErrorCode.STATE_MISMATCH
    assert 'missing (open)' in outcome.message
    assert len(clock.samples) == 2


def test_a_condition_at_start_is_remembered_while_its_step_runs() -> None:
    task = load_task(
        '(define (problem p) (:domain glance) (:objects a) (:init (lit)) (:goal (seen a)))',
        '(define (domain glance) (:predicates (lit) (seen ?x))'
        '(:durative-action look :parameters (?x) :duration (= ?duration 4)'
        ':effect (when (at start (lit)) (at end (seen ?x))))'
        '(:durative-action dim :parameters () :duration (= ?duration 1)'
        ':effect (at start (not (lit)))))',
    )
    outcome, clock = _run(task, '0: (look a) [4]\n1: (dim) [1]')
    assert outcome.error_code is ErrorCode.NONE, outcome.message
    remembered = {('look-remembers-1', 'a')}
    assert [set(sample.state) for sample in clock.samples] == [
        {('lit',)}, {('lit',)} | remembered, remembered, remembered, {('seen', 'a')},
    ]  # fmt: skip

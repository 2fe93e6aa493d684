# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The symbolic cell: whatever the domain, it does what that says, under the checks of the arm."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from decimal import Decimal

import pytest
from support.executed import execute_plan

from safegen_ros.errors import Canceled, ErrorCode, RobotError, SafegenError
from safegen_ros.paths import data_path
from safegen_ros.pddl.model import State
from safegen_ros.pddl.moments import PlanMoment, plan_of_steps, steps_of_plan
from safegen_ros.pddl.plan import Plan, Step, parse_plan
from safegen_ros.robot.cell.execution import ExecutionOutcome, carry_out
from safegen_ros.robot.cell.symbolic import SymbolicCell, SymbolicSample
from safegen_ros.tasks.pddl3.cells import SymbolicRobots
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.task import Pddl3Task, load_files, load_task
from safegen_ros.tasks.task import WorldJob, prove
from safegen_ros.verify.run_monitor import TimedRunMonitor

WAIT_S = 30.0
LAMPS = """
(define (domain lamps) (:requirements :typing :conditional-effects)
  (:types lamp room) (:predicates (lit ?l - lamp) (in ?l - lamp ?r - room) (at ?r - room))
  (:action go :parameters (?from ?to - room) :precondition (at ?from)
    :effect (and (not (at ?from)) (at ?to)))
  (:action press :parameters (?l - lamp ?r - room) :precondition (and (at ?r) (in ?l ?r))
    :effect (and (when (lit ?l) (not (lit ?l))) (when (not (lit ?l)) (lit ?l)))))
"""
EVENING = """
(define (problem evening) (:domain lamps)
  (:objects low high - lamp hall attic - room)
  (:init (at hall) (lit low) (in low hall) (in high attic))
  (:goal (and (lit high) (not (lit low))))
  (:constraints (always (or (lit low) (lit high)))))
"""
PROBLEM = load_task(EVENING, LAMPS).problem
PLAN = parse_plan('(go hall attic) (press high attic) (go attic hall) (press low hall)')
Disturb = Callable[[Step, State], State]


def _after(action: str, change: Callable[[State], State]) -> Disturb:
    """A disturbance that follows the first action of a name."""
    seen: list[Step] = []

    def disturb(step: Step, state: State) -> State:
        if step.action != action or seen:
            return state
        seen.append(step)
        return change(state)

    return disturb


def _run(cell: SymbolicCell, plan: Plan = PLAN, **options: object) -> ExecutionOutcome:
    return execute_plan(PROBLEM, plan, cell, **{'time_budget_s': WAIT_S, **options})


class _Waiting(threading.Event):
    """The cell's stop, whose first waits end at once."""

    def __init__(self, short: int) -> None:
        super().__init__()
        self.reached = threading.Event()
        self._short = short

    def wait(self, timeout: float | None = None) -> bool:
        if self._short:
            self._short -= 1
            return self.is_set()
        self.reached.set()
        return super().wait(timeout)


@pytest.mark.parametrize('name', list(kits()))
def test_the_plans_of_every_domain_are_carried_out(name: str) -> None:
    for seed in range(3):
        made = kits()[name].problem(seed)
        outcome = execute_plan(
            made.problem, made.witness, SymbolicCell(made.problem), time_budget_s=WAIT_S
        )
        assert outcome.error_code is ErrorCode.NONE, outcome.message
        assert outcome.steps_done == len(made.witness)
        assert outcome.observed is not None
        assert set(made.problem.init) != outcome.observed


def test_each_state_is_told_with_its_time() -> None:
    samples: list[SymbolicSample] = []
    cell = SymbolicCell(PROBLEM, step_seconds=2500.0, sample=samples.append)
    outcome = _run(cell)
    assert outcome.error_code is ErrorCode.NONE, outcome.message
    assert [sample.time for sample in samples] == [0.0, 2500.0, 5000.0, 7500.0, 10000.0]
    assert outcome.seconds < WAIT_S, 'with factor 0 nothing waits'
    assert samples[0].state == PROBLEM.init
    assert samples[-1].state == outcome.observed
    assert ('lit', 'high') in samples[2].state


def test_a_step_takes_its_time_by_the_clock() -> None:
    outcome = _run(SymbolicCell(PROBLEM, step_seconds=0.4, real_time_factor=10.0))
    assert outcome.error_code is ErrorCode.NONE, outcome.message
    assert outcome.seconds >= 4 * 0.4 / 10.0


DIFFERS, BREAKS = ErrorCode.STATE_MISMATCH, ErrorCode.MONITOR_VIOLATION


@pytest.mark.parametrize(
    ('disturb', 'code', 'text', 'done'),
    [
        (_after('press', lambda state: state - {('lit', 'high')}), DIFFERS,
         'missing (lit high)', 1),
        (_after('go', lambda state: state - {('in', 'high', 'attic')}), DIFFERS,
         'missing (in high attic)', 0),
        (_after('go', lambda state: state | {('at', 'hall')}), DIFFERS,
         'unexpected (at hall)', 0),
        (_after('go', lambda state: state - {('lit', 'low')}), BREAKS,
         'breaks (always (or (lit low) (lit high)))', 0),
    ],
    ids=['an effect is missing', 'a static fact', 'an effect too many', 'a broken constraint'],
)  # fmt: skip
def test_a_world_that_is_not_as_proved_ends_the_execution(
    disturb: Disturb, code: ErrorCode, text: str, done: int
) -> None:
    cell = SymbolicCell(PROBLEM, disturb=disturb)
    outcome = _run(cell)
    assert outcome.error_code is code, outcome.message
    assert text in outcome.message
    assert outcome.steps_done == done
    with pytest.raises(Canceled):
        cell.execute('go', ('attic', 'hall'))
    again = _run(cell)  # the disturbance is over, and the world is set up again
    assert again.error_code is ErrorCode.NONE, again.message


@pytest.mark.parametrize(
    ('action', 'code', 'text'),
    [
        ('press low attic', ErrorCode.STATE_MISMATCH, '(at attic) and (in low attic)'),
        ('fly hall attic', ErrorCode.UNSUPPORTED_SCENE, 'none of that name'),
        ('go hall cellar', ErrorCode.UNSUPPORTED_SCENE, "'cellar' is not declared"),
        ('go hall', ErrorCode.UNSUPPORTED_SCENE, 'takes 2 arguments'),
        ('go low attic', ErrorCode.UNSUPPORTED_SCENE, "'low' is of type lamp"),
    ],
)
def test_what_the_domain_does_not_allow_changes_nothing(
    action: str, code: ErrorCode, text: str
) -> None:
    cell = SymbolicCell(PROBLEM)
    cell.prepare(tuple(PROBLEM.objects), PROBLEM.init)
    name, *arguments = action.split()
    with pytest.raises(RobotError) as caught:
        cell.execute(name, arguments)
    assert caught.value.code is code
    assert text in caught.value.message
    assert cell.observe() == PROBLEM.init


@pytest.mark.parametrize('step', [0, 2])
def test_a_stop_ends_the_step_under_way_at_once_and_latches(step: int) -> None:
    cancelled = threading.Event()
    # No step would end within this test by itself: those before are made to.
    cell = SymbolicCell(PROBLEM, step_seconds=3600.0, real_time_factor=1.0)
    waiting = _Waiting(step)
    cell._stopped = waiting

    def cancel() -> None:
        assert waiting.reached.wait(WAIT_S)
        cancelled.set()
        cell.stop()

    canceller = threading.Thread(target=cancel)
    canceller.start()
    outcome = _run(cell, cancelled=cancelled.is_set)
    canceller.join(WAIT_S)
    assert outcome.error_code is ErrorCode.EXECUTION_CANCELED
    assert outcome.steps_done == step
    before = cell.observe()
    assert before == outcome.observed, 'a step that is stopped has no effect'
    for command in (
        lambda: cell.execute('go', ('hall', 'attic')),
        lambda: cell.prepare((), frozenset()),
    ):
        with pytest.raises(Canceled):
            command()
    assert cell.observe() == before
    cell.reset_stop()
    cell.prepare((), PROBLEM.init)


HEATING = """
(define (domain heating) (:requirements :durative-actions) (:predicates (power) (warm) (done))
  (:durative-action heat :parameters () :duration (= ?duration 0.01)
    :condition (over all (power)) :effect (and (at start (warm)) (at end (done)))))
"""
BY_THEN = """
(define (problem p) (:domain heating) (:init (power)) (:goal (done))
  (:constraints (within 0.02 (done))))
"""


IN_TIME = BY_THEN.replace('0.02', '60')  # however slow the machine is


def test_a_step_with_a_duration_takes_it_and_starts_at_once() -> None:
    problem = load_task(IN_TIME, HEATING).problem
    samples: list[SymbolicSample] = []
    cell = SymbolicCell(problem, step_seconds=7.0, sample=samples.append)
    outcome = execute_plan(problem, parse_plan('(heat)'), cell, time_budget_s=WAIT_S)
    assert outcome.error_code is ErrorCode.NONE, outcome.message
    assert [(s.time, ('warm',) in s.state, ('done',) in s.state) for s in samples] == [
        (0.0, False, False), (0.0, True, False), (0.01, True, True),
    ]  # fmt: skip


def test_a_step_that_is_too_slow_for_a_deadline_is_stopped_while_it_runs() -> None:
    problem = load_task(BY_THEN, HEATING).problem
    cell = SymbolicCell(problem, real_time_factor=1e-6)  # no step would end within this test
    outcome = execute_plan(problem, parse_plan('(heat)'), cell, time_budget_s=WAIT_S)
    assert (outcome.error_code, outcome.steps_done) == (ErrorCode.MONITOR_VIOLATION, 0)
    assert 'step 1 (heat) is not done in time: (within 0.02 (done))' in outcome.message
    with pytest.raises(Canceled):
        cell.execute('heat', ())


def test_what_a_step_needs_all_the_time_is_watched_while_it_runs() -> None:
    problem = load_task(IN_TIME, HEATING).problem
    cell = SymbolicCell(problem, disturb=_after('heat', lambda state: state - {('power',)}))
    outcome = execute_plan(problem, parse_plan('(heat)'), cell, time_budget_s=WAIT_S)
    assert (outcome.error_code, outcome.steps_done) == (ErrorCode.MONITOR_VIOLATION, 0)
    assert 'while (heat) runs, (power) does not hold' in outcome.message


FOLDER = data_path('examples/patrol')
OVERLAP = """
0: (move r1 dock door) [6]
0: (move r2 door shelf) [2]
2.001: (inspect r2 shelf) [10]
6.001: (inspect r1 door) [10]
"""
MOMENTS = [0.0, 0.0, 2.0, 2.001, 6.0, 6.001, 12.001, 16.001]


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


def _overlapping(
    task: Pddl3Task, plan: str = OVERLAP, disturb: Disturb = _unharmed, rate: float = 1.0
) -> tuple[ExecutionOutcome, _Clock]:
    clock = _Clock(rate)
    cell = SymbolicCell(task.problem, sample=clock.samples.append, disturb=disturb)
    steps = task.steps_of(plan)
    monitor = TimedRunMonitor(task.problem, plan_of_steps(steps), clock)
    job = WorldJob(task, steps, SymbolicRobots(cell), monitor)
    return carry_out(job, time_budget_s=60.0), clock


def test_robots_act_at_once(task: Pddl3Task) -> None:
    outcome, clock = _overlapping(task)
    assert outcome.error_code is ErrorCode.NONE, outcome.message
    assert [sample.time for sample in clock.samples] == MOMENTS
    assert outcome.steps_done == len(MOMENTS) - 1
    assert outcome.observed == clock.samples[-1].state
    assert {('patrolled', 'door'), ('patrolled', 'shelf')} <= clock.samples[-1].state
    # Neither robot is anywhere while it moves.
    assert not [atom for atom in clock.samples[1].state if atom[0] == 'robot_at']


def test_one_after_the_other_they_are_too_late(task: Pddl3Task) -> None:
    """So it is the overlap that is proved, and that is carried out."""
    bare = '\n'.join(
        line[line.index('(') : line.index(')') + 1] for line in OVERLAP.split('\n')[1:-1]
    )
    verdict = task.verify(bare)
    assert not verdict.ok
    assert 'within 17' in verdict.reason
    assert isinstance(task.monitor(task.steps_of(OVERLAP)), TimedRunMonitor)


@pytest.mark.parametrize(
    ('action', 'change', 'code', 'text', 'done'),
    [
        ('inspect', lambda state: state - {('robot_at', 'r2', 'shelf')},
         ErrorCode.MONITOR_VIOLATION,
         r'\(inspect r2 shelf\) runs and needs \(robot_at r2 shelf\) all the time', 2),
        ('move', lambda state: state | {('robot_at', 'r1', 'shelf')}, ErrorCode.STATE_MISMATCH,
         r'after step 1 \(at 0\) .*unexpected \(robot_at r1 shelf\)', 0),
    ],
)  # fmt: skip
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

    outcome, clock = _overlapping(task, disturb=disturb)
    assert outcome.error_code is code
    assert outcome.remaining is None
    assert outcome.steps_done == done
    assert len(clock.samples) == done + 2
    assert re.search(text, outcome.message)


def test_a_world_that_is_slower_than_the_plan_breaks_the_deadline(task: Pddl3Task) -> None:
    outcome, _ = _overlapping(task, rate=1.2)
    assert outcome.error_code is ErrorCode.MONITOR_VIOLATION
    assert 'within 17' in outcome.message


@pytest.mark.parametrize(
    'plan',
    [
        OVERLAP.replace('6.001', '5.9'),  # it is not there yet
        OVERLAP.replace('[6]', '[5]'),  # faster than it can
        OVERLAP.replace('2.001: (inspect r2 shelf)', '2.001: (inspect r1 shelf)'),
    ],
)
def test_a_plan_that_is_not_proved_moves_nothing(task: Pddl3Task, plan: str) -> None:
    outcome, clock = _overlapping(task, plan)
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
    outcome, clock = _overlapping(load_task(HOURS, GUARDED), plan)
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
    outcome, clock = _overlapping(
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
    outcome, clock = _overlapping(task, '0: (look a) [4]\n1: (dim) [1]')
    assert outcome.error_code is ErrorCode.NONE, outcome.message
    remembered = {('look-remembers-1', 'a')}
    assert [set(sample.state) for sample in clock.samples] == [
        {('lit',)}, {('lit',)} | remembered, remembered, remembered, {('seen', 'a')},
    ]  # fmt: skip

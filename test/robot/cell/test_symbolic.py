# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The symbolic cell: whatever the domain, it does what that says, under the checks of the arm."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from support.executed import execute_plan

from safegen_ros.errors import Canceled, ErrorCode, RobotError
from safegen_ros.pddl.model import State
from safegen_ros.pddl.plan import Plan, Step, parse_plan
from safegen_ros.robot.cell.execution import ExecutionOutcome
from safegen_ros.robot.cell.symbolic import SymbolicCell, SymbolicSample
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.task import load_task

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


@pytest.mark.parametrize(
    ('disturb', 'code', 'text', 'done'),
    [
        (
            _after('press', lambda state: state - {('lit', 'high')}),
            ErrorCode.STATE_MISMATCH,
            'missing (lit high)',
            1,
        ),
        (
            _after('go', lambda state: state - {('in', 'high', 'attic')}),
            ErrorCode.STATE_MISMATCH,
            'missing (in high attic)',
            0,
        ),
        (
            _after('go', lambda state: state | {('at', 'hall')}),
            ErrorCode.STATE_MISMATCH,
            'unexpected (at hall)',
            0,
        ),
        (
            _after('go', lambda state: state - {('lit', 'low')}),
            ErrorCode.MONITOR_VIOLATION,
            'breaks (always (or (lit low) (lit high)))',
            0,
        ),
    ],
    ids=['an effect is missing', 'a static fact', 'an effect too many', 'a broken constraint'],
)
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
    again = _run(cell)  # the disturbance is over, and the world is set up anew
    assert again.error_code is ErrorCode.NONE, again.message


@pytest.mark.parametrize(
    ('action', 'code', 'text'),
    [
        ('press low attic', ErrorCode.STATE_MISMATCH, '(at attic) and (in low attic)'),
        ('fly hall attic', ErrorCode.UNSUPPORTED_SCENE, 'none of that name'),
        ('go hall cellar', ErrorCode.UNSUPPORTED_SCENE, "'cellar' is not declared"),
        ('go hall', ErrorCode.UNSUPPORTED_SCENE, 'takes 2 arguments'),
        ('go low attic', ErrorCode.UNSUPPORTED_SCENE, "'low' is a lamp"),
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


def test_a_step_with_a_duration_takes_it_and_starts_at_once() -> None:
    problem = load_task(BY_THEN, HEATING).problem
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
    problem = load_task(BY_THEN, HEATING).problem
    cell = SymbolicCell(problem, disturb=_after('heat', lambda state: state - {('power',)}))
    outcome = execute_plan(problem, parse_plan('(heat)'), cell, time_budget_s=WAIT_S)
    assert (outcome.error_code, outcome.steps_done) == (ErrorCode.MONITOR_VIOLATION, 0)
    assert 'while (heat) runs, (power) does not hold' in outcome.message

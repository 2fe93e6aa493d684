# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Steps in a cell: each is the first of a plan that is proved from what was observed."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import pytest

from safegen_ros.errors import Canceled, ErrorCode, RobotError, SafegenError
from safegen_ros.pddl.model import Problem, State
from safegen_ros.pddl.plan import Step
from safegen_ros.planning.loop import Attempt, History, Level
from safegen_ros.robot.cell.symbolic import SymbolicCell
from safegen_ros.search.solve import solve
from safegen_ros.sync import PlanningDeadline
from safegen_ros.tasks.pddl3.planning.replan import PlannedSteps, work_in_cell
from safegen_ros.tasks.pddl3.planning.stepwise import Limits, StepwiseOutcome, TerminationReason
from safegen_ros.tasks.pddl3.planning.strategy import search_level
from safegen_ros.tasks.pddl3.task import Pddl3Task
from safegen_ros.verdict import Category
from safegen_ros.verify.validator import Validator

LIMITS = Limits(time_budget_s=600.0)


def searched(rest: Problem) -> Sequence[Level]:
    return [search_level(lambda left, stop: solve(rest, route='in-process', cancelled=stop).plan)]


def said(*texts: str) -> Sequence[Level]:
    def proposals(history: History, deadline: PlanningDeadline):  # type: ignore[no-untyped-def]
        yield from texts

    return [Level('model', len(texts), proposals)]


def stopped(cell: SymbolicCell) -> bool:
    try:
        cell.prepare((), frozenset())
    except Canceled:
        return True
    return False


def test_one_plan_is_enough_where_all_goes_as_foreseen(tower_order: Pddl3Task) -> None:
    problem, heard, acted = tower_order.problem, list[Attempt](), list[Step]()
    steps = PlannedSteps(searched, 60.0, heard.append)
    cell = SymbolicCell(problem)
    found = work_in_cell(problem, cell, steps, LIMITS, acting=acted.append)
    assert found.ending is TerminationReason.FINISHED
    assert found.steps == tuple(acted)
    assert found.verdict == tower_order.verify(heard[0].plan)
    assert (len(heard), steps.source, found.steps) == (1, 'search', heard[0].plan.steps)
    assert not stopped(cell)


def test_another_plan_is_asked_for_where_the_world_differs(tower_order: Pddl3Task) -> None:
    problem, fallen, asked = tower_order.problem, list[str](), list[Problem]()

    def disturb(step: Step, state: State) -> State:
        if step.action == 'stack' and not fallen:
            upper, lower = step.arguments
            fallen.append(upper)
            return state - {('on', upper, lower)} | {('on-table', upper), ('clear', lower)}
        return state

    def levels(rest: Problem) -> Sequence[Level]:
        asked.append(rest)
        return searched(rest)

    steps = PlannedSteps(levels, 60.0)
    found = work_in_cell(problem, SymbolicCell(problem, disturb=disturb), steps, LIMITS)
    assert (found.ending, found.differences) == (TerminationReason.FINISHED, 1)
    assert [a.number for a in steps.attempts] == [1, 2]
    first, second = asked
    assert first.init == problem.init
    assert ('on-table', fallen[0]) in second.init
    assert Validator(second).verify(steps.attempts[1].plan).ok
    assert found.steps[-len(steps.attempts[1].plan) :] == steps.attempts[1].plan.steps


def test_without_a_proof_nothing_moves_and_the_cell_is_stopped(tower_order: Pddl3Task) -> None:
    problem, cell = tower_order.problem, SymbolicCell(tower_order.problem)
    steps = PlannedSteps(lambda rest: said('(unstack b2 b1)(putdown b2)', 'stack them'), 60.0)
    found = work_in_cell(
        problem, cell, steps, LIMITS, acting=lambda step: pytest.fail('a step was taken')
    )
    assert (found.ending, found.steps) == (TerminationReason.FAILED, ())
    assert found.error_code is ErrorCode.ATTEMPTS_EXHAUSTED
    assert 'none of 2 attempts was proved' in found.message
    assert [a.verdict.category for a in steps.attempts] == [
        Category.GOAL_NOT_SATISFIED, Category.FORMAT_ERROR
    ]  # fmt: skip
    assert stopped(cell)


def test_a_plan_that_goes_back_is_not_followed(tower_order: Pddl3Task) -> None:
    problem = tower_order.problem
    around = '(unstack b5 b3)(stack b5 b3)'
    good = str(solve(problem, route='in-process').plan)

    def levels(rest: Problem) -> Sequence[Level]:
        if rest.init == problem.init:
            return said(f'{around}{good}')
        return said(f'(stack b5 b3){good}')

    found = work_in_cell(problem, SymbolicCell(problem), PlannedSteps(levels, 60.0), LIMITS)
    assert (found.ending, found.steps) == (
        TerminationReason.GAVE_UP,
        (Step('unstack', ('b5', 'b3')),),
    )
    assert found.error_code is ErrorCode.ATTEMPTS_EXHAUSTED


def test_the_time_ends_a_step_under_way(tower_order: Pddl3Task) -> None:
    problem = tower_order.problem
    cell = SymbolicCell(problem, step_seconds=600.0, real_time_factor=1.0)
    begun = time.monotonic()
    found = work_in_cell(problem, cell, PlannedSteps(searched, 60.0), Limits(time_budget_s=1.0))
    assert (found.ending, found.error_code) == (TerminationReason.TIME, ErrorCode.EXECUTION_TIMEOUT)
    assert time.monotonic() - begun < 60.0
    assert found.steps == ()
    assert stopped(cell)


def test_cancelling_in_every_phase_stops_the_cell(tower_order: Pddl3Task) -> None:
    problem = tower_order.problem

    def run(cell: SymbolicCell, stop: threading.Event) -> StepwiseOutcome:
        def act(step: Step) -> None:
            stop.set()
            cell.stop()

        steps = PlannedSteps(searched, 60.0)
        return work_in_cell(problem, cell, steps, LIMITS, cancelled=stop.is_set, acting=act)

    cell, stop = SymbolicCell(problem), threading.Event()
    found = run(cell, stop)
    assert (found.ending, found.error_code) == (
        TerminationReason.CANCELED,
        ErrorCode.EXECUTION_CANCELED,
    )
    assert found.steps == ()
    assert stopped(cell)
    with pytest.raises(Canceled):  # it is set already
        run(cell, stop)
    assert stopped(cell)


@pytest.mark.parametrize('error', [SafegenError('the disk is full'), KeyboardInterrupt()])
def test_whatever_keeps_a_step_from_being_written_down_stops_the_cell(
    tower_order: Pddl3Task, error: BaseException
) -> None:
    problem, cell = tower_order.problem, SymbolicCell(tower_order.problem)

    def act(step: Step) -> None:
        raise error

    steps = PlannedSteps(searched, 60.0)
    if isinstance(error, SafegenError):
        assert (
            work_in_cell(problem, cell, steps, LIMITS, acting=act).ending
            is TerminationReason.FAILED
        )
    else:
        with pytest.raises(KeyboardInterrupt):
            work_in_cell(problem, cell, steps, LIMITS, acting=act)
    assert cell.observe() == problem.init
    assert stopped(cell)


def test_a_cell_that_cannot_be_set_up_is_stopped(tower_order: Pddl3Task) -> None:
    class Broken(SymbolicCell):
        def prepare(self, objects: Sequence[str], init: State) -> None:
            raise RobotError('no power')

    class Watched(Broken):
        stops = 0

        def stop(self) -> None:
            self.stops += 1

    cell = Watched(tower_order.problem)
    with pytest.raises(RobotError, match='no power'):
        work_in_cell(tower_order.problem, cell, PlannedSteps(searched, 60.0), LIMITS)
    assert cell.stops == 1

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""One step at a time: none is inadmissible, and what counts is what is observed."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from support import strategies

from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.ground import goal_tests
from safegen_ros.pddl.model import Problem, State
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.robot.cell.symbolic import SymbolicCell
from safegen_ros.search.solve import solve
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.planning.stepwise import (
    Limits,
    StepContext,
    StepwiseOutcome,
    TerminationReason,
    run_stepwise,
)
from safegen_ros.tasks.pddl3.task import Pddl3Task
from safegen_ros.verdict import Category
from safegen_ros.verify.admissible import Shield
from safegen_ros.verify.monitors import MonitorSet
from safegen_ros.verify.validator import Validator

Disturb = Callable[[Step, State], State]


class World:
    """A symbolic cell that remembers what it showed."""

    def __init__(self, problem: Problem, disturb: Disturb = lambda step, state: state) -> None:
        self.cell = SymbolicCell(problem, disturb=disturb)
        self.cell.prepare(tuple(problem.objects), problem.init)
        self.shown: list[State] = []

    def observe(self) -> State:
        self.shown.append(self.cell.observe())
        return self.shown[-1]

    def act(self, step: Step) -> None:
        self.cell.execute(*step)


def replan(moment: StepContext, cancelled: Callable[[], bool]) -> Step | None:
    """The first step of a plan from here."""
    plan = solve(moment.problem, route='in-process', time_limit_s=600.0, cancelled=cancelled).plan
    return plan.steps[0] if plan.steps else None


def run(
    problem: Problem,
    world: World,
    choose: Callable[[StepContext, Callable[[], bool]], Step | None] = replan,
    **limits: float,
) -> StepwiseOutcome:
    chosen = Limits(**{'time_budget_s': 600.0, **limits})  # type: ignore[arg-type]
    return run_stepwise(problem, world.observe, world.act, choose, chosen)


@pytest.mark.parametrize('name', kits())
def test_a_goal_is_reached_step_by_step(name: str) -> None:
    kit = kits()[name]
    for family in list(kit.families)[:3]:
        problem = kit.problem(3, kit.sizes(family, wide=True)[-1], family).problem
        found = run(problem, World(problem))
        assert found.ending is TerminationReason.FINISHED
        assert found.error_code is ErrorCode.NONE
        assert found.differences == found.refused == 0
        assert found.verdict == Validator(problem).verify(Plan(found.steps))
        assert found.verdict.ok


def standing_of(problem: Problem, states: list[State]) -> tuple[MonitorSet, int, AtomTable]:
    """Where the constraints stand behind some observed states, by a count of its own."""
    table = AtomTable(problem, fold_static=False)
    monitors = MonitorSet(problem, table)
    standing = monitors.start(table.encode(states[0]))
    for state in states[1:]:
        standing = monitors.progress(standing, table.encode(state))
    return monitors, standing, table


@strategies.examples(60)
@given(strategies.SEEDS)
def test_nothing_inadmissible_is_done_whatever_is_chosen(seed: int) -> None:
    rng = random.Random(seed)
    problem = strategies.problem(rng)
    disturbed = rng.random() < 0.5
    everything = sorted(problem.init | {a for s in _walk(rng, problem) for a in s})

    def disturb(step: Step, state: State) -> State:
        if disturbed and everything and rng.random() < 0.3:
            return state ^ {rng.choice(everything)}
        return state

    def choose(moment: StepContext, cancelled: Callable[[], bool]) -> Step | None:
        moments.append(moment)
        kind = rng.randrange(8)
        if kind == 0:
            return Step('launch', ('missiles',))
        if kind == 1:
            return rng.choice([*moment.steps, None])
        return rng.choice(moment.choices)

    moments: list[StepContext] = []
    world = World(problem, disturb)
    found = run(problem, world, choose, max_steps=8)
    assert len(world.shown) == len(found.steps) + 1
    asked = {len(moment.steps): moment for moment in moments}
    for count, step in enumerate(found.steps):
        assert step in asked[count].choices
        shield = Shield(asked[count].problem)
        assert shield.admissible(shield.start, step)
    monitors, standing, table = standing_of(problem, world.shown)
    assert monitors.broken(standing) == (found.ending is TerminationReason.BROKEN)
    last = table.encode(world.shown[-1])
    met = all(test(last) for _, test in goal_tests(problem, table))
    done = met and not monitors.unsatisfied(standing)
    assert found.verdict.ok == done
    if found.ending is TerminationReason.FINISHED:
        assert done
    if found.ending is TerminationReason.BROKEN:
        assert found.verdict.category is Category.SAFETY_VIOLATION
        assert found.verdict.broken


def _walk(rng: random.Random, problem: Problem) -> list[State]:
    """States that some steps lead through."""
    shield = Shield(replace(problem, constraints=()))
    situation, found = shield.start, []
    for _ in range(4):
        after = shield.steps(situation)
        if not after:
            break
        situation = rng.choice(list(after.values()))
        found.append(shield.state(situation))
    return found


def test_a_block_that_falls_is_picked_up_again(tower_order: Pddl3Task) -> None:
    problem, fallen = tower_order.problem, []

    def disturb(step: Step, state: State) -> State:
        if step.action == 'stack' and not fallen:
            upper, lower = step.arguments
            fallen.append(upper)
            return state - {('on', upper, lower)} | {('on-table', upper), ('clear', lower)}
        return state

    world = World(problem, disturb)
    found = run(problem, world)
    assert fallen
    assert found.ending is TerminationReason.FINISHED
    assert found.differences == 1
    assert found.verdict.ok
    monitors, standing, _ = standing_of(problem, world.shown)
    assert not monitors.unsatisfied(standing)


def test_a_world_that_breaks_a_constraint_ends_the_run(tower_order: Pddl3Task) -> None:
    def disturb(step: Step, state: State) -> State:
        return state - {('on', 'b2', 'b1')} | {('on-table', 'b2')}

    problem = tower_order.problem
    found = run(problem, World(problem, disturb))
    assert found.ending is TerminationReason.BROKEN
    assert found.error_code is ErrorCode.MONITOR_VIOLATION
    assert found.verdict.category is Category.SAFETY_VIOLATION
    assert found.verdict.broken_constraints == ('(sometime-before (on-table b2) (on-table b3))',)
    assert len(found.steps) == 1


def test_what_no_action_changes_is_observed_all_the_same() -> None:
    """A bridge that is gone: the way that was planned leads nowhere, and another one is taken."""
    problem = kits()['ferry'].problem(3, {'locations': 4, 'cars': 2}, 'none').problem

    def disturb(step: Step, state: State) -> State:
        places = sorted(atom[1] for atom in state if atom[0] == 'location')
        return state - {('not-eq', places[0], places[1])}

    world = World(problem, disturb)
    found = run(problem, world)
    assert found.ending is TerminationReason.FINISHED
    assert found.differences == 1
    places = sorted(atom[1] for atom in problem.init if atom[0] == 'location')
    assert Step('sail', (places[0], places[1])) not in found.steps[1:]


def test_the_world_at_first_is_observed_too(tower_order: Pddl3Task) -> None:
    problem = tower_order.problem
    plan = solve(problem, route='in-process').plan
    shield = Shield(problem)
    situation = shield.start
    for step in plan.steps[:2]:
        after = shield.after(situation, step)
        assert after is not None
        situation = after
    ahead = replace(problem, init=shield.state(situation))
    found = run_stepwise(problem, World(ahead).observe, lambda step: None, lambda *a: None)
    assert found.ending is TerminationReason.GAVE_UP
    assert found.differences == 1


def test_visited_situations_are_offered_only_where_there_are_no_others() -> None:
    problem = kits()['blocksworld'].problem(1, {'blocks': 3}, 'none').problem
    returned = []

    def first(moment: StepContext, cancelled: Callable[[], bool]) -> Step:
        shield = Shield(moment.problem)
        possible = {s: shield.state(a) for s, a in shield.steps(shield.start).items()}
        new = [step for step, state in possible.items() if state not in world.shown]
        assert set(moment.choices) == set(new or possible)
        returned.append(not new)
        return moment.choices[0]

    world = World(problem)
    run(problem, world, first, max_steps=60)
    assert set(returned) == {True, False}


def test_every_limit_ends_a_run(tower_order: Pddl3Task) -> None:
    problem = tower_order.problem

    def ended(outcome: StepwiseOutcome) -> tuple[TerminationReason, ErrorCode, int]:
        return outcome.ending, outcome.error_code, len(outcome.steps)

    out = ErrorCode.ATTEMPTS_EXHAUSTED
    assert ended(run(problem, World(problem), max_steps=2)) == (TerminationReason.STEPS, out, 2)
    late = run(problem, World(problem), time_budget_s=0.0)
    assert ended(late) == (TerminationReason.TIME, ErrorCode.EXECUTION_TIMEOUT, 0)
    assert late.observed == problem.init
    stubborn = run(problem, World(problem), lambda moment, stop: Step('pickup', ('b1',)))
    assert ended(stubborn) == (TerminationReason.GAVE_UP, out, 0)
    assert stubborn.refused == 3

    stop: list[bool] = []
    world = World(problem)

    def cancels(moment: StepContext, cancelled: Callable[[], bool]) -> Step:
        stop.append(True)
        assert cancelled()
        return moment.choices[0]

    canceled = run_stepwise(
        problem, world.observe, world.act, cancels, cancelled=lambda: bool(stop)
    )
    assert ended(canceled) == (TerminationReason.CANCELED, ErrorCode.EXECUTION_CANCELED, 0)
    assert canceled.verdict.category is Category.GOAL_NOT_SATISFIED


def test_a_world_that_fails_ends_a_run(tower_order: Pddl3Task) -> None:
    problem = tower_order.problem

    def broken_arm(step: Step) -> None:
        raise RobotError('joint 3 does not answer', ErrorCode.ROBOT_FAULT)

    found = run_stepwise(problem, World(problem).observe, broken_arm, replan)
    assert (found.ending, found.error_code) == (TerminationReason.FAILED, ErrorCode.ROBOT_FAULT)
    assert found.message == 'joint 3 does not answer'
    assert found.steps == ()

    blind = run_stepwise(problem, lambda: frozenset({('on', 'b1', 'moon')}), broken_arm, replan)
    assert (blind.ending, blind.error_code) == (TerminationReason.FAILED, ErrorCode.STATE_MISMATCH)
    assert '(on b1 moon)' in blind.message
    assert blind.observed is None
    assert blind.verdict.category is Category.UNKNOWN

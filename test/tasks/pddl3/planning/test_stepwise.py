# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""One step at a time: none is inadmissible, and what counts is what is observed."""

from __future__ import annotations

import random
import re
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import strategies
from support.model_server import MODEL, ModelServer, Script
from support.temporal import DIMMED, FLAT, LATE, RIGHT, RIGHT_TIMED, ROUNDS, TWO_ROUNDS

from safegen_ros.errors import Canceled, ErrorCode, RobotError, SafegenError
from safegen_ros.llm.backend import Sampling
from safegen_ros.llm.openai_backend import OpenAIBackend
from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.ground import goal_tests
from safegen_ros.pddl.model import Problem, State
from safegen_ros.pddl.plan import Plan, Step, parse_plan
from safegen_ros.planning.levels import DEFAULT, FEEDBACK, LEVELS, MOST, level_names
from safegen_ros.planning.loop import Attempt, History, Level, Outcome, plan_with_levels, read_plan
from safegen_ros.robot.cell.symbolic import SymbolicCell
from safegen_ros.search.solve import solve
from safegen_ros.sync import PlanningDeadline
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.planning.proposer import ModelProposer, Temperatures, valid_beginning
from safegen_ros.tasks.pddl3.planning.replan import PlannedSteps, work_in_cell
from safegen_ros.tasks.pddl3.planning.stepwise import (
    Limits,
    StepContext,
    StepwiseOutcome,
    TerminationReason,
    run_stepwise,
)
from safegen_ros.tasks.pddl3.planning.strategy import levels_of, search_level
from safegen_ros.tasks.pddl3.prompts.styles import ServerStyle
from safegen_ros.tasks.pddl3.task import Pddl3Task, load_task
from safegen_ros.verdict import Category, Verdict
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
    """Where the constraints stand behind some observed states, counted apart."""
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


def test_a_world_that_breaks_a_constraint_ends_the_run(tower_order: Pddl3Task) -> None:
    def disturb(step: Step, state: State) -> State:
        return state - {('on', 'b2', 'b1')} | {('on-table', 'b2')}

    problem = tower_order.problem
    found = run(problem, World(problem, disturb))
    assert found.ending is TerminationReason.BROKEN
    assert found.error_code is ErrorCode.MONITOR_VIOLATION
    assert found.verdict.category is Category.SAFETY_VIOLATION
    [broken] = found.verdict.broken
    assert broken.text == '(sometime-before (on-table b2) (on-table b3))'
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
    assert found.verdict.ok
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


def test_the_levels_come_in_the_order_in_which_they_are_named() -> None:
    beams = ('beam 2', 'beam 4', 'beam 8', 'backtracking 8')
    assert level_names(DEFAULT) == ('model', *beams, 'hierarchy', 'search')
    assert level_names(' search,best  of 4 ,beam,beam 1,\nrepair, shield,model, model') == (
        'search', 'best of 4', *beams, 'beam 1', 'repair', 'shield', 'model', 'model',
    )  # fmt: skip


@given(
    st.text(max_size=30)
    | st.lists(
        st.sampled_from(['model', 'best', 'of', 'beam', ',', ' ', '0', '7', '65', '²', '-1']),
        max_size=8,
    ).map(' '.join)
)
def test_any_text_is_levels_or_an_error_with_its_code(text: str) -> None:
    names, error = (), None
    try:
        names = level_names(text)
    except SafegenError as raised:
        error = raised
    if error is not None:
        assert error.code is ErrorCode.UNKNOWN_STRATEGY
        assert all(name in error.message for name in LEVELS)
        assert len(error.message) < 500
        return
    assert names
    for name in names:
        [number] = re.findall(r'(?:^| )(\d+)$', name) or [1]
        assert 1 <= int(number) <= MOST
        assert re.sub(r'\d+$', 'N', name) in LEVELS


@pytest.mark.parametrize('text', ['', 'model,', 'best of', 'model 2', 'beam 65', 'beam 0', 'Model'])
def test_what_is_no_level(text: str) -> None:
    with pytest.raises(SafegenError, match='is not a planner'):
        level_names(text)


def test_the_page_about_strategies_explains_every_level_and_every_feedback() -> None:
    page = Path(__file__).parents[4] / 'docs' / 'strategies.md'
    text = page.read_text(encoding='utf-8')
    assert all(f'| `{name}` |' in text for name in (*LEVELS, *FEEDBACK))


def _attempts(*texts: str) -> list[Attempt]:
    refused = Verdict(Category.GOAL_NOT_SATISFIED, 'too short')
    return [
        Attempt(i + 1, 'model', text, refused, 0.1, read_plan(text)) for i, text in enumerate(texts)
    ]


def test_later_attempts_are_hotter_and_a_repeated_one_twice_as_much() -> None:
    rising = Temperatures(0.6, 0.1, 0.95)
    after = [rising.after(_attempts(*'abcdefg'[:count])) for count in range(7)]
    assert after == pytest.approx([0.6, 0.7, 0.8, 0.9, 0.95, 0.95, 0.95])
    assert rising.after(_attempts('(a)', ' (a) ; again')) == pytest.approx(0.9)
    assert Temperatures(1.4).after(_attempts('a', 'b')) == 1.4  # the given one is never lowered
    assert Temperatures(0.0, 0.0).after(_attempts('a', 'a')) == 0


@pytest.mark.parametrize(
    ('plan', 'kept'),
    [
        ('(unstack b2 b1)(putdown b2)(unstack b5 b3)', 1),  # the second step breaks the constraint
        ('(pickup b2)(unstack b2 b1)', 0),
        ('(unstack b5 b3)(putdown b5)(pickup b5)(putdown b5)', 2),  # and back again
        ('(unstack b5 b3)(putdown b9)', 1),
        ('', 0),
    ],
)
def test_the_valid_beginning_of_a_plan(tower_order: Pddl3Task, plan: str, kept: int) -> None:
    given_plan = parse_plan(plan) if plan else Plan()
    found = valid_beginning(given_plan, Shield(tower_order.problem))
    assert found.steps == given_plan.steps[:kept]


ROUNDS_TASK = load_task(TWO_ROUNDS, ROUNDS)


def asked_at_server(*answers: str) -> tuple[Outcome, list[str]]:
    """How the loop ends with these answers, and the last message of each request."""
    with ModelServer() as server, closing(OpenAIBackend(server.url, MODEL)) as backend:
        server.script = Script([*answers])
        model = ModelProposer(ROUNDS_TASK.problem, backend, ServerStyle(), Sampling())
        levels = levels_of('model', model, None, len(answers))
        outcome = plan_with_levels(levels, ROUNDS_TASK.verify, 60.0, read=ROUNDS_TASK.steps_of)
        return outcome, [request['messages'][-1]['content'] for request in server.requests]


@pytest.mark.parametrize(
    ('wrong', 'told'),
    [
        (FLAT, '(always (>= (charge) 5)): (>= (charge) 5) must hold in every state and does not, '
         'at 0.801 s ((charge) is 0)'),
        (LATE, '(within 2 (seen b)): (seen b) must hold within 2 s and does not, at 2 s, but only '
         'at 2.403 s'),
        (DIMMED, 'step 2 (look a) lasts until 1.3 s and needs all the time (lamp), which does not '
         'hold from 1 s on, after the start of step 3 (dim)'),
        (RIGHT_TIMED.replace('[0.4]', '[0.2]'), 'step 2 (look a) takes 0.2 s, and its duration '
         'must be 0.4 s'),
        (f'First (look a).\n```\n{RIGHT_TIMED}\n```', 'a sentence'),
    ],
)  # fmt: skip
def test_a_refusal_names_what_broke_with_its_values(wrong: str, told: str) -> None:
    outcome, asked = asked_at_server(wrong, RIGHT_TIMED)
    assert [attempt.verdict.ok for attempt in outcome.attempts] == [False, True]
    assert '0.000: (action object1 object2) [5.000]' in asked[0]
    assert told in asked[1]
    assert outcome.plan == outcome.attempts[1].plan


@pytest.mark.parametrize(
    'answer',
    [
        RIGHT,
        f'<think>(load) first?</think>\nHere it is:\n\n```pddl\n{RIGHT_TIMED}\n```\nIt takes 2 s.',
        '- `0.0: (load) [0.8]`\n- `0.81: (look a) [0.4]`,\n- `1.22: (look b) [0.4]`\n\nDone.',
    ],
)
def test_a_plan_is_read_with_the_times_that_a_chat_model_writes(answer: str) -> None:
    outcome, _ = asked_at_server(answer)
    [attempt] = outcome.attempts
    assert attempt.verdict.ok, attempt.verdict.reason
    assert [str(step) for step in attempt.plan.steps] == ['(load)', '(look a)', '(look b)']


def test_no_plan_is_taken_where_none_is_proved() -> None:
    outcome, _ = asked_at_server(FLAT, LATE, DIMMED)
    assert outcome.plan is None
    assert len(outcome.attempts) == 3

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plans are safe, shortest when they must be, no plan means none, and limits are kept."""

from __future__ import annotations

import itertools
import random
import time

import pytest
from hypothesis import given
from support import exhaustive, strategies
from support.strategies import make_plan, three_blocks

from safegen_ros.errors import Canceled, ErrorCode, SafegenError
from safegen_ros.pddl.ground import Grounder
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.search import in_process
from safegen_ros.search.best_first import GreedySearch
from safegen_ros.search.budget import IN_PROCESS, Budget, SearchLimit, Unsolvable
from safegen_ros.search.in_process import canonical_plan, shortened, solve_in_process
from safegen_ros.search.relaxation import Relaxation
from safegen_ros.search.task import SearchTask
from safegen_ros.verdict import Category
from safegen_ros.verify.monitors import MonitorSet
from safegen_ros.verify.validator import Validator, verify

BOTH = pytest.mark.parametrize('optimal', [True, False], ids=['optimal', 'fast'])


def _solve(problem: Problem, optimal: bool) -> Plan:
    solution = solve_in_process(problem, Budget(60.0, 500.0), optimal=optimal)
    assert (solution.route, solution.optimal) == (IN_PROCESS, optimal)
    assert verify(problem, solution.plan).ok
    return solution.plan


def _length(problem: Problem, optimal: bool) -> int | None:
    """Length of the plan that is found, None when it is proved that there is none."""
    try:
        return len(_solve(problem, optimal))
    except Unsolvable:
        return None


@strategies.examples(300)
@given(strategies.SEEDS)
def test_plans_are_found_where_there_are_some_and_as_short_as_can_be(seed: int) -> None:
    problem = exhaustive.drawn(seed)
    space = exhaustive.explore(problem)
    shortest, found = _length(problem, True), _length(problem, False)
    assert not space.complete or shortest == space.shortest
    assert (found is None) == (shortest is None)
    if shortest is None or found is None:
        assert seed % 2 == 0  # an odd one has a plan
    else:
        assert found >= shortest


@strategies.examples(150)
@given(strategies.SEEDS)
def test_of_the_shortest_plans_the_first_one_is_found(seed: int) -> None:
    problem = exhaustive.solvable_problem(seed)
    space = exhaustive.explore(problem)
    plan = canonical_plan(problem, Budget(60.0, 500.0)).plan
    assert verify(problem, plan).ok
    if space.complete:
        assert list(plan.steps) == _first_steps(problem, space)


def _first_steps(problem: Problem, space: exhaustive.Exploration) -> list[Step]:
    """Walks from state to state, each time by the first step that comes nearer to the end."""
    actions = sorted(Grounder(problem, space.table).all_actions(), key=lambda action: action.step)
    monitors = MonitorSet(problem, space.table)
    state, standing = next(iter(space.distances))
    steps: list[Step] = []
    while left := space.to_go[state, standing]:
        for action in actions:
            if action.applicable(state):
                after = action.apply(state)
                node = (after, monitors.progress(standing, after))
                if space.to_go.get(node) == left - 1:
                    break
        (state, standing) = node
        steps.append(action.step)
    return steps


KNOWN = [
    ('(on c b)', '(and)', 0),
    ('(on a c)', '(and)', 2),
    ('(on a c)', '(sometime-before (on a c) (on-table c))', 4),
    ('(on a b)', '(and)', 4),
    ('(on c b)', '(sometime (on-table c))', 4),
    ('(on b c)', '(always (not (on-table c)))', 4),
    ('(on c b)', '(sometime (on b a))', 6),
    ('(on a c)', '(sometime-after (on a c) (holding b))', 5),
    ('(on c b)', '(at end (on a c))', 2),
    ('(on c b)', '(within 2 (on-table c))', 4),
    ('(on a c)', '(hold-during 1 4 (not (on a c)))', 4),
    ('(on a c)', '(hold-during 1 5 (not (on a c)))', 6),
    ('(on c b)', '(hold-after 1 (holding a))', 1),
    ('(on a c)', '(hold-after 1 (holding a))', None),
    ('(on c b)', '(and (sometime (on-table c)) (always-within 3 (holding c) (on c b)))', 4),
    ('(on c b)', '(and (sometime (on-table c)) (always-within 2 (holding c) (on c b)))', None),
    ('(on a c)', '(and (within 1 (holding c)) (always-within 1 (holding c) (on c b)))', 4),
]


@pytest.mark.parametrize(('goal', 'constraints', 'length'), KNOWN)
def test_known_lengths(goal: str, constraints: str, length: int | None) -> None:
    problem = three_blocks(goal, constraints)
    space = exhaustive.explore(problem)
    assert space.complete
    assert space.shortest == length
    assert _length(problem, True) == length
    assert (_length(problem, False) is None) == (length is None)


@BOTH
@pytest.mark.parametrize(
    ('goal', 'constraints'),
    [
        ('(and (on a b) (on b a))', '(and)'),
        ('(and (holding a) (holding b))', '(and)'),
        ('(on a b)', '(always (on c b))'),
        ('(on a b)', '(always (not (on-table c)))'),
        ('(on c b)', '(and (sometime (on-table c)) (at-most-once (on c b)))'),
        ('(on a b)', '(and (sometime-before (holding c) (holding a)) (sometime-before (holding a) '
                     '(holding c)))'),
        ('(on a b)', '(within 3 (on a b))'),
        ('(or)', '(and)'),
    ],
)  # fmt: skip
def test_no_plan_is_proved(goal: str, constraints: str, optimal: bool) -> None:
    with pytest.raises(Unsolvable, match='small has no plan') as caught:
        _solve(three_blocks(goal, constraints), optimal)
    assert caught.value.code is ErrorCode.UNSOLVABLE


def test_an_initial_state_that_breaks_a_constraint_is_named() -> None:
    problem = three_blocks('(on c b)', '(always (holding a))')
    with pytest.raises(Unsolvable, match=r'its initial state breaks \(always \(holding a\)\)'):
        _solve(problem, False)
    assert Validator(problem).verify('').category is Category.SAFETY_VIOLATION


def test_a_deadline_far_away_does_not_make_the_space_endless() -> None:
    """Nodes that differ in time alone are told apart only where the earlier one can be worse."""
    goal = '(and (on a b) (on b a))'
    for constraint in ('(within 100000 (on b c))', '(hold-after 100000 (on b c))'):
        with pytest.raises(Unsolvable):
            _solve(three_blocks(goal.replace('(on b a)', '(clear b)'), constraint), False)


def test_thirty_blocks_in_order() -> None:
    """A plan of many steps, and constraints on the order of all of it."""
    names = [f'b{index}' for index in range(1, 31)]
    towers = ' '.join(f'(on {above} {below})' for above, below in itertools.pairwise(names))
    goal = ' '.join(f'(on {above} {below})' for below, above in itertools.pairwise(names))
    order = ' '.join(
        f'(sometime-before (on {third} {second}) (on {second} {first}))'
        for first, second, third in zip(names, names[1:], names[2:], strict=False)
    )
    text = f"""(define (problem tall) (:domain blocksworld) (:objects {' '.join(names)})
      (:init (arm-empty) (clear {names[0]}) (on-table {names[-1]}) {towers})
      (:goal (and {goal})) (:constraints (and {order})))"""
    plan = _solve(read_problem(text, strategies.BLOCKSWORLD), False)
    assert len(plan) >= 2 * (len(names) - 1)


def _hard() -> Problem:
    """A problem that takes a while: no tower of the goal is where it was."""
    return strategies.blocks(random.Random(0), 12, constraints=0)


@BOTH
def test_the_time_limit_is_kept(optimal: bool) -> None:
    with pytest.raises(SearchLimit, match='time limit of 0 s') as caught:
        solve_in_process(_hard(), Budget(0.0, 500.0), optimal=optimal)
    assert caught.value.code is ErrorCode.PLANNING_TIMEOUT


@pytest.mark.slow
@BOTH
def test_the_memory_limit_is_kept(optimal: bool) -> None:
    problem = _hard()
    grounded = Budget(60.0, 1.0)
    with pytest.raises(SearchLimit, match='memory limit of 1 MiB'):
        solve_in_process(problem, grounded, optimal=True)
    with pytest.raises(SearchLimit, match=r'memory limit of 0\.01 MiB'):
        solve_in_process(problem, Budget(60.0, 0.01), optimal=optimal)


@BOTH
def test_a_cancel_is_heard(optimal: bool) -> None:
    asked = []

    def cancelled() -> bool:
        asked.append(time.monotonic())
        return len(asked) > 3

    with pytest.raises(Canceled) as caught:
        solve_in_process(_endless(), Budget(60.0, 500.0, cancelled), optimal=optimal)
    assert caught.value.code is ErrorCode.PLANNING_CANCELED
    assert len(asked) == 4


def _endless() -> Problem:
    """A puzzle that is not solved in a minute, by either search."""
    domain = read_domain(
        """(define (domain lights) (:requirements :adl) (:predicates (lit ?x) (beside ?x ?y))
          (:action press :parameters (?x) :effect (and
            (when (lit ?x) (not (lit ?x))) (when (not (lit ?x)) (lit ?x))
            (forall (?y) (when (and (beside ?x ?y) (lit ?y)) (not (lit ?y))))
            (forall (?y) (when (and (beside ?x ?y) (not (lit ?y))) (lit ?y))))))"""
    )
    names = [f'n{row}-{column}' for row in range(6) for column in range(6)]
    beside = ' '.join(
        f'(beside n{row}-{column} n{row + down}-{column + right})'
        for row in range(6)
        for column in range(6)
        for down, right in ((0, 1), (0, -1), (1, 0), (-1, 0))
        if 0 <= row + down < 6 and 0 <= column + right < 6
    )
    lit = ' '.join(f'(lit {name})' for name in names)
    text = f"""(define (problem all-out) (:domain lights) (:objects {' '.join(names)})
      (:init {lit} {beside}) (:goal (forall (?x) (not (lit ?x)))))"""
    return read_problem(text, domain)


def test_a_plan_that_does_not_verify_is_never_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_process, 'shortened', lambda task, actions, budget: [])
    with pytest.raises(SafegenError, match='does not verify'):
        solve_in_process(three_blocks('(on a c)'), Budget(60.0, 500.0))


DETOUR = [
    ('unstack', 'c', 'b'), ('putdown', 'c'), ('pickup', 'b'), ('putdown', 'b'), ('pickup', 'c'),
    ('stack', 'c', 'b'), ('pickup', 'a'), ('stack', 'a', 'c'),
]  # fmt: skip


def _shortened(constraints: str) -> list[tuple[str, ...]]:
    budget = Budget(60.0, 500.0)
    task = SearchTask(three_blocks('(on a c)', constraints), budget)
    numbers = {action.step: number for number, action in enumerate(task.actions)}
    kept = shortened(task, [numbers[step] for step in make_plan(DETOUR).steps], budget)
    plan = Plan(tuple(task.actions[number].step for number in kept))
    assert verify(task.problem, plan).ok
    return [(step.action, *step.arguments) for step in plan.steps]


def test_detours_are_left_out() -> None:
    assert _shortened('(and)') == DETOUR[-2:]


def test_a_detour_that_a_constraint_asks_for_is_kept() -> None:
    assert _shortened('(sometime (holding b))') == [*DETOUR[:4], *DETOUR[-2:]]
    assert _shortened('(sometime (on-table c))') == [*DETOUR[:2], *DETOUR[-2:]]


@strategies.examples(60)
@given(strategies.SEEDS)
def test_what_is_left_is_a_plan(seed: int) -> None:
    problem = exhaustive.solvable_problem(seed)
    budget = Budget(60.0, 500.0)
    task = SearchTask(problem, budget)
    found = GreedySearch(task, Relaxation(task, budget), budget).plan()
    kept = shortened(task, found, budget)
    assert len(kept) <= len(found)
    assert verify(problem, Plan(tuple(task.actions[number].step for number in kept))).ok

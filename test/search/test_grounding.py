# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""No action that can be applied is missing, and what cannot be reached costs nothing."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from support import exhaustive, strategies
from support.strategies import three_blocks

from safegen_ros.errors import Canceled
from safegen_ros.pddl.bits import AtomTable, Condition, compile_test, condition
from safegen_ros.pddl.ground import Grounder
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.search.budget import Budget, SearchLimit, Unsolvable
from safegen_ros.search.heuristic import Landmarks, RelaxedPlanner
from safegen_ros.search.in_process import solve_in_process
from safegen_ros.search.relaxation import Consumables, CutFinder, Relaxation
from safegen_ros.search.rules import assume, follows, negation, regress
from safegen_ros.search.task import SearchTask, reachable_actions
from safegen_ros.tasks.pddl3.domains import builtin_domain


def _names(problem: Problem, budget: Budget | None = None) -> list[str]:
    found = reachable_actions(Grounder(problem), budget or Budget(60.0, 500.0))
    return [str(action.step) for action in found]


@strategies.examples(200)
@given(strategies.SEEDS)
def test_every_applicable_action_is_found(seed: int) -> None:
    problem = exhaustive.problem_of(seed)
    grounder = Grounder(problem)
    every = {action.step: action for action in grounder.all_actions()}
    found = {a.step: a for a in reachable_actions(grounder, Budget(60.0, 500.0))}
    assert len(found) == len(_names(problem))
    assert found.keys() <= every.keys()
    states = [state for state, _ in exhaustive.explore(problem, 500, grounder.table).distances]
    for step, action in every.items():
        if any(action.applicable(state) for state in states):
            assert found[step].apply(states[0]) == action.apply(states[0])


def _problem(action: str, objects: str, init: str) -> Problem:
    domain = read_domain(
        f"""(define (domain d) (:requirements :adl) (:types place thing)
          (:constants hub a c - place) (:predicates (at ?x) (link ?x ?y) (lit)) {action})"""
    )
    text = f'(define (problem p) (:domain d) (:objects {objects}) (:init {init}) (:goal (lit)))'
    return read_problem(text, domain)


MOVE = """(:action move :parameters (?x ?y - place) :precondition (and (at ?x) (link ?x ?y) {})
  :effect (and (at ?y) (not (at ?x))))"""
CHAIN = '(at a) (link a b) (link b c) (link d e) (link c hub) (link hub hub)'


@pytest.mark.parametrize(
    ('condition', 'actions'),
    [
        ('', ['(move hub hub)', '(move a b)', '(move b c)', '(move c hub)']),
        ('(not (= ?x ?y))', ['(move a b)', '(move b c)', '(move c hub)']),
        ('(= ?x a)', ['(move a b)']),
        ('(= ?x ?y)', []),
        ('(not (link hub ?y))', ['(move a b)', '(move b c)']),
        ('(link ?y hub)', []),
        ('(or (at c) (link ?y c))', ['(move a b)', '(move b c)', '(move c hub)', '(move hub hub)']),
        ('(not (at ?y))', ['(move a b)', '(move b c)', '(move c hub)']),
        ('(forall (?z - place) (imply (link ?y ?z) (at ?x)))', ['(move a b)', '(move b c)']),
        ('(lit)', []),
        ('(= hub a)', []),
    ],
)
def test_preconditions_are_joined(condition: str, actions: list[str]) -> None:
    found = _names(_problem(MOVE.format(condition), 'b d e - place', CHAIN))
    if 'forall' in condition:
        assert set(actions) <= set(found)
    else:
        assert sorted(found) == sorted(actions)


def test_types_of_parameters_are_kept() -> None:
    """A predicate over all objects does not let a thing in where a place is asked for."""
    init = '(at a) (at t) (link t b) (link a t)'
    problem = _problem(MOVE.format(''), 'b - place t - thing', init)
    assert _names(problem) == []


def test_repeated_variables_and_constants() -> None:
    action = """(:action ring :parameters (?x - place)
      :precondition (and (link ?x ?x) (link hub ?x)) :effect (lit))"""
    init = '(link a a) (link hub a) (link b b) (link hub c)'
    assert _names(_problem(action, 'b - place', init)) == ['(ring a)']


def test_actions_without_parameters_wait_for_their_atoms() -> None:
    domain = read_domain(
        """(define (domain steps) (:predicates (a) (b) (c) (d) (e))
          (:action third :precondition (and (a) (c)) :effect (d))
          (:action first :precondition (a) :effect (b))
          (:action second :precondition (and (b) (a)) :effect (c))
          (:action never :precondition (and (d) (e)) :effect (a))
          (:action other :precondition (d) :effect (not (e))))"""
    )
    problem = read_problem('(define (problem p) (:domain steps) (:init (a)) (:goal (d)))', domain)
    assert _names(problem) == ['(third)', '(first)', '(second)', '(other)']


def test_the_order_is_that_of_the_declarations() -> None:
    action = '(:action go :parameters (?x ?y - place) :effect (lit))'
    assert _names(_problem(action, 'b - place', '')) == [
        f'(go {x} {y})' for x in ('hub', 'a', 'c', 'b') for y in ('hub', 'a', 'c', 'b')
    ]


def test_hundreds_of_objects_are_no_hindrance() -> None:
    """All combinations would be 400 ** 4; the links allow one for each object."""
    action = """(:action pass :parameters (?w ?x ?y ?z - place)
      :precondition (and (at ?w) (link ?w ?x) (link ?x ?y) (link ?y ?z))
      :effect (and (at ?z) (at ?x)))"""
    names = [f'p{index}' for index in range(400)]
    links = ' '.join(f'(link {a} {b})' for a, b in itertools.pairwise(names))
    problem = _problem(action, f'{" ".join(names)} - place', f'(at p0) {links}')
    assert len(_names(problem, Budget(20.0, 500.0))) == 397


def _wide() -> Problem:
    action = '(:action go :parameters (?v ?w ?x ?y - place) :effect (lit))'
    return _problem(action, f'{" ".join(f"p{index}" for index in range(100))} - place', '')


def test_limits_are_kept_while_grounding() -> None:
    with pytest.raises(SearchLimit, match='time limit') as caught:
        _names(_wide(), Budget(0.1, 10_000.0))
    assert caught.value.message.startswith('the search ended')
    with pytest.raises(SearchLimit, match='memory limit'):
        _names(_wide(), Budget(60.0, 1.0))
    with pytest.raises(Canceled):
        _names(_wide(), Budget(60.0, 10_000.0, lambda: True))


def _relaxed(problem: Problem) -> tuple[SearchTask, Relaxation, Budget]:
    budget = Budget(60.0, 500.0)
    task = SearchTask(problem, budget)
    return task, Relaxation(task, budget), budget


@strategies.examples(100)
@given(strategies.SEEDS)
def test_estimates_in_every_situation(seed: int) -> None:
    """Cuts never count too many actions, and no situation with a plan is given up."""
    try:
        task, relaxation, budget = _relaxed(exhaustive.drawn(seed))
    except Unsolvable:
        return
    space = exhaustive.explore(task.problem, 300, task.table)
    supplies = Consumables(task, relaxation)
    planner = RelaxedPlanner(relaxation, supplies, budget)
    finder = CutFinder(relaxation, supplies, budget)
    nodes = list(space.distances)
    random.Random(seed).shuffle(nodes)
    for state, standing in nodes:
        facts = relaxation.facts(state, standing)
        estimate, cuts = planner.estimate(facts), finder.find(facts, ())
        assert (estimate is None) == (cuts is None)
        to_go = space.to_go.get((state, standing))
        if to_go is not None:
            assert estimate is not None
            assert cuts is not None
            assert len(cuts) <= to_go
        if estimate is not None:
            applicable = [a.applicable(state) for a in task.actions]
            assert all(applicable[n] for n in range(len(applicable)) if estimate.helpful >> n & 1)


@strategies.examples(100)
@given(strategies.SEEDS)
def test_every_plan_meets_every_landmark(seed: int) -> None:
    try:
        task, relaxation, budget = _relaxed(exhaustive.drawn(seed))
    except Unsolvable:
        return
    facts = relaxation.facts(task.init, task.start)
    landmarks = Landmarks(relaxation, facts, budget)
    space = exhaustive.explore(task.problem, 1_000, task.table)
    if space.shortest is None:
        return
    state, standing = task.init, task.start
    accepted = landmarks.accept(0, facts)
    # Of a disjunction, each part may be reached at no cost; a window is no landmark.
    told = {each.operator for each in task.problem.constraints}
    sure = task.problem.domain.name == 'blocksworld' and 'hold-during' not in told
    for left in range(space.shortest, 0, -1):
        if sure:
            assert landmarks.count(accepted, relaxation.facts(state, standing)) > 0
        state, standing = next(
            node
            for number, action in enumerate(task.actions)
            if action.applicable(state)
            and space.to_go.get(node := task.follow(number, state, standing)) == left - 1
        )
        accepted = landmarks.accept(accepted, relaxation.facts(state, standing))
    assert landmarks.count(accepted, relaxation.facts(state, standing)) == 0


def test_actions_that_always_break_a_constraint_are_impossible() -> None:
    task, relaxation, _ = _relaxed(three_blocks('(on a b)', '(always (not (on-table c)))'))
    steps = [str(task.actions[number].step) for number in relaxation.impossible]
    assert steps == ['(putdown c)']


@pytest.mark.parametrize(
    ('constraints', 'length'),
    [
        ('(and)', 2),
        ('(sometime (on b a))', 5),
        ('(sometime-before (on a c) (on b a))', 5),
        ('(always (not (and (holding a) (on c b))))', 3),
        ('(at end (holding b))', 4),
        ('(within 9 (on b a))', 8),  # three of its actions have to come in time
        ('(sometime-after (on a c) (holding b))', 4),
        ('(always-within 3 (on a c) (holding b))', 4),
    ],
)
def test_relaxed_plans_see_what_a_constraint_asks_for(constraints: str, length: int) -> None:
    task, relaxation, budget = _relaxed(three_blocks('(on a c)', constraints))
    facts = relaxation.facts(task.init, task.start)
    estimate = RelaxedPlanner(relaxation, Consumables(task, relaxation), budget).estimate(facts)
    assert estimate is not None
    assert estimate.length == length


@pytest.mark.parametrize(
    'constraints',
    [
        '(sometime-before (on a c) (and (on a c) (clear b)))',
        '(and (sometime-before (on a c) (holding b)) (sometime-before (holding b) (on a c)))',
        '(always (not (holding a)))',
        '(and (sometime-after (on a c) (on c a)) (always (not (on c a))))',
    ],
)
def test_some_contradictions_are_seen_without_search(constraints: str) -> None:
    task, relaxation, budget = _relaxed(three_blocks('(on a c)', constraints))
    facts = relaxation.facts(task.init, task.start)
    assert RelaxedPlanner(relaxation, Consumables(task, relaxation), budget).estimate(facts) is None
    assert CutFinder(relaxation, Consumables(task, relaxation), budget).find(facts, ()) is None


def _drawn_condition(seed: int) -> tuple[random.Random, Problem, AtomTable, Condition]:
    rng = random.Random(seed)
    problem = strategies.toggles(rng)
    table = AtomTable(problem)
    formula = strategies.formula(rng, problem.domain, problem.objects)
    return rng, problem, table, condition(formula, table)


@strategies.examples(150)
@given(strategies.SEEDS)
def test_regression_tells_before_an_action_what_holds_after_it(seed: int) -> None:
    rng, problem, table, formula = _drawn_condition(seed)
    after = compile_test(formula)
    for action in Grounder(problem, table).all_actions()[:20]:
        before = compile_test(regress(formula, action))
        for _ in range(10):
            state = rng.getrandbits(len(table))
            assert before(state) == after(action.apply(state))


@strategies.examples(150)
@given(strategies.SEEDS)
def test_negations_and_assumptions(seed: int) -> None:
    rng, _, table, formula = _drawn_condition(seed)
    holds, fails = compile_test(formula), compile_test(negation(formula))
    for _ in range(20):
        state, known = rng.getrandbits(len(table) + 1), rng.getrandbits(len(table) + 1)
        assert holds(state) != fails(state)
        true, false = state & known, ~state & known
        simpler = assume(formula, true, false)
        assert not simpler.mask & known
        assert compile_test(simpler)(state) == holds(state)
        assert holds(state) or not follows(formula, true, false)


def _spanners(where: list[int], nuts: int, length: int) -> Problem:
    """A walk of some length, with a spanner at each of the given places."""
    places = ['shed', *(f'p{index}' for index in range(1, length)), 'gate']
    lines = [f'(link {a} {b})' for a, b in itertools.pairwise(places)]
    for number, place in enumerate(where):
        lines.append(f'(at s{number} {places[place]}) (useable s{number})')
    for number in range(nuts):
        lines.append(f'(at n{number} gate) (loose n{number})')
    spanners = ' '.join(f's{number}' for number in range(len(where)))
    names = [f'n{number}' for number in range(nuts)]
    text = f"""(define (problem tight) (:domain spanner)
      (:objects bob - man {spanners} - spanner {' '.join(names)} - nut
        {' '.join(places)} - location)
      (:init (at bob shed) {' '.join(lines)})
      (:goal (and {' '.join(f'(tightened {name})' for name in names)})))"""
    return read_problem(text, builtin_domain('spanner'))


def test_a_long_walk_takes_no_search() -> None:
    """A spanner that was passed is never fetched again, which relaxed plans do not mind."""
    problem = _spanners(list(range(1, 21)), 20, 21)
    solution = solve_in_process(problem, Budget(60.0, 500.0))
    assert len(solution.plan) == 21 + 20 + 20
    assert solution.expanded < 300


@pytest.mark.parametrize('optimal', [True, False])
def test_too_few_are_seen_without_search(optimal: bool) -> None:
    with pytest.raises(Unsolvable):
        solve_in_process(_spanners([1] * 9, 10, 3), Budget(5.0, 500.0), optimal=optimal)


def test_a_plan_with_just_enough_is_found() -> None:
    problem = _spanners([1, 2, 2], 3, 3)
    for optimal in (True, False):
        assert len(solve_in_process(problem, Budget(60.0, 500.0), optimal=optimal).plan) == 9


@strategies.examples(40)
@given(strategies.SEEDS)
def test_no_problem_with_enough_is_given_up(seed: int) -> None:
    rng = random.Random(seed)
    length = rng.randint(2, 4)
    where = [rng.randrange(length) for _ in range(rng.randint(1, 3))]
    problem = _spanners(where, rng.randint(1, 3), length)
    shortest = exhaustive.explore(problem).shortest
    for optimal in (True, False):
        try:
            found = len(solve_in_process(problem, Budget(60.0, 500.0), optimal=optimal).plan)
        except Unsolvable:
            assert shortest is None
        else:
            assert shortest is not None
            assert found == shortest if optimal else found >= shortest


def test_what_can_be_made_again_is_no_supply() -> None:
    task = SearchTask(_spanners([1], 1, 2), Budget(60.0, 500.0))
    assert Consumables(task, Relaxation(task, Budget(60.0, 500.0)))
    text = """(define (problem again) (:domain blocksworld) (:objects a b)
      (:init (arm-empty) (on-table a) (on-table b) (clear a) (clear b)) (:goal (on a b)))"""
    task = SearchTask(read_problem(text, builtin_domain('blocksworld')), Budget(60.0, 500.0))
    assert not Consumables(task, Relaxation(task, Budget(60.0, 500.0)))

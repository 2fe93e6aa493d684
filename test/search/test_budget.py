# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A budget says what ran out, and asks the caller now and then."""

from __future__ import annotations

import random
import re
from collections import deque
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from support import strategies
from support.finite_domain import Simulator, Translator, positions

from safegen_ros.errors import Canceled, ErrorCode, SafegenError
from safegen_ros.pddl.model import And, Problem
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.search import budget as module
from safegen_ros.search import sas_builder as draft
from safegen_ros.search.budget import Budget, SearchLimit, Unsolvable
from safegen_ros.search.nnf import (
    FALSE,
    TRUE,
    NnfFormula,
    NnfFormulas,
    NnfJunction,
    NnfLiteral,
    conjuncts,
    holds,
    literals,
    variables,
)
from safegen_ros.search.regression import compile_constraints
from safegen_ros.search.sas import (
    Axiom,
    SasEffect,
    SasOperator,
    SasTask,
    SasVariable,
    read_sas,
    relevant_part,
    write_sas,
)
from safegen_ros.verify.validator import Validator


class _Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> _Clock:
    found = _Clock()
    monkeypatch.setattr(module, 'time', found)
    return found


def test_time_runs_out(clock: _Clock) -> None:
    budget = Budget(2.0, 100.0)
    clock.now += 1.5
    budget.tick()
    assert (budget.seconds, budget.left_s) == (1.5, 0.5)
    clock.now += 0.5
    with pytest.raises(SearchLimit, match='time limit of 2 s') as caught:
        budget.tick()
    assert caught.value.code is ErrorCode.PLANNING_TIMEOUT


@pytest.mark.parametrize(
    ('limit_s', 'told'),
    [(30.0, '30'), (17.9997, '18'), (0.001, '0.001'), (2.5, '2.5'), (3600.0, '3600'), (-0.1, '0')],
)
def test_the_limit_is_told_as_a_person_would(clock: _Clock, limit_s: float, told: str) -> None:
    budget = Budget(limit_s, 1.0)
    clock.now += limit_s + 1.0
    with pytest.raises(SearchLimit, match=rf'time limit of {re.escape(told)} s:'):
        budget.tick()


def test_a_part_ends_by_itself_and_asks_the_same_caller(clock: _Clock) -> None:
    stop = False
    whole = Budget(10.0, 7.0, lambda: stop)
    part = whole.part(1.0)
    assert part.memory_limit_mb == 7.0
    clock.now += 1.0
    whole.tick()
    with pytest.raises(SearchLimit):
        part.tick()
    stop = True
    with pytest.raises(Canceled):
        whole.part(1.0).tick()


def test_the_caller_is_asked_a_hundred_times_a_second(clock: _Clock) -> None:
    asked = []
    budget = Budget(60.0, 100.0, lambda: bool(asked.append(clock.now)))
    for _ in range(10_000):
        budget.tick()
        clock.now += 0.0001
    assert 90 <= len(asked) <= 101


def test_a_cancel_is_heard_at_the_first_tick() -> None:
    with pytest.raises(Canceled) as caught:
        Budget(60.0, 100.0, lambda: True).tick()
    assert caught.value.code is ErrorCode.PLANNING_CANCELED


def test_memory_runs_out() -> None:
    budget = Budget(60.0, 1.0)
    assert budget.room_for(1 << 10) == 1 << 10
    budget.use(1 << 19)
    assert budget.room_for(1 << 10) == 1 << 9
    with pytest.raises(SearchLimit, match='memory limit of 1 MiB') as caught:
        budget.use(1 << 20)
    assert caught.value.code is ErrorCode.PLANNING_TIMEOUT
    assert budget.room_for(1) == 0


LAMP = SasTask(
    (
        SasVariable(('Atom lit(l1)', 'NegatedAtom lit(l1)'), 1),
        SasVariable(('Atom at(r, a)', 'Atom at(r, b)', '<none of those>'), 0),
        SasVariable(('Atom axiom()', 'NegatedAtom axiom()'), 1, layer=0),
    ),
    (((0, 0), (1, 2)),),
    {2: 0},
    (
        SasOperator('press l1', {1: 1, 0: 1}, (SasEffect((), 0, 0),)),
        SasOperator('go a b', {1: 0}, (SasEffect((), 1, 1), SasEffect(((0, 0),), 0, 1))),
    ),
    (Axiom(((0, 0), (1, 1)), 2, 0),),
)


def test_a_task_is_read_as_it_is_written() -> None:
    text = write_sas(LAMP)
    assert read_sas(text) == LAMP
    assert LAMP.atoms() == {
        ('lit', 'l1'): (0, 0), ('at', 'r', 'a'): (1, 0), ('at', 'r', 'b'): (1, 1),
        ('axiom',): (2, 0),
    }  # fmt: skip


def test_a_text_that_is_cut_off_is_refused() -> None:
    lines = write_sas(LAMP).splitlines()
    for count in range(len(lines)):
        with pytest.raises(SafegenError, match='cannot be read'):
            read_sas('\n'.join(lines[:count]))


@pytest.mark.parametrize(
    ('old', 'new'),
    [
        ('begin_version\n3', 'begin_version\n4'),
        ('begin_goal\n1\n2 0', 'begin_goal\n1\n2 x'),
        ('end_operator', 'end_operators'),
        ('begin_goal\n1', 'begin_goal\n2'),
    ],
)
def test_another_format_is_refused(old: str, new: str) -> None:
    text = write_sas(LAMP)
    assert old in text
    with pytest.raises(SafegenError, match='requirements/'):
        read_sas(text.replace(old, new))


def _shortest(task: SasTask) -> int | None:
    """Number of operators of a shortest plan."""
    simulator = Simulator(task)
    names = sorted({operator.name for operator in task.operators})
    depths = {simulator.initial: 0}
    queue = deque(depths)
    while queue and len(depths) < 3_000:
        state = queue.popleft()
        if simulator.solved(state):
            return depths[state]
        for name in names:
            after = simulator.apply(state, name)
            if after is not None and after not in depths:
                depths[after] = depths[state] + 1
                queue.append(after)
    return None


@strategies.examples(60)
@given(strategies.SEEDS)
def test_the_relevant_part_has_the_same_shortest_plans(seed: int) -> None:
    rng = random.Random(seed)
    problem = strategies.toggles(rng) if seed % 3 else strategies.blocks(rng, 2)
    task = Translator(problem, [] if seed % 3 else positions(problem)).task
    try:
        compiled = compile_constraints(problem, task)
    except Unsolvable:
        return
    part = relevant_part(compiled)
    assert read_sas(write_sas(part)) == part
    assert len(part.variables) <= len(compiled.variables)
    assert relevant_part(part) == part
    assert _shortest(part) == _shortest(compiled)


def test_what_has_no_bearing_on_the_goal_goes() -> None:
    extra = SasOperator('whistle', {1: 0}, (SasEffect((), 3, 1),))
    whistled = SasVariable(('NegatedAtom whistled()', 'Atom whistled()'), 0)
    larger = SasTask(
        (*LAMP.variables, whistled), LAMP.mutexes, LAMP.goal, (*LAMP.operators, extra), LAMP.rules
    )
    assert relevant_part(larger) == LAMP


SIZES = (2, 3, 4, 2)
STATES = list(product(*map(range, SIZES)))


def _formula(rng: random.Random, depth: int) -> NnfFormula:
    """A random formula that nothing has simplified."""
    if depth == 0 or rng.random() < 0.2:
        variable = rng.randrange(len(SIZES))
        return NnfLiteral(variable, rng.randrange(SIZES[variable]), rng.random() < 0.6)
    parts = tuple(_formula(rng, depth - 1) for _ in range(rng.randint(0, 4)))
    return NnfJunction(rng.random() < 0.5, parts)


def _simplified(logic: NnfFormulas, formula: NnfFormula) -> NnfFormula:
    if isinstance(formula, NnfLiteral):
        return logic.literal(*formula)
    return logic.join((_simplified(logic, part) for part in formula.parts), formula.conjunctive)


def _truth(formula: NnfFormula) -> list[bool]:
    return [holds(formula, state) for state in STATES]


@strategies.examples(300)
@given(strategies.SEEDS)
def test_nothing_changes_the_meaning(seed: int) -> None:
    rng, logic = random.Random(seed), NnfFormulas(SIZES)
    raw = _formula(rng, 3)
    formula = _simplified(logic, raw)
    truth = _truth(formula)
    assert truth == _truth(raw)
    assert _truth(logic.negate(formula)) == [not value for value in truth]
    if not any(truth) and not isinstance(formula, NnfJunction):
        raise AssertionError('a literal is false somewhere and true somewhere')
    facts = {variable: rng.randrange(SIZES[variable]) for variable in rng.sample(range(4), 2)}
    restricted = logic.restrict(formula, facts)
    assert variables(restricted).isdisjoint(facts)
    for state in STATES:
        if all(state[variable] == value for variable, value in facts.items()):
            assert holds(restricted, state) == holds(formula, state)
    cubes = logic.cubes(formula, 1000)
    assert cubes is not None
    assert _truth(NnfJunction(False, tuple(NnfJunction(True, cube) for cube in cubes))) == truth
    few = logic.cubes(formula, 3)
    assert few is None or few == cubes
    assert few is not None or len(cubes) > 3 or isinstance(formula, NnfJunction)
    assert _truth(logic.join(conjuncts(formula), True)) == truth
    assert set(literals(formula)) <= set(conjuncts(formula))


def test_literals_simplify_each_other() -> None:
    logic = NnfFormulas(SIZES)
    one, other = logic.literal(1, 0), logic.literal(1, 1)
    assert logic.both(one, other) == FALSE
    assert logic.either(logic.negate(one), logic.negate(other)) == TRUE
    assert logic.both(one, logic.negate(other)) == one
    assert logic.both(logic.negate(one), logic.negate(other)) == logic.literal(1, 2)
    assert logic.either(one, other) == logic.literal(1, 2, positive=False)
    assert logic.literal(0, 1, positive=False) == logic.literal(0, 0)
    clause = logic.either(one, logic.literal(2, 3))
    assert logic.both(clause, other) == logic.both(other, logic.literal(2, 3))
    assert logic.both(clause, clause) == clause


STEPS = 7


def _random_problem(seed: int) -> tuple[Problem, SasTask]:
    rng = random.Random(seed)
    if seed % 2:
        problem, groups = strategies.toggles(rng, derived=seed % 4 == 1), []
    else:
        problem = strategies.blocks(rng, rng.randint(2, 3))
        groups = positions(problem)
    if rng.random() < 0.5:  # a goal that is seldom reached hides what constraints say
        problem = replace(problem, goal=And(()))
    return problem, Translator(problem, groups).task


LAMPS = read_domain(
    """(define (domain lamps) (:types place)
      (:constants p1 p2 p3 - place) (:predicates (lit) (red) (at ?p - place))
      (:action light :parameters () :effect (lit))
      (:action quench :parameters () :precondition (lit) :effect (and (not (lit)) (red)))
      (:action switch :parameters ()
        :effect (and (when (lit) (not (lit))) (when (not (lit)) (lit)) (not (red))))
      (:action slide :parameters () :precondition (or (lit) (and (red) (at p1)))
        :effect (when (red) (and (at p3) (not (at p1)) (not (at p2)))))
      (:action jump :parameters (?p - place)
        :effect (and (at ?p) (forall (?q - place) (when (not (= ?p ?q)) (not (at ?q)))))))"""
)
FORMULAS = (
    '(lit)', '(not (lit))', '(at p1)', '(not (at p2))', '(or (lit) (at p2))',
    '(and (not (lit)) (at p2))', '(imply (lit) (and (red) (not (at p1))))',
    '(or (and (lit) (red)) (at p3) (and (not (red)) (at p1)))', '(and)', '(or)',
)  # fmt: skip
DEPTH = 3


def _lamps(rng: random.Random, constraint: str) -> Problem:
    init = (
        f'(at {rng.choice(["p1", "p2"])}) {rng.choice(["(lit)", ""])} {rng.choice(["(red)", ""])}'
    )
    goal = rng.choice(['(and)', '(and)', rng.choice(FORMULAS)])
    text = f"""(define (problem lamps-1) (:domain lamps) (:objects)
      (:init {init}) (:goal {goal}) (:constraints {constraint}))"""
    return read_problem(text, LAMPS)


def _compare(problem: Problem, compiled: SasTask | None, plain: Simulator) -> int:
    """Judges every plan up to a depth by both; how many were accepted."""
    validator = Validator(problem)
    judge = Simulator(compiled) if compiled else None
    names = sorted({operator.name for operator in plain.task.operators})
    waiting = [(Plan(), plain.initial, judge.initial if judge else None)]
    accepted = 0
    while waiting:
        plan, state, judged = waiting.pop()
        wanted = validator.verify(plan).ok
        assert wanted == (judge is not None and judged is not None and judge.solved(judged)), plan
        accepted += wanted
        for name in names if len(plan) < DEPTH else ():
            after = plain.apply(state, name)
            then = None if judge is None or judged is None else judge.apply(judged, name)
            assert after is not None or then is None
            if after is not None:
                action, *arguments = name.split()
                step = Step(action, tuple(arguments))
                waiting.append((Plan((*plan.steps, step)), after, then))
    return accepted


@pytest.mark.slow
@pytest.mark.parametrize('limits', [(8, 64), (1, 1)], ids=['written out', 'by flags and axioms'])
@pytest.mark.parametrize('operator', strategies.OPERATORS)
def test_every_short_plan_is_judged_alike(
    operator: str, limits: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draft, 'MAX_COPIES', limits[0])
    monkeypatch.setattr(draft, 'MAX_CUBES', limits[1])
    rng = random.Random(operator)
    numbers, count = strategies.OPERATORS[operator]
    accepted = 0
    for _ in range(8):
        drawn = [rng.randint(0, DEPTH) for _ in range(numbers)]
        if operator == 'hold-during':  # an empty window is refused
            drawn = [min(drawn), max(*drawn, min(drawn) + 1)]
        times = ' '.join(map(str, drawn))
        formulas = ' '.join(rng.choice(FORMULAS) for _ in range(count))
        problem = _lamps(rng, f'({operator} {times} {formulas})')
        plain = Translator(problem, [[('at', place) for place in problem.objects]]).task
        try:
            compiled = compile_constraints(problem, plain)
        except Unsolvable:
            compiled = None
        accepted += _compare(problem, compiled, Simulator(plain))
    assert accepted > 10


def _walk(rng: random.Random, problem: Problem, task: SasTask, compiled: SasTask | None) -> int:
    """A random plan, each prefix of it judged by both; how many prefixes were accepted."""
    validator = Validator(problem)
    plain = Simulator(task)
    names = sorted({operator.name for operator in task.operators})
    state, steps, accepted = plain.initial, [], 0
    judge = Simulator(compiled) if compiled else None
    judged = judge.initial if judge else None
    for _ in range(STEPS + 1):
        wanted = validator.verify(Plan(tuple(steps))).ok
        assert wanted == (judged is not None and judge is not None and judge.solved(judged))
        accepted += wanted
        possible = [(name, after) for name in names if (after := plain.apply(state, name))]
        if not possible:
            break
        name, state = rng.choice(possible)
        action, *arguments = name.split()
        steps.append(Step(action, tuple(arguments)))
        if judge is not None and judged is not None:
            judged = judge.apply(judged, name)
    return accepted


@pytest.mark.slow
@strategies.examples(300)
@given(strategies.SEEDS)
def test_the_compiled_task_accepts_what_the_validator_accepts(seed: int) -> None:
    problem, task = _random_problem(seed)
    try:
        compiled = compile_constraints(problem, task)
    except Unsolvable:
        compiled = None
    rng = random.Random(seed)
    for _ in range(5):
        _walk(rng, problem, task, compiled)

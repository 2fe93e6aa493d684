# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plans that depend on numbers: what is proved, and what a verdict says."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given
from support import strategies

from safegen_ros.errors import PddlError
from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.deciding import without_wishes
from safegen_ros.pddl.facts import fact_of, told_value, value_fact, value_of
from safegen_ros.pddl.ground import Grounder
from safegen_ros.pddl.model import (
    Problem,
)
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.pddl.writer import domain_text, problem_text, value_text
from safegen_ros.verdict import Category, Verdict
from safegen_ros.verify import validator as validator_module
from safegen_ros.verify.admissible import Shield
from safegen_ros.verify.cost import rank
from safegen_ros.verify.run_monitor import RunMonitor, remaining_problem
from safegen_ros.verify.validator import Validator, verify

_ACTIONS = {
    'inc': '(increase (x) 1)',
    'tenth': '(increase (x) 0.1)',
    'set-p': '(p)',
    'set-u': '(assign (u) 1)',
    'third': '(assign (x) (/ 1 3))',
    'ratio': '(assign (x) (/ 1 (y)))',
    'down': '(scale-down (x) (y))',
    'square': '(scale-up (x) (x))',
    'swap': '(and (assign (x) (y)) (assign (y) (x)))',
    'two': '(and (increase (x) 3) (decrease (x) 4))',
    'clash': '(and (assign (x) 3) (assign (x) 3))',
    'mixed': '(and (scale-up (x) 3) (increase (x) 4))',
    'maybe': '(and (when (> (x) 3) (assign (x) 1)) (when (> (x) 5) (assign (x) 2)))',
    'reads-u': '(increase (x) (u))',
    'grows-u': '(increase (u) 1)',
    'if-u': '(when (> (u) 0) (p))',
    'all': '(forall (?b - bot) (when (>= (level ?b) 2) (decrease (level ?b) 2)))',
    'drive': '(decrease (level r1) 10)',
}


def _problem(goal: str = '(and)', constraints: str = '', **conditions: str) -> Problem:
    actions = ''.join(
        f'(:action {name} :parameters () :precondition {conditions.get(name, "(and)")} '
        f':effect {effect})\n'
        for name, effect in _ACTIONS.items()
    )
    domain = read_domain(
        '(define (domain d) (:types bot) (:constants r1 - bot) (:predicates (p))\n'
        f'(:functions (x) (y) (u) (level ?b - bot))\n{actions})'
    )
    text = (
        '(define (problem one) (:domain d) (:objects r2 - bot)\n'
        '(:init (= (x) 5) (= (y) 0) (= (level r1) 15) (= (level r2) 1))\n'
        f'(:goal {goal}) (:constraints (and {constraints})))'
    )
    problem = read_problem(text, domain)
    assert read_problem(problem_text(problem), read_domain(domain_text(domain))) == problem
    return problem


def _verdict(plan: str, goal: str = '(and)', constraints: str = '', **conditions: str) -> Verdict:
    return verify(_problem(goal, constraints, **conditions), plan)


RIGHT = [
    ('(inc) (inc)', '(= (x) 7)'),
    (' '.join(['(tenth)'] * 10), '(= (x) 6)'),  # which floats miss
    ('(third)', '(= (* 3 (x)) 1)'),
    ('(swap)', '(and (= (x) 0) (= (y) 5))'),
    ('(two)', '(= (x) 4)'),
    ('(maybe)', '(= (x) 1)'),
    ('(all)', '(and (= (level r1) 13) (= (level r2) 1))'),
    ('(set-u) (reads-u) (grows-u)', '(and (= (x) 6) (= (u) 2))'),
    ('', '(and (> 3 2) (not (= 1 2)) (<= (x) 5) (>= (x) 5) (not (< (x) 5)) (not (> (x) 5)))'),
    ('', '(forall (?b - bot) (>= (level ?b) 1))'),
    ('', '(exists (?b - bot) (> (level ?b) 14))'),
    ('', '(or (p) (= (- (- (x) 1) 1) 3))'),
    ('', '(= (+ (x) (y) 1) (* 2 (- 3) -1))'),
]


@pytest.mark.parametrize(('plan', 'goal'), RIGHT)
def test_plans_that_reach_their_numbers(plan: str, goal: str) -> None:
    assert _verdict(plan, goal).category is Category.SUCCESS
    assert _verdict(plan, f'(not {goal})').category is Category.GOAL_NOT_SATISFIED
    assert _verdict(plan, '(and)', f'(at end {goal})').category is Category.SUCCESS


REFUSED = {
    '(clash)': 'assign and assign of (x) contradict each other',
    '(mixed)': 'scale-up and increase of (x) contradict each other',
    '(inc) (maybe)': 'assign and assign of (x) contradict each other',
    '(reads-u)': '(u) has no value',
    '(grows-u)': '(u) has no value',
    '(if-u)': '(u) has no value',
    '(ratio)': '(/ 1 (y)) divides by zero',
    '(down)': '(x) is divided by zero',
    ' '.join(['(square)'] * 12): 'a number gets too long',
}


@pytest.mark.parametrize('plan', REFUSED)
def test_an_action_that_cannot_change_a_number_does_not_apply(plan: str) -> None:
    verdict = _verdict(plan, '(and (<= (x) 9) (<= (u) 9))', '(always (<= (y) 9))')
    assert verdict.category is Category.PRECONDITION_VIOLATION
    assert REFUSED[plan] in verdict.reason
    assert verdict.unsatisfied == ()


def test_a_condition_on_a_number_that_is_missing_fails_and_so_does_its_negation() -> None:
    for goal in ('(> (u) 1)', '(not (> (u) 1))', '(imply (> (u) 1) (p))'):
        verdict = _verdict('', goal)
        assert verdict.category is Category.GOAL_NOT_SATISFIED
        assert '((u) has no value)' in verdict.reason
    assert _verdict('', '(or (> (u) 1) (= (x) 5))').ok


CONSTRAINTS = {
    '(always (>= (x) 5))': 0,
    '(always (< (x) 7))': 2,
    '(at-most-once (= (x) 6))': 0,
    '(sometime-before (>= (x) 6) (p))': 1,
    '(sometime-after (= (x) 6) (p))': 3,
    '(within 1 (>= (x) 7))': 2,
    '(hold-during 1 3 (<= (x) 6))': 2,
    # A number that is missing must not pass for one that is all right.
    '(always (>= (u) 0))': -1,
    '(always (not (>= (u) 0)))': -1,
    '(sometime-before (>= (u) 0) (p))': -1,
    '(sometime-after (>= (u) 0) (p))': 3,
    '(at-most-once (>= (u) 0))': -1,
    '(always-within 1 (>= (u) 0) (p))': 2,
}


@pytest.mark.parametrize('constraint', CONSTRAINTS)
def test_constraints_over_numbers(constraint: str) -> None:
    verdict = _verdict('(inc) (inc) (inc)', constraints=constraint)
    broken_in = max(CONSTRAINTS[constraint], 0)
    assert verdict.category is (
        Category.SAFETY_VIOLATION if CONSTRAINTS[constraint] else Category.SUCCESS
    )
    if not verdict.ok:
        assert verdict.failing_state == broken_in


def test_a_verdict_tells_the_numbers() -> None:
    problem = _problem('(= (level r1) 0)', '(always (<= (x) 6))', drive='(>= (level r1) 10)')
    told = {
        '(drive) (drive)': 'step 2 (drive) needs (>= (level r1) 10), which does not hold after '
        'step 1 (drive) ((level r1) is 5)',
        '(drive)': 'without (= (level r1) 0) ((level r1) is 5)',
        '(inc) (inc) (inc)': '(<= (x) 6) must hold in every state and does not ((x) is 7)',
        '(third) (inc) (tenth)': 'the plan ends after step 3 (tenth)',
    }
    for plan, words in told.items():
        assert words in verify(problem, plan).reason


def test_a_validator_does_not_keep_all_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validator_module, '_MOST_VALUES', 20)
    validator = Validator(_problem('(= (x) 35)'))
    for _ in range(3):
        assert validator.verify('(inc)' * 30).ok
        assert len(validator._table.numbers or ()) <= 32
    assert not validator.verify('(inc)' * 29).ok


def test_states_carry_values_to_and_fro() -> None:
    problem = _problem('(and (= (x) 0) (= (u) 0) (= (y) 0) (= (level r1) 0))')
    for fold in (True, False):
        table = AtomTable(problem, fold_static=fold)
        state = table.encode(problem.init)
        assert table.decode(state) == problem.init
        for step in parse_plan('(third) (inc) (set-u) (all)').steps:
            state = Grounder(problem, table).action(step).apply(state)
            assert table.encode(table.decode(state)) == state
        assert value_fact(('x',), Fraction(4, 3)) in table.decode(state)
        assert table.encode(frozenset()) == 0


@pytest.mark.parametrize(
    ('value', 'text'),
    [
        (0, '0'), (-7, '-7'), (Fraction(1, 3), '1/3'), (Fraction(-1, 8), '-0.125'),
        (Fraction(123, 10), '12.3'), (Fraction(-22, 7), '-22/7'),
        (Fraction(1, 10**20), f'0.{"0" * 19}1'),
    ],
)  # fmt: skip
def test_values_are_written_exactly(value: int | Fraction, text: str) -> None:
    assert value_text(value) == text
    assert value_of(text) == value
    assert told_value(fact_of(f'(=  (Level  R1) {text})')) == (('level', 'r1'), value)


@pytest.mark.parametrize('text', ['', '1/0', '1e9', 'nan', '--1', '1/2/3', '9' * 3000])
def test_what_is_no_value_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r'not a number|by zero'):
        value_of(text)


@strategies.examples(80)
@given(strategies.SEEDS)
def test_text_shield_rest_and_observation_say_the_same(seed: int) -> None:
    rng = random.Random(seed)
    problem = strategies.toggles(rng, derived=bool(seed % 2), numbers=True)
    read = read_problem(problem_text(problem), read_domain(domain_text(problem.domain)))
    assert read == problem
    plan = strategies.plan(rng, problem)
    verdict, shield = verify(problem, plan), Shield(problem)
    situations = [shield.start]
    for step in plan.steps:
        after = shield.after(situations[-1], step)
        if after is None:
            assert not verdict.ok
            return
        situations.append(after)
    assert verdict.ok is shield.finished(situations[-1])
    if not verdict.ok:
        return
    monitor = RunMonitor(problem, plan)
    for done, (state, standing) in enumerate(situations):
        atoms = shield.table.decode(state)
        rest = remaining_problem(problem, shield.monitors, standing, atoms, done)
        assert verify(rest, Plan(plan.steps[done:])).ok
        monitor.look(atoms)
    monitor.finish()


DOMAIN = """(define (domain switches) (:requirements :preferences) (:types box)
  (:predicates (p ?x - box) (g))
  (:action on :parameters (?x - box)
    :precondition (and (preference dark (not (g))) (forall (?y - box) (preference lit (p ?y))))
    :effect (p ?x))
  (:action glow :parameters () :precondition () :effect (g)))"""


def _wishes_problem(goal: str = '(p a)', constraints: str = '(and)', metric: str = '') -> Problem:
    text = f"""(define (problem s) (:domain switches) (:objects a b - box) (:init)
      (:goal {goal}) (:constraints {constraints}) {metric})"""
    return read_problem(text, read_domain(DOMAIN))


def _broken(problem: Problem, plan: str) -> dict[str, int]:
    return {each.name: each.count for each in verify(problem, plan).wishes}


@pytest.mark.parametrize(
    ('goal', 'constraints', 'plan', 'broken'),
    [
        ('(p a)', '(and)', '(on a)', {'lit': 2}),
        ('(p a)', '(and)', '(glow) (on a) (on b)', {'lit': 3, 'dark': 2}),
        ('(and (p a) (preference w (p b)))', '(and)', '(on a)', {'lit': 2, 'w': 1}),
        ('(and (p a) (forall (?x - box) (preference w (not (p ?x)))))', '(and)', '(on a)',
         {'lit': 2, 'w': 1}),
        ('(p a)', '(forall (?x - box) (preference w (sometime (p ?x))))', '(on a)',
         {'lit': 2, 'w': 1}),
        ('(p a)', '(preference w (forall (?x - box) (sometime (p ?x))))', '(on a)',
         {'lit': 2, 'w': 1}),
        ('(p a)', '(preference (always (g)))', '(on a)', {'lit': 2, '': 1}),
    ],
)  # fmt: skip
def test_each_kind_is_counted(
    goal: str, constraints: str, plan: str, broken: dict[str, int]
) -> None:
    assert _broken(_wishes_problem(goal, constraints), plan) == broken


def test_the_metric_weighs_them() -> None:
    metric = '(:metric minimize (+ (* 2.5 (is-violated lit)) (is-violated dark)))'
    problem = _wishes_problem(metric=metric)
    verdict = verify(problem, '(on a)')
    assert verdict.category is Category.SUCCESS
    assert verdict.reason.endswith('wishes broken: lit (2 times, 5 in the metric)')
    assert verify(problem, '').wishes == ()  # of a plan that fails nothing is counted
    ranking = rank(problem, parse_plan('(on a)'))
    assert ranking is not None
    assert ranking.value == 5


COSTS = """(define (domain d) (:requirements :preferences :numeric-fluents) (:predicates (g))
  (:functions (spent) (price))
  (:action buy :parameters () :precondition () :effect (and (g) (increase (spent) (price)))))"""


@pytest.mark.parametrize(
    ('values', 'texts'),
    [
        ('(= (spent) 0) (= (price) 3)', ()),
        ('(= (spent) 0) (= (price) 7)', ('(always (<= (spent) 5))',)),
        ('(= (spent) 0)', ('(price) has no value',)),  # then no wish is known to be met
    ],
)
def test_a_wish_may_be_about_a_number_that_decides_nothing(
    values: str, texts: tuple[str, ...]
) -> None:
    text = f"""(define (problem p) (:domain d) (:init {values}) (:goal (g))
      (:constraints (preference thrift (always (<= (spent) 5)))))"""
    verdict = verify(read_problem(text, read_domain(COSTS)), '(buy)')
    assert verdict.ok
    assert [each.texts for each in verdict.wishes] == ([texts] if texts else [])


LAMPS = """(define (domain lamps) (:requirements :preferences :durative-actions)
  (:predicates (lit) (g)) (:functions (spent) (price))
  (:durative-action shine :parameters () :duration (= ?duration 4) :condition (and)
    :effect (and (at start (lit)) (at end (not (lit))) (at end (increase (spent) (price)))))
  (:action go :parameters () :precondition (preference seen (lit)) :effect (g)))"""


@pytest.mark.parametrize(
    ('plan', 'literal', 'broken'),
    [
        ('0: (shine) [4] 1: (go) [0]', '', {}),
        ('0: (shine) [4] 4.001: (go) [0]', '', {'seen': 1}),
        ('(shine) (go)', '', {'seen': 1}),
        ('1: (go) [0] 1.001: (shine) [4] 2: (go) [0]', '', {'seen': 1}),
        ('2: (go) [0]', '(at 1 (lit))', {}),
        ('2: (go) [0]', '(at 3 (lit))', {'seen': 1, 'soon': 1}),
        ('0: (shine) [4] 1: (shine) [4] 2: (go) [0]', '', {'thrift': 1}),
        ('3: (shine) [4] 4: (go) [0]', '', {'soon': 1}),
    ],
)
def test_wishes_are_counted_over_time(plan: str, literal: str, broken: dict[str, int]) -> None:
    text = f"""(define (problem p) (:domain lamps) (:init (= (spent) 0) (= (price) 3) {literal})
      (:goal (g)) (:constraints (and (preference thrift (always (<= (spent) 5)))
        (preference soon (within 2 (lit))))))"""
    found = verify(read_problem(text, read_domain(LAMPS)), plan)
    assert found.ok, found.reason
    assert {each.name: each.count for each in found.wishes} == broken


WISHES_REFUSED = [
    ('(or (p a) (preference w (p b)))', '(and)', '', 'a preference in this place'),
    ('(p a)', '(always (preference w (p a)))', '', 'a preference in this place'),
    ('(p a)', '(preference w x (p a))', '', 'a name and a body, found 3 parts'),
    (
        '(p a)',
        '(and)',
        '(:metric minimize (is-violated lid))',
        "'lid' is not the name",
    ),
]


@pytest.mark.parametrize(('goal', 'constraints', 'metric', 'message'), WISHES_REFUSED)
def test_what_is_no_preference_is_refused(
    goal: str, constraints: str, metric: str, message: str
) -> None:
    with pytest.raises(PddlError) as caught:
        _wishes_problem(goal, constraints, metric)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    'constraints',
    [
        '(preference w (sometime (g)))',
        '(and (always (g)) (preference w (sometime (g))))',
        '(and (always (g)) (and (preference w (sometime (g)))) (sometime (g)))',
        '(forall (?x - box) (preference w (sometime (p ?x))))',
        '(forall (?x - box) (and (preference w (sometime (p ?x))) (at-most-once (p ?x))))',
    ],
)
def test_preferences_of_a_domain_are_written_and_count_once(constraints: str) -> None:
    domain = read_domain(f'{DOMAIN[:-1]}(:constraints {constraints}))')
    assert read_domain(domain_text(domain, constraints=True)) == domain
    text = '(define (problem s) (:domain switches) (:objects a b - box) (:init) (:goal (g)))'
    problem = read_problem(text, domain)
    assert read_problem(problem_text(problem), domain) == problem


@strategies.examples(60)
@given(strategies.SEEDS)
def test_preferences_are_written_as_they_were_read(seed: int) -> None:
    problem = strategies.wishing(random.Random(seed))
    domain = read_domain(domain_text(problem.domain))
    assert read_problem(problem_text(problem), domain) == problem
    assert verify(problem, Plan()).category == verify(without_wishes(problem), Plan()).category

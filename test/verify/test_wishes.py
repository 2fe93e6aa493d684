# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Preferences are counted as VAL counts them, and never change what is proved."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from support import strategies, temporal

from safegen_ros.errors import PddlError
from safegen_ros.pddl.deciding import without_wishes
from safegen_ros.pddl.model import (
    AtomFormula,
    Constraint,
    Formula,
    Preference,
    Problem,
    SoftRule,
    with_subformulas,
)
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.pddl.writer import domain_text, problem_text
from safegen_ros.verdict import Category
from safegen_ros.verify import val, val_question
from safegen_ros.verify.cost import rank
from safegen_ros.verify.val_faults import unanswerable
from safegen_ros.verify.validator import verify

DOMAIN = """(define (domain switches) (:requirements :preferences) (:types box)
  (:predicates (p ?x - box) (g))
  (:action on :parameters (?x - box)
    :precondition (and (preference dark (not (g))) (forall (?y - box) (preference lit (p ?y))))
    :effect (p ?x))
  (:action glow :parameters () :precondition () :effect (g)))"""


def _problem(goal: str = '(p a)', constraints: str = '(and)', metric: str = '') -> Problem:
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
    assert _broken(_problem(goal, constraints), plan) == broken


def test_the_metric_weighs_them() -> None:
    metric = '(:metric minimize (+ (* 2.5 (is-violated lit)) (is-violated dark)))'
    problem = _problem(metric=metric)
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


REFUSED = [
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


@pytest.mark.parametrize(('goal', 'constraints', 'metric', 'message'), REFUSED)
def test_what_is_no_preference_is_refused(
    goal: str, constraints: str, metric: str, message: str
) -> None:
    with pytest.raises(PddlError) as caught:
        _problem(goal, constraints, metric)
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


def _question(problem: Problem, plan: Plan) -> tuple[Problem, Plan]:
    """What VAL is asked, preferences and metric included."""
    asked, steps = val_question.question(problem, plan)
    objects = problem.objects_by_type()
    derived = problem.domain.derived_predicates()

    def written(formula: Formula) -> Formula:
        return apart(val_question._formula(formula))

    def apart(formula: Formula) -> Formula:
        """As in constraints, of copies of derived predicates."""
        if isinstance(formula, AtomFormula):
            name = formula.predicate
            return replace(formula, predicate=f'c{name[1:]}' if name[2:] in derived else name)
        return with_subformulas(formula, apart)

    def counted(own: Constraint) -> list[Constraint]:
        return [own] if problem.domain.durative else val_question._without_clock(own, len(plan))

    preferences = tuple(
        Preference(
            each.name,
            tuple(
                replace(c, arguments=tuple(map(written, c.arguments)))
                for own in each.constraints
                for c in counted(own)
            ),
        )
        for each in problem.preferences
    )
    actions = {
        f'a-{name}': replace(
            asked.domain.actions[f'a-{name}'],
            wishes=tuple(
                SoftRule(
                    rule.name,
                    val_question._variables(rule.variables),
                    Constraint('at end', tuple(map(val_question._formula, rule.formulas()))),
                )
                for rule in action.wishes
                if all(objects[kind] for _, kind in rule.variables)  # VAL crashes over none
            ),
        )
        for name, action in problem.domain.actions.items()
    }
    domain = replace(asked.domain, actions=actions)
    return replace(asked, domain=domain, preferences=preferences, metric=problem.metric), steps


def _counted_by_val(problem: Problem, plan: Plan) -> tuple[Counter[str], Decimal] | None:
    """How often VAL finds each preference broken, and its value of the metric."""
    asked, steps = _question(problem, plan)
    files = {
        val.DOMAIN: domain_text(asked.domain), val.PROBLEM: problem_text(asked),
        val.PLAN: f'{steps}\n',
    }  # fmt: skip
    clock = val._FINE_CLOCK if problem.domain.durative else ()
    output, trouble = val._run(val.validate_binary(), files, clock)
    assert not trouble, (trouble, files)
    value = re.search(r'^Final value: (\S+)', output, re.MULTILINE)
    if value is None:
        return None
    counts = re.findall(r'^\t(w\d): (\d+)$', output, re.MULTILINE)
    return Counter({name: int(count) for name, count in counts}), Decimal(value[1])


@pytest.mark.slow
@strategies.examples(100)
@given(strategies.SEEDS)
def test_val_counts_the_same(seed: int) -> None:
    rng = random.Random(seed)
    problem = strategies.wishing(rng)
    for _ in range(2):
        plan = strategies.plan(rng, problem)
        verdict = verify(problem, plan)
        theirs = _counted_by_val(problem, plan)
        assert (theirs is not None) == verdict.ok
        if theirs is None:
            continue
        ours = Counter({each.name: each.count for each in verdict.wishes})
        ranking = rank(problem, plan)
        assert ranking is not None
        assert (ours, ranking.value) == theirs, (domain_text(problem.domain), problem_text(problem))


@pytest.mark.slow
@strategies.examples(100)
@given(strategies.SEEDS)
def test_val_counts_the_same_over_time(seed: int) -> None:
    assert differs(random.Random(seed)) == ''


def differs(rng: random.Random) -> str:
    """What VAL and we disagree about in a random task over time; empty where nothing is."""
    problem = temporal.wishing(rng)
    plan = temporal.plan(rng, problem)
    verdict = verify(problem, plan)
    theirs = None if unanswerable(problem, plan) else _counted_by_val(problem, plan)
    if theirs is None or not verdict.ok:
        return ''
    ours = Counter({each.name: each.count for each in verdict.wishes})
    ranking = rank(problem, plan)
    if ranking is not None and (ours, ranking.value) == theirs:
        return ''
    return f'{ours} {ranking} {theirs} {domain_text(problem.domain)}{problem_text(problem)}{plan}'

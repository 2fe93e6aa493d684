# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Durative actions are read, written, and taken as single steps where they follow each other."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import strategies, temporal

from safegen_ros.errors import ErrorCode, PddlError, SafegenError
from safegen_ros.pddl.facts import is_value
from safegen_ros.pddl.ground import Grounder
from safegen_ros.pddl.model import (
    DURATION,
    And,
    Arithmetic,
    AtomFormula,
    Effect,
    Forall,
    Moment,
    Not,
)
from safegen_ros.pddl.moments import is_moment, moment_of, plan_of_steps, steps_of_plan
from safegen_ros.pddl.plan import Plan, Step, parse_plan
from safegen_ros.pddl.reader import read_domain
from safegen_ros.pddl.writer import domain_text, expression_text, formula_text
from safegen_ros.verify.timed_actions import TimedActions


def _domain(
    duration: str = '(= ?duration 5)',
    condition: str = '()',
    effect: str = '(at end (at ?r ?b))',
) -> str:
    return (
        '(define (domain patrol) (:requirements :durative-actions :typing) (:types robot place)\n'
        '(:predicates (at ?r - robot ?p - place) (busy ?r - robot))\n'
        '(:functions (distance ?a ?b - place))\n'
        f'(:durative-action move :parameters (?r - robot ?a ?b - place)\n:duration {duration}\n'
        f':condition {condition}\n:effect {effect}))'
    )


FREE = Not(AtomFormula('busy', ('?r',)))
AT_A, AT_B = AtomFormula('at', ('?r', '?a')), AtomFormula('at', ('?r', '?b'))
HERE, THERE = Effect((), And(()), (), (AT_A,)), Effect((), And(()), (AT_B,), ())


def test_what_is_read() -> None:
    domain = read_domain(
        _domain(
            '(and (>= ?duration (/ (distance ?a ?b) 2)) (at start (<= ?duration 9)))',
            '(and (at start (at ?r ?a)) (over all (not (busy ?r))) '
            '(forall (?q - place) (at end (not (at ?r ?q)))))',
            '(and (at start (not (at ?r ?a))) (at end (at ?r ?b)))',
        )
    )
    move = domain.durative['move']
    half = Arithmetic('/', (AtomFormula('distance', ('?a', '?b')), Decimal(2)))
    assert move.duration == (('>=', half), ('<=', Decimal(9)))
    nowhere = Forall((('?q', 'place'),), Not(AtomFormula('at', ('?r', '?q'))))
    assert move.conditions == (
        (Moment.AT_START, AT_A), (Moment.OVER_ALL, FREE), (Moment.AT_END, nowhere),
    )  # fmt: skip
    assert move.effects == ((Moment.AT_START, HERE), (Moment.AT_END, THERE))
    assert domain.actions['move'].effects == (HERE, THERE)
    assert read_domain(domain_text(domain)) == domain


@pytest.mark.parametrize(
    'effect',
    [
        '(at end (when (busy ?r) (at ?r ?b)))',
        '(when (at end (busy ?r)) (at end (at ?r ?b)))',
        '(when (and (at end (busy ?r))) (and (at end (at ?r ?b))))',
    ],
)
def test_a_condition_of_an_effect_stands_inside_or_around_the_moment(effect: str) -> None:
    ((moment, found),) = read_domain(_domain(effect=effect)).durative['move'].effects
    assert moment is Moment.AT_END
    assert isinstance(found, Effect)
    assert found.condition == And((AtomFormula('busy', ('?r',)),))


@pytest.mark.parametrize(
    ('condition', 'asked', 'flat', 'written'),
    [
        ('(at start (busy ?r))', (), '(busy ?r)', '(at start (busy ?r))'),
        ('(and (at end (at ?r ?b)) (at start (busy ?r)))', (AT_B,),
         '(and (busy ?r) (at ?r ?b))', '(and (at start (busy ?r)) (at end (at ?r ?b)))'),
        ('(at start (and (busy ?r) (not (at ?r ?b))))', (),
         '(and (busy ?r) (not (at ?r ?b)))', '(at start (and (busy ?r) (not (at ?r ?b))))'),
        ('(at start (exists (?r2 - robot) (busy ?r2)))', (),
         '(exists (?r2 - robot) (busy ?r2))', '(at start (exists (?r2 - robot) (busy ?r2)))'),
        ('(over all (at ?r ?b))', (), '(at ?r ?b)', '(over all (at ?r ?b))'),
    ],
)  # fmt: skip
def test_an_effect_at_end_may_remember_an_earlier_condition(
    condition: str, asked: tuple[AtomFormula, ...], flat: str, written: str
) -> None:
    domain = read_domain(
        _domain(effect=f'(and (at start (not (busy ?r))) (when {condition} (at end (at ?r ?a))))')
    )
    move = domain.durative['move']
    ((_, kept),) = move.remembered
    (_, _), (moment, effect) = move.effects
    assert isinstance(effect, Effect)
    assert (moment, effect.condition) == (Moment.AT_END, And((*kept.add, *asked)))
    assert formula_text(domain.actions['move'].effects[-1].condition, typed=True) in (
        flat, f'(and {flat})',
    )  # fmt: skip
    text = domain_text(domain)
    assert f'(when {written} (at end (at ?r ?a)))' in text
    assert 'remembers' not in text
    assert read_domain(text) == domain


def test_an_effect_may_depend_on_the_duration() -> None:
    text = _domain(effect='(at end (increase (total-cost) (* 2 ?duration)))')
    domain = read_domain(text)
    ((_, cost),) = domain.durative['move'].effects
    assert cost.value == Arithmetic('*', (Decimal(2), DURATION))  # type: ignore[union-attr]
    assert expression_text(domain.actions['move'].numeric[0].value) == '(* 2 5)'


@pytest.mark.parametrize(
    ('text', 'what'),
    [
        (_domain(effect='(increase (fuel) (* #t 1))'), 'a continuous effect (#t)'),
        (_domain(effect='(over all (at ?r ?b))'), 'an effect over all'),
        (_domain(effect='(when (over all (busy ?r)) (at start (at ?r ?b)))'),
         'an effect at start under a condition over all'),
        (_domain(effect='(when (over all (> (distance ?a ?b) 3)) (at end (at ?r ?b)))'),
         'an effect under a condition over all on numbers'),
        (_domain(effect='(when (at end (busy ?r)) (at start (at ?r ?b)))'),
         'an effect at start under a condition at end'),
        (_domain('(<= ?duration 5)', effect='(at end (increase (total-cost) ?duration))'),
         'an effect of move that depends on ?duration, which has no single value,'),
        (_domain(condition='(over all (> (distance ?b ?a) 3))',
                 effect='(at start (increase (distance ?a ?b) 1))'),
         'an action of which the end of move depends on distance, which its start changes for '
         'other objects or under a condition'),
        (_domain(condition='(over all (>= (distance ?a ?b) 3))',
                 effect=f'(and {"(at start (decrease (distance ?a ?b) 2)) " * 100})'),
         'an action of which start and end nest deeper than 100 lists together'),
        (_domain(condition='(preference p (at start (at ?r ?a)))'),
         'a preference in the condition of a durative action'),
        (_domain(condition=f'(at end (or {"(busy ?r) " * 600}))',
                 effect=f'(at start (and {"(busy ?r) " * 600}))'),
         'an action of which start and end are too large together'),
    ],
)  # fmt: skip
def test_what_is_not_supported(text: str, what: str) -> None:
    with pytest.raises(PddlError) as caught:
        read_domain(text)
    assert [(e.code, e.what) for e in caught.value.errors] == [
        (ErrorCode.UNSUPPORTED_FEATURE, f'{what} is not supported')
    ]


def test_numbers_that_change_at_both_ends_are_one_step() -> None:
    text = _domain(
        condition='(over all (>= (distance ?a ?b) 3))',
        effect='(and (at start (decrease (distance ?a ?b) 2)) (at end (scale-up (distance ?a ?b) '
        '?duration)))',
    )
    move = read_domain(text).actions['move']
    assert formula_text(move.precondition) == '(>= (- (distance ?a ?b) 2) 3)'
    (change,) = move.numeric
    assert change.operator == 'assign'
    assert expression_text(change.value) == '(* (- (distance ?a ?b) 2) 5)'


@pytest.mark.parametrize(
    ('text', 'what'),
    [
        (_domain(condition='(at ?r ?a)'), "'at' where a moment must stand, in the condition"),
        (_domain(condition='(over-all (at ?r ?a))'), "did you mean 'over all'?"),
        (_domain(effect='(at ?r ?b)'), "'at' where a moment must stand, in the effect"),
        (_domain('(= ?x 5)'), 'expected a bound of the duration'),
        (_domain('(< ?duration 5)'), 'expected a bound of the duration'),
        (_domain('(= ?duration ?duration)'), '?duration elsewhere than in :duration and'),
        (_domain(condition='(at start (< ?duration 9))'), '?duration elsewhere than in'),
        (_domain().replace(':duration (= ?duration 5)\n', ''), 'has no duration'),
        (_domain().replace(':condition', ':precondition'), "':precondition' is out of place"),
        (_domain().replace('?a ?b - place)\n', '?duration ?b - place)\n'), 'cannot name a param'),
    ],
)  # fmt: skip
def test_what_is_refused(text: str, what: str) -> None:
    with pytest.raises(PddlError) as caught:
        read_domain(text)
    assert what in caught.value.errors[0].message


@strategies.examples(200)
@given(strategies.SEEDS)
def test_a_domain_reads_back(seed: int) -> None:
    domain = temporal.problem(random.Random(seed)).domain
    assert read_domain(domain_text(domain)) == domain


@strategies.examples(300)
@given(strategies.SEEDS)
def test_a_step_does_what_start_and_end_do(seed: int) -> None:
    """Where nothing happens beside an action, its step is the action."""
    rng = random.Random(seed)
    problem = temporal.problem(rng, numbers=rng.random() < 0.5)
    domain = problem.domain
    timed = TimedActions(problem)
    grounder = Grounder(problem, timed.table)
    steps = [a.step for a in grounder.all_actions() if a.step.action in domain.durative]
    for step in rng.sample(steps, min(len(steps), 5)):
        ((_, duration),) = domain.durative[step.action].duration
        assert isinstance(duration, Decimal)
        (start, end), during = timed.happenings(step, duration), timed.during(step)
        atoms = {strategies.ground_atom(rng, domain, problem.objects) for _ in range(4)}
        before = timed.table.encode({*atoms, *filter(is_value, problem.init)})
        flat = grounder.action(step)
        between = start.apply(before) if start.applicable(before) else None
        if between is None or not (during.applicable(between) and end.applicable(between)):
            assert not flat.applicable(before)
            continue
        assert flat.applicable(before)
        assert flat.apply(before) == end.apply(between)


OVERLAP = '0: (move r1 a b) [5]\n0.5: (close d) [0]\n2.250: (move r2 b c) [2.75]'

times = st.integers(0, 10**7).map(lambda n: Decimal(n) / 1000)
actions = st.builds(
    Step,
    st.sampled_from(('move', 'at', 'start', 'end', 'do')),
    st.lists(st.sampled_from(('a', 'b-1', 'at', 'end')), max_size=3).map(tuple),
)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Plans with times, of steps that differ."""
    steps = draw(st.lists(actions, unique=True, max_size=6))
    pairs = sorted(draw(st.tuples(times, times)) for _ in steps)
    return Plan(tuple(steps), tuple(pairs))


def _timed(plan: Plan) -> list[tuple[Decimal, Decimal, Step]]:
    pairs = zip(plan.steps, plan.times, strict=True)
    return sorted((start, duration, step) for step, (start, duration) in pairs)


@given(plans())
def test_a_plan_is_the_same_after_it_was_handed_on(plan: Plan) -> None:
    steps = steps_of_plan(plan)
    back = plan_of_steps(steps)
    if any(map(is_moment, steps)):
        assert _timed(back) == _timed(plan)
        assert steps_of_plan(back) == steps
        assert [moment.time for step in steps if (moment := moment_of(step))] == sorted(
            {start for start, _ in plan.times}
            | {start + duration for start, duration in plan.times}
        )
    else:
        assert back == Plan(plan.steps)


def test_what_is_written_is_what_happens_at_each_moment() -> None:
    steps = steps_of_plan(parse_plan(OVERLAP, timed=True))
    assert [' '.join(map(str, step)) for step in steps] == [
        '(at 0) (start move r1 a b [5])',
        '(at 0.5) (do close d)',
        '(at 2.25) (start move r2 b c [2.75])',
        '(at 5) (end move r1 a b [5]) (end move r2 b c [2.75])',
    ]


@pytest.mark.parametrize(
    ('text', 'moments'),
    [
        ('(a) (b)', False),
        ('0: (a) [5]\n5.001: (b) [5]', False),
        ('0: (a) [5]\n4.999: (b) [5]', True),
        ('0: (a) [5]\n9: (b) [5]', True),  # a wait that may be what the plan is about
        ('3: (a) [5]', True),
    ],
)
def test_only_a_plan_that_needs_its_times_has_moments(text: str, moments: bool) -> None:
    steps = steps_of_plan(parse_plan(text, timed=True))
    assert all(is_moment(step) is moments for step in steps)


A = Step('at', ('0',))
B = Step('at', ('5',))


@pytest.mark.parametrize(
    ('steps', 'reason'),
    [
        ([(Step('a'), Step('b'))], 'step 1 has 2 actions'),
        ([()], 'step 1 has 0 actions'),
        ([(A, Step('start', ('a', '[5]')))], r'\(a\) is started and never ended'),
        ([(A, Step('end', ('a', '[5]')))], r'step 1 ends \(a\), which does not run then'),
        ([(A, Step('start', ('a', '[5]'))), (B, Step('end', ('a', '[4]')))], 'step 2 ends'),
        ([(A, Step('start', ('a', '[5]')), Step('start', ('a', '[5]')))], r'starts \(a\) twice'),
        ([(B, Step('do', ('a',))), (A, Step('do', ('b',)))], 'step 2 is not a later moment'),
        ([(A, Step('do', ('a',))), (A, Step('do', ('b',)))], 'step 2 is not a later moment'),
        ([(A, Step('do', ('a',))), (Step('b'),)], 'step 2 is not a later moment'),
        ([(A, Step('start', ('a',)))], 'step 1 is not a later moment'),
        ([(A, Step('start', ('[5]',)))], 'step 1 is not a later moment'),
        ([(A, Step('start', ('a', '[0]')))], 'step 1 is not a later moment'),
        ([(A, Step('start', ('a', '[-1]')))], 'step 1 is not a later moment'),
        ([(A, Step('begin', ('a', '[5]')))], 'step 1 is not a later moment'),
        ([(A, Step('do'))], 'step 1 is not a later moment'),
        ([(Step('at', ('nan',)), Step('do', ('a',)))], 'step 1 is not a later moment'),
        ([(Step('at', ('1e3',)), Step('do', ('a',)))], 'step 1 is not a later moment'),
    ],
)
def test_steps_that_are_no_plan_are_refused(steps: list[tuple[Step, ...]], reason: str) -> None:
    with pytest.raises(SafegenError, match=reason) as caught:
        plan_of_steps(steps)
    assert caught.value.code is ErrorCode.PLAN_REFUSED

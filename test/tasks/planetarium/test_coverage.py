# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A model that leaves out a part of a request is caught where a rule can find the part."""

from __future__ import annotations

import pytest
from support.scripted_answers import ScriptedAnswers

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.llm.backend import Sampling
from safegen_ros.pddl.reader import read_problem
from safegen_ros.tasks.pddl3.domains import builtin_domain
from safegen_ros.tasks.planetarium.nl_to_pddl import Translation, translate
from safegen_ros.tasks.planetarium.request import Request

DOMAIN = builtin_domain('blocksworld')
_WORLD = """(define (problem cell) (:domain blocksworld)
  (:objects b1 b2 b3 b4)
  (:init (arm-empty) (on-table b1) (on-table b2) (on-table b3) (on-table b4)
         (clear b1) (clear b2) (clear b3) (clear b4))
  (:goal {})
  (:constraints (and {})))"""


def _ask(text: str, goal: str, constraints: str = '', start: bool = True) -> ScriptedAnswers:
    world = read_problem(_WORLD.format('(clear b1)', ''), DOMAIN) if start else None
    model = ScriptedAnswers(*[_WORLD.format(goal, constraints)] * 2)
    found = translate(Request(text, DOMAIN, '', world), model, Sampling(), attempts=2, readings=1)
    assert isinstance(found, Translation)
    return model


ON = '(on b1 b2)'


@pytest.mark.parametrize(
    ('text', 'goal', 'constraints', 'said'),
    [
        ('Put b1 on b2 and b3 on b4.', ON, '', "'b3'"),
        ('Put b1 on b2, then put B3 on the table', ON, '', "'b3'"),
        ('Put b1 on b2. Keep all the blocks clear.', ON, '', "'b3'"),
        ('Put b1 on b2 without ever touching b2.', ON, '', 'without'),
        ('Put b1 on b2 but keep your hands off b2, never lift it.', ON, '', 'never lift it'),
        ('Put b1 on b2. b1 should not go via the pile.', ON, '', 'should not'),
        ("Put b1 on b2 and don't you go near b2.", ON, '', "don't"),
        ('Put b3 on b4 before b1 goes on b2.', '(and (on b1 b2) (on b3 b4))', '', 'before'),
        ('Put b1 on b2 after b3 lands on b4.', '(and (on b1 b2) (on b3 b4))', '', 'after'),
        # A constraint, but about something else, or one for two.
        ('Put b1 on b2 until b2 got warm.', ON, '(always (not (holding b3)))', 'until'),
        ('Put b1 on b2. Never grab b2, please. Never grab b3, please.', '(and (on b1 b2))',
         '(always (not (and (holding b3) (holding b2))))', 'b3'),
        ('Put b1 on b2 within 9 steps.', ON, '', '9 steps'),
        ('Put b1 on b2 within 9 steps.', ON, '(within 4 (on b1 b2))', '9 steps'),
        ('Put three of them on b2, b1 first.', ON, '', 'three'),
    ],
)  # fmt: skip
def test_an_answer_that_leaves_out_a_part_never_becomes_a_task(
    text: str, goal: str, constraints: str, said: str
) -> None:
    with pytest.raises(SafegenError) as caught:
        _ask(text, goal, constraints)
    assert caught.value.code is ErrorCode.TRANSLATION_FAILED
    assert said.lower() in caught.value.message.lower()


@pytest.mark.parametrize(
    ('text', 'goal', 'constraints'),
    [
        ('Put b1 on b2.', ON, ''),
        ('put block b1 on block b2 please', ON, ''),
        ('Put b1 on b2. Never lift it up there, b2.', ON, '(always (not (holding b2)))'),
        ('Put b1 on b2. b3 must not end up on the table.', '(and (on b1 b2) (not (on-table b3)))',
         ''),
        ('Put b1 on b2 within 9 steps.', ON, '(within 9 (on b1 b2))'),
        ('Stack all the blocks: b1 on b2.', '(and (on b1 b2) (on b2 b3) (on b3 b4))', ''),
        ('Lay every block down.', '(forall (?b) (on-table ?b))', ''),
        ('Put b3 on b4 before b1 goes on b2.', '(and (on b1 b2) (on b3 b4))',
         '(sometime-before (on b1 b2) (on b3 b4))'),
    ],
)  # fmt: skip
def test_an_answer_that_has_every_part_is_taken(text: str, goal: str, constraints: str) -> None:
    assert len(_ask(text, goal, constraints).asked) == 1


def test_a_part_of_a_description_is_missed_too() -> None:
    with pytest.raises(SafegenError, match="'b7'"):
        _ask('There are b1 to b4 and b7; put b1 on b2.', ON, start=False)
    with pytest.raises(SafegenError, match='never'):
        _ask('Put b1 on b2, never lift b2.', ON, start=False)


def test_the_model_is_told_what_it_left_out() -> None:
    model = ScriptedAnswers(*[_WORLD.format(ON, '')] * 2)
    request = Request('Put b1 on b2, and b3 on b4', DOMAIN, '',
                      read_problem(_WORLD.format(ON, ''), DOMAIN))  # fmt: skip
    with pytest.raises(SafegenError):
        translate(request, model, Sampling(), attempts=2, readings=1)
    assert "'b3'" in model.asked[1][0][-1]['content']

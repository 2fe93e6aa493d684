# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The words of the small translator say what a problem says, and no answer of it raises."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import SEEDS

from safegen_ros.datasets.planetarium.composed import composed
from safegen_ros.datasets.planetarium.layouts import space_of, tasks_of
from safegen_ros.datasets.planetarium.made_up import made_up
from safegen_ros.datasets.planetarium.pairs import Pair, kits, make_pairs
from safegen_ros.datasets.planetarium.texts import made_up_texts, pair_texts
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.llm.backend import Message
from safegen_ros.pddl.model import Atom, AtomFormula, Problem
from safegen_ros.pddl.reader import read_problem
from safegen_ros.tasks.planetarium.assess import assess
from safegen_ros.tasks.planetarium.domains import planetarium_domain
from safegen_ros.tasks.planetarium.request import Request, read_request
from safegen_ros.tasks.planetarium.styles import Translation, WordTranslation
from safegen_ros.tasks.planetarium.translator_words import (
    WHOLE,
    TranslatorWords,
    halves,
    spelt_out,
)

DOMAIN = planetarium_domain('blocksworld')
WORLD = """(define (problem seen) (:domain blocksworld) (:objects red B2 green)
    (:init (arm-empty) (on-table red) (on B2 red) (clear B2) (on-table green) (clear green))
    (:goal (and (clear red))))"""


def rows(count: int) -> list[Pair]:
    """Some rows of every task, in all their descriptions."""
    found = []
    for kit in kits().values():
        for task in tasks_of(kit):
            problems = min(len(space_of(kit, task.start, task.goal)), 40)
            number = random.Random(task.name).randrange(problems)
            found += make_pairs(task, number, count, False, 0)
    return found


def told_goal(problem: Problem) -> set[Atom]:
    """The atoms of a goal."""
    return {
        (each.predicate, *each.terms)
        for each in problem.goal_conjuncts()
        if isinstance(each, AtomFormula)
    }


def answered(translation: Translation, right: dict[str, str]) -> str:
    """What a translation returns when every question has the right answer."""

    def answer(messages: list[Message]) -> str:
        return right[messages[-1]['content']]

    asked = next(translation)
    while True:
        try:
            asked = translation.send([answer(each) for each in asked])
        except StopIteration as end:
            return str(end.value)


@pytest.mark.slow
def test_right_answers_make_the_right_problem() -> None:
    """Whatever a row tells and however it does, what is learned from it is what is asked for."""
    for pair in rows(1):
        right = {text.prompt: text.completion for text in pair_texts(pair)}
        known = {word for each in right for word in each.split()}
        domain = planetarium_domain(pair.domain)
        text = answered(WordTranslation(known).translation(Request(pair.text, domain)), right)
        wanted = read_problem(pair.problem, domain)
        assert assess(wanted, text, placeholder=pair.placeholder).enforced.correct, pair.id


@given(SEEDS)
def test_made_up_problems_are_told_by_their_clauses(seed: int) -> None:
    found = made_up(str(seed))
    lexicon = TranslatorWords.of(found.domain, found.text)
    assert {kind: len(names) for kind, names in lexicon.objects.items()} == found.objects
    told = [text.completion for text in made_up_texts(str(seed))]
    assert len(told) == len(found.init) + len(found.goal)
    assert WHOLE not in told


@given(SEEDS)
def test_composed_goals_read_back_and_are_none_of_the_test_split(seed: int) -> None:
    found = composed(str(seed))
    lexicon = TranslatorWords.of(planetarium_domain(found.kit.domain), found.text)
    for atoms in (found.init, found.goal):
        assert lexicon.read_half(lexicon.half_answer(atoms)) == [*atoms]
    held = [task for task in tasks_of(found.kit) if task.split == 'test']
    for task in held:
        *_, summed = make_pairs(task, 0, 4, False, 0)
        assert halves(found.text)[1] != halves(summed.text)[1]  # type: ignore[index]


SOME = 'on table arm empty clear x1 x2 n1 n3 n9 to ( é'
WORDS = st.lists(st.sampled_from(SOME.split()), max_size=12)


@given(WORDS)
def test_no_answer_raises_and_what_is_read_is_pddl(words: list[str]) -> None:
    lexicon = TranslatorWords.of(DOMAIN, 'b1 b2 b3')
    goal = lexicon.read_clause(words, ['b1', 'b2'])
    if goal is not None:
        problem = read_problem(lexicon.problem([], goal), DOMAIN)
        assert told_goal(problem) == set(goal)
    lexicon.read_half(words)


def test_objects_are_numbered_as_they_are_mentioned() -> None:
    lexicon = TranslatorWords.of(DOMAIN, 'b3')
    asked, mentioned = lexicon.clause('B3 on b1, then b2 on b3')
    told = asked[asked.index('request') + 1 :]
    assert told == ['x1', 'on', 'x2', ',', 'then', 'x3', 'on', 'x1']
    assert mentioned == ['b3', 'b1', 'b2']
    assert lexicon.read_clause(['on', 'x1', 'x2', 'on', 'x3', 'x1'], mentioned) == [
        ('on', 'b3', 'b1'), ('on', 'b2', 'b3'),
    ]  # fmt: skip


def test_contractions_are_the_words_that_they_stand_for() -> None:
    told = "I'd like b1 there, it's clear; don't, can't, let\u2019s"
    assert spelt_out(told) == 'i would like b1 there, it is clear; do not, cannot, let us'


@pytest.mark.parametrize(
    ('clause', 'answer', 'meant'),
    [
        ('robot1 has color2', 'has x1 x2', ('robot-has', 'robot1', 'color2')),
        ('robot1 stands on tile2', 'at x1 x2', ('robot-at', 'robot1', 'tile2')),
        ('color1 is available', 'available x1', ('available-color', 'color1')),
        ('tile1 lies above tile2', 'above x1 x2', None),  # no name has the word
        ('tile1 stands on color2', 'robot x1 x2', None),  # none of these takes both
        ('robot1 has color2', 'robot x1', None),
        ('robot1 has color2', 'has x1 x3', None),
    ],
)
def test_the_shield_finds_the_predicate_that_a_part_of_its_name_means(
    clause: str, answer: str, meant: Atom | None
) -> None:
    lexicon = TranslatorWords.of(planetarium_domain('floor-tile'), clause)
    _, mentioned = lexicon.clause(clause)
    words = answer.split()
    assert lexicon.read_clause(words, mentioned) == (None if meant is None else [meant])
    assert lexicon.read_clause(words, mentioned, shield=False) is None


def test_an_answer_that_leaves_out_an_object_says_nothing() -> None:
    lexicon = TranslatorWords.of(DOMAIN, 'b1 b2 b3')
    assert lexicon.read_clause(['on', 'table', 'x1'], ['b1']) == [('on-table', 'b1')]
    assert lexicon.read_clause(['on', 'table', 'x1'], ['b1', 'b2']) is None
    row = lexicon.read_clause(['on', 'table', 'x1', 'to', 'x2'], ['b1', 'b3'])
    assert row == [('on-table', f'b{n}') for n in (1, 2, 3)]


def test_what_says_no_fact_alone_may_name_no_object() -> None:
    """`b1 is not on b2` was read as (on b1 b2)."""
    described = 'Given: 2 blocks (b1 and b2). At the start: b1 is on b2. In the end: b1 is on b2.'
    asked, _ = TranslatorWords.of(DOMAIN, '').clause('x1 x2 is on not')
    style = WordTranslation(asked)
    for goal, answer in (('b1 is not on b2', 'on x1 x2'), ('b1 is on b2', 'whole')):
        request = Request(described.replace('end: b1 is on b2', f'end: {goal}'), DOMAIN)
        asking = style.translation(request)
        next(asking)
        with pytest.raises(SafegenError, match='reads b1 only in sentences') as caught:
            asking.send(['on x1 x2', answer])
        assert caught.value.code is ErrorCode.TRANSLATION_FAILED


def test_what_the_model_cannot_be_asked() -> None:
    described = 'Given: 1 block (b1). At the start: b1 is red. In the end: b1 is blue.'
    style = WordTranslation(['clause', 'request', 'x1', 'is'])
    for request, told in (
        (Request(described, DOMAIN), "does not know 'clear'"),
        (Request(described.replace('blue', 'never red'), DOMAIN), 'no rules.*never'),
        (Request(described.replace('is blue', '\u2260 red'), DOMAIN), "does not know '\u2260'"),
        (Request('put b1 on b2', DOMAIN), '--start'),
        (read_request('put red on green', '', '', WORLD), 'safegen-requests'),
    ):
        with pytest.raises(SafegenError, match=told) as caught:
            next(style.translation(request))
        assert caught.value.code is ErrorCode.TRANSLATION_FAILED
    asked = next(WordTranslation(['is'], strict=False).translation(Request(described, DOMAIN)))
    assert [messages[0]['content'] for messages in asked] == ['is', 'is']

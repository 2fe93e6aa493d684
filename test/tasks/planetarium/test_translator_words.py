# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The words of the small translator say what a problem says, and no answer of it raises."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import SEEDS, SUITE

from safegen_ros.datasets.planetarium.layouts import space_of, tasks_of
from safegen_ros.datasets.planetarium.made_up import made_up
from safegen_ros.datasets.planetarium.pairs import Pair, kits, make_pairs
from safegen_ros.datasets.planetarium.spoken import spoken
from safegen_ros.datasets.planetarium.texts import made_up_texts, pair_texts, spoken_text
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.llm.backend import Message
from safegen_ros.pddl.model import Atom, AtomFormula, Problem
from safegen_ros.pddl.reader import read_problem
from safegen_ros.tasks.planetarium.assess import assess
from safegen_ros.tasks.planetarium.domains import planetarium_domain
from safegen_ros.tasks.planetarium.planner import find_plan
from safegen_ros.tasks.planetarium.request import Request, read_request
from safegen_ros.tasks.planetarium.styles import Translation, WordTranslation
from safegen_ros.tasks.planetarium.translator_words import ALL, WHOLE, TranslatorWords, spelt_out

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
    for pair in rows(4):
        right = {text.prompt: text.completion for text in pair_texts(pair)}
        known = {word for each in right for word in each.split()}
        domain = planetarium_domain(pair.domain)
        text = answered(WordTranslation(known).translation(Request(pair.text, domain)), right)
        wanted = read_problem(pair.problem, domain)
        assert assess(wanted, text, placeholder=pair.placeholder).enforced.correct, pair.id


@pytest.mark.slow
@SUITE
@given(SEEDS)
def test_requests_have_plans_and_answers(seed: int) -> None:
    found, text = spoken(str(seed)), spoken_text(str(seed))
    request = Request(found.text, found.start.domain, '', found.start)
    style = WordTranslation(text.prompt.split())
    problem = read_problem(
        answered(style.translation(request), {text.prompt: text.completion}), request.domain
    )
    every = list(found.start.objects)
    goal = {
        tuple(each if part == ALL else part for part in atom)
        for atom in found.goal
        for each in (every if ALL in atom else [''])
    }
    assert told_goal(problem) == goal
    assert problem.init == found.start.init
    find_plan(problem)
    for kept in ('swap', 'exchange', 'invert', 'upside', 'turn'):  # words of the test split
        assert kept not in text.prompt.split()


@SUITE
@given(SEEDS)
def test_made_up_problems_are_told_by_their_clauses(seed: int) -> None:
    found = made_up(str(seed))
    lexicon = TranslatorWords.of(found.domain, found.text)
    assert {kind: len(names) for kind, names in lexicon.objects.items()} == found.objects
    told = [text.completion for text in made_up_texts(str(seed))]
    assert len(told) == len(found.init) + len(found.goal)
    assert WHOLE not in told


WORDS = st.lists(
    st.sampled_from(
        ['on', 'table', 'arm', 'empty', 'clear', 'x1', 'x2', 'n1', 'n9', 'all', '(', 'é']
    ),
    max_size=12,
)


@SUITE
@given(WORDS)
def test_no_answer_raises_and_what_is_read_is_pddl(words: list[str]) -> None:
    request = read_request('put red on B2', '', '', WORLD)
    assert request.start is not None
    lexicon = TranslatorWords.of(request.domain, request.text, request.start)
    goal = lexicon.read_clause(words, ['red', 'b2'])
    if goal is not None:
        problem = read_problem(lexicon.problem(sorted(request.start.init), goal), request.domain)
        assert told_goal(problem) == set(goal)
        assert problem.init == request.start.init
    lexicon.read_half(words)


def test_names_are_those_of_the_observed_objects() -> None:
    request = read_request('Put RED on b2, then green on red!', '', '', WORLD)
    lexicon = TranslatorWords.of(request.domain, request.text, request.start)
    asked, mentioned = lexicon.clause(request.text)
    assert asked[asked.index('request') + 1 :] == [
        'put',
        'x1',
        'on',
        'x2',
        ',',
        'then',
        'x3',
        'on',
        'x1',
    ]
    assert mentioned == [*(request.start.objects if request.start else ())]
    assert lexicon.read_clause(['on', 'x1', 'x2', 'on', 'x3', 'x1'], mentioned) == [
        ('on', 'red', 'b2'), ('on', 'green', 'red'),
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


def test_what_the_model_cannot_be_asked() -> None:
    style = WordTranslation(['clause', 'request', 'x1', 'x2', 'put', 'on'])
    request = read_request('kindly put red on green', '', '', WORLD)
    with pytest.raises(SafegenError, match="does not know 'clear'") as caught:
        next(style.translation(request))
    assert caught.value.code is ErrorCode.TRANSLATION_FAILED
    (messages,) = next(WordTranslation(['put', 'on'], strict=False).translation(request))
    assert messages[0]['content'] == 'on on put on'
    with pytest.raises(SafegenError, match='--start'):
        next(style.translation(Request('put b1 on b2', planetarium_domain('blocksworld'))))

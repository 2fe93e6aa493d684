# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is asked about a description, and what its answers make; no answer raises."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.strategies import SEEDS

from safegen_ros.datasets.planetarium.layouts import space_of, tasks_of
from safegen_ros.datasets.planetarium.made_up import made_up
from safegen_ros.datasets.planetarium.pairs import ABSTRACTIONS, Pair, kits, make_pairs
from safegen_ros.datasets.planetarium.texts import (
    GROUP,
    HELD_BACK,
    made_up_texts,
    pair_texts,
    write_texts,
)
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.model import Atom, AtomFormula, Problem
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.tasks.planetarium.assess import assess
from safegen_ros.tasks.planetarium.clauses import NOTHING, Description
from safegen_ros.tasks.planetarium.domains import planetarium_domain
from safegen_ros.tasks.planetarium.request import Request
from safegen_ros.tasks.planetarium.styles import GoalTranslation, Translation

DOMAIN = planetarium_domain('blocksworld')
TEXT = 'Given: 2 blocks (b1 and b2). At the start: {}. In the end: {}.'


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


def asking(start: str = 'b1 is on b2', goal: str = 'b2 is on b1') -> Translation:
    return GoalTranslation().translation(Request(TEXT.format(start, goal), DOMAIN))


def prompts(asked: list[list[dict[str, str]]]) -> list[str]:
    return [each['content'] for (each,) in asked]


def answered(translation: Translation, right: dict[str, str]) -> str:
    """What a translation returns when every question has the right answer."""
    asked = next(translation)
    while True:
        try:
            asked = translation.send([right[each] for each in prompts(asked)])
        except StopIteration as end:
            return str(end.value)


@pytest.mark.slow
def test_right_answers_make_the_right_problem() -> None:
    """Whatever a row tells and however it does, what is learned from it is what is asked for."""
    became = Counter[str]()
    for pair in rows(4):
        right = {text.prompt: text.completion for text in pair_texts(pair)}
        domain = planetarium_domain(pair.domain)
        try:
            text = answered(GoalTranslation().translation(Request(pair.text, domain)), right)
        except SafegenError:
            # A summary that denies something, or names an object, is left to larger models.
            assert re.search(
                r' not | no |(?:has|is|was|are|carries) [^;]*\d[^;]* and ', pair.text
            ), pair.text
            became['refused'] += 1
            continue
        except KeyError:
            counts = re.findall(r'(\d+) \w+ \(', pair.text)
            assert sum(map(int, counts)) > 16  # a long half is not learned
            became['long'] += 1
            continue
        wanted = read_problem(pair.problem, domain)
        assert assess(wanted, text, placeholder=pair.placeholder).enforced.correct, pair.id
        became[pair.abstraction] += 1
    assert min(became[each] for each in ABSTRACTIONS) > 20, became


@given(SEEDS)
def test_made_up_clauses_are_told_by_their_answers(seed: int) -> None:
    found = made_up(str(seed))
    lessons = {text.prompt: text.completion for text in made_up_texts(str(seed))}
    described = Description(found.domain, {}, found.kinds, (), ())
    for clause, atom in found.clauses:
        asked = described.clause(clause)
        if not asked.prompt:
            assert atom is None
        elif (answer := lessons[asked.prompt]) != NOTHING:
            fact = described.fact(clause, answer, asked)
            assert fact is not None
            assert {*fact[1:]} == {*asked.names.values()}
            facts, *_ = asked.prompt.splitlines()
            assert f'({fact[0]}' in facts


def test_lessons_come_in_groups_of_one_domain_and_keep_rows_back(tmp_path: Path) -> None:
    pairs = [pair for pair in rows(4) if pair.split == 'train']
    (tmp_path / 'train.jsonl').write_text(''.join(pair.to_line() for pair in pairs))
    counts = write_texts(tmp_path, tmp_path / 'texts', 100, 3, 0)
    assert counts['made-up'] == 98
    told: dict[str, set[str]] = {}
    for split in ('train', 'test'):
        sizes = Counter[str]()
        for line in (tmp_path / f'texts/{split}.jsonl').read_text().splitlines():
            row = json.loads(line)
            (asked,) = row['prompt']
            sizes[row['group']] += 1
            told.setdefault(split, set()).add(asked['content'])
        assert 1 <= min(sizes.values()) <= max(sizes.values()) <= GROUP
    assert not told['train'] & told['test']
    assert not any('robot-at' in each for each in told['train'])
    kept = {text.prompt for pair in pairs if pair.fold == HELD_BACK for text in pair_texts(pair)}
    learned = {text.prompt for pair in pairs if pair.fold != HELD_BACK for text in pair_texts(pair)}
    assert not (kept - learned) & told['train']


FACTS = ['(on b1 b2)', '(clear b2)', '(arm-empty)', '()', '(on b1 b3)', '(on b1)', 'on', '(', ')']
ANSWERS = st.lists(st.sampled_from(FACTS) | st.text(max_size=3), max_size=4).map(' '.join)


@given(ANSWERS)
@example('(on b1 b2) (clear b2)')
def test_no_answer_raises_and_what_is_read_is_pddl(answer: str) -> None:
    described = Description.of(DOMAIN, TEXT.format('b1 is on b2', 'b1 is on b2'))
    goal = described.read(answer, described.clause('b1 is on b2'))
    if goal is not None:
        problem = read_problem(described.problem([], goal), DOMAIN)
        assert told_goal(problem) == set(goal)
        assert {name for atom in goal for name in atom[1:]} <= {'b1', 'b2'}


def test_objects_are_numbered_as_they_are_mentioned() -> None:
    text = TEXT.format('B2 is on b1', 'b1 is held')
    described = Description.of(DOMAIN, text)
    asked = described.clause(described.start[0])
    assert asked.prompt.splitlines()[1:] == ['b: b1 b2', 'Now: ', 'Request: b1 is on b2']
    assert asked.names == {'b1': 'b2', 'b2': 'b1'}
    assert described.fact('', '(on b1 b2)', asked) == ('on', 'b2', 'b1')


def test_equal_clauses_are_asked_once() -> None:
    given_ = 'Given: 4 blocks (b1 to b4). At the start: {}. In the end: b2 is on b1.'
    told = given_.format('b1 is on b2; b3 is on b4; the hand is empty')
    translation = GoalTranslation().translation(Request(told, DOMAIN))
    assert len(next(translation)) == 2
    with pytest.raises(StopIteration) as end:
        translation.send(['(on b1 b2)', '(arm-empty)'])
    problem = read_problem(end.value.value, DOMAIN)
    assert problem.init == {('on', 'b1', 'b2'), ('on', 'b3', 'b4'), ('arm-empty',)}
    assert [*problem.objects] == ['b1', 'b2', 'b3', 'b4']
    assert told_goal(problem) == {('on', 'b2', 'b1')}


SUMMED = ('b1 is on b2', 'all blocks form a tower; the hand is empty')


def test_a_half_that_is_summed_up_is_asked_as_a_whole() -> None:
    translation = asking(*SUMMED)
    next(translation)
    (told,) = prompts(translation.send(['(on b1 b2)', NOTHING, '(arm-empty)']))
    assert told.splitlines()[1:] == [
        'b: b1 b2',
        'Now: (on b1 b2)',
        'Request: all blocks form a tower; the hand is empty',
    ]
    with pytest.raises(StopIteration) as end:
        translation.send(['(on b2 b1) (arm-empty)'])
    problem = read_problem(end.value.value, DOMAIN)
    assert told_goal(problem) == {('on', 'b2', 'b1'), ('arm-empty',)}


@pytest.mark.parametrize('whole', [
    '(on b2 b1)', '(arm-empty)', '', 'QUESTION: which?', '(define (problem x) (:domain y))',
    '(on b2 b1) (arm-empty) (held b1)',
])  # fmt: skip
def test_a_whole_half_says_all_that_its_clauses_say_and_more(whole: str) -> None:
    translation = asking(*SUMMED)
    next(translation)
    translation.send(['(on b1 b2)', NOTHING, '(arm-empty)'])
    with pytest.raises(SafegenError, match='summed up'):
        translation.send([whole])


@pytest.mark.parametrize('answer', [
    NOTHING, '', '(on b1)', '(on b1 b3)', '(clear b1)', '(onto b1 b2)', '(on b1 b2', 'on b1 b2',
    '(not (on b1 b2))', '(on b1 b2) (always (clear b1))', '(on b1 b2) (arm-empty)', '(on b1 b1)',
    '(clear b1) (clear b2)',
])  # fmt: skip
def test_a_clause_without_one_fact_of_all_its_objects_is_refused(answer: str) -> None:
    translation = asking('b1 is on b2', 'b1 is on b2')
    next(translation)
    with pytest.raises(SafegenError, match="no fact in 'b1 is on b2'") as caught:
        translation.send([answer])
    assert caught.value.code is ErrorCode.TRANSLATION_FAILED


def test_an_object_without_a_name_of_its_own_makes_no_fact() -> None:
    translation = asking('block 1 is held', 'b1 is held')
    next(translation)
    with pytest.raises(SafegenError, match="no fact in 'block 1 is held'"):
        translation.send(['(arm-empty)', '(holding b1)'])


@pytest.mark.parametrize(
    ('clause', 'told'),
    [
        *((each, 'no denials') for each in (
            'b1 is not on b2', "b1 isn't on b2", 'b1 isn\u2019t on b2', 'b1 isn`t on b2',
            'b1 is no longer on b2', 'no block is on b2', 'neither b1 nor b2 is held',
            'the hand is not empty', 'not all blocks are on the table', 'b1 isnt on b2',
        )),
        *((each, 'one fact of each object') for each in (
            'b1 is on b2 and b2 is on the table', 'b1 is on b2, b2 is clear', 'b1 is on b2 or held',
            'b1 is held if b2 is clear', 'b1 is held before b2', 'b2 must stay on the table',
            'b1 to b2 are on the table', 'b1 through b2 are held', 'b1 .. b2 are held',
            'b1 \u2013 b2 are held', 'keep b1 on the table', 'b1 is on b2. b2 is clear',
        )),
        *((each, 'list it under Given') for each in (
            'b3 is held', 'b1-2 is held', 'big-b1 is held', 'b1.2 is held', 'block1 is held',
            "b1's top is free", 'b01 is held', 'x_b1 is held',
        )),
        *((each, 'no rules') for each in ('b1 is never held', 'only b1 is held')),
        ('', 'the start and the end'),
    ],
)  # fmt: skip
def test_what_is_more_or_less_than_a_fact_is_never_asked(clause: str, told: str) -> None:
    for words in ((clause, 'b1 is held'), ('b1 is held', clause)):
        with pytest.raises(SafegenError, match=told) as caught:
            next(asking(*words))
        assert caught.value.code is ErrorCode.TRANSLATION_FAILED


@pytest.mark.parametrize(
    ('given_', 'told'),
    [
        ('3 blocks (b1 and b2)', 'which blocks there are'),
        ('2 blocks (b1 to c2)', 'which blocks there are'),
        ('2 blocks (b2 to b1)', 'which blocks there are'),
        ('1 block (b1) and 1 block (b1)', 'which block there are'),
        ('999 blocks (b1 to b999)', '200 blocks at most'),
        ('2 blocks (b1 to b999999999)', 'which blocks there are'),
        ('2 blocks', '--start'),
        ('2 blocks (b1, b2)', '--start'),
        ('2 blocks (b1 and b2). Put b1 on b2', '--start'),
        ('2 blocks (b1 and b2). At the start: b1 is held', '--start'),
    ],
)
def test_what_there_is_must_be_listed(given_: str, told: str) -> None:
    text = TEXT.replace('2 blocks (b1 and b2)', given_).format('b1 is held', 'b1 is held')
    with pytest.raises(SafegenError, match=told):
        Description.of(DOMAIN, text)
    with pytest.raises(SafegenError, match='--start'):
        Description.of(DOMAIN, 'put b1 on b2')


def test_only_facts_of_these_objects_are_listed() -> None:
    text = 'Given: 1 truck (t1) and 1 place (p1). At the start: p1 is lit. In the end: p1 has t1.'
    described = Description.of(YARD, text)
    asked = [described.clause(each).prompt for each in (*described.start, *described.goal)]
    assert [each.splitlines()[0] for each in asked] == [
        'Facts: (lit place)', 'Facts: (at truck place)',
    ]  # fmt: skip
    assert described.clause('all is well').prompt == ''
    with pytest.raises(SafegenError, match="no fact in 't1 is lit by t1'"):
        described.fact('t1 is lit by t1', NOTHING, described.clause('t1 t1'))


YARD = read_domain("""(define (domain yard) (:requirements :strips :typing) (:types truck place box)
    (:predicates (at ?t - truck ?p - place) (box ?b - box) (lit ?p - place) (light ?t - truck))
    (:action switch :parameters (?t - truck) :effect (light ?t)))""")


def test_kinds_are_types_and_said_where_no_action_changes_them() -> None:
    text = (
        'Given: 1 truck (t1), 2 places (p1 and p2), 1 boxes (box4). '
        'At the start:\nt1 is at p1. In the end: t1 is at p2.'
    )
    described = Description.of(YARD, text)
    assert described.kinds == {'t': 'truck', 'p': 'place', 'box': 'box'}
    assert [*described.facts] == ['at', 'lit', 'light']
    found = described.problem([('at', 't1', 'p1')], [('at', 't1', 'p2')])
    assert '(:objects t1 - truck p1 - place p2 - place box4 - box)' in found
    problem = read_problem(found, YARD)
    assert problem.init == {('box', 'box4'), ('at', 't1', 'p1')}
    with pytest.raises(SafegenError, match='no type for cars: those of the domain are truck'):
        Description.of(YARD, text.replace('1 truck (t1)', '2 cars (c1 and c2)'))

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Requests for training say what their answers say, about the world of their prompt."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from safegen_ros.datasets.requests.lessons import as_asked, request_group, spoken_request
from safegen_ros.datasets.requests.scenes import RequestScene, drawn_scene, phrases
from safegen_ros.datasets.requests.written import other_names, renamed, written_requests
from safegen_ros.errors import SafegenError
from safegen_ros.pddl.model import Atom
from safegen_ros.pddl.reader import read_problem
from safegen_ros.pddl.writer import atom_text, formula_text
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.domains.folders import folder_domain
from safegen_ros.tasks.planetarium.styles import answered_problem

DATA = Path(__file__).parents[3] / 'data/requests'
SEEDS = range(24)


@pytest.fixture(scope='module')
def lessons() -> list[tuple[str, str]]:
    """Prompts and answers of some groups."""
    lines = (json.loads(line) for seed in SEEDS for line in request_group((), seed, seed, 4))
    return [(line['prompt'][0]['content'], line['completion']) for line in lines]


def test_every_object_of_an_answer_is_one_of_the_prompt(lessons: list[tuple[str, str]]) -> None:
    for prompt, answer in lessons:
        told, _, request = prompt.partition('\nRequest: ')
        assert request
        facts = set(re.findall(r'\(([\w-]+)', told.splitlines()[0]))
        known = set(re.findall(r'[\w-]+', told))
        goal, *rules = answer.splitlines()
        goal = goal.replace('(not ', '')
        for predicate, *terms in (each.split() for each in re.findall(r'\(([^()]+)\)', goal)):
            assert predicate in facts
            assert known.issuperset(terms)
        for rule in rules:
            assert rule.startswith(('(always ', '(sometime', '(at-most-once ', '(within '))


def test_nothing_is_left_open_in_a_phrase(lessons: list[tuple[str, str]]) -> None:
    for prompt, answer in lessons:
        request = prompt.partition('\nRequest: ')[2]
        assert not re.search(r'[{}/|=<]|KIND|COUNT|PLACE|  ', request), request
        assert '()' not in answer


def test_about_a_third_has_a_rule_and_every_world_is_drawn(lessons: list[tuple[str, str]]) -> None:
    ruled = sum(len(answer.splitlines()) > 1 for _, answer in lessons) / len(lessons)
    assert 0.2 < ruled < 0.5
    firsts = Counter(prompt.splitlines()[0].split()[1] for prompt, _ in lessons)
    assert len(firsts) >= 8


def test_the_same_seed_gives_the_same_lessons() -> None:
    assert request_group((), 5, 3, 4) == request_group((), 5, 3, 4) != request_group((), 6, 3, 4)


def test_the_planner_accepts_most_of_what_is_meant_and_lessons_are_no_others() -> None:
    asked = refused = 0
    for seed in SEEDS:
        rng = Random(seed)
        scene = drawn_scene(rng)
        for text, goal, rules in (spoken_request(rng, scene) for _ in range(4)):
            if not goal:
                continue
            asked += 1
            try:
                rest, more = as_asked(scene.start, text, [*map(atom_text, goal)], rules)
            except SafegenError:
                refused += 1
            else:
                assert rest[:9] in text
                assert len(more) <= len(rules)
    assert refused < asked / 4


@pytest.mark.parametrize(
    ('said', 'goal', 'rules', 'reason'),
    [
        ('b1 on b2', [('on', 'b2', 'b1')], [], "'b1' at 'b2'"),
        ('b1 on b2, hold b1', [('on', 'b1', 'b2'), ('holding', 'b1')], [], 'no plan'),
        ('b1 on b2', [('on', 'b1', 'b2'), ('clear', 'b3')], [], 'b3'),
        ('b1 is not on b2', [('not', '(on b1 b9)')], [], 'b9'),
        ('Never put b2 on the table. b1 on b2', [('on', 'b1', 'b2')], [], 'a grammar reads'),
    ],
)
def test_a_meaning_that_is_not_said_is_no_lesson(
    said: str, goal: list[Atom], rules: list[str], reason: str
) -> None:
    with pytest.raises(SafegenError, match=reason):
        as_asked(blocks().start, said, [*map(atom_text, goal)], rules)


def test_some_groups_are_of_requests_that_were_written_and_others_are_drawn() -> None:
    written = tuple(written_requests(DATA / 'engineer.jsonl'))
    groups = [request_group(written, 3, number, 30) for number in range(12)]
    texts = [[_request(line) for line in lines] for lines in groups]
    own = [n for n, each in enumerate(texts) if {*each} & {asked.text for asked in written}]
    assert 1 <= len(own) < 12
    for number in own:
        assert len(texts[number]) <= sum(each.world == 'blocks' for each in written) * 2


def test_a_person_may_know_a_place_by_what_is_there() -> None:
    start, said = blocks().start, 'put it down over there'
    with pytest.raises(SafegenError, match='b2'):
        as_asked(start, said, ['(on-table b2)'], [])
    assert as_asked(start, said, ['(on-table b2)'], [], told=False) == (said, [])


@pytest.mark.parametrize('file', ['engineer', 'dispatcher'])
def test_the_same_request_with_other_names_means_the_same(file: str) -> None:
    written = list(written_requests(DATA / f'{file}.jsonl'))
    changed = 0
    for seed, asked in enumerate(written):
        names = other_names(Random(seed), asked.start)
        back = {new: old for old, new in names.items()}
        other = renamed(asked, names)
        if other is None:
            continue
        changed += other.text != asked.text
        assert renamed(other, back) == asked
        assert {name in other.start for name in names.values()} == {True}
    assert changed > len(written) / 4


def test_a_request_that_numbers_something_keeps_its_names() -> None:
    [asked, *_] = written_requests(DATA / 'engineer.jsonl')
    for text in ('block 3 on b2', 'the third one on b2', 'both within 4 steps', 'two of them'):
        assert renamed(replace(asked, text=text), {'b2': 'b5'}) is None


def _request(line: str) -> str:
    return str(json.loads(line)['prompt'][0]['content']).partition('Request: ')[2]


def blocks() -> RequestScene:
    """A scene of blocks with the names of the generator."""
    drawn = (drawn_scene(Random(seed)) for seed in range(1000))
    drawn = (s for s in drawn if s.blocks and 'b4' in s.objects['object'])
    return next(s for s in drawn if ('on', 'b1', 'b2') not in s.now)


def test_answers_are_problems_of_their_domain() -> None:
    scene = blocks()
    kit = kits()['blocksworld']
    names = scene.objects['object']
    size = {'blocks': len(names)}
    start = read_problem(kit.text('seen', kit.draw(Random(1), size)), folder_domain('blocksworld'))
    rng = Random(2)
    asked = (spoken_request(rng, scene) for _ in range(200))
    for _, goal, rules in islice((each for each in asked if each[1]), 100):
        answer = '\n'.join([' '.join(map(atom_text, goal)), *rules])
        problem = read_problem(answered_problem(start, answer), start.domain)
        assert [*map(formula_text, problem.goal_conjuncts())] == [*map(atom_text, goal)]
        assert len(problem.constraints) == len(rules)


def test_what_is_wanted_of_blocks_can_be_true_at_once() -> None:
    scene = blocks()
    rng = Random(3)
    for _ in range(300):
        _, goal, _ = spoken_request(rng, scene)
        under = {atom[1]: atom[2] for atom in goal if atom[0] == 'on'}
        assert len({*under.values()}) == len(under)
        for block in under:
            seen = block
            for _ in under:
                seen = under.get(seen, '')
                assert seen != block
        bare = {atom[1] for atom in goal if atom[0] in ('clear', 'holding')}
        assert not bare & {*under.values()}
        assert sum(atom[0] == 'holding' for atom in goal) <= 1


@pytest.mark.parametrize('world', sorted(phrases()['worlds']))
def test_phrases_name_the_arguments_of_their_facts(world: str) -> None:
    of = phrases()['worlds'][world]
    for fact in (*of['facts'].values(), *of.get('pairs', ())):
        every = {f'{{{n}}}' for n in range(len(fact['takes']))}
        for kind in ('deeds', 'states', 'plain'):
            for phrase in fact[kind]:
                assert set(re.findall(r'\{\d\}', phrase)) == every, phrase
        assert all('=be' in state for state in fact['states'])

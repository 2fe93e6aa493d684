# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whether answers are parseable, solvable and correct."""

from __future__ import annotations

import random
import time
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import planetarium_small as small
from support.planetarium_small import BLOCKS, ROOMS, TILES
from support.strategies import examples

from safegen_ros.datasets.planetarium.layouts import tasks_of
from safegen_ros.datasets.planetarium.pairs import kits, make_problem
from safegen_ros.pddl.model import And
from safegen_ros.pddl.reader import read_problem
from safegen_ros.pddl.writer import problem_text
from safegen_ros.tasks.planetarium.answers import conformed, read_draft
from safegen_ros.tasks.planetarium.assess import Assessed, assess
from safegen_ros.tasks.planetarium.domains import (
    RULES,
    planetarium_domain,
    planetarium_domain_text,
)
from safegen_ros.tasks.planetarium.fragments import Grade, UnreadableAnswer
from safegen_ros.tasks.planetarium.state_rules import contradiction

WANTED = read_problem(BLOCKS, planetarium_domain('blocksworld'))


def names(found: Assessed) -> tuple[Grade, Grade]:
    return found.enforced.finding, found.tolerant.finding


@pytest.mark.parametrize(
    ('old', 'new', 'finding', 'metrics'),
    [
        ('a b)', 'a b)', Grade.CORRECT, (True, True, True)),
        ('(clear a)))', '))', Grade.CORRECT, (True, True, True)),
        ('(on a b) (clear a)', '(on b a)', Grade.CORRECT, (True, True, True)),
        ('(on a b) ', '', Grade.DIFFERENT, (True, True, False)),
        ('(on a b) (clear a)', '(on a b) (on b a)', Grade.UNSOLVABLE, (True, False, False)),
        ('(on-table a)', '(on a b) (on b a)', Grade.INVALID_START, (True, False, False)),
        ('(arm-empty) ', '', Grade.UNSOLVABLE, (True, False, False)),
        ('(on a b)', '(over a b)', Grade.UNKNOWN_PREDICATE, (True, False, False)),
        ('blocksworld', 'blocks', Grade.WRONG_DOMAIN, (True, False, False)),
        ('(on a b)', '(on a c)', Grade.UNDECLARED_OBJECT, (False, False, False)),
        ('(and (on', '(or (on', Grade.NOT_STRIPS, (False, False, False)),
    ],
)  # fmt: skip
def test_the_first_thing_that_is_wrong_decides(
    old: str, new: str, finding: Grade, metrics: tuple[bool, bool, bool]
) -> None:
    found = assess(WANTED, BLOCKS.replace(old, new, 1))
    assert names(found) == (finding, finding)
    for side in (found.enforced, found.tolerant):
        assert (side.parseable, side.solvable, side.correct) == metrics
        assert side.reason


def test_types_where_there_are_none_are_wrong_unless_tolerated() -> None:
    found = assess(WANTED, BLOCKS.replace('a b)', 'a b - block)', 1))
    assert names(found) == (Grade.TYPED, Grade.CORRECT)
    assert found.enforced.solvable
    wrong = BLOCKS.replace('a b)', 'a b - block)', 1).replace('(on a b) ', '')
    assert names(assess(WANTED, wrong)) == (Grade.TYPED, Grade.DIFFERENT)


def test_types_of_gripper_make_up_for_atoms_only_where_tolerated() -> None:
    kinds = '(room r1) (room r2) (ball x) (gripper g)'
    text = ROOMS.replace('r1 r2 - room x - ball g - gripper', 'r1 r2 x g')
    text = text.replace('(:init', f'(:init {kinds}')
    wanted = read_problem(text, planetarium_domain('gripper'))
    assert names(assess(wanted, text)) == (Grade.CORRECT, Grade.CORRECT)
    assert names(assess(wanted, ROOMS)) == (Grade.UNSOLVABLE, Grade.CORRECT)


def test_missing_types_of_floor_tile_are_forgiven_only_where_tolerated() -> None:
    text = TILES.replace('rob t1 t2 red', 'rob - robot t1 t2 - tile red - color', 1)
    wanted = read_problem(text, planetarium_domain('floor-tile'))
    assert names(assess(wanted, TILES)) == (Grade.WRONG_TYPES, Grade.CORRECT)


def test_placeholders_may_be_any_objects() -> None:
    init = '(on b a) (on-table a) (on-table c) (clear b) (clear c) (arm-empty)'
    text = f"""(define (problem p) (:domain blocksworld) (:objects a b c) (:init {init})
        (:goal (on a b)))"""
    wanted = read_problem(text, planetarium_domain('blocksworld'))
    other = text.replace('(on a b)', '(on c b)')
    assert assess(wanted, other).enforced.finding is Grade.DIFFERENT
    assert assess(wanted, other, placeholder=True).enforced.correct


def test_what_is_not_decided_in_time_is_not_correct() -> None:
    rng = random.Random(3)
    problem = small.blocksworld(rng, 9)
    odd = replace(problem, init=problem.init - {('clear', 'b0')} - {('arm-empty',)})
    far = And(small.goal_of({('on', 'b1', 'b2'), ('on', 'b2', 'b1')}).parts)
    found = assess(WANTED, problem_text(replace(odd, goal=far)), plan_limit_s=0.001)
    assert found.enforced.finding in (Grade.PLAN_UNDECIDED, Grade.UNSOLVABLE)
    assert not found.enforced.solvable


@pytest.mark.parametrize('domain', RULES)
@examples(15)
@given(seed=st.integers(0, 2**32))
def test_correct_is_definition_2_and_solvable_is_a_goal_state(domain: str, seed: int) -> None:
    rng = random.Random(seed)
    start = small.small(rng, domain)
    one, other = (
        replace(start, goal=small.goal_of(set(rng.sample(atoms, min(2, len(atoms))))))
        for atoms in (sorted(small.all_atoms(start)),) * 2
    )
    found = assess(one, problem_text(other)).enforced
    assert found.solvable == bool(small.goal_states(other))
    if found.solvable:
        assert found.correct == small.equivalent(one, other)


@pytest.mark.parametrize(
    ('domain', 'atoms', 'said'),
    [
        ('blocksworld', 'on a b, on-table a', 'a is on b and on the table'),
        ('blocksworld', 'on a b, on c b', 'a and c are both on b'),
        ('blocksworld', 'on a b, on b c, on c a', 'stands on itself'),
        ('blocksworld', 'on a a', 'stands on itself'),
        ('blocksworld', 'on a b, clear b', 'b is clear and a is on it'),
        ('blocksworld', 'holding a, holding b', 'the arm holds a and b'),
        ('blocksworld', 'holding a, arm-empty', 'the arm is empty and holds a'),
        ('blocksworld', 'holding a, on b a', 'b is on a, which the arm holds'),
        ('gripper', 'ball a, room a', 'a is a ball and a room'),
        ('gripper', 'at-robby a, at-robby b', 'the robot is in a and in b'),
        ('gripper', 'at a b, carry a c', 'a is in b and in c'),
        ('gripper', 'carry a g, carry b g', 'g carries a and b'),
        ('gripper', 'carry a g, free g', 'g is free and carries a'),
        ('floor-tile', 'robot-at r a, robot-at r b', 'r is at a and at b'),
        ('floor-tile', 'robot-has r a, robot-has r b', 'r has a and b'),
    ],
)
def test_an_impossible_state_is_told_in_words(domain: str, atoms: str, said: str) -> None:
    init = frozenset(tuple(atom.split()) for atom in atoms.split(', '))
    assert said in contradiction(domain, init)


@examples(30)
@given(seed=st.integers(0, 2**32), domain=st.sampled_from(sorted(RULES)))
def test_a_state_that_can_be_reached_contradicts_nothing(seed: int, domain: str) -> None:
    rng = random.Random(seed)
    problem = small.small(rng, domain)
    state = rng.choice(sorted(small.reachable(problem), key=sorted))
    assert contradiction(domain, state) == ''
    assert contradiction(domain, frozenset(rng.sample(sorted(state), len(state) // 2))) == ''


WORDS = [
    '(define', '(problem p)', '(:domain blocksworld)', '(:objects a b', '- block', '(:init',
    '(on a b)', '(clear ?x)', '(and', '(not', '(or', ')', '((', ';x\n', '```', '<think>',
    '</think>', '(:goal', 'ü', '\x00', '-', '(domain d)', '(:typing', '(= (f) 1)',
]  # fmt: skip


def refused(answer: str, domain: str = 'blocksworld', tolerant: bool = False) -> UnreadableAnswer:
    with pytest.raises(UnreadableAnswer) as caught:
        conformed(read_draft(answer), planetarium_domain(domain), tolerant=tolerant)
    return caught.value


@pytest.mark.parametrize(
    'answer',
    [
        BLOCKS,
        BLOCKS.upper(),
        f'Sure (as you asked); here it is:\n```pddl\n{BLOCKS}```\nGood luck (really).',
        f'<think>{BLOCKS.replace("(on a b)", "(on b a)")} (hm</think>\n{BLOCKS}',
        f'```\n{planetarium_domain_text("blocksworld")}```\nand\n```\n{BLOCKS}\n```',
        f'{BLOCKS}\nThat is:\n{BLOCKS.replace("  ", " ")}',
        BLOCKS.replace('(:objects', '; two (blocks\n(:requirements :strips :typing) (:objects'),
        BLOCKS.replace('(clear a)))', '(clear a) (and (on a b))))'),
        f'(define (problem cut) (:domain blocksworld) (:init (on\n{BLOCKS}',
        f'```\n(define (problem cut)\n```\n{BLOCKS}',
    ],
)
def test_what_stands_around_a_problem_does_not_matter(answer: str) -> None:
    domain = planetarium_domain('blocksworld')
    found = conformed(read_draft(answer), domain)
    wanted = read_problem(BLOCKS, domain)
    assert (found.problem.objects, found.problem.init) == (wanted.objects, wanted.init)
    assert found.problem.goal == wanted.goal
    assert not found.retyped


@pytest.mark.parametrize(
    ('answer', 'finding', 'said'),
    [
        ('', Grade.NO_PROBLEM, 'write one'),
        ('I cannot (define) this.', Grade.NO_PROBLEM, 'write one'),
        (f'<think>{BLOCKS}', Grade.NO_PROBLEM, 'write one'),
        (planetarium_domain_text('blocksworld'), Grade.NO_PROBLEM, 'write one'),
        ('x' * (1 << 20) + BLOCKS, Grade.TOO_LARGE, 'characters'),
        (f'\n\n{BLOCKS.rstrip()[:-1]}', Grade.UNFINISHED, 'begins in line 3'),
        (BLOCKS + BLOCKS.replace('(on a b)', '(on b a)'), Grade.SEVERAL_PROBLEMS, '2 problems'),
        (BLOCKS.replace('(:goal', '(:aim'), Grade.NOT_PDDL, '<answer>:5:3'),
        (BLOCKS.replace('(:init', '(:init)(:init'), Grade.NOT_PDDL, 'a second :init'),
        (BLOCKS.replace('a b)', 'a b a)', 1), Grade.NOT_PDDL, 'declared twice'),
        (BLOCKS.replace('(on a b)', '(on ?x b)'), Grade.NOT_PDDL, 'not a name'),
        (BLOCKS.replace('(:domain blocksworld)', ''), Grade.NOT_PDDL, 'no :domain'),
        (BLOCKS.replace('(clear a)))', '(not (clear a))))'), Grade.NOT_STRIPS, '(not ...)'),
        (BLOCKS.replace('(and (on', '(or (on'), Grade.NOT_STRIPS, '<answer>:5:10'),
        (BLOCKS.replace('(:goal', '(:metric minimize (c)) (:goal'), Grade.NOT_STRIPS, ':metric'),
        (BLOCKS.replace('(:objects a b)', '(:objects a b - (either x y))'), Grade.NOT_STRIPS,
         'either'),
        (BLOCKS.replace('(on a b)', '(on a c)'), Grade.UNDECLARED_OBJECT, "'c' is not declared"),
        (BLOCKS.replace('blocksworld', 'blocks'), Grade.WRONG_DOMAIN, '(:domain blocksworld)'),
        (BLOCKS.replace('(on a b)', '(onn a b)'), Grade.UNKNOWN_PREDICATE, "mean 'on'"),
        (BLOCKS.replace('(on a b)', '(on a)'), Grade.UNKNOWN_PREDICATE, '(on object object)'),
        (BLOCKS.replace('(:objects', f'(:objects {" ".join(f"x{n}" for n in range(500))}'),
         Grade.TOO_LARGE, '502 objects'),
        (BLOCKS.replace('(:init', f'(:init {"(" * 200}{")" * 200}'), Grade.NOT_PDDL, 'deeper'),
    ],
)  # fmt: skip
def test_what_is_wrong_has_a_name_and_a_place(answer: str, finding: Grade, said: str) -> None:
    for tolerant in (False, True):
        error = refused(answer, tolerant=tolerant)
        assert error.finding is finding
        assert said in error.message


def test_types_in_a_domain_without_types_are_left_out_and_told() -> None:
    answer = BLOCKS.replace('(:objects a b)', '(:objects a b - block)')
    domain = planetarium_domain('blocksworld')
    for tolerant in (False, True):
        found = conformed(read_draft(answer), domain, tolerant=tolerant)
        assert found.retyped
        assert found.problem.objects == {'a': 'object', 'b': 'object'}


def test_types_of_gripper_count_as_atoms_only_with_tolerance() -> None:
    domain = planetarium_domain('gripper')
    strict = conformed(read_draft(ROOMS), domain).problem
    tolerant = conformed(read_draft(ROOMS), domain, tolerant=True).problem
    kinds = {('room', 'r1'), ('room', 'r2'), ('ball', 'x'), ('gripper', 'g')}
    assert tolerant.init - strict.init == kinds


def test_missing_types_of_floor_tile_follow_from_atoms_only_with_tolerance() -> None:
    assert refused(TILES, 'floor-tile').finding is Grade.WRONG_TYPES
    found = conformed(read_draft(TILES), planetarium_domain('floor-tile'), tolerant=True)
    assert found.problem.objects == {'rob': 'robot', 't1': 'tile', 't2': 'tile', 'red': 'color'}
    assert found.retyped
    for wrong in (
        TILES.replace('(right t2 t1)', '(right t2 red)'),
        TILES.replace('rob t1', 'rob spare t1', 1),
        TILES.replace('rob t1 t2 red', 'rob - tile t1 t2 red', 1),
    ):
        assert refused(wrong, 'floor-tile', tolerant=True).finding is Grade.WRONG_TYPES


@pytest.mark.parametrize('domain', RULES)
@examples(20)
@given(seed=st.integers(0, 2**32))
def test_problems_that_were_written_are_read(domain: str, seed: int) -> None:
    rng = random.Random(seed)
    task = rng.choice(tasks_of(kits()[domain]))
    problem, _ = make_problem(task, rng.randrange(5))
    found = conformed(read_draft(f'Here:\n{problem_text(problem)}'), problem.domain)
    assert (found.problem.init, found.problem.goal) == (problem.init, problem.goal)
    assert dict(found.problem.objects) == dict(problem.objects)
    assert not found.retyped


@examples(200)
@given(
    text=st.one_of(
        st.text(max_size=60), st.lists(st.sampled_from(WORDS), max_size=25).map(' '.join)
    ),
    place=st.integers(0, len(BLOCKS)),
    cut=st.integers(0, 20),
)
def test_any_text_is_read_or_refused_by_name(text: str, place: int, cut: int) -> None:
    for answer in (text, BLOCKS[:place] + text + BLOCKS[place + cut :]):
        for tolerant in (False, True):
            with suppress(UnreadableAnswer):  # which has a name; any other exception fails
                domain = planetarium_domain('blocksworld')
                found = conformed(read_draft(answer), domain, tolerant=tolerant)
                assert found.problem.domain == domain


@pytest.mark.parametrize('piece', ['(define ', '(define (problem p) ', '(', '<think>', '```', ';('])
def test_a_million_characters_take_no_minute(piece: str) -> None:
    started = time.process_time()
    with pytest.raises(UnreadableAnswer):
        read_draft(piece * ((1 << 20) // len(piece)))
    assert time.process_time() - started < 10

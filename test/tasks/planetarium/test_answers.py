# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is read out of what a model wrote, and what is refused by which name."""

from __future__ import annotations

import random
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.planetarium_answers import BLOCKS, ROOMS, TILES
from support.strategies import examples

from safegen_ros.datasets.planetarium.layouts import tasks_of
from safegen_ros.datasets.planetarium.pairs import kits, make_problem
from safegen_ros.pddl.reader import read_problem
from safegen_ros.pddl.writer import problem_text
from safegen_ros.tasks.planetarium.answers import conformed, read_draft
from safegen_ros.tasks.planetarium.domains import (
    RULES,
    planetarium_domain,
    planetarium_domain_text,
)
from safegen_ros.tasks.planetarium.fragments import Grade, UnreadableAnswer

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

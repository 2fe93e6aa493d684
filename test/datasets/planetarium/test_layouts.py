# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The tasks of the dataset, their problems and their descriptions."""

from __future__ import annotations

import random
import re

import pytest

from safegen_ros.datasets.planetarium.build import check_description
from safegen_ros.datasets.planetarium.layouts import LayoutTask, partitions, space_of, tasks_of
from safegen_ros.datasets.planetarium.pairs import (
    ABSTRACTIONS,
    Pair,
    kits,
    make_pairs,
    size_bin,
)
from safegen_ros.errors import SafegenError
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.reader import read_problem
from safegen_ros.tasks.planetarium.description_parser import parse_description
from safegen_ros.tasks.planetarium.domains import planetarium_domain
from safegen_ros.tasks.planetarium.equivalence import compare
from safegen_ros.tasks.planetarium.planner import find_plan

TASKS = [task for kit in kits().values() for task in tasks_of(kit)]


def task_named(domain: str, name: str) -> LayoutTask:
    (found,) = (task for task in TASKS if (task.domain, task.name) == (domain, name))
    return found


def problem_of(pair: Pair) -> Problem:
    return read_problem(pair.problem, planetarium_domain(pair.domain))


def some(task: LayoutTask, seed: int = 0) -> list[Pair]:
    """The rows of a problem of a task, of the smaller ones."""
    size = len(space_of(kits()[task.domain], task.start, task.goal))
    number = random.Random(seed).randrange(min(size, 40))
    return make_pairs(task, number, 4, False, 0)


def test_the_tasks_are_all_that_make_sense_and_the_test_split_is_the_papers() -> None:
    assert {d: sum(task.domain == d for task in TASKS) for d in kits()} == {
        'blocksworld': 38,
        'gripper': 32,
        'floor-tile': 11,
    }
    held_out = {task.name for task in TASKS if task.split == 'test' and task.domain != 'floor-tile'}
    assert {'swap_to_swap', 'invert_to_invert', 'juggle_to_juggle'} <= held_out
    assert {name.partition('_to_')[2] for name in held_out} == {
        'swap', 'invert', 'juggle', 'drop_and_pickup', 'focus_min',
    }  # fmt: skip
    assert all(task.split == 'test' for task in TASKS if task.domain == 'floor-tile')


@pytest.mark.parametrize('task', TASKS, ids=lambda task: f'{task.domain}-{task.name}')
def test_every_task_has_problems_with_a_plan_that_its_descriptions_mean(task: LayoutTask) -> None:
    pairs = some(task)
    assert len(pairs) == len(task.abstractions)
    problem = problem_of(pairs[0])
    find_plan(problem)
    for pair in pairs:
        assert pair.problem == pairs[0].problem
        assert pair.placeholder == (task.placeholders and pair.abstraction != ABSTRACTIONS[0])
        check_description(pair.text, problem, pair.placeholder)


@pytest.mark.parametrize('domain', kits())
def test_a_description_in_which_a_number_is_wrong_is_refused(domain: str) -> None:
    rng = random.Random(1)
    tried = 0
    for task in rng.sample([task for task in TASKS if task.domain == domain], 8):
        for pair in some(task, 7):
            problem = problem_of(pair)
            numbers = list(re.finditer(r'\d+', pair.text))
            place = rng.choice(numbers)
            wrong = pair.text[: place.start()] + str(int(place[0]) + 1) + pair.text[place.end() :]
            # Another name for an object may mean the same problem, which is not for the lint to
            # refuse; what is equivalent by all rules is put aside.
            try:
                heard = parse_description(wrong, domain)
            except SafegenError:
                tried += 1
                continue
            if compare(problem, heard, placeholder=pair.placeholder).equivalent:
                continue
            with pytest.raises(SafegenError):
                check_description(wrong, problem, pair.placeholder)
            tried += 1
    assert tried >= 8


@pytest.mark.parametrize(
    ('domain', 'name', 'old', 'new'),
    [
        ('blocksworld', 'stack_to_on_table', 'form a single tower', 'form some towers'),
        ('blocksworld', 'swap_to_swap', 'bottom blocks', 'top blocks'),
        ('gripper', 'one_room_to_pickup', 'by a gripper', 'by the robot'),
        ('gripper', 'holding_to_focus_max', 'the most balls', 'the fewest balls'),
        ('gripper', 'juggle_to_juggle', 'the next of', 'another of'),
        ('floor-tile', 'grid_to_checkerboard', 'the top left corner;', 'the middle;'),
        ('floor-tile', 'grid_to_paint_all', '; every color is available', ''),
        ('floor-tile', 'rings_to_paint_x', 'both diagonals', 'both sides'),
    ],
)
def test_other_words_are_refused(domain: str, name: str, old: str, new: str) -> None:
    pair = some(task_named(domain, name))[-1]
    assert old in pair.text
    with pytest.raises(SafegenError, match='correct the words or the problem'):
        check_description(pair.text.replace(old, new), problem_of(pair), pair.placeholder)


def test_a_description_that_leaves_out_a_clause_is_refused() -> None:
    refused = 0
    for task in random.Random(2).sample(TASKS, 12):
        pair = some(task, 3)[0]
        start, _, goal = pair.text.partition(' In the end: ')
        before, _, clauses = start.partition(' At the start: ')
        rest = clauses.split('; ')[1:]
        text = f'{before} At the start: {"; ".join(rest) or "nothing"}. In the end: {goal}'
        with pytest.raises(SafegenError):
            check_description(text.replace('..', '.'), problem_of(pair), pair.placeholder)
        refused += 1
    assert refused == 12


def test_explicit_descriptions_can_be_in_any_order() -> None:
    task = task_named('gripper', 'n_room_distributed_to_n_room_distributed')
    plain, mixed = (make_pairs(task, 30_000, 1, shuffled, 0)[0] for shuffled in (False, True))
    assert sorted(plain.text) == sorted(mixed.text)
    assert plain.text != mixed.text
    check_description(mixed.text, problem_of(mixed), False)
    assert make_pairs(task, 30_000, 1, True, 1)[0].text != mixed.text


def test_problems_of_a_task_are_numbered_without_repetition() -> None:
    for domain, name in (('blocksworld', 'staircase_to_towers'), ('gripper', 'holding_to_holding')):
        task = task_named(domain, name)
        space = space_of(kits()[domain], task.start, task.goal)
        found = {space.problem(number) for number in range(len(space))}
        assert len(found) == len(space)


def test_partitions_are_those_that_there_are() -> None:
    assert partitions(5, 3) == ((5,), (1, 4), (1, 1, 3), (1, 2, 2), (2, 3))
    assert len(partitions(20, 20)) == 627
    assert partitions(5, 3, 2) == ((5,), (2, 3))


def test_sizes_are_those_of_the_paper() -> None:
    sizes = [size_bin(count) for count in (1, 20, 21, 60, 61, 80, 81, 900)]
    assert sizes == ['1-20', '1-20', '21-40', '41-60', '61-80', '61-80', '>80', '>80']

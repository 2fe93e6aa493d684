# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The tasks of the dataset, their problems and their descriptions."""

from __future__ import annotations

import random
from hashlib import sha256

import pytest

from safegen_ros.datasets.planetarium.layouts import LayoutTask, partitions, space_of, tasks_of
from safegen_ros.datasets.planetarium.pairs import (
    ABSTRACTIONS,
    Pair,
    kits,
    make_pairs,
    size_bin,
)
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.reader import read_problem
from safegen_ros.tasks.planetarium.domains import planetarium_domain
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
def test_every_task_has_problems_with_a_plan(task: LayoutTask) -> None:
    pairs = some(task)
    assert len(pairs) == len(task.abstractions)
    problem = problem_of(pairs[0])
    find_plan(problem)
    for pair in pairs:
        assert pair.problem == pairs[0].problem
        assert pair.placeholder == (task.placeholders and pair.abstraction != ABSTRACTIONS[0])


def test_descriptions_are_those_that_a_second_reader_has_read() -> None:
    """It shared only the words with the writer, and read each as a problem equivalent to its own.

    Who changes a description reads it, and then changes the digest.
    """
    found = sha256()
    for task in TASKS:
        size = len(space_of(kits()[task.domain], task.start, task.goal))
        for number in (0, size // 3, size - 1):
            for shuffled in (False, True):
                for pair in make_pairs(task, number, 4, shuffled, 0):
                    found.update(pair.to_line().encode())
    digest = '203426d0ffbb675ba9055d5864c1fc5190fbede0d6e8cadef20f9b0269809141'
    assert found.hexdigest() == digest


def test_explicit_descriptions_can_be_in_any_order() -> None:
    task = task_named('gripper', 'n_room_distributed_to_n_room_distributed')
    plain, mixed = (make_pairs(task, 30_000, 1, shuffled, 0)[0] for shuffled in (False, True))
    assert sorted(plain.text) == sorted(mixed.text)
    assert plain.text != mixed.text
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

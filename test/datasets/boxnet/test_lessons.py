# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What models learn from: thoughts that are true, answers that earn everything, no test task."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from safegen_ros.benchmarks.measurement import silent
from safegen_ros.datasets.boxnet.draw import UNSOLVABLE, tasks
from safegen_ros.datasets.boxnet.lessons import LessonRecipe, load_lessons, write_lessons
from safegen_ros.datasets.boxnet.recipe import load_recipe, scaled
from safegen_ros.datasets.boxnet.rows import build
from safegen_ros.datasets.boxnet.traces import (
    plan_thoughts,
    refusal_thoughts,
    step_thoughts,
    write_traces,
)
from safegen_ros.datasets.files import RecipeError
from safegen_ros.datasets.workers import Workers, local_workers
from safegen_ros.paths import data_path
from safegen_ros.tasks.boxnet.answers import REFUSAL
from safegen_ros.tasks.boxnet.astar import certificate
from safegen_ros.tasks.boxnet.model import Plan, Task, robot_name
from safegen_ros.tasks.boxnet.optimal import solve
from safegen_ros.tasks.boxnet.prompts import EXAMPLE, answer_text
from safegen_ros.tasks.boxnet.reward import question, text_reward, word_reward
from safegen_ros.tasks.boxnet.verifier import judge, verify
from safegen_ros.tasks.boxnet.words import NEXT_STEP, WHOLE, answer_words

MINI = data_path('config/boxnet/mini.json')
PLAN = solve(EXAMPLE).plan
TASKS = [EXAMPLE, *islice(tasks((4, 3), 3, 'traces'), 4)]


@functools.cache
def planned(task: Task) -> Plan:
    """A shortest plan; not at the collection, which every worker has."""
    return solve(task).plan


@pytest.fixture(scope='module')
def workers() -> Iterator[Workers]:
    with local_workers(1) as found:
        yield found


def few() -> LessonRecipe:
    return replace(
        load_lessons(MINI), tasks=24, refusals=8, validation=4, sides=(2, 3), objects=(1, 2)
    )


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize('task', TASKS, ids=lambda task: task.id)
def test_thoughts_tell_of_every_move_and_lead_to_the_answer(task: Task) -> None:
    plan = planned(task)
    thoughts = plan_thoughts(task, task.start, plan)
    parts = re.split(r'Step \d+\.\n', thoughts)[1:]
    assert len(parts) == len(plan)
    for step, part in zip(plan, parts, strict=True):
        assert all(re.search(rf'^{robot_name(m.robot)} (carries|goes)', part, re.M) for m in step)
        assert part.count('each less than 1') == len(step)
    found = verify(task, answer_text(thoughts, plan, whole=True))
    assert (found.verdict.ok, found.formatted) == (True, True)
    first = step_thoughts(task, task.start, plan)
    assert parts[0].strip() in first


@pytest.mark.parametrize('task', TASKS, ids=lambda task: task.id)
def test_what_is_said_to_stay_apart_does(task: Task) -> None:
    """The lines between arms are checked against all points that the arms and ways have."""
    state, plan = task.start, planned(task)
    for at, step in enumerate(plan):
        moves = {robot_name(move.robot): move for move in step}
        said = step_thoughts(task, state, plan[at:])
        for low, axis, line, high in re.findall(
            r'(Robot \d+) stays (?:left of|below) ([xy]) = ([0-9.]+) and (Robot \d+) does not', said
        ):
            side, border = 'xy'.index(axis), float(line) * 1e6
            of = {
                name: [p[side] for p in (task.bases[m.robot], m.start, m.end)]
                for name, m in moves.items()
            }
            assert max(of[low]) <= border <= min(of[high])
        state = judge(task, plan[: at + 1]).states[-1]


def test_a_refusal_tells_who_could_carry() -> None:
    task = next(tasks((3, 3), 2, 'none', variant=UNSOLVABLE))
    proof = certificate(task)
    assert proof is not None
    answer = f'<think> {refusal_thoughts(proof)} </think>\n{REFUSAL}'
    asked = question(task, task.start, None, WHOLE)
    assert f'Object {proof.object} cannot be brought' in answer
    assert text_reward(asked, answer) == pytest.approx(1.1)
    assert text_reward(asked, answer_text('so', PLAN, whole=True)) < 0.2


@pytest.mark.parametrize(
    ('mode', 'words', 'earned'),
    [
        (WHOLE, answer_words(EXAMPLE, EXAMPLE.start, PLAN), 1.1),
        (WHOLE, answer_words(EXAMPLE, EXAMPLE.start, PLAN[:2]), 0.1),
        (NEXT_STEP, answer_words(EXAMPLE, EXAMPLE.start, PLAN[:1]), 1.1),
        (NEXT_STEP, answer_words(EXAMPLE, EXAMPLE.start, (PLAN[0][:1],)), 1.0),
        (NEXT_STEP, answer_words(EXAMPLE, EXAMPLE.start, (PLAN[0][:1],))[1:], 1.0),
        (NEXT_STEP, answer_words(EXAMPLE, EXAMPLE.start, PLAN[1:2]), 0.1),
        (NEXT_STEP, ['nothing'], 0.0),
    ],
)
def test_a_completion_earns(mode: str, words: list[str], earned: float) -> None:
    asked = json.loads(json.dumps(question(EXAMPLE, EXAMPLE.start, PLAN, mode)))
    assert word_reward(asked, ' '.join(words)) == pytest.approx(earned)


def test_a_step_that_brings_nothing_closer_earns_its_form_alone() -> None:
    robot, tip = 0, EXAMPLE.start.tips[0]
    away = replace(PLAN[0][0], robot=robot, start=tip, end=(tip[0], tip[1] - 500_000))
    asked = question(EXAMPLE, EXAMPLE.start, PLAN, NEXT_STEP)
    said = answer_words(EXAMPLE, EXAMPLE.start, ((away,),))
    assert word_reward(asked, ' '.join(said)) == pytest.approx(0.1)


def test_lessons_are_right_and_none_is_a_test_task(tmp_path: Path, workers: Workers) -> None:
    count = write_lessons(tmp_path / 'a', few(), workers, silent)
    train, test = (lines(tmp_path / 'a' / f'{name}.jsonl') for name in ('train', 'test'))
    assert (len(train) + len(test), bool(test)) == (count, True)
    assert {row['group'] for row in train} == {'full', 'next', 'refusal'}
    for row in train + test:
        assert word_reward(row['task'], row['completion']) == pytest.approx(1.1), row
    starts = [row for row in train if row['group'] == 'full' and row['task']['steps']]
    assert len({row['prompt'] for row in starts}) > len(starts) / 2
    write_lessons(tmp_path / 'b', few(), workers, silent)
    for name in ('train', 'test'):
        made = [(tmp_path / folder / f'{name}.jsonl').read_bytes() for folder in 'ab']
        assert made[0] == made[1]


def test_a_recipe_that_is_none_is_told(tmp_path: Path) -> None:
    path = tmp_path / 'x.json'
    values = json.loads(MINI.read_text())
    for broken, said in (
        ('{', 'is not JSON'),
        (json.dumps({**values, 'shares': {'dreams': 1}}), 'shares'),
        (json.dumps({**values, 'sides': [1]}), 'sides'),
        (json.dumps({**values, 'more': 1}), 'more'),
    ):
        path.write_text(broken)
        with pytest.raises(RecipeError, match=said):
            load_lessons(path)


@pytest.mark.nightly
def test_a_dataset_becomes_prompts_thoughts_and_answers(tmp_path: Path, workers: Workers) -> None:
    recipe = scaled(load_recipe(data_path('config/boxnet/paper.json')), 3)
    small = (
        replace(s, sizes=((3, 2),), objects=(1, 2))
        for s in recipe.splits
        if s.name in ('train', 'test', 'train_unsolvable')
    )
    build(tmp_path / 'd', replace(recipe, splits=tuple(small)), workers, silent)
    found = {each.name: each for each in write_traces(tmp_path / 'd')}
    assert found['traces/full/train.jsonl'].count == 6
    assert found['traces/full/test.jsonl'].count == 3
    assert found['traces/next/train.jsonl'].count > 6
    for name in found:
        for row in lines(tmp_path / 'd' / name):
            assert text_reward(row['task'], row['completion']) == pytest.approx(1.1), row
    groups = {row['group'] for row in lines(tmp_path / 'd/traces/full/train.jsonl')}
    assert groups == {'solvable', 'unsolvable'}

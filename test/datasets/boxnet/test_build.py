# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Datasets of BoxNet2D: the same bytes again, and every damage found."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from support.strategies import one_in

from safegen_ros.benchmarks.measurement import silent
from safegen_ros.datasets.boxnet.draw import OCCUPIED, UNSOLVABLE, VARIANTS, tasks
from safegen_ros.datasets.boxnet.lessons import LessonRecipe, load_lessons, write_lessons
from safegen_ros.datasets.boxnet.recipe import BoxnetRecipe, blocks, load_recipe, scaled
from safegen_ros.datasets.boxnet.rows import build, check, read_rows
from safegen_ros.datasets.boxnet.traces import (
    plan_thoughts,
    refusal_thoughts,
    step_thoughts,
    write_traces,
)
from safegen_ros.datasets.files import MANIFEST, DatasetError, RecipeError
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

PAPER = data_path('config/boxnet/paper.json')


def small() -> BoxnetRecipe:
    """The splits of the paper, with a few tasks of 2 x 2 and 3 x 2."""
    recipe = scaled(load_recipe(PAPER), 4)
    splits = (replace(s, sizes=((2, 2), (3, 2)), objects=(1, 2)) for s in recipe.splits)
    return replace(recipe, splits=tuple(splits))


@pytest.fixture(scope='module')
def workers() -> Iterator[Workers]:
    with local_workers(1) as found:
        yield found


@pytest.fixture(scope='module')
def built(tmp_path_factory: pytest.TempPathFactory, workers: Workers) -> Path:
    out = tmp_path_factory.mktemp('boxnet') / 'out'
    assert build(out, small(), workers, silent)
    return out


def test_the_recipe_of_the_paper_has_its_sizes() -> None:
    recipe = load_recipe(PAPER)
    rows = {split.name: sum(block.rows for block in blocks(split)) for split in recipe.splits}
    assert rows == {
        'train': 55_000, 'test': 250, 'randrob': 200, 'newcoord': 250, 'unseenmap': 100,
        'train_unsolvable': 1_000, 'test_unsolvable': 50,
    }  # fmt: skip


def test_the_bytes_are_those_of_earlier_releases(built: Path) -> None:
    digest = sha256((built / MANIFEST).read_bytes()).hexdigest()
    assert digest == '584c3da924d36d05ed7cd98d2908e3c10b680d36d9b89487a45857d1838d127f'


def test_rows_hold_plans_and_proofs(built: Path, workers: Workers) -> None:
    assert check(built, workers, silent) >= 20
    test = list(read_rows(built / 'test.jsonl'))
    assert all(row.plan for row in test)
    assert any(row.paper_steps for row in test)
    unsolvable = list(read_rows(built / 'test_unsolvable.jsonl'))
    assert unsolvable
    assert all(row.proof and row.plan is None for row in unsolvable)


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        (lambda row: row.update(plan=row['plan'][:-1]), 'its plan is refused'),
        (lambda row: row.update(lower_bound=99), 'its plan is refused'),
        (lambda row: row.update(plan=None), 'not of its variant'),
        (lambda row: row.update(paper_steps='3'), 'not a whole number'),
        (lambda row: row.pop('proof'), 'is not a row'),
        (lambda row: row.update(split='train'), 'does not belong here'),
    ],
)
def test_a_row_that_is_not_what_it_promises_is_found(
    built: Path, tmp_path: Path, workers: Workers, change, words: str
) -> None:
    first, *others = (built / 'test.jsonl').read_text().splitlines()
    row = json.loads(first)
    change(row)
    lines = '\n'.join([json.dumps(row), *others]) + '\n'
    spoilt = tmp_path / 'spoilt'
    spoilt.mkdir()
    for path in built.iterdir():
        if path.is_file():
            (spoilt / path.name).write_bytes(path.read_bytes())
    (spoilt / 'test.jsonl').write_text(lines)
    with pytest.raises(DatasetError, match='is not what the manifest says'):
        check(spoilt, workers, silent)
    manifest = json.loads((spoilt / MANIFEST).read_text())
    manifest['files']['test.jsonl'] = sha256(lines.encode()).hexdigest()
    (spoilt / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(DatasetError, match=words):
        check(spoilt, workers, silent)


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        ({'version': 2}, 'version'),
        ({'seed': -1}, 'seed'),
        ({'splits': []}, 'splits'),
        ({'more': 1}, "unknown field 'more'"),
        ({'splits': [{'name': 'a/b'}]}, "field 'variant' is missing"),
    ],
)
def test_a_recipe_that_asks_for_what_there_is_not_is_refused(
    tmp_path: Path, change: dict[str, object], words: str
) -> None:
    path = tmp_path / 'recipe.json'
    path.write_text(json.dumps({**json.loads(PAPER.read_text()), **change}))
    with pytest.raises(RecipeError, match=words):
        load_recipe(path)
    splits = json.loads(PAPER.read_text())
    splits['splits'][0]['name'] = '../x'
    path.write_text(json.dumps(splits))
    with pytest.raises(RecipeError, match='that of a file'):
        load_recipe(path)


MINI = data_path('config/boxnet/mini.json')
PLAN = solve(EXAMPLE).plan
TASKS = [EXAMPLE, *islice(tasks((4, 3), 3, 'traces'), 4)]


@functools.cache
def planned(task: Task) -> Plan:
    """A shortest plan; not at the collection, which every worker has."""
    return solve(task).plan


def few() -> LessonRecipe:
    few = replace(load_lessons(MINI), tasks=24, validation=4, sides=(2, 3), objects=(1, 2))
    return replace(few, shares=dict.fromkeys(VARIANTS, 0.4), spatial=16)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize('task', one_in(5, TASKS), ids=lambda task: task.id)
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


def test_lessons_can_have_objects_at_targets_of_others() -> None:
    drawn = islice(tasks((3, 3), 3, 'some', variant=OCCUPIED), 20)
    assert [bool({*task.targets} & {*task.start.objects}) for task in drawn] == [True] * 20


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
    assert {row['group'] for row in train} == {'full', 'next', 'spatial'}
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

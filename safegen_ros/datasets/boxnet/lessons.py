# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Lessons for a small model: maps in words with the step, or all steps, that should follow.

Tasks are drawn as those of the datasets are, never one that is for tests, and solved by
`RulePlanner`, whose steps follow from the map alone. So that a model can go on after its own steps,
too, arms of a share of them begin anywhere in reach, and lessons begin on the way. So that it knows
the words of larger maps, a share of the maps is moved away from the corner of the grid.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice, product
from pathlib import Path
from random import Random
from typing import Any

from safegen_ros.datasets.boxnet.draw import GRID, VARIANTS, Size, tasks
from safegen_ros.datasets.builder import Notify, in_order
from safegen_ros.datasets.files import RecipeError, read_json, write_groups
from safegen_ros.datasets.workers import Workers
from safegen_ros.schema import SchemaReader
from safegen_ros.tasks.boxnet.astar import Routes, certificate
from safegen_ros.tasks.boxnet.geometry import UNIT, Point
from safegen_ros.tasks.boxnet.model import Plan, State, Task
from safegen_ros.tasks.boxnet.reward import question
from safegen_ros.tasks.boxnet.rule_planner import RulePlanner
from safegen_ros.tasks.boxnet.verifier import judge
from safegen_ros.tasks.boxnet.words import NEXT_STEP, WHOLE, answer_words, map_words

_SPATIAL_SIDE = 4
"""The largest maps of BoxNet3D, as in the paper [cells]; they have no more boxes, either."""


@dataclass(frozen=True, slots=True)
class LessonRecipe:
    """What lessons are made of: everything that decides their bytes.

    Attributes:
        tasks: how many are drawn, in about equal parts for each size and number of objects.
        validation: of the former, those whose lessons are kept for the validation loss.
        steps_of_each: lessons on the next step of each task.
        sides: of the maps [cells].
        shares: of each of `draw.VARIANTS`.
        loose_arms: share of the tasks whose arms begin anywhere in reach.
        moved_away: share of the maps that are moved.
        grid: cells along a side of the grid that they are moved in.
        spatial: tasks of BoxNet3D with UR5e arms beside them, on maps of up to 4 x 4.
    """

    seed: int
    tasks: int
    validation: int
    steps_of_each: int
    sides: tuple[int, ...]
    objects: tuple[int, ...]
    shares: dict[str, float]
    loose_arms: float
    moved_away: float
    grid: int
    spatial: int = 0


@dataclass(frozen=True, slots=True)
class _Part:
    """Tasks of one kind, made together."""

    size: Size
    objects: int
    variant: str
    count: int
    arm: str = ''


def load_lessons(path: Path) -> LessonRecipe:
    """Reads a recipe file.

    Raises:
        RecipeError: the file is missing, or it is not a recipe.
    """
    file = SchemaReader(str(path), RecipeError)
    recipe = file.read(LessonRecipe, read_json(path))
    file.choices(recipe.shares, 'shares', VARIANTS)
    good = all(2 <= side <= recipe.grid for side in recipe.sides)
    file.need(good, 'sides', recipe.sides, f'take 2 to {recipe.grid}, which is the grid')
    return recipe


def write_lessons(folder: Path, recipe: LessonRecipe, workers: Workers, notify: Notify) -> int:
    """Writes `train.jsonl` and `test.jsonl`, as `safegen train` reads them.

    Returns:
        How many lessons there are.

    Raises:
        DatasetError: a file cannot be written.
    """
    jobs = [(part, recipe) for part in _parts(recipe)]
    made = list[list[str]]()
    for done, lines in enumerate(in_order(workers, _lessons, jobs), 1):
        made += lines
        notify('lessons', done, len(jobs))
    Random(recipe.seed).shuffle(made)  # noqa: S311  # no secret
    first, rest = made[: recipe.validation], made[recipe.validation :]
    return write_groups(folder, {'test': first, 'train': rest})


def _parts(recipe: LessonRecipe) -> Iterator[_Part]:
    kinds = list(product(recipe.sides, recipe.sides, recipe.objects))
    for variant, share in recipe.shares.items():
        for width, height, objects in kinds:
            count = round(recipe.tasks * share / len(kinds))
            yield _Part((width, height), objects, variant, count)
    small = [kind for kind in kinds if max(kind) <= _SPATIAL_SIDE]
    for width, height, objects in small:
        count = round(recipe.spatial / len(small))
        yield _Part((width, height), objects, GRID, count, 'ur5e')


def _lessons(part: _Part, recipe: LessonRecipe) -> list[list[str]]:
    """The lines of each task of a part."""
    seed = f'lessons {recipe.seed}'
    drawn = tasks(part.size, part.objects, seed, variant=part.variant, arm=part.arm)
    random = Random(f'{recipe.seed} {part}')  # noqa: S311  # no secret
    found = (_of_task(task, recipe, random) for task in islice(drawn, part.count))
    return [lines for lines in found if lines]


def _of_task(task: Task, recipe: LessonRecipe, random: Random) -> list[str]:
    if task.is_flat and random.random() < recipe.loose_arms:
        task = _loosened(task, random)
    if task.is_flat and random.random() < recipe.moved_away:
        task = _moved(task, recipe.grid, random)
    if certificate(task) is not None:
        return [_line(task, task.start, None, mode) for mode in (WHOLE, NEXT_STEP)]
    rules = RulePlanner(task)
    plan = rules.plan(task.start)
    if plan is None:
        return []
    states = judge(task, plan).states
    begin = random.choice((0, random.randrange(len(plan))))
    lines = [_line(task, states[begin], plan[begin:], WHOLE, rules)]
    for at in random.sample(range(len(plan)), min(recipe.steps_of_each, len(plan))):
        lines.append(_line(task, states[at], plan[at:], NEXT_STEP, rules))
    return lines


def _line(
    task: Task, state: State, rest: Plan | None, mode: str, rules: RulePlanner | None = None
) -> str:
    shown = rest if mode == WHOLE or rest is None else rest[:1]
    values: dict[str, Any] = {
        'prompt': ' '.join(map_words(task, state, mode)),
        'completion': ' '.join(answer_words(task, state, shown, rules.weighed if rules else None)),
        'group': mode if task.is_flat else 'spatial',
        'task': question(task, state, rest, mode),
    }
    return json.dumps(values) + '\n'


def _moved(task: Task, grid: int, random: Random) -> Task:
    """A task some cells away from the corner of the grid, which its map begins at all the same."""
    room = grid - max(task.size)
    x, y = random.randint(0, room), random.randint(0, room)

    def moved(points: tuple[Point, ...]) -> tuple[Point, ...]:
        return tuple((at[0] + x * UNIT, at[1] + y * UNIT) for at in points)

    start = State(moved(task.start.tips), moved(task.start.objects))
    size = task.width + x, task.height + y
    return Task(task.id, *size, moved(task.bases), start, moved(task.targets))


def _loosened(task: Task, random: Random) -> Task:
    """A task whose arms are anywhere in reach, about half of them."""
    reach = Routes(task).reach
    tips = tuple(
        random.choice([tip, random.choice(points)]) if points else tip
        for tip, points in zip(task.start.tips, reach, strict=True)
    )
    return replace(task, start=State(tips, task.start.objects))

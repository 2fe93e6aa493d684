# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The dataset of BoxNet2D. A row is a task with a proved plan, or with a proof that there is none.

A block is all tasks of a split with one size and number of objects.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from safegen_ros.datasets.boxnet.draw import UNSOLVABLE, tasks
from safegen_ros.datasets.boxnet.recipe import Block, BoxnetRecipe, blocks, load_recipe
from safegen_ros.datasets.builder import RECIPE, Builder, Notify, in_order
from safegen_ros.datasets.files import DatasetError, check_files, read_lines
from safegen_ros.datasets.workers import Workers
from safegen_ros.errors import ErrorCode
from safegen_ros.tasks import boxnet
from safegen_ros.tasks.boxnet.answers import PlanAnswerError, read_plan
from safegen_ros.tasks.boxnet.astar import NoPlan, UnsolvableMap, certificate, plan_as_paper, proves
from safegen_ros.tasks.boxnet.model import BoxnetError, Plan, Task, plan_json
from safegen_ros.tasks.boxnet.optimal import parallelism, solve
from safegen_ros.tasks.boxnet.reader import task_of
from safegen_ros.tasks.boxnet.verifier import judge

_AT_ONCE = 'paper_parallelism'


@dataclass(frozen=True, slots=True)
class BoxNetRow:
    """A row.

    Attributes:
        plan: of the optimal planner; None for a task that has none.
        lower_bound: no plan has fewer steps; 0 for a task without a plan.
        paper_steps: steps of the plan of the paper's planner; None where it finds none.
        paper_parallelism: most robots at once in that plan; None likewise.
        proof: why there is no plan; None where there is one.
    """

    split: str
    task: Task
    plan: Plan | None
    lower_bound: int
    paper_steps: int | None
    paper_parallelism: int | None
    proof: UnsolvableMap | None = None

    def to_line(self) -> str:
        """The row as a line of JSON, which is a task for `reader.read_task`, too."""
        proof = self.proof
        values = {
            **json.loads(self.task.to_json()),
            'split': self.split,
            'plan': None if self.plan is None else json.loads(plan_json(self.plan)),
            'lower_bound': self.lower_bound,
            'paper_steps': self.paper_steps,
            _AT_ONCE: self.paper_parallelism,
            'proof': proof and {'object': proof.object, 'carriers': sorted(proof.carriers)},
        }
        return json.dumps(values) + '\n'


def make_rows(block: Block, seed: int) -> Iterator[BoxNetRow]:
    """The rows of a block, fewer where there are not so many different tasks."""
    split = block.split
    drawn = tasks(
        block.size,
        block.objects,
        str(seed),
        variant=split.variant,
        held_out=split.held_out,
        arm=split.arm,
    )
    made = (_row(split.name, replace(task, id=f'{split.name}-{task.id}')) for task in drawn)
    yield from islice((row for row in made if row is not None), block.rows)


def _row(split: str, task: Task) -> BoxNetRow | None:
    """A row; None for a task for which no plan is found and that is not proved to have none."""
    proof = certificate(task)
    if proof is not None:
        return BoxNetRow(split, task, None, 0, None, None, proof)
    try:
        found, other = solve(task), plan_as_paper(task)
    except NoPlan as error:
        if error.code is not ErrorCode.ATTEMPTS_EXHAUSTED:
            raise
        return None
    return BoxNetRow(
        split,
        task,
        found.plan,
        found.lower_bound,
        None if other is None else len(other),
        None if other is None else parallelism(other),
    )


def check_row(row: BoxNetRow, block: Block) -> None:
    """Checks that a row is what it promises.

    Raises:
        DatasetError: it is not.
    """
    task = row.task
    if (task.width, task.height) != block.size or len(task.targets) != block.objects:
        raise DatasetError(f'{task.id}: is not of its size: build again')
    if (block.split.variant == UNSOLVABLE) != (row.plan is None):
        raise DatasetError(f'{task.id}: is not of its variant: build again')
    if row.plan is None:
        if row.proof is None or not proves(row.proof, task):
            raise DatasetError(f'{task.id}: its proof does not hold: build again')
        return
    verdict = judge(task, row.plan).verdict
    if not verdict.ok or len(row.plan) < row.lower_bound:
        raise DatasetError(f'{task.id}: its plan is refused: {verdict.reason}: build again')


def row_of(values: Any, place: str) -> BoxNetRow:
    """A row from the values of its line.

    Raises:
        DatasetError: they are not rows.
    """
    try:
        task = task_of(json.dumps(values), place)
        plan, proof = values['plan'], values['proof']
        form = task.form(task.start)
        steps = None if plan is None else read_plan(json.dumps(plan), task.robots, form).plan
        found = proof and UnsolvableMap(proof['object'], frozenset(proof['carriers']), '')
        bound, length, at_once = (
            _whole(values[name], place) for name in ('lower_bound', 'paper_steps', _AT_ONCE)
        )
        return BoxNetRow(values['split'], task, steps, bound or 0, length, at_once, found or None)
    except (BoxnetError, PlanAnswerError, KeyError, TypeError) as error:
        raise DatasetError(f'{place}: is not a row: {error}: build it again') from error


def read_rows(path: Path) -> Iterator[BoxNetRow]:
    """The rows of a file.

    Raises:
        DatasetError: it cannot be read, or a line is not a row.
    """
    for values, place in read_lines(path):
        yield row_of(values, place)


def _whole(value: Any, place: str) -> int | None:
    if value is not None and type(value) is not int:
        raise DatasetError(f'{place}: is not a row: {value!r:.40} is not a whole number')
    return value


def compute_block(block: Block, seed: int) -> bytes:
    """The lines of a block, each checked.

    Raises:
        DatasetError: a row is not what it must be.
    """
    lines = []
    for row in make_rows(block, seed):
        check_row(row, block)
        lines.append(row.to_line())
    return ''.join(lines).encode()


def _blocks(recipe: BoxnetRecipe) -> dict[str, list[tuple[Block, int]]]:
    return {split.name: [(b, recipe.seed) for b in blocks(split)] for split in recipe.splits}


build = Builder(
    load_recipe, _blocks, compute_block, (Path(__file__).parent, Path(boxnet.__file__).parent)
).build
"""Builds a dataset of BoxNet2D, or what is missing of it."""


def check(folder: Path, workers: Workers, notify: Notify) -> int:
    """Checks that files are whole and every row is what it promises; returns how many rows.

    Raises:
        DatasetError: the first thing that is wrong.
    """
    recipe = load_recipe(folder / RECIPE)
    check_files(folder, recipe.digest)
    given = ((folder / f'{split.name}.jsonl', list(blocks(split))) for split in recipe.splits)
    total = 0
    for done, count in enumerate(in_order(workers, _check_split, given), 1):
        total += count
        notify('splits', done, len(recipe.splits))
    return total


def _check_split(path: Path, parts: list[Block]) -> int:
    by_kind = {(part.size, part.objects): part for part in parts}
    seen = set[str]()
    counted = dict.fromkeys(by_kind, 0)
    for row in read_rows(path):
        kind = (row.task.width, row.task.height), len(row.task.targets)
        if kind not in by_kind or row.split != path.stem or row.task.id in seen:
            raise DatasetError(f'{path}: {row.task.id}: does not belong here: build it again')
        check_row(row, by_kind[kind])
        seen.add(row.task.id)
        counted[kind] += 1
        if counted[kind] > by_kind[kind].rows:
            raise DatasetError(f'{path}: {row.task.id}: is one too many: build it again')
    return len(seen)

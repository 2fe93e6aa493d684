# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a dataset of BoxNet2D is made of, beside table 11 of the paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

from safegen_ros.datasets.boxnet.recipe import load_recipe
from safegen_ros.datasets.boxnet.rows import BoxNetRow, read_rows
from safegen_ros.datasets.builder import RECIPE
from safegen_ros.tasks.boxnet.optimal import parallelism
from safegen_ros.terminal import Console, table

PAPER = {
    'train': (55_000, 8.13, 1.73, 6.25),
    'test': (250, 8.32, 1.75, 6.25),
    'randrob': (200, 7.06, 1.49, 6.25),
    'newcoord': (250, 8.59, 1.77, 6.25),
    'train3d': (1_800, 6.27, 1.89, 2.25),
    'test3d': (160, 5.62, 1.88, 2.25),
}
"""Table 11: tasks, mean steps of its planner, mean parallelism, mean number of robots."""

NOTES = (
    'Steps and robots at once are means over the tasks that the planner of the line solves; the '
    'paper has only tasks that its planner solves, and does not tell its averages by size.',
    'The planner of the paper is ours after its listing 1, which leaves open how the quality of a '
    'placement is measured.',
    '6.25 robots is the mean of maps of 2 x 2 to 5 x 5, though the text says 2 x 2 to 6 x 6; for '
    'BoxNet3D 2.25 is that of 2 x 2 to 3 x 3, though the text says 2 x 2 to 4 x 4.',
)


def print_statistics(folder: Path, console: Console) -> None:
    """Prints a line for each planner and split of a dataset, and that of the paper.

    Raises:
        DatasetError: there is no dataset, or it is unreadable.
    """
    rows: list[tuple[str, ...]] = []
    for split in load_recipe(folder / RECIPE).splits:
        rows += _lines(split.name, list(read_rows(folder / f'{split.name}.jsonl')))
    numbers = ('tasks', 'solved', 'steps', 'at once', 'robots', 'proved shortest')
    title = 'Tasks, and those of table 11 of the paper'
    console.print(table(title, ('split', 'plans of'), numbers, rows))
    for note in NOTES:
        console.print(f'- {note}', markup=False, highlight=False)


def _lines(name: str, rows: Sequence[BoxNetRow]) -> Iterator[tuple[str, ...]]:
    """The cells of a split: of each planner over the tasks that it solves, and of the paper."""
    count, robots = f'{len(rows):,}', f'{_mean([len(row.task.bases) for row in rows]):.2f}'
    plans = [row.plan for row in rows if row.plan is not None]
    if not plans:
        yield name, 'none', count, '0', '-', '-', robots, ''
        return
    proved = sum(row.plan is not None and len(row.plan) == row.lower_bound for row in rows)
    optimal = [(len(plan), parallelism(plan)) for plan in plans]
    yield name, 'optimal', count, *_means(optimal), robots, f'{proved:,}'
    paper = [(row.paper_steps, row.paper_parallelism or 0) for row in rows if row.paper_steps]
    yield name, 'paper', '', *_means(paper), robots, ''
    if name in PAPER:
        tasks, *means = PAPER[name]
        yield name, 'its own', f'{tasks:,}', f'{tasks:,}', *(f'{m:.2f}' for m in means), ''


def _means(solved: Sequence[tuple[int, int]]) -> tuple[str, str, str]:
    """How many there are, and the means of their steps and of the robots at once."""
    steps, at_once = ([pair[at] for pair in solved] for at in (0, 1))
    return f'{len(solved):,}', f'{_mean(steps):.2f}', f'{_mean(at_once):.2f}'


def _mean(values: Sequence[int]) -> float:
    return fmean(values) if values else 0.0

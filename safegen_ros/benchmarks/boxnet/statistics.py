# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a dataset of BoxNet2D is made of, beside table 11 of the paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from safegen_ros.datasets.boxnet.recipe import load_recipe
from safegen_ros.datasets.boxnet.rows import Row, read_rows
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


@dataclass(frozen=True, slots=True)
class Means:
    """Means over the tasks of a split that a planner solves.

    Attributes:
        solved: how many.
        steps: of a plan; 0 without any.
        parallelism: most robots at once in a plan; 0 without any.
    """

    solved: int
    steps: float
    parallelism: float


@dataclass(frozen=True, slots=True)
class SplitStatistics:
    """A split, counted.

    Attributes:
        name: of the split.
        rows: tasks in it.
        robots: of a task, mean.
        optimal: of the optimal planner.
        paper: of the planner of the paper.
        certified: plans that are proved shortest.
    """

    name: str
    rows: int
    robots: float
    optimal: Means
    paper: Means
    certified: int


def statistics_of(name: str, rows: Sequence[Row]) -> SplitStatistics:
    """Counts the rows of a split."""
    plans = [row.plan for row in rows if row.plan is not None]
    paper = [
        (row.paper_steps, row.paper_parallelism)
        for row in rows
        if row.paper_steps is not None and row.paper_parallelism is not None
    ]
    return SplitStatistics(
        name,
        len(rows),
        _mean([len(row.task.bases) for row in rows]),
        Means(len(plans), _mean([*map(len, plans)]), _mean([*map(parallelism, plans)])),
        Means(len(paper), _mean([s for s, _ in paper]), _mean([p for _, p in paper])),
        sum(row.plan is not None and len(row.plan) == row.lower_bound for row in rows),
    )


def print_statistics(folder: Path, console: Console) -> None:
    """Prints a line for each planner and split of a dataset, and that of the paper.

    Raises:
        DatasetError: there is no dataset, or it is unreadable.
    """
    rows: list[tuple[str, ...]] = []
    for split in load_recipe(folder / RECIPE).splits:
        found = statistics_of(split.name, list(read_rows(folder / f'{split.name}.jsonl')))
        rows += _lines(found)
    numbers = ('tasks', 'solved', 'steps', 'at once', 'robots', 'proved shortest')
    title = 'Tasks, and those of table 11 of the paper'
    console.print(table(title, ('split', 'plans of'), numbers, rows))
    for note in NOTES:
        console.print(f'- {note}', markup=False, highlight=False)


def _lines(found: SplitStatistics) -> Iterator[tuple[str, ...]]:
    """The cells of a split: of each planner, and of the paper."""
    count, robots = f'{found.rows:,}', f'{found.robots:.2f}'
    if not found.optimal.solved:
        yield found.name, 'none', count, '0', '-', '-', robots, ''
        return
    for whose, means in (('optimal', found.optimal), ('paper', found.paper)):
        cells = f'{means.solved:,}', f'{means.steps:.2f}', f'{means.parallelism:.2f}', robots
        proved = f'{found.certified:,}' if whose == 'optimal' else ''
        yield found.name, whose, count if proved else '', *cells, proved
    if found.name in PAPER:
        rows, *paper = PAPER[found.name]
        yield found.name, 'its own', f'{rows:,}', f'{rows:,}', *(f'{m:.2f}' for m in paper), ''


def _mean(values: Sequence[int]) -> float:
    return fmean(values) if values else 0.0

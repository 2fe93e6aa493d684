# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Tables of Planetarium for a terminal, with the figures of the paper beside."""

from __future__ import annotations

from collections.abc import Mapping

from safegen_ros.benchmarks.comparison import wilson
from safegen_ros.benchmarks.planetarium.score import (
    MEAN,
    METRICS,
    PAPER,
    PAPER_ROWS,
    Score,
    Shares,
)
from safegen_ros.datasets.planetarium import recipe, statistics
from safegen_ros.datasets.planetarium.pairs import ABSTRACTIONS, SIZES
from safegen_ros.terminal import Console, table

_SIDES = {'enforced': 'types enforced', 'tolerant': 'types tolerated'}
_NOTE = (
    '- The figures of the paper are of its own test split, and average over its domains. It tells '
    'those with types tolerated in a picture only.'
)


def print_score(found: Score, console: Console) -> None:
    """Prints the shares of every group, the means beside the paper, and what was wrong."""
    for side, name in _SIDES.items():
        rows = [
            (group, case, f'{shares.trials:,}', *_shares(shares, side))
            for group, cases in found.groups.items()
            for case, shares in cases.items()
            if shares.trials
        ]
        title = f'Planetarium, {name} [%] (95 % intervals)'
        console.print(table(title, ('rows', ''), ('n', *METRICS), rows))
    means = [
        ('ours', name.split()[1], f'{found.rows:,}',
         *(f'{found.mean(side, metric):.1f}' for metric in METRICS))
        for side, name in _SIDES.items()
    ]  # fmt: skip
    for name, figures in PAPER.items():
        told = (f'{figures[m]:.1f}' if m in figures else '-' for m in METRICS)
        means.append((f'paper: {name}', 'enforced', f'{PAPER_ROWS:,}', *told))
    console.print(table(f'{MEAN.capitalize()} [%]', ('whose', 'types'), ('n', *METRICS), means))
    counts = [
        (name, f'{found.findings[name]:,}', f'{found.forgiven[name]:,}')
        for name in found.findings | found.forgiven
    ]
    console.print(table('What became of the answers', ('finding',), _SIDES.values(), counts))
    console.print(_NOTE, highlight=False)


def print_statistics(
    values: Mapping[str, Mapping[str, Mapping[str, int]]], console: Console
) -> None:
    """Prints the values of `Statistics.values` beside table 1 of the paper."""
    whose = [f'{domain}\n{who}' for domain in values for who in ('paper', 'ours')]
    columns: list[list[int]] = []
    for domain, counts in values.items():
        paper = recipe.PAPER[domain]
        columns.append([sum(paper.values()), *statistics.PAPER[domain], *paper.values()])
        ours = [counts['abstraction'].get(name, 0) for name in ABSTRACTIONS]
        ours += [counts['size'].get(name, 0) for name in SIZES]
        ours += [counts['split'].get(name, 0) for name in recipe.SPLITS]
        columns.append([sum(counts['split'].values()), *ours])
    names = ('all', *ABSTRACTIONS, *(f'size {size}' for size in SIZES), *recipe.SPLITS)
    rows = [(n, *(f'{c:,}' for c in cells)) for n, *cells in zip(names, *columns, strict=True)]
    console.print(table('Rows, and those of table 1 of the paper', ('rows',), whose, rows))
    for domain, counts in values.items():
        few, many = min(counts['task'].values()), max(counts['task'].values())
        placeholders = counts['placeholder'].get('True', 0)
        console.print(
            f'{domain}: {len(counts["task"])} tasks with {few:,} to {many:,} rows each; '
            f'{placeholders:,} rows with placeholders',
            highlight=False,
        )


def _shares(shares: Shares, side: str) -> list[str]:
    cells = []
    for metric in METRICS:
        count = getattr(shares, side)[metric]
        low, high = wilson(count, shares.trials)
        cells.append(f'{100 * count / shares.trials:.1f} ({100 * low:.0f}-{100 * high:.0f})')
    return cells

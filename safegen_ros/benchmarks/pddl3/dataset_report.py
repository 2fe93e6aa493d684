# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a dataset is made of, as tables for a terminal, beside table VIII of SafeGen-LLM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from safegen_ros.benchmarks.plots import COLOURS, save
from safegen_ros.datasets.files import STATISTICS, writing
from safegen_ros.datasets.pddl3.rows import SPLITS
from safegen_ros.datasets.pddl3.statistics import (
    longer_rows,
    longer_table,
    ranges_text,
    steps_of,
)
from safegen_ros.terminal import Console, table

PAPER = {
    'blocksworld': (500, 50, 'blocks 3-6'),
    'ferry': (500, 50, 'locations 3-4, cars 2-3'),
    'grippers': (500, 50, 'robots 1, rooms 3-4, objects 3'),
    'spanner': (500, 50, 'spanners 2-3, nuts 2, locations 3-4'),
}
"""Table VIII of the paper: training problems, test problems, sizes."""


def print_statistics(statistics: Mapping[str, Any], console: Console) -> None:
    """Prints the values of `Statistics.values`."""
    sizes = ('train', "of paper's sizes", 'test', "of paper's sizes")
    title, words = 'Table VIII of SafeGen-LLM and this dataset', ('domain', 'whose', 'sizes')
    console.print(table(title, words, sizes, _beside_the_paper(statistics)))
    heads = (*SPLITS, 'candidates', 'equal up to renaming')
    title = 'Rows (in brackets: of sizes of the paper)'
    console.print(table(title, ('domain',), heads, map(_rows, statistics, statistics.values())))
    for field, part, title in (
        ('operators', 'broken', 'Rows by PDDL3 operator of their constraints '
         '(in brackets: where the unconstrained plan breaks one)'),
        ('families', '', 'Rows by constraint family'),
    ):  # fmt: skip
        rows = _counts(statistics, field, part)
        console.print(table(title, ('domain', field), SPLITS, rows))
    heads = ('rows', 'longer safe plan', 'new even without constraints')
    changed = longer_table(statistics)
    console.print(table('What constraints change', ('domain', 'split'), heads, changed))
    heads = (
        'easy', 'medium', 'hard', 'limits of the score', 'steps', 'mean', 'longer by safety',
    )  # fmt: skip
    trained = map(_training, statistics, statistics.values())
    console.print(table('Training rows', ('domain',), heads, trained))


def _beside_the_paper(statistics: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for domain, values in statistics.items():
        if domain in PAPER:
            train, test, sizes = PAPER[domain]
            yield domain, 'paper', sizes, str(train), str(train), str(test), str(test)
        found = [values['splits'].get(split) for split in ('train', 'test')]
        counts = (
            f'{split[field]:,}' if split else '0'
            for split in found
            for field in ('rows', 'paper_rows')
        )
        yield domain, 'ours', ranges_text((found[0] or found[1])['ranges']), *counts


def _rows(domain: str, values: Mapping[str, Any]) -> tuple[str, ...]:
    splits = [values['splits'].get(split) for split in SPLITS]
    cells = [f'{found["rows"]:,} ({found["paper_rows"]:,})' if found else '-' for found in splits]
    return domain, *cells, f'{values["candidates"]:,}', f'{values["duplicates"]:,}'


def _counts(statistics: Mapping[str, Any], field: str, part: str) -> Iterator[tuple[str, ...]]:
    """Counts of each split; in brackets, if a field is named for it, the part that it counts."""
    for domain, values in statistics.items():
        splits = [values['splits'].get(split, {field: {}, part: {}}) for split in SPLITS]
        for name in sorted({name for found in splits for name in found[field]}):
            some = [f' ({found[part].get(name, 0):,})' if part else '' for found in splits]
            every = [f'{found[field].get(name, 0):,}' for found in splits]
            yield domain, name, *(a + b for a, b in zip(every, some, strict=True))


def _training(domain: str, values: Mapping[str, Any]) -> tuple[str, ...]:
    train = values['splits']['train']
    limits = ' and '.join(f'{limit:g}' for limit in values['bucket_limits'])
    low, high, mean = steps_of(train)
    return (
        domain, *map(str, train['buckets'].values()), limits, f'{low}-{high}', f'{mean:.1f}',
        f'{100 * longer_rows(train) / train["rows"]:.0f} %',
    )  # fmt: skip


PLOTS = {
    'sizes': 'problem size',
    'lengths': 'steps of the reference plan',
    'operators': 'PDDL3 operator of the constraints',
    'families': 'constraint family',
    'buckets': 'difficulty',
}
"""The plots, one file each, and the label of its axis."""

_PANEL = (5.2, 3.6)  # size of the plot of one domain [inch]


def plots_available() -> bool:
    """Whether matplotlib is installed."""
    return find_spec('matplotlib') is not None


def plots_missing(folder: Path, plots: Path) -> bool:
    """Whether a dataset has no plots, or some that are older than its statistics."""
    counted = (folder / STATISTICS).stat().st_mtime
    paths = [plots / f'{field}.png' for field in PLOTS]
    return not all(path.is_file() and path.stat().st_mtime >= counted for path in paths)


def draw_plots(statistics: Mapping[str, Any], folder: Path) -> list[Path]:
    """Draws the values of `Statistics.values`; returns the files.

    Raises:
        DatasetError: a file cannot be written.
    """
    from matplotlib.figure import Figure

    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for stale in folder.glob('.*.png.*.part'):
            stale.unlink(missing_ok=True)  # of a process that was killed
    paths = []
    for field, label in PLOTS.items():
        width, height = _PANEL
        figure = Figure((2 * width, height * -(-len(statistics) // 2)), layout='constrained')
        for place, (domain, values) in enumerate(statistics.items(), 1):
            axes = figure.add_subplot(-(-len(statistics) // 2), 2, place)
            _draw(axes, values['splits'], field)
            axes.set_title(domain)
            axes.set_xlabel(label)
            axes.set_ylabel('rows')
        paths.append(save(figure, folder / f'{field}.png', dpi=100))
    return paths


def _draw(axes: Any, splits: Mapping[str, Any], field: str) -> None:
    """Stacked bars, a colour for each split."""
    names = _names([found[field] for found in splits.values()])
    below = [0] * len(names)
    for split, colour in zip(SPLITS, COLOURS, strict=True):
        if split not in splits:
            continue
        heights = [splits[split][field].get(name, 0) for name in names]
        axes.bar(names, heights, bottom=below, label=split, color=colour)
        below = [low + height for low, height in zip(below, heights, strict=True)]
    axes.tick_params('x', labelrotation=0 if max(map(len, names)) < 7 else 60, labelsize=7)
    axes.legend(fontsize=7)


def _names(counts: Sequence[Mapping[str, int]]) -> list[str]:
    """Every value that was counted; numbers by value, others as they come."""
    found = list(dict.fromkeys(name for count in counts for name in count))
    if all(name.isdigit() for name in found):
        return [str(number) for number in range(min(map(int, found)), max(map(int, found)) + 1)]
    return found

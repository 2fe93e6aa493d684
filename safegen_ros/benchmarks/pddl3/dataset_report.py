# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a dataset is made of, as tables for a terminal, beside table VIII of SafeGen-LLM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

from rich.table import Table

from safegen_ros.datasets.failures import writing
from safegen_ros.datasets.files import write_atomically
from safegen_ros.datasets.pddl3.rows import SPLITS
from safegen_ros.datasets.pddl3.statistics import BARE_NEW, STATISTICS, longer_rows, ranges_text
from safegen_ros.terminal import Console

PAPER = {
    'blocksworld': (500, 50, 'blocks 3-6'),
    'ferry': (500, 50, 'locations 3-4, cars 2-3'),
    'grippers': (500, 50, 'robots 1, rooms 3-4, objects 3'),
    'spanner': (500, 50, 'spanners 2-3, nuts 2, locations 3-4'),
}
"""Table VIII of the paper: training problems, test problems, sizes."""


def print_statistics(statistics: Mapping[str, Any], console: Console) -> None:
    """Prints the values of `Statistics.values`."""
    console.print(_beside_the_paper(statistics))
    console.print(_splits(statistics))
    title = (
        'Rows by PDDL3 operator of their constraints '
        '(in brackets: where the unconstrained plan breaks one)'
    )
    console.print(_counts(statistics, 'operators', title, 'broken'))
    console.print(_counts(statistics, 'families', 'Rows by constraint family'))
    console.print(_safety(statistics))
    console.print(_training(statistics))


def _beside_the_paper(statistics: Mapping[str, Any]) -> Table:
    table = Table(title='Table VIII of SafeGen-LLM and this dataset', title_justify='left')
    for heading in ('domain', 'whose'):
        table.add_column(heading)
    for heading in ('train', "of paper's sizes", 'test', "of paper's sizes"):
        table.add_column(heading, justify='right')
    table.add_column('sizes')
    for domain, values in statistics.items():
        if domain in PAPER:
            train, test, sizes = PAPER[domain]
            table.add_row(domain, 'paper', str(train), str(train), str(test), str(test), sizes)
        found = [values['splits'].get(split) for split in ('train', 'test')]
        counts = [
            f'{split[field]:,}' if split else '0'
            for split in found
            for field in ('rows', 'paper_rows')
        ]
        sizes = ranges_text((found[0] or found[1])['ranges'])
        table.add_row('' if domain in PAPER else domain, 'ours', *counts, sizes)
    return table


def _splits(statistics: Mapping[str, Any]) -> Table:
    table = Table(title='Rows (in brackets: of sizes of the paper)', title_justify='left')
    table.add_column('domain')
    for heading in (*SPLITS, 'candidates', 'equal up to renaming'):
        table.add_column(heading, justify='right')
    for domain, values in statistics.items():
        cells = []
        for split in SPLITS:
            found = values['splits'].get(split)
            cells.append(f'{found["rows"]:,} ({found["paper_rows"]:,})' if found else '-')
        table.add_row(domain, *cells, f'{values["candidates"]:,}', f'{values["duplicates"]:,}')
    return table


def _counts(statistics: Mapping[str, Any], field: str, title: str, part: str = '') -> Table:
    """Counts of each split; in brackets, if a field is named for it, the part that it counts."""
    table = Table(title=title, title_justify='left')
    table.add_column('domain')
    table.add_column(field)
    for split in SPLITS:
        table.add_column(split, justify='right')
    for domain, values in statistics.items():
        splits = [values['splits'].get(split, {field: {}, part: {}}) for split in SPLITS]
        shown = domain
        for name in sorted({name for found in splits for name in found[field]}):
            cells = [f'{found[field].get(name, 0):,}' for found in splits]
            if part:
                few = [f'{found[part].get(name, 0):,}' for found in splits]
                cells = [f'{all_} ({some})' for all_, some in zip(cells, few, strict=True)]
            table.add_row(shown, name, *cells)
            shown = ''
    return table


def _safety(statistics: Mapping[str, Any]) -> Table:
    """How many plans safety makes longer, and how many tests are new without constraints, too."""
    table = Table(title='What constraints change', title_justify='left')
    for heading in ('domain', 'split'):
        table.add_column(heading)
    for heading in ('rows', 'longer safe plan', 'new even without constraints'):
        table.add_column(heading, justify='right')
    for domain, values in statistics.items():
        shown = domain
        for split in SPLITS:
            found = values['splits'].get(split)
            if found is None:
                continue
            new = '-' if split == 'train' else f'{found[BARE_NEW]:,}'
            table.add_row(shown, split, f'{found["rows"]:,}', f'{longer_rows(found):,}', new)
            shown = ''
    return table


def _training(statistics: Mapping[str, Any]) -> Table:
    table = Table(title='Training rows', title_justify='left')
    table.add_column('domain')
    for heading in (
        'easy', 'medium', 'hard', 'limits of the score', 'steps', 'mean', 'longer by safety',
    ):  # fmt: skip
        table.add_column(heading, justify='right')
    for domain, values in statistics.items():
        train = values['splits']['train']
        limits = ' and '.join(f'{limit:g}' for limit in values['bucket_limits'])
        steps = [int(length) for length in train['lengths']]
        table.add_row(
            domain, *map(str, train['buckets'].values()), limits, f'{min(steps)}-{max(steps)}',
            f'{_mean(train["lengths"]):.1f}', f'{100 * longer_rows(train) / train["rows"]:.0f} %',
        )  # fmt: skip
    return table


def _mean(counts: Mapping[str, int]) -> float:
    return sum(int(value) * count for value, count in counts.items()) / sum(counts.values())


PLOTS = {
    'sizes': 'problem size',
    'lengths': 'steps of the reference plan',
    'operators': 'PDDL3 operator of the constraints',
    'families': 'constraint family',
    'buckets': 'difficulty',
}
"""What is plotted, one file each, and the label of its axis."""

_PANEL = (5.2, 3.6)  # size of the plot of one domain [inch]
_COLOURS = ('#0072b2', '#d55e00', '#009e73', '#cc79a7')  # told apart by colour-blind readers too


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
        path = folder / f'{field}.png'
        picture = BytesIO()
        figure.savefig(picture, format='png', dpi=100)
        write_atomically(path, picture.getvalue())
        paths.append(path)
    return paths


def _draw(axes: Any, splits: Mapping[str, Any], field: str) -> None:
    """Stacked bars, a colour for each split."""
    names = _names([found[field] for found in splits.values()])
    below = [0] * len(names)
    for split, colour in zip(SPLITS, _COLOURS, strict=True):
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

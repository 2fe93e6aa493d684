# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plots of what a dataset is made of, as PNG files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

from safegen_ros.datasets.failures import writing
from safegen_ros.datasets.files import write_atomically
from safegen_ros.datasets.pddl3.split import SPLITS
from safegen_ros.datasets.pddl3.statistics import STATISTICS

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

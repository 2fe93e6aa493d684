# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Comparisons as pictures: bars of all classes, or of success with intervals."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path
from typing import Any

from safegen_ros.benchmarks.comparison import CLASSES, Comparison, Line
from safegen_ros.datasets.failures import writing

_BAR = 0.42  # width of the place of a bar [inch]
_HEIGHT = 4.2  # of a panel [inch]
_COLUMNS = 2
_SUCCESS = '#009e73'
_COLOURS = {
    'format': '#999999', 'precond': '#0072b2', 'safety': '#d55e00', 'goal': '#e69f00',
}  # fmt: skip
_WHOSE = ('#009e73', '#56b4e9', '#cc79a7', '#e69f00', '#0072b2', '#999999')
"""Colours that are told apart by colour-blind readers, too."""


def draw_comparison(comparison: Comparison, folder: Path) -> Path:
    """Draws a panel for each group into `NAME.png`; returns its path.

    Raises:
        DatasetError: the file cannot be written.
    """
    from matplotlib.figure import Figure

    groups: dict[str, list[Line]] = {}
    for line in comparison.lines:
        groups.setdefault(line.group, []).append(line)
    columns = min(_COLUMNS, len(groups))
    rows = -(-len(groups) // columns)
    width = max(4.5, 1.4 + _BAR * max(map(len, groups.values())))
    figure = Figure((columns * width, rows * _HEIGHT), layout='constrained')
    for place, (group, lines) in enumerate(groups.items(), 1):
        axes = figure.add_subplot(rows, columns, place)
        if comparison.plot == 'classes':
            _classes(axes, lines)
        else:
            _successes(axes, lines)
        axes.set_title(group)
        axes.set_ylim(0, 102)  # room for the ends of intervals
        axes.set_ylabel('problems [%]')
        axes.tick_params('x', labelrotation=90, labelsize=7)
    handles, labels = _legend(figure.axes)
    figure.legend(handles, labels, loc='outside lower center', ncols=6, fontsize=8)
    figure.suptitle(comparison.title, fontsize=10)
    path = folder / f'{comparison.name}.png'
    with writing(path):
        folder.mkdir(parents=True, exist_ok=True)
        # Without the version of the library, so that the same figures give the same bytes.
        figure.savefig(path, dpi=110, metadata={'Software': None})
    return path


def _legend(panels: list[Any]) -> tuple[list[Any], list[str]]:
    """Each label once, whatever panel has it."""
    found: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return list(found.values()), list(found)


def _classes(axes: Any, lines: list[Line]) -> None:
    """A stacked bar for each line; what a source does not tell is left open above it."""
    places = range(len(lines))
    below = [line.figures.success for line in lines]
    axes.bar(places, below, label='success', color=_SUCCESS)
    for name in CLASSES:
        shares = [line.figures.failures.get(name, 0.0) for line in lines]
        axes.bar(places, shares, bottom=below, label=name, color=_COLOURS[name])
        below = [low + share for low, share in zip(below, shares, strict=True)]
    axes.set_xticks(places, [f'{line.case} {line.whose}' for line in lines])


def _successes(axes: Any, lines: list[Line]) -> None:
    """The success of each case, a colour for each name, with its interval."""
    names = list(dict.fromkeys(line.whose for line in lines))
    for name, colour in zip(names, cycle(_WHOSE), strict=False):
        mine = [(at, line.figures) for at, line in enumerate(lines) if line.whose == name]
        heights = [figures.success for _, figures in mine]
        spans = [
            [max(0.0, f.success - f.interval[0]) for _, f in mine],
            [max(0.0, f.interval[1] - f.success) for _, f in mine],
        ]
        axes.bar(
            [at for at, _ in mine], heights, yerr=spans, label=name, color=colour, capsize=2,
            error_kw={'linewidth': 0.8},
        )  # fmt: skip
    several = len({line.case for line in lines}) > 1
    axes.set_xticks(range(len(lines)), [line.case if several else line.whose for line in lines])

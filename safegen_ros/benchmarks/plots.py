# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Comparisons as bars of all classes or of success with intervals; shares over sizes as lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from itertools import cycle
from pathlib import Path
from typing import Any

from safegen_ros.benchmarks.comparison import CLASSES, ComparisonTable, Line
from safegen_ros.datasets.files import write_atomically

_BAR = 0.42  # width of the place of a bar [inch]
_HEIGHT = 4.2  # of a panel [inch]
_COLUMNS = 2
_SUCCESS = '#009e73'
_COLOURS = {
    'format': '#999999', 'precond': '#0072b2', 'safety': '#d55e00', 'goal': '#e69f00',
}  # fmt: skip
_WHOSE = ('#009e73', '#56b4e9', '#cc79a7', '#e69f00', '#0072b2', '#999999')
"""Colours that colour-blind readers can distinguish, too."""


def draw_comparison(comparison: ComparisonTable, folder: Path) -> Path:
    """Draws a panel for each group into `NAME.png`; returns its path.

    Raises:
        DatasetError: the file cannot be written.
    """
    from matplotlib.figure import Figure

    groups = comparison.groups()
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
    return save(figure, folder / f'{comparison.name}.png')


def save(figure: Any, path: Path, dpi: int = 110) -> Path:
    """Writes a figure of matplotlib, the same bytes for the same figure; returns the path.

    Raises:
        DatasetError: the file cannot be written.
    """
    picture = BytesIO()
    figure.savefig(picture, dpi=dpi, metadata={'Software': None})  # not the library's version
    write_atomically(path, picture.getvalue())
    return path


def _legend(panels: list[Any]) -> tuple[list[Any], list[str]]:
    """Each label once, whatever panel has it."""
    found: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return list(found.values()), list(found)


def _classes(axes: Any, lines: list[Line]) -> None:
    """A stacked bar for each line; classes that a source does not state are left open above it."""
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


COLOURS = ('#0072b2', '#d55e00', '#009e73', '#cc79a7')  # told apart by colour-blind readers too
_MARKS = ('o', 's', '^', 'D')
_DASHES = ('--', ':', '-.')


@dataclass(frozen=True, slots=True)
class Chart:
    """Shares over sizes.

    Attributes:
        series: by the name of a line, its share [%] for every tick; None where there is none.
        levels: by their names, shares that somebody else reports [%].
    """

    title: str
    x_label: str
    y_label: str
    ticks: tuple[int, ...]
    series: Mapping[str, Sequence[float | None]]
    levels: Mapping[str, float] = field(default_factory=dict)

    def figure(self) -> Any:
        """The chart as a matplotlib figure.

        Raises:
            ModuleNotFoundError: matplotlib is not installed.
        """
        from matplotlib.figure import Figure

        figure = Figure((7.2, 4.6), layout='constrained')
        axes = figure.add_subplot()
        looks = zip(cycle(COLOURS), cycle(_MARKS), strict=False)
        for (name, shares), (colour, mark) in zip(self.series.items(), looks, strict=False):
            known = [(t, s) for t, s in zip(self.ticks, shares, strict=True) if s is not None]
            at, heights = [tick for tick, _ in known], [share for _, share in known]
            axes.plot(at, heights, color=colour, marker=mark, label=name)
        for (name, share), style in zip(self.levels.items(), cycle(_DASHES), strict=False):
            axes.axhline(share, color='#555555', linestyle=style, label=name)
        axes.set_title(self.title)
        axes.set_xlabel(self.x_label)
        axes.set_ylabel(self.y_label)
        axes.set_xticks(self.ticks)
        axes.set_ylim(-3, 103)
        axes.grid(axis='y', color='#dddddd')
        figure.legend(loc='outside lower center', ncols=2)
        return figure

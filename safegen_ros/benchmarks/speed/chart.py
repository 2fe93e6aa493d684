# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A line chart of shares, as a matplotlib figure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_SIZE = (7.2, 4.6)  # [inch]
_COLOURS = ('#0072b2', '#d55e00', '#009e73', '#cc79a7')  # told apart by colour-blind readers too
_MARKS = ('o', 's', '^', 'D')
_DASHES = ('--', ':', '-.')


@dataclass(frozen=True, slots=True)
class Series:
    """A line: a share [%] for every tick of the chart, None where there is none."""

    name: str
    shares: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Level:
    """A horizontal line at a share [%], for a figure that somebody else reports."""

    name: str
    share: float


@dataclass(frozen=True, slots=True)
class Chart:
    """Shares over sizes.

    Attributes:
        title: above it all.
        x_label: what the ticks are.
        y_label: what the shares are of.
        ticks: the sizes, in order.
        series: measured lines.
        levels: lines to compare with.
    """

    title: str
    x_label: str
    y_label: str
    ticks: tuple[int, ...]
    series: tuple[Series, ...]
    levels: tuple[Level, ...] = ()

    def figure(self) -> Any:
        """The chart as a matplotlib figure.

        Raises:
            ModuleNotFoundError: matplotlib is not installed.
        """
        from matplotlib.figure import Figure

        figure = Figure(_SIZE, layout='constrained')
        axes = figure.add_subplot()
        for index, line in enumerate(self.series):
            known = [(t, s) for t, s in zip(self.ticks, line.shares, strict=True) if s is not None]
            axes.plot(
                [tick for tick, _ in known],
                [share for _, share in known],
                color=_COLOURS[index % len(_COLOURS)],
                marker=_MARKS[index % len(_MARKS)],
                label=line.name,
            )
        for index, level in enumerate(self.levels):
            style = _DASHES[index % len(_DASHES)]
            axes.axhline(level.share, color='#555555', linestyle=style, label=level.name)
        axes.set_title(self.title)
        axes.set_xlabel(self.x_label)
        axes.set_ylabel(self.y_label)
        axes.set_xticks(self.ticks)
        axes.set_ylim(-3, 103)
        axes.grid(axis='y', color='#dddddd')
        figure.legend(loc='outside lower center', ncols=2)
        return figure

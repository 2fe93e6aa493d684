# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Measurements with their targets, as values, as files and as a table for a terminal."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from safegen_ros.paths import share_dir
from safegen_ros.record.provenance import source_commit, versions
from safegen_ros.record.run import write_durably
from safegen_ros.terminal import Console


@dataclass(frozen=True, slots=True)
class Measurement:
    """One measured figure.

    Attributes:
        name: what was measured.
        value: the figure; None when it could not be measured, and `note` says why.
        unit: of the value, such as `us`, `plans/s`, `x` (a ratio) or `%`.
        target: what the project asks for, in the same unit; None when it asks for nothing.
        at_least: whether the target is the least value, or the largest one.
        note: how it was measured, or why not.
    """

    name: str
    value: float | None
    unit: str
    target: float | None = None
    at_least: bool = True
    note: str = ''

    @property
    def reached(self) -> bool | None:
        """Whether the target is reached; None without a target or without a value."""
        if self.target is None or self.value is None:
            return None
        return self.value >= self.target if self.at_least else self.value <= self.target

    @property
    def target_text(self) -> str:
        """The target with its direction and unit; empty without one."""
        if self.target is None:
            return ''
        return f'{">=" if self.at_least else "<="} {number_text(self.target)} {self.unit}'


@dataclass(frozen=True, slots=True)
class Report:
    """All figures of one run of a benchmark.

    Attributes:
        benchmark: its name.
        settings: what it was asked, the seed among it.
        measurements: the figures, in order.
        details: what else is worth keeping, plain values for JSON.
    """

    benchmark: str
    settings: Mapping[str, Any]
    measurements: tuple[Measurement, ...]
    details: Mapping[str, Any] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Writes `<benchmark>.json` and `<benchmark>.csv`."""
        whole = {
            'benchmark': self.benchmark,
            'settings': dict(self.settings),
            'commit': source_commit(share_dir()),
            'versions': versions(),
            'measurements': [{**asdict(m), 'reached': m.reached} for m in self.measurements],
            'details': dict(self.details),
        }
        write_durably(folder / f'{self.benchmark}.json', json.dumps(whole, indent=1) + '\n')
        rows = [
            (m.name, '' if m.value is None else m.value, m.unit, m.target_text, _word(m), m.note)
            for m in self.measurements
        ]
        header = ('name', 'value', 'unit', 'target', 'reached', 'note')
        write_durably(folder / f'{self.benchmark}.csv', csv_text(header, rows))

    def print(self, console: Console) -> None:
        """Prints the figures with their targets."""
        asked = ', '.join(f'{name} {_setting(value)}' for name, value in self.settings.items())
        table = Table(title=f'safegen bench {self.benchmark} ({asked})', title_justify='left')
        table.add_column('measured')
        table.add_column('figure', justify='right', no_wrap=True)
        table.add_column('target', justify='right', no_wrap=True)
        table.add_column('reached', no_wrap=True)
        for m in self.measurements:
            figure = '-' if m.value is None else f'{number_text(m.value)} {m.unit}'
            name = escape(m.name) + (f'\n[dim]{escape(m.note)}[/]' if m.note else '')
            table.add_row(name, figure, m.target_text, _coloured(m))
        console.print(table)


def _setting(value: object) -> str:
    return ' '.join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _word(measurement: Measurement) -> str:
    return {None: '', True: 'yes', False: 'no'}[measurement.reached]


def _coloured(measurement: Measurement) -> str:
    colour = 'green' if measurement.reached else 'red'
    word = _word(measurement)
    return f'[{colour}]{word}[/]' if word else ''


def number_text(value: float) -> str:
    """A number with about three digits that matter, `12,300`, `41.3`, `0.0123`."""
    if value == 0 or abs(value) >= 100:
        return f'{value:,.0f}'
    return f'{value:.3g}'


def csv_text(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table as CSV text."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator='\n')
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()


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

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Figures of speed with their targets: as values, as files and as a table for a terminal.

Times are processor time of this process unless a figure says otherwise, so that a ratio does not
depend on what else the machine does.
"""

from __future__ import annotations

import csv
import io
import json
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from rich.markup import escape

from safegen_ros.paths import share_dir, write_durably
from safegen_ros.record.run import source_commit, versions
from safegen_ros.terminal import Console, table

Notify = Callable[[str, int, int], None]
"""Takes the stage, how much of it is done, and of how much."""


def silent(what: str, done: int, total: int) -> None:
    """Reports nothing."""


_Result = TypeVar('_Result')


def timed(
    work: Callable[[], _Result], times: int = 1, clock: Callable[[], float] = time.process_time
) -> tuple[_Result, float]:
    """What some work returns the last time, and the processor time of all times together [s]."""
    begun = clock()
    for _ in range(times):
        result = work()
    return result, clock() - begun


def resident_bytes() -> int | None:
    """Resident memory of this process; None on a system that does not report it."""
    statm = Path('/proc/self/statm')
    if not statm.exists():
        return None
    return int(statm.read_text(encoding='ascii').split()[1]) * os.sysconf('SC_PAGE_SIZE')


def this_machine() -> str:
    """The processor and how busy it is, for people."""
    name = platform.processor() or platform.machine()
    cpuinfo = Path('/proc/cpuinfo')
    if cpuinfo.is_file():
        found = [line for line in cpuinfo.read_text().splitlines() if line.startswith('model name')]
        name = found[0].partition(':')[2].strip() if found else name
    return f'{name}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}'


@dataclass(frozen=True, slots=True)
class Measurement:
    """One measured figure.

    Attributes:
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
        details: what else is worth keeping, plain values for JSON.
        verb: that takes it, where it is not `bench` with its name.
    """

    benchmark: str
    settings: Mapping[str, Any]
    measurements: tuple[Measurement, ...]
    details: Mapping[str, Any] = field(default_factory=dict)
    verb: str = ''

    def write(self, folder: Path) -> None:
        """Writes `<benchmark>.json` and `<benchmark>.csv`."""
        whole = {
            'benchmark': self.benchmark,
            'settings': dict(self.settings),
            'commit': source_commit(share_dir()),
            'versions': versions(),
            'machine': this_machine(),
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
        rows = [
            (
                escape(m.name) + (f'\n[dim]{escape(m.note)}[/]' if m.note else ''),
                '-' if m.value is None else f'{number_text(m.value)} {m.unit}',
                m.target_text, _coloured(m),
            )
            for m in self.measurements
        ]  # fmt: skip
        title = f'safegen {self.verb or "bench " + self.benchmark} ({asked})'
        console.print(table(title, ('measured',), ('figure', 'target', 'reached'), rows))
        console.print(f'on {this_machine()}', markup=False, highlight=False, soft_wrap=True)


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

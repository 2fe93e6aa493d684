# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Measurements as tables, for a terminal and in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.table import Table

from safegen_ros.benchmarks.comparison import (
    CLASSES,
    ComparisonTable,
    Figures,
    Line,
    write_comparison,
)
from safegen_ros.benchmarks.pddl3.evaluate import ModelReport, Result
from safegen_ros.benchmarks.pddl3.paper import ALL
from safegen_ros.terminal import Console, markdown_table, table

_EXPLAINED = {
    'greedy': 'single shot, greedy',
    'sampled': 'single shot, T 0.6, top-p 0.9',
    'feedback': 'up to {n} attempts, verdict fed back',
    'resample': 'up to {n} attempts, sampled again',
    'untrained': 'the same network before training, T 0.6, top-p 0.9',
}
"""What the modes are; `length` in the table is plan length over optimal length, solved only."""

_GROUPED = {
    'domain': 'domain',
    'family': 'constraint family',
    'operators': 'operators',
    'paper_size': 'size',
    'bucket': 'difficulty',
}

_IN_FILES_ONLY = ('95 % s', 'CPU s')  # they would not fit into 80 columns

_HEADINGS = ('n', 'success', '95 %', *CLASSES)


def print_report(report: ModelReport, console: Console | None = None) -> None:
    """Prints success, failures, and success by group, with seed and checksums."""
    console = console or Console()
    subject = report.subject
    weights = f'{subject.parameters:,} parameters, weights {subject.checksum[:16]}'
    which = weights if subject.checksum else 'at a server'
    console.print(f'{subject.name}: {which}, format {report.form}, seed {report.seed}')
    if report.source is not None:
        console.print(f'problems: {report.source}')
    for result in report.results:
        console.print(f'  {result.mode}: {_EXPLAINED[result.mode].format(n=report.max_attempts)}')
    console.print(_overview(report.results))
    for attribute, title in _GROUPED.items():
        console.print(_grouped(report.results, attribute, title))


def print_comparison(comparison: ComparisonTable, console: Console | None = None) -> None:
    """Prints a table for each group, then the measurements and the differences of the sides."""
    console = console or Console()
    console.print(f'{comparison.title} [%]', style='bold', markup=False)
    group, *words = comparison.headings
    more = [name for name in comparison.more if name not in _IN_FILES_ONLY]
    # The group of all is the last one in the files; at a terminal it is read first.
    for name, lines in sorted(comparison.groups().items(), key=lambda each: each[0] != ALL):
        rows = [(line.case, line.whose, *_cells(line.figures)) for line in lines]
        console.print(table(f'{group}: {name}', words, _HEADINGS, rows))
        if comparison.more:  # separate ones: both together are wider than a terminal
            rows = [(line.case, line.whose, *_further(line, comparison, more)) for line in lines]
            console.print(table('', words, more, rows))
    for note in (*comparison.facts, *comparison.differences):
        console.print(f'- {note}', markup=False, highlight=False)


def markdown(comparison: ComparisonTable) -> str:
    """The same as a page of Markdown."""
    rows = [
        (
            line.group,
            line.case,
            line.whose,
            *_cells(line.figures),
            *_further(line, comparison, comparison.more),
        )
        for line in comparison.lines
    ]
    return '\n'.join(
        (
            f'# {comparison.title}', '', f'Printed by `{comparison.command}`; in percent.', '',
            *markdown_table(comparison.headings, (*_HEADINGS, *comparison.more), rows),
            '', *(f'- {fact}' for fact in comparison.facts),
            '', '## What differs', '', *(f'- {each}' for each in comparison.differences), '',
        )
    )  # fmt: skip


def _cells(figures: Figures) -> list[str]:
    low, high = figures.interval
    return [
        str(figures.trials or '-'),
        _percent(figures.success),
        f'{low:.0f}-{high:.0f}' if figures.trials else '-',
        *(_percent(figures.failures.get(name)) for name in CLASSES),
    ]


def _further(line: Line, comparison: ComparisonTable, names: Iterable[str]) -> list[str]:
    """The cells of further columns."""
    more = line.figures.more
    return [format(more[n], comparison.more[n]) if n in more else '-' for n in names]


def _overview(results: Sequence[Result]) -> Table:
    rows = []
    for result in results:
        length = f'{result.steps_over_optimal:.2f} x' if result.steps_over_optimal else '-'
        cells = _cells(Figures.of(result.tally()))
        rows.append((result.mode, *cells, length, f'{result.seconds:.1f}'))
    return table('All problems [%]', ('mode',), (*_HEADINGS, 'length', 'time [s]'), rows)


def _grouped(results: Sequence[Result], attribute: str, title: str) -> Table:
    tallies = [result.by(attribute) for result in results]
    rows = [
        (name, str(tallies[0][name].trials), *(_percent(100 * t[name].rate) for t in tallies))
        for name in (tallies[0] if tallies else ())
    ]
    modes = [result.mode for result in results]
    return table(f'Success by {title} [%]', (title,), ('n', *modes), rows)


def _percent(value: float | None) -> str:
    return '-' if value is None else f'{value:.1f}'


def present(comparison: ComparisonTable, console: Console, out: Path | None, *, plot: bool) -> None:
    """Prints a comparison, and writes its JSON, Markdown and perhaps plot into a folder."""
    print_comparison(comparison, console)
    if out is None:
        return
    paths = write_comparison(comparison, out, markdown(comparison))
    if plot:
        from safegen_ros.benchmarks.plots import draw_comparison

        paths.append(draw_comparison(comparison, out))
    console.print(f'written: {" ".join(map(str, paths))}', soft_wrap=True)

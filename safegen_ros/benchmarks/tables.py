# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Measurements as tables, for a terminal and in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rich import box
from rich.table import Table

from safegen_ros.benchmarks.comparison import (
    CLASSES,
    Comparison,
    Figures,
    Line,
    Tally,
    write_comparison,
)
from safegen_ros.benchmarks.pddl3.evaluate import Report, Result
from safegen_ros.terminal import Console

_EXPLAINED = {
    'greedy': 'single shot, greedy',
    'sampled': 'single shot, T 0.6, top-p 0.9',
    'feedback': 'up to {n} attempts, verdict fed back',
    'resample': 'up to {n} attempts, drawn anew',
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

_HEADINGS = ('n', 'success', '95 %', *CLASSES)


def print_report(report: Report, console: Console | None = None) -> None:
    """Prints success, failures, and success by group, with seed and checksums."""
    console = console or Console()
    subject = report.subject
    console.print(
        f'{subject.name}: {subject.parameters:,} parameters, weights {subject.checksum[:16]}, '
        f'format {report.form}, seed {report.seed}'
    )
    if report.source is not None:
        console.print(f'problems: {report.source}')
    for result in report.results:
        console.print(f'  {result.mode}: {_EXPLAINED[result.mode].format(n=report.max_attempts)}')
    console.print(_overview(report.results))
    for attribute, title in _GROUPED.items():
        console.print(_grouped(report.results, attribute, title))


def print_comparison(comparison: Comparison, console: Console | None = None) -> None:
    """Prints a table for each group, then what was measured and what differs between the sides."""
    console = console or Console()
    console.print(f'{comparison.title} [%]', style='bold', markup=False)
    group, case, whose = comparison.headings
    for name, lines in _groups(comparison).items():
        usual = _table(f'{group}: {name}', (case, whose), _HEADINGS)
        # Of their own: both together are wider than a terminal.
        further = _table('', (case, whose), comparison.more)
        before = None
        for line in lines:
            shown = '' if line.case == before else line.case
            usual.add_row(shown, line.whose, *_cells(line.figures))
            further.add_row(shown, line.whose, *_further(line.figures, comparison.more))
            before = line.case
        console.print(usual)
        if comparison.more:
            console.print(further)
    for note in (*comparison.facts, *comparison.differences):
        console.print(f'- {note}', markup=False, highlight=False)


def markdown(comparison: Comparison) -> str:
    """The same as a page of Markdown."""
    lines = [f'# {comparison.title}', '', f'Printed by `{comparison.command}`; in percent.', '']
    names = (*comparison.headings, *_HEADINGS, *comparison.more)
    words = len(comparison.headings)
    rules = ['---'] * words + ['---:'] * (len(names) - words)
    lines += [_bar(names), _bar(rules)]
    for line in comparison.lines:
        further = _further(line.figures, comparison.more)
        lines.append(_bar((line.group, line.case, line.whose, *_cells(line.figures), *further)))
    lines += ['', *(f'- {fact}' for fact in comparison.facts)]
    lines += ['', '## What differs', '', *(f'- {each}' for each in comparison.differences), '']
    return '\n'.join(lines)


def _bar(cells: Iterable[str]) -> str:
    return f'| {" | ".join(cells)} |'


def _groups(comparison: Comparison) -> dict[str, list[Line]]:
    found: dict[str, list[Line]] = {}
    for line in comparison.lines:
        found.setdefault(line.group, []).append(line)
    return found


def _cells(figures: Figures) -> list[str]:
    low, high = figures.interval
    return [
        str(figures.trials or '-'),
        _percent(figures.success),
        f'{low:.0f}-{high:.0f}' if figures.trials else '-',
        *(_percent(figures.failures.get(name)) for name in CLASSES),
    ]


def _further(figures: Figures, formats: Mapping[str, str]) -> list[str]:
    """The cells of further columns."""
    more = figures.more
    return [format(more[name], form) if name in more else '-' for name, form in formats.items()]


def _overview(results: Sequence[Result]) -> Table:
    table = _table('All problems [%]', ('mode',), (*_HEADINGS, 'length', 's'))
    for result in results:
        length = f'{result.steps_over_optimal:.2f} x' if result.steps_over_optimal else '-'
        figures = Figures.of(result.tally())
        table.add_row(result.mode, *_cells(figures), length, f'{result.seconds:.1f}')
    return table


def _grouped(results: Sequence[Result], attribute: str, title: str) -> Table:
    modes = [result.mode for result in results]
    table = _table(f'Success by {title} [%]', (title,), ('n', *modes))
    tallies = [result.by(attribute) for result in results]
    for name in tallies[0] if tallies else ():
        found: list[Tally] = [tally[name] for tally in tallies]
        cells = [_percent(100 * tally.rate) for tally in found]
        table.add_row(name, str(found[0].trials), *cells)
    return table


def _table(title: str, words: Iterable[str], numbers: Iterable[str]) -> Table:
    table = Table(
        title=title,
        title_justify='left',
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
    for heading in words:
        table.add_column(heading, overflow='fold')
    for heading in numbers:
        table.add_column(heading, justify='right')
    return table


def _percent(value: float | None) -> str:
    return '-' if value is None else f'{value:.1f}'


def present(comparison: Comparison, console: Console, out: Path | None, *, plot: bool) -> None:
    """Prints a comparison, and writes its JSON, Markdown and perhaps plot into a folder."""
    print_comparison(comparison, console)
    if out is None:
        return
    paths = write_comparison(comparison, out, markdown(comparison))
    if plot:
        from safegen_ros.benchmarks.plots import draw_comparison

        paths.append(draw_comparison(comparison, out))
    console.print(f'written: {" ".join(map(str, paths))}', soft_wrap=True)

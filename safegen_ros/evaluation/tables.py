# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A measurement as tables for a terminal."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console
from rich.table import Table

from safegen_ros.evaluation.evaluate import Report, Result
from safegen_ros.evaluation.statistics import Tally
from safegen_ros.verdict import Category

_FAILURES = (
    (Category.GOAL_NOT_SATISFIED, 'goal'),
    (Category.PRECONDITION_VIOLATION, 'precond.'),
    (Category.SAFETY_VIOLATION, 'safety'),
    (Category.FORMAT_ERROR, 'format'),
)
_EXPLAINED = {
    'greedy': 'single shot, greedy',
    'sampled': 'single shot, T 0.6, top-p 0.9',
    'feedback': 'up to {n} attempts, verdict fed back',
    'resample': 'up to {n} attempts, drawn anew',
    'untrained': 'the same network before training, T 0.6, top-p 0.9',
}
"""What the modes are; `length` in the table is plan length over optimal length, solved only."""


def print_report(report: Report, console: Console | None = None) -> None:
    """Prints success, failures, and success by size and by family, with seed and checksum."""
    console = console or Console()
    console.print(
        f'{report.model}: {report.parameters:,} parameters, weights {report.checksum[:16]}, '
        f'{len(report.problems)} unseen problems, seed {report.seed}'
    )
    for result in report.results:
        console.print(f'  {result.mode}: {_EXPLAINED[result.mode].format(n=report.max_attempts)}')
    console.print(_overview(report))
    sizes = sorted({problem.size for problem in report.problems})
    console.print(
        _grouped(report, 'blocks', [str(n) for n in sizes], lambda i: str(report.problems[i].size))
    )
    families = list(dict.fromkeys(problem.family for problem in report.problems))
    console.print(_grouped(report, 'constraints', families, lambda i: report.problems[i].family))


def _overview(report: Report) -> Table:
    table = Table(title='All problems [%]')
    table.add_column('mode')
    for heading in ('success', '95 % from-to', *(name for _, name in _FAILURES), 'length'):
        table.add_column(heading, justify='right')
    for result in report.results:
        tally = result.tally()
        low, high = tally.interval
        failures = [_percent(tally.counts.get(c, 0), tally.trials) for c, _ in _FAILURES]
        longer = f'{result.steps_over_optimal:.2f} x' if tally.successes else '-'
        table.add_row(
            result.mode,
            _percent(tally.successes, tally.trials),
            f'{100 * low:.0f} - {100 * high:.0f}',
            *failures,
            longer,
        )
    return table


def _grouped(report: Report, title: str, groups: list[str], key: Callable[[int], str]) -> Table:
    table = Table(title=f'Success by {title} [%]')
    table.add_column(title)
    table.add_column('problems', justify='right')
    for result in report.results:
        table.add_column(result.mode, justify='right')
    for group in groups:
        tallies = [_tally(result, group, key) for result in report.results]
        cells = [_percent(tally.successes, tally.trials) for tally in tallies]
        table.add_row(group, str(tallies[0].trials) if tallies else '0', *cells)
    return table


def _tally(result: Result, group: str, key: Callable[[int], str]) -> Tally:
    return result.tally(lambda index: key(index) == group)


def _percent(part: int, whole: int) -> str:
    return f'{100 * part / whole:.1f}' if whole else '-'

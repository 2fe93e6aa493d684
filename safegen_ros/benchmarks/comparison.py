# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A table of figures of ours and of others, with their differences."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safegen_ros.datasets.files import DatasetError, read_lines, write_atomically
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.verdict import Category


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """Wilson score interval of a proportion at 95 %; (0, 1) without trials."""
    if trials == 0:
        return 0.0, 1.0
    z = 1.96
    share, square = successes / trials, z * z
    centre = (share + square / (2 * trials)) / (1 + square / trials)
    spread = share * (1 - share) / trials + square / (4 * trials * trials)
    half = z * math.sqrt(spread) / (1 + square / trials)
    return max(0.0, centre - half), min(1.0, centre + half)


def sign_test(gained: int, lost: int) -> float:
    """Probability that so many fair coins fall at least as unevenly: McNemar's exact test."""
    coins = gained + lost
    tail = sum(math.comb(coins, n) for n in range(min(gained, lost) + 1))
    return min(1.0, 2 * tail / (1 << coins))


def nearest_rank(values: Sequence[float], share: float) -> float:
    """The smallest value that at least a share of all, in (0, 1], do not exceed."""
    return sorted(values)[math.ceil(share * len(values)) - 1]


@dataclass(frozen=True, slots=True)
class Tally:
    """How often each verdict was given."""

    counts: dict[Category, int]

    @classmethod
    def of(cls, categories: Iterable[Category]) -> Tally:
        """Counts verdicts."""
        return cls(dict(Counter(categories)))

    @property
    def trials(self) -> int:
        """All verdicts."""
        return sum(self.counts.values())

    @property
    def successes(self) -> int:
        """Verdicts that are `SUCCESS`."""
        return self.counts.get(Category.SUCCESS, 0)

    @property
    def rate(self) -> float:
        """Share of successes, in [0, 1]."""
        return self.successes / self.trials if self.trials else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % Wilson interval of the rate."""
        return wilson(self.successes, self.trials)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        low, high = self.interval
        return {
            'trials': self.trials,
            'success_percent': round(100 * self.rate, 1),
            'interval_percent': [round(100 * low, 1), round(100 * high, 1)],
            **{c.name.lower(): self.counts.get(c, 0) for c in reversed(Category)},
        }


def claim(folder: Path, made: Mapping[str, Any]) -> None:
    """Makes a folder, or goes on in one whose answers were made alike.

    Args:
        made: how they are made, as values of JSON: the model and all that its answers depend on.

    Raises:
        SafegenError: the answers there were made otherwise, or the folder cannot be written.
    """
    path = folder / 'made.json'
    text = json.dumps(made, indent=1) + '\n'
    if path.exists() and path.read_text(encoding='utf-8') != text:
        raise SafegenError(
            f'{path}: what is kept here is of another model or other options: choose another '
            'folder',
            ErrorCode.BAD_PDDL,
        )
    write_atomically(path, text.encode())


def kept_lines(path: Path) -> list[Any]:
    """What the lines of a file hold that a run adds to; a last line that was cut off is removed.

    Raises:
        DatasetError: a whole line is not JSON.
    """
    if not path.exists():
        return []
    whole, _, cut = path.read_text(encoding='utf-8').rpartition('\n')
    if cut:
        path.write_text(f'{whole}\n' if whole else '', encoding='utf-8')

    def fail(message: str) -> SafegenError:
        return DatasetError(f'{message}: choose another folder')

    return [values for values, _ in read_lines(path, fail)]


CLASSES = {
    'format': Category.FORMAT_ERROR,
    'precond': Category.PRECONDITION_VIOLATION,
    'safety': Category.SAFETY_VIOLATION,
    'goal': Category.GOAL_NOT_SATISFIED,
}
"""The classes of failures in the order of SafeGen-LLM table II."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Success and failures [%].

    Attributes:
        failures: by the names of `CLASSES`; those that a source does not state are missing.
        more: what else was measured, by the names of `ComparisonTable.more`; likewise.
    """

    trials: int
    success: float
    failures: Mapping[str, float]
    more: Mapping[str, float | str] = field(default_factory=dict)

    @classmethod
    def of(cls, tally: Tally, more: Mapping[str, float | str] | None = None) -> Figures:
        """The figures of counts."""
        trials = tally.trials
        shares = {
            name: 100 * tally.counts.get(category, 0) / trials if trials else 0.0
            for name, category in CLASSES.items()
        }
        return cls(trials, 100 * tally.rate, shares, more or {})

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % Wilson interval of the success [%]."""
        low, high = wilson(round(self.success * self.trials / 100), self.trials)
        return 100 * low, 100 * high


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a table.

    Attributes:
        group: such as a domain.
        case: such as a training stage.
        whose: such as a model.
    """

    group: str
    case: str
    whose: str
    figures: Figures

    def as_dict(self, headings: tuple[str, str, str]) -> dict[str, Any]:
        """Plain values for JSON."""
        low, high = self.figures.interval
        return {
            **dict(zip(headings, (self.group, self.case, self.whose), strict=True)),
            'problems': self.figures.trials,
            'success': round(self.figures.success, 1),
            'interval': [round(low, 1), round(high, 1)],
            **{n: round(v, 1) for n, v in self.figures.failures.items()},
            **{n: v if isinstance(v, str) else round(v, 3) for n, v in self.figures.more.items()},
        }


@dataclass(frozen=True, slots=True)
class ComparisonTable:
    """A table with all that is needed to read and to repeat it.

    Attributes:
        headings: of the first three columns.
        differences: what differs between our figures and those beside them.
        conditions: likewise `facts` for programs.
        plot: `classes` for bars of all classes, `success` for successes with intervals.
        more: further columns, each with the format of its values.
        failed: measurements that must not be; empty where all is well.
    """

    name: str
    title: str
    headings: tuple[str, str, str]
    lines: tuple[Line, ...]
    facts: tuple[str, ...]
    differences: tuple[str, ...]
    conditions: Mapping[str, Any]
    measured: tuple[Mapping[str, Any], ...]
    plot: str = 'classes'
    more: Mapping[str, str] = field(default_factory=dict)
    failed: str = ''
    command: str = ''

    def groups(self) -> dict[str, list[Line]]:
        """The lines of each group."""
        found: dict[str, list[Line]] = {}
        for line in self.lines:
            found.setdefault(line.group, []).append(line)
        return found

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            'command': self.command,
            'title': self.title,
            'conditions': dict(self.conditions),
            'differences': list(self.differences),
            'lines': [line.as_dict(self.headings) for line in self.lines],
            'measured': list(self.measured),
        }


def together(lines: Iterable[Line]) -> list[Line]:
    """Lines of a group and case together, in the order in which they first come."""
    groups: dict[str, dict[str, list[Line]]] = {}
    for line in lines:
        groups.setdefault(line.group, {}).setdefault(line.case, []).append(line)
    return [each for cases in groups.values() for found in cases.values() for each in found]


def write_comparison(comparison: ComparisonTable, folder: Path, page: str) -> list[Path]:
    """Writes `NAME.json` and `NAME.md`; returns their paths.

    Raises:
        DatasetError: a file cannot be written.
    """
    texts = {'.json': json.dumps(comparison.as_dict(), indent=1) + '\n', '.md': page}
    paths = []
    for suffix, text in texts.items():
        path = folder / f'{comparison.name}{suffix}'
        write_atomically(path, text.encode())
        paths.append(path)
    return paths

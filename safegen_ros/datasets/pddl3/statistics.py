# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a dataset is made of, counted row by row."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from safegen_ros.datasets.files import STATISTICS, DatasetError, read_statistics
from safegen_ros.datasets.pddl3.rows import SPLITS, Row, row_problem
from safegen_ros.datasets.pddl3.walk import Walk
from safegen_ros.tasks.pddl3.domains.isomorphism import canonical_problem
from safegen_ros.verify.validator import verify


@dataclass(frozen=True, slots=True)
class RowFinding:
    """The findings about a row.

    Attributes:
        broken: the PDDL3 operators of those constraints that its unconstrained plan breaks.
        bare_key: equal for two problems when renaming objects makes them equal, constraints apart.
    """

    broken: frozenset[str]
    bare_key: str


def examined(row: Row) -> tuple[Row, RowFinding]:
    """A row with what can be found out about it.

    Raises:
        PddlError: its text is not a problem of its domain.
    """
    problem = row_problem(row)
    broken = frozenset(
        constraint.operator
        for constraint in problem.constraints
        if not verify(replace(problem, constraints=(constraint,)), row.unconstrained_plan).ok
    )
    return row, RowFinding(broken, canonical_problem(replace(problem, constraints=())).key)


BARE_NEW = 'new_without_constraints'
"""Field with the number of rows that are new even when constraints do not count."""

_BUCKETS = ('easy', 'medium', 'hard')

Ranges = dict[str, tuple[int, int]]
"""Smallest and largest value of every size parameter."""


@dataclass(slots=True)
class SplitStatistics:
    """One split of one domain.

    Attributes:
        paper_rows: how many of them have a size of table VIII of SafeGen-LLM.
        paper_ranges: those of the rows that have a size of the paper.
        sizes: rows of each size, `4 locations, 2 cars`.
        families: rows of each constraint family.
        operators: rows that use each PDDL3 operator.
        broken: rows whose unconstrained plan breaks a constraint with each PDDL3 operator.
        lengths: rows of each length of the reference plan.
        longer: rows by how many steps safety adds to a shortest plan.
        buckets: rows of each bucket of difficulty.
    """

    rows: int = 0
    paper_rows: int = 0
    ranges: Ranges = field(default_factory=dict)
    paper_ranges: Ranges = field(default_factory=dict)
    sizes: Counter[str] = field(default_factory=Counter)
    families: Counter[str] = field(default_factory=Counter)
    operators: Counter[str] = field(default_factory=Counter)
    broken: Counter[str] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)
    longer: Counter[int] = field(default_factory=Counter)
    buckets: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(_BUCKETS, 0)))

    def add(self, row: Row, found: RowFinding) -> None:
        """Counts a row."""
        self.rows += 1
        _widen(self.ranges, row)
        if row.paper_size:
            self.paper_rows += 1
            _widen(self.paper_ranges, row)
        self.sizes[', '.join(f'{value} {name}' for name, value in row.size)] += 1
        self.families[row.family] += 1
        self.operators.update(row.operators)
        self.broken.update(found.broken)
        self.lengths[row.reference_length] += 1
        self.longer[row.reference_length - len(row.unconstrained_plan.splitlines())] += 1
        self.buckets[row.bucket] += 1

    def values(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            'rows': self.rows,
            'paper_rows': self.paper_rows,
            'ranges': self.ranges,
            'paper_ranges': self.paper_ranges,
            'sizes': dict(sorted(self.sizes.items())),
            'families': dict(sorted(self.families.items())),
            'operators': dict(sorted(self.operators.items())),
            'broken': dict(sorted(self.broken.items())),
            'lengths': {str(steps): n for steps, n in sorted(self.lengths.items())},
            'longer': {str(steps): n for steps, n in sorted(self.longer.items())},
            'buckets': {name: self.buckets[name] for name in _BUCKETS},
        }


class Statistics:
    """A dataset, counted."""

    def __init__(self) -> None:
        self._splits: dict[str, dict[str, SplitStatistics]] = {}
        self._walks: dict[str, dict[str, Any]] = {}
        self._bare: dict[tuple[str, str], Counter[bytes]] = {}  # rows by their keys

    def add(self, row: Row, found: RowFinding) -> None:
        """Counts a row."""
        of_domain = self._splits.setdefault(row.domain, {})
        of_domain.setdefault(row.split, SplitStatistics()).add(row, found)
        keys = self._bare.setdefault((row.domain, row.split), Counter())
        keys[bytes.fromhex(found.bare_key)] += 1

    def add_walk(self, walk: Walk, limits: tuple[float, float]) -> None:
        """Counts the candidates of a domain."""
        self._walks[walk.domain] = {
            'candidates': walk.seen,
            'duplicates': walk.duplicates,
            'refused': dict(sorted(walk.refused.items())),
            'bucket_limits': limits,
        }

    def values(self) -> dict[str, Any]:
        """Plain values for JSON, by domain."""
        return {
            domain: {
                **walk,
                'splits': {
                    split: {**counted.values(), BARE_NEW: self._bare_new(domain, split)}
                    for split, counted in self._splits[domain].items()
                },
            }
            for domain, walk in self._walks.items()
        }

    def _bare_new(self, domain: str, split: str) -> int:
        """Rows whose initial state and goal no training row has; none of those of training."""
        trained = self._bare.get((domain, 'train'), Counter())
        own = self._bare[domain, split]
        return sum(count for key, count in own.items() if key not in trained)

    def to_json(self) -> str:
        """The text of its file."""
        return json.dumps(self.values(), indent=1) + '\n'


def _widen(ranges: Ranges, row: Row) -> None:
    for name, value in row.size:
        low, high = ranges.get(name, (value, value))
        ranges[name] = min(low, value), max(high, value)


def load_statistics(folder: Path) -> Mapping[str, Any]:
    """The values of the statistics of a dataset.

    Raises:
        DatasetError: there are none, they are unreadable, or another version has written them.
    """
    values = read_statistics(folder)
    known = SplitStatistics().values().keys() | {BARE_NEW}
    for domain, of_domain in values.items():
        if any(known - found.keys() for found in of_domain['splits'].values()):
            raise DatasetError(
                f'{folder / STATISTICS}: {domain} lacks counts, as another version of '
                'safegen_ros wrote them: remove manifest.json beside it and build the dataset again'
            )
    return values


def longer_rows(found: Mapping[str, Any]) -> int:
    """Rows of a split whose shortest safe plan is longer than the unconstrained one."""
    return sum(count for steps, count in found['longer'].items() if int(steps))


def ranges_text(ranges: Mapping[str, Any]) -> str:
    """Sizes for a table, `robots 1, rooms 3-4`."""
    parts = [
        f'{name} {low}-{high}' if low != high else f'{name} {low}'
        for name, (low, high) in ranges.items()
    ]
    return ', '.join(parts) or '-'


def longer_table(statistics: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The rows of each domain and split, those with longer safe plans, and the bare new ones."""
    return [
        (
            domain, split, f'{found["rows"]:,}', f'{longer_rows(found):,}',
            '-' if split == 'train' else f'{found[BARE_NEW]:,}',
        )
        for domain, values in statistics.items()
        for split in SPLITS
        for found in [values['splits'].get(split)]
        if found
    ]  # fmt: skip


def steps_of(found: Mapping[str, Any]) -> tuple[int, int, float]:
    """The least, the largest and the mean length of the plans of a split [steps]."""
    counts = {int(steps): count for steps, count in found['lengths'].items()}
    total = sum(steps * count for steps, count in counts.items())
    return min(counts), max(counts), total / sum(counts.values())

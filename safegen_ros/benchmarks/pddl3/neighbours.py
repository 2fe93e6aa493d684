# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A control without a model: the plan of the most similar training problem, copied.

Problems are similar if they have many runs of one to three words in common (the Jaccard index of
the sets), where both are written in PDDL under canonical names. So the control has the input of the
small model, and does nothing but remember.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from safegen_ros.benchmarks.measurement import Notify, silent
from safegen_ros.benchmarks.pddl3.problems import TestProblem
from safegen_ros.datasets.files import DatasetError
from safegen_ros.datasets.pddl3.rows import Row, read_rows, row_problem
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.tasks.pddl3.prompts.slots import SlottedProblem, slotted
from safegen_ros.tasks.pddl3.prompts.words import task_words

_LONGEST = 3  # words of a run
_EVERY = 200  # rows between notices


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The copies for a problem.

    Attributes:
        similarity: the Jaccard index, in [0, 1].
        plan: its plan in the names of the test problem; missing objects keep canonical names.
    """

    row: str
    similarity: float
    plan: str


def count_rows(train: Path) -> int:
    """The number of training rows in a file.

    Raises:
        DatasetError: there is no such file.
    """
    if not train.is_file():
        raise DatasetError(
            f'{train}: is missing: copying needs the training rows: build the dataset with '
            "'safegen data build OUT' and give --train-data OUT"
        )
    with train.open('rb') as file:
        return sum(1 for _ in file)


def nearest(
    problems: Sequence[TestProblem],
    train: Path,
    notify: Notify = silent,
) -> list[Neighbour]:
    """The nearest training row of each problem, the first of those that are as near.

    Rows are read one after the other and forgotten, so that the memory does not grow with them.

    Raises:
        DatasetError: the file is missing or unreadable, or has no row of a domain.
    """
    total = count_rows(train)
    indexes = {domain: _Index() for domain in dict.fromkeys(p.domain for p in problems)}
    places = [(p.domain, indexes[p.domain].expect(p.problem)) for p in problems]
    for index in indexes.values():
        index.close()
    for number, row in enumerate(read_rows(train), 1):
        if row.domain in indexes:
            indexes[row.domain].compare(row)
        if number % _EVERY == 0 or number == total:
            notify('copied', number, total)
    return [indexes[domain].found(place) for domain, place in places]


@dataclass
class _Index:
    """The test problems of one domain, and the nearest row of each so far."""

    tests: list[SlottedProblem] = field(default_factory=list)
    _runs: list[set[tuple[str, ...]]] = field(default_factory=list)
    _place: dict[tuple[str, ...], int] = field(default_factory=dict)
    _has: Any = None  # shape (runs, tests), 1 where the test problem has the run
    _sizes: Any = None  # shape (tests,)
    _best: Any = None  # shape (tests,), the similarity of the nearest row
    _copies: dict[int, tuple[str, Plan]] = field(default_factory=dict)

    def expect(self, problem: Problem) -> int:
        """Adds a test problem; returns its place."""
        task = slotted(problem)
        self.tests.append(task)
        self._runs.append(_runs(task))
        return len(self.tests) - 1

    def close(self) -> None:
        """Makes the arrays, once all test problems are there."""
        for runs in self._runs:
            for run in runs:
                self._place.setdefault(run, len(self._place))
        self._has = np.zeros((len(self._place), len(self.tests)), dtype=np.int32)
        for test, runs in enumerate(self._runs):
            self._has[[self._place[run] for run in runs], test] = 1
        self._sizes = self._has.sum(axis=0)
        self._best = np.full(len(self.tests), -1.0)

    def compare(self, row: Row) -> None:
        """Looks whether a row is nearer to some test problem than all before it."""
        task = slotted(row_problem(row))
        runs = _runs(task)
        common = self._has[[self._place[run] for run in runs if run in self._place]].sum(axis=0)
        similarity = common / (len(runs) + self._sizes - common)
        nearer = np.flatnonzero(similarity > self._best)
        if len(nearer):
            self._best[nearer] = similarity[nearer]
            copy = row.id, task.plan(parse_plan(row.plan))
            self._copies.update((int(test), copy) for test in nearer)

    def found(self, test: int) -> Neighbour:
        """The nearest row of a test problem."""
        if test not in self._copies:
            name = self.tests[test].problem.domain.name
            raise DatasetError(f'the training rows have none of {name}: give a dataset with it')
        row, plan = self._copies[test]
        return Neighbour(row, float(self._best[test]), str(self.tests[test].original(plan)))


def _runs(task: SlottedProblem) -> set[tuple[str, ...]]:
    words = task_words(task, 'pddl')
    lengths = range(1, _LONGEST + 1)
    return {tuple(words[at : at + n]) for n in lengths for at in range(len(words) - n + 1)}

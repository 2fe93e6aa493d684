# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a task of the dataset is made of: a configuration to start from and one to reach."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

from safegen_ros.pddl.model import Atom

Parameters = Hashable
"""The key of the scenes of one configuration, such as the heights of towers."""


class Kit(ABC):
    """The configurations of one domain (appendix D of the paper)."""

    domain: str
    """The name of the domain."""

    tied: Sequence[str] = ()
    """Configurations whose goal only fits their own start."""

    strict: Sequence[str] = ()
    """Configurations that name the objects of the start, so that these are not placeholders."""

    starts: Sequence[str]
    """Configurations to start from, the tied ones left out."""

    goals: Sequence[str]
    """Configurations to reach, the tied ones left out."""

    held_out: Sequence[tuple[str, str]]
    """Start and goal of the tasks of the test split; an empty name stands for any."""

    @abstractmethod
    def start_parameters(self, start: str) -> Sequence[Parameters]:
        """Every scene of a configuration to start from, each once."""

    @abstractmethod
    def goal_parameters(self, goal: str, parameters: Parameters) -> Sequence[Parameters]:
        """Every scene of a configuration that can be asked for when a scene is the start."""

    @abstractmethod
    def objects(self, parameters: Parameters) -> Mapping[str, Sequence[str]]:
        """The objects of a start by their kinds."""

    @abstractmethod
    def start_atoms(self, start: str, parameters: Parameters) -> list[Atom]:
        """The initial state; what objects are for good comes first."""

    @abstractmethod
    def goal_atoms(self, goal: str, wanted: Parameters, parameters: Parameters) -> list[Atom]:
        """The goal, when it is asked for from a start."""

    @abstractmethod
    def start_words(self, start: str, parameters: Parameters) -> list[str]:
        """The clauses that sum up a start."""

    @abstractmethod
    def goal_words(self, goal: str, wanted: Parameters, parameters: Parameters) -> list[str]:
        """The clauses that sum up a goal."""

    @abstractmethod
    def clause(self, atom: Atom) -> str:
        """One atom in words; empty where naming the objects has told it."""


@dataclass(frozen=True)
class Space:
    """All problems of a task, numbered.

    Attributes:
        ends: for every start, how many problems there are up to and with it.
    """

    kit: Kit
    start: str
    goal: str
    ends: tuple[int, ...]

    @classmethod
    def of(cls, kit: Kit, start: str, goal: str) -> Space:
        """The space of a task."""
        counts = (len(kit.goal_parameters(goal, p)) for p in kit.start_parameters(start))
        return cls(kit, start, goal, tuple(accumulate(counts)))

    def __len__(self) -> int:
        return self.ends[-1] if self.ends else 0

    def problem(self, number: int) -> tuple[Parameters, Parameters]:
        """The parameters of the start and of the goal of a problem."""
        at = bisect_right(self.ends, number)
        parameters = self.kit.start_parameters(self.start)[at]
        wanted = self.kit.goal_parameters(self.goal, parameters)
        return parameters, wanted[number - self.ends[at]]


@dataclass(frozen=True, slots=True)
class LayoutTask:
    """A configuration to start from and one to reach.

    Attributes:
        start: name of the configuration.
        goal: likewise.
        split: `train` or `test`.
        abstractions: for each description, whether it sums up the start and the goal.
        placeholders: whether the objects in the goal are placeholders where something is summed
            up (section 4.1).
    """

    domain: str
    start: str
    goal: str
    split: str
    abstractions: tuple[tuple[bool, bool], ...]
    placeholders: bool

    @property
    def name(self) -> str:
        """The name of the task in its domain."""
        return f'{self.start}_to_{self.goal}'


_ALL = tuple((start, goal) for start in (False, True) for goal in (False, True))
_EQUAL = ((False, False), (True, True))


def tasks_of(kit: Kit) -> list[LayoutTask]:
    """Every task of a domain that has problems.

    Tied and strict configurations have descriptions only where both halves are summed up or none.
    """
    found = [(name, name) for name in kit.tied]
    found += [(start, goal) for start in kit.starts for goal in kit.goals]
    tasks = []
    for start, goal in found:
        strict = start in (*kit.tied, *kit.strict) or goal in kit.strict
        test = any(a in (start, '') and b in (goal, '') for a, b in kit.held_out)
        if len(space_of(kit, start, goal)):
            tasks.append(
                LayoutTask(
                    kit.domain, start, goal, 'test' if test else 'train',
                    _EQUAL if strict else _ALL, not strict,
                )
            )  # fmt: skip
    return tasks


@cache
def space_of(kit: Kit, start: str, goal: str) -> Space:
    """The space of a task; worked out once in each process."""
    return Space.of(kit, start, goal)


@cache
def partitions(total: int, most_parts: int, least: int = 1) -> tuple[tuple[int, ...], ...]:
    """The ways to write a number as a sum, the smallest part first; none for nothing."""
    if total < least or most_parts < 1:
        return ()
    further = (
        (first, *rest)
        for first in range(least, total // 2 + 1)
        for rest in partitions(total - first, most_parts - 1, first)
    )
    return ((total,), *further)


def numbered(kind: str, count: int) -> list[str]:
    """Names of objects, `b1 b2 b3`."""
    return [f'{kind}{number}' for number in range(1, count + 1)]

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a domain has to say about the goal states of its problems, without searching for them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from safegen_ros.pddl.model import Atom, AtomFormula, Problem, State
from safegen_ros.pddl.plan import Step


@dataclass(frozen=True, slots=True)
class StripsTask:
    """A problem whose goal is a conjunction of atoms.

    Attributes:
        objects: name to type, in order of declaration.
        goal: what must hold at last; nothing is said about other atoms (open world).
    """

    objects: Mapping[str, str]
    init: State
    goal: frozenset[Atom]

    @classmethod
    def of(cls, problem: Problem) -> StripsTask | None:
        """The task of a problem, None when its goal is anything but a conjunction of atoms."""
        parts = problem.goal_conjuncts()
        atoms = [(p.predicate, *p.terms) for p in parts if isinstance(p, AtomFormula)]
        if len(atoms) < len(parts):
            return None
        return cls(problem.objects, problem.init, frozenset(atoms))


class GoalRules(ABC):
    """The goal states of one task: the states that satisfy its goal and can be reached.

    The initial state must be one that the domain means. What an initial state that it does not
    mean can lead to, two blocks on one or a ball that is nowhere, is for search to find out.
    """

    domain: ClassVar[str]
    """The name of the domain."""

    @classmethod
    @abstractmethod
    def of(cls, task: StripsTask) -> GoalRules | None:
        """The rules for a task; None when its initial state is not one that the domain means."""

    @property
    @abstractmethod
    def permutes(self) -> bool:
        """Whether the state space looks the same from all objects of a kind.

        Then a permutation of the objects in the goal permutes the goal states, whatever the
        initial state is.
        """

    @abstractmethod
    def goal_state(self, without: Atom | None = None) -> State | None:
        """A goal state that does not have a certain atom; None when there is none."""

    @abstractmethod
    def _forced(self, atom: Atom) -> bool:
        """Whether every goal state has an atom which some goal state has and the goal does not."""

    @abstractmethod
    def steps_to(self, state: State) -> tuple[Step, ...]:
        """A plan from the initial state to a state that can be reached, such as a goal state."""

    goal: frozenset[Atom]

    def specified(self) -> frozenset[Atom] | None:
        """The atoms that every goal state has (`fullySpecify`, appendix C); None without one."""
        state = self.goal_state()
        if state is None:
            return None
        return frozenset([atom for atom in state if atom in self.goal or self._forced(atom)])

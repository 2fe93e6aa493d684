# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a domain rules out in initial states, and says about goal states, without a search."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
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
    def goal_state(self) -> State | None:
        """A goal state; None when there is none."""

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


def contradiction(domain_name: str, init: State) -> str:
    """The first thing in an initial state that no state of the domain has; empty if there is none.

    What merely lacks atoms, such as a block without `clear`, contradicts nothing; and nothing is
    known of other domains than the three.
    """
    found = _RULES.get(domain_name, _nothing)(sorted(init))
    return next(found, '')


def _nothing(init: list[Atom]) -> Iterator[str]:
    yield from ()


def _one_each(pairs: list[tuple[str, str]], what: str) -> Iterator[str]:
    """Things that have two values where they can have one."""
    values: dict[str, str] = {}
    for thing, value in pairs:
        if values.setdefault(thing, value) != value:
            yield what.format(thing, values[thing], value)


def _blocks(init: list[Atom]) -> Iterator[str]:
    places = {'on': 'on {}', 'on-table': 'on the table', 'holding': 'in the hand'}
    below = [(a[1], places[a[0]].format(a[-1])) for a in init if a[0] in places]
    yield from _one_each(below, '{0} is {1} and {2}')
    on = [(a[1], a[2]) for a in init if a[0] == 'on']
    yield from _one_each([(under, block) for block, under in on], '{1} and {2} are both on {0}')
    covered = {under: block for block, under in on}
    for atom in init:
        if atom[0] == 'clear' and atom[1] in covered:
            yield f'{atom[1]} is clear and {covered[atom[1]]} is on it'
    held = [atom[1] for atom in init if atom[0] == 'holding']
    if len(held) > 1:
        yield f'the arm holds {held[0]} and {held[1]}'
    if held and ('arm-empty',) in init:
        yield f'the arm is empty and holds {held[0]}'
    for block in held:
        if block in covered:
            yield f'{covered[block]} is on {block}, which the arm holds'
    under = dict(on)
    sound: set[str] = set()
    for block in under:
        way: list[str] = []
        while block in under and block not in sound:
            if block in way:
                yield f'the tower of {block} stands on itself'
                break
            way.append(block)
            block = under[block]
        sound.update(way)


def _gripper(init: list[Atom]) -> Iterator[str]:
    kinds = [(a[1], a[0]) for a in init if a[0] in ('room', 'ball', 'gripper')]
    yield from _one_each(kinds, '{0} is a {1} and a {2}')
    yield from _one_each(
        [('', a[1]) for a in init if a[0] == 'at-robby'], 'the robot is in {1} and in {2}'
    )
    places = [(a[1], a[2]) for a in init if a[0] in ('at', 'carry')]
    yield from _one_each(places, '{0} is in {1} and in {2}')
    carried = [(a[2], a[1]) for a in init if a[0] == 'carry']
    yield from _one_each(carried, '{0} carries {1} and {2}')
    busy = dict(carried)
    for atom in init:
        if atom[0] == 'free' and atom[1] in busy:
            yield f'{atom[1]} is free and carries {busy[atom[1]]}'


def _floor(init: list[Atom]) -> Iterator[str]:
    for predicate, what in (
        ('robot-at', '{0} is at {1} and at {2}'), ('robot-has', '{0} has {1} and {2}'),
    ):  # fmt: skip
        yield from _one_each([(a[1], a[2]) for a in init if a[0] == predicate], what)


_RULES: Mapping[str, Callable[[list[Atom]], Iterator[str]]] = {
    'blocksworld': _blocks,
    'gripper': _gripper,
    'floor-tile': _floor,
}

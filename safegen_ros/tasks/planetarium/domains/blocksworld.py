# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Blocks World: every arrangement of the blocks can be reached from every other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from safegen_ros.pddl.model import Atom, State
from safegen_ros.pddl.plan import Step
from safegen_ros.tasks.pddl3.domains.blocksworld.problems import TowerBuilder, TowerState
from safegen_ros.tasks.planetarium.state_rules import GoalRules, StripsTask

_TABLE, _HAND = '', '(hand)'
"""What a block can be on beside another block; no object has these names."""

_Below = Mapping[str, str]
"""What is below each block."""


class BlocksWorld(GoalRules):
    """The goal states of a Blocks World problem (appendix C, with the arm that may hold a block).

    Blocks that the initial state does not mention can never be moved or stood upon.
    """

    domain = 'blocksworld'

    def __init__(self, task: StripsTask, below: _Below) -> None:
        self.goal = task.goal
        self._idle = len(below) < len(task.objects)
        self._init = below
        self._wanted = _Wanted.of(task.goal, below)

    @classmethod
    def of(cls, task: StripsTask) -> BlocksWorld | None:
        """See `GoalRules`: each block at one place, nothing on a block that is held, no cycle."""
        below = _below(task.init)
        if below is None or _state(below) != task.init:
            return None
        return cls(task, below)

    @property
    def permutes(self) -> bool:
        """See `GoalRules`."""
        return not self._idle

    def goal_state(self) -> State | None:
        """See `GoalRules`; what the goal leaves open stands on the table."""
        return None if self._wanted is None else _state(self._wanted.below)

    def _forced(self, atom: Atom) -> bool:
        return self._wanted is not None and not self._wanted.may_lack(atom)

    def steps_to(self, state: State) -> tuple[Step, ...]:
        """See `GoalRules`; a block is moved twice at most, and not at all where it belongs."""
        wanted = _below(state)
        if wanted is None or state == _state(self._init):
            return ()
        arm = TowerBuilder(_towers(self._init), _towers(wanted))
        arm.steps += [Step('putdown', (block,)) for block in _held(self._init)]
        for base in arm.now.bases():
            for block in reversed((base, *arm.now.over(base))):
                if [block, *arm.now.under(block)] != [block, *arm.goal.under(block)]:
                    arm.move(block, None)
        arm.build()
        return (*arm.steps, *(Step('pickup', (block,)) for block in _held(wanted)))


@dataclass(frozen=True)
class _Wanted:
    """A goal that can be reached, and what it leaves open.

    Attributes:
        below: what is below each block, the table where the goal does not say.
        tops: the blocks of which the goal does not say what is on them, each with the lowest
            block that the goal puts under it.
        bottoms: the blocks of which it does not say what is below them, each with the highest
            block that it puts above it.
        arm: whether the goal says what the arm does.
    """

    below: dict[str, str]
    tops: dict[str, str]
    bottoms: dict[str, str]
    arm: bool

    @classmethod
    def of(cls, goal: frozenset[Atom], blocks: Iterable[str]) -> _Wanted | None:
        """What a goal asks for; None when no arrangement of the blocks satisfies it."""
        blocks = frozenset(blocks)
        if any(name not in blocks for atom in goal for name in atom[1:]):
            return None
        below = _below(goal)
        if below is None:
            return None
        clear = {atom[1] for atom in goal if atom[0] == 'clear'}
        above = {under: block for block, under in below.items()}
        held = set(_held(below))
        if clear & (held | above.keys()) or (held and ('arm-empty',) in goal):
            return None
        tops = {}
        for block in blocks - clear - held - above.keys():
            base = block
            while below.get(base, _TABLE) != _TABLE:
                base = below[base]
            tops[block] = base
        bottoms = {}
        for block in blocks - below.keys():
            top = block
            while top in above:
                top = above[top]
            bottoms[block] = top
        whole = {block: below.get(block, _TABLE) for block in blocks}
        return cls(whole, tops, bottoms, bool(held) or ('arm-empty',) in goal)

    def may_lack(self, atom: Atom) -> bool:
        """Whether an atom that is true and not in the goal could be false."""
        if atom == ('arm-empty',):
            return any(map(self._liftable, self.bottoms))
        block = atom[1]
        if atom[0] == 'clear' and block in self.tops:
            others = {*self.bottoms} - {self.tops[block]}
        elif atom[0] == 'on-table' and block in self.bottoms:
            others = {*self.tops} - {self.bottoms[block]}
        else:
            others = set()
        return bool(others) or self._liftable(block)

    def _liftable(self, block: str) -> bool:
        return not self.arm and block in self.bottoms and block in self.tops


def _below(atoms: Iterable[Atom]) -> dict[str, str] | None:
    """What is below each block that the atoms place; None where they contradict each other."""
    below: dict[str, str] = {}
    for atom in atoms:
        if atom[0] in ('on', 'on-table', 'holding'):
            place = {'on': atom[-1], 'on-table': _TABLE, 'holding': _HAND}[atom[0]]
            if below.setdefault(atom[1], place) != place:
                return None
    places = [place for place in below.values() if place != _TABLE]
    if len(set(places)) < len(places) or any(below.get(p) == _HAND for p in places):
        return None
    sound: set[str] = set()
    for block in below:
        way: list[str] = []
        while block in below and block not in sound:
            if len(way) > len(below):
                return None  # a cycle
            way.append(block)
            block = below[block]
        sound.update(way)
    return below


def _state(below: _Below) -> State:
    """The state in which blocks stand so."""
    atoms: list[Atom] = []
    covered = set(below.values())
    for block, place in below.items():
        if place == _HAND:
            atoms.append(('holding', block))
            continue
        atoms.append(('on-table', block) if place == _TABLE else ('on', block, place))
        if block not in covered:
            atoms.append(('clear', block))
    if _HAND not in covered:
        atoms.append(('arm-empty',))
    return frozenset(atoms)


def _held(below: _Below) -> list[str]:
    return [block for block, place in below.items() if place == _HAND]


def _towers(below: _Below) -> TowerState:
    """The towers, with a block that is held on the table."""
    atoms = [(b, p) if p not in (_TABLE, _HAND) else (b,) for b, p in below.items()]
    return TowerState.of(('on' if len(a) == 2 else 'on-table', *a) for a in atoms)

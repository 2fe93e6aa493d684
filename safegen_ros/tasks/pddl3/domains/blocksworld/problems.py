# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Random Blocksworld problems, and an arm that writes down the steps of a plan."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

from safegen_ros.pddl.model import Atom, Problem
from safegen_ros.pddl.plan import Step
from safegen_ros.tasks.pddl3.domains.kit import Instance, Size

Tower = tuple[str, ...]
"""Blocks from the table upwards."""


def draw(rng: Random, size: Size) -> Instance:
    """Random towers to be rearranged into other random towers; the goal names every block."""
    blocks = [f'b{number + 1}' for number in range(size['blocks'])]
    objects = tuple((block, 'object') for block in blocks)
    goal = [atom for tower in _towers(rng, blocks) for atom in _supports(tower)]
    return Instance(objects, standing(_towers(rng, blocks)), tuple(goal))


def measure(problem: Problem) -> dict[str, int]:
    """The size of a problem."""
    return {'blocks': len(problem.objects)}


def _towers(rng: Random, blocks: list[str]) -> list[Tower]:
    """Every block goes onto the table or onto one of the towers so far, all equally likely."""
    towers: list[Tower] = []
    for block in rng.sample(blocks, len(blocks)):
        place = rng.randrange(len(towers) + 1)
        if place == len(towers):
            towers.append((block,))
        else:
            towers[place] = (*towers[place], block)
    return towers


def standing(towers: Iterable[Tower]) -> tuple[Atom, ...]:
    """The atoms of a state with these towers and an empty arm."""
    atoms: list[Atom] = [('arm-empty',)]
    for tower in towers:
        atoms += [*_supports(tower), ('clear', tower[-1])]
    return tuple(atoms)


def _supports(tower: Tower) -> list[Atom]:
    on = [('on', above, below) for below, above in pairwise(tower)]
    return [('on-table', tower[0]), *on]


@dataclass(frozen=True, slots=True)
class TowerState:
    """The stacks of the blocks.

    Attributes:
        below: what is under each block; None for the table.
        above: the block on each block that is not clear.
    """

    below: dict[str, str | None]
    above: dict[str, str]

    @classmethod
    def of(cls, atoms: Iterable[Atom]) -> TowerState:
        """The towers that `on` and `on-table` atoms describe."""
        below: dict[str, str | None] = {}
        for atom in atoms:
            if atom[0] in ('on', 'on-table'):
                below[atom[1]] = atom[2] if atom[0] == 'on' else None
        above = {under: block for block, under in below.items() if under is not None}
        return cls(below, above)

    def bases(self) -> list[str]:
        """The blocks on the table."""
        return [block for block, under in self.below.items() if under is None]

    def tops(self) -> list[str]:
        """The blocks with nothing on them."""
        return [block for block in self.below if block not in self.above]

    def under(self, block: str) -> list[str]:
        """All blocks below one, the nearest first."""
        found = []
        lower = self.below[block]
        while lower is not None:
            found.append(lower)
            lower = self.below[lower]
        return found

    def over(self, block: str) -> list[str]:
        """All blocks above one, the nearest first."""
        found = []
        while block in self.above:
            block = self.above[block]
            found.append(block)
        return found

    def towers(self) -> list[Tower]:
        """Every tower from the table upwards."""
        return [(base, *self.over(base)) for base in self.bases()]


@dataclass
class TowerBuilder:
    """Moves blocks, and writes the steps down.

    Attributes:
        now: the towers as they stand; changed by every move.
    """

    now: TowerState
    goal: TowerState
    steps: list[Step] = field(default_factory=list)

    @classmethod
    def at(cls, instance: Instance) -> TowerBuilder:
        """An arm before the towers of an instance."""
        return cls(TowerState.of(instance.init), TowerState.of(instance.goal))

    def move(self, block: str, target: str | None) -> None:
        """Moves a clear block onto a clear one, or onto the table (None), unless it is there."""
        source = self.now.below[block]
        if source == target:
            return
        if source is None:
            self.steps.append(Step('pickup', (block,)))
        else:
            self.steps.append(Step('unstack', (block, source)))
            del self.now.above[source]
        if target is None:
            self.steps.append(Step('putdown', (block,)))
        else:
            self.steps.append(Step('stack', (block, target)))
            self.now.above[target] = block
        self.now.below[block] = target

    def touch(self, block: str) -> None:
        """Lifts a clear block and puts it back."""
        source = self.now.below[block]
        if source is None:
            self.steps += [Step('pickup', (block,)), Step('putdown', (block,))]
        else:
            self.steps += [Step('unstack', (block, source)), Step('stack', (block, source))]

    def uncover(self, block: str) -> None:
        """Puts what is on a block onto the table."""
        for over in reversed(self.now.over(block)):
            self.move(over, None)

    def flatten(self) -> None:
        """Puts every block onto the table."""
        for base in self.now.bases():
            self.uncover(base)

    def build_under(self, block: str) -> None:
        """Builds what the goal has below a block; the blocks that it takes must be clear."""
        for lower, upper in pairwise(reversed(self.goal.under(block))):
            self.move(upper, lower)

    def build(self) -> tuple[Step, ...]:
        """Builds the goal from blocks on the table and towers of the goal; returns the plan."""
        for base in self.goal.bases():
            for lower, upper in pairwise((base, *self.goal.over(base))):
                self.move(upper, lower)
        return tuple(self.steps)

    def finish(self) -> tuple[Step, ...]:
        """Puts all blocks onto the table and builds the goal; returns the whole plan."""
        self.flatten()
        return self.build()


def direct_steps(rng: Random, instance: Instance) -> tuple[Step, ...]:
    """A sensible plan: blocks go where they belong as soon as they can, else onto the table."""
    arm = TowerBuilder.at(instance)
    wanted = arm.goal.below
    blocks = rng.sample(list(wanted), len(wanted))
    blocks.sort(key=lambda block: len(arm.goal.under(block)))
    others = [block for block in arm.now.below if block not in wanted]
    done: set[str | None] = {None}  # the table, and blocks that need not move any more
    while True:
        for block in blocks:
            if wanted[block] in done and arm.now.below[block] == wanted[block]:
                done.add(block)
        if done.issuperset(blocks):
            return tuple(arm.steps)
        clear = [b for b in (*blocks, *others) if b not in done and b not in arm.now.above]
        ready = [
            block
            for block in clear
            if block in wanted and wanted[block] in done and wanted[block] not in arm.now.above
        ]
        if ready:
            arm.move(ready[0], wanted[ready[0]])
        else:
            arm.move(next(b for b in clear if arm.now.below[b] is not None), None)

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""From a symbolic initial state to block poses on the table.

The layout is decided here and nowhere else: tower by tower, in the order in which the problem
declares its objects, to the slots from the middle of the arc outwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.robot.pose import Pose, planar_distance
from safegen_ros.robot.scene import Scene, Slot

if TYPE_CHECKING:
    from safegen_ros.pddl.model import Atom, State

_ARITIES = {'on': 2, 'on-table': 1, 'clear': 1, 'holding': 1, 'arm-empty': 0}


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the blocks begin.

    Attributes:
        poses: pose of each block by name; a held block stands on its own slot.
        held: the block that the arm picks up before the task begins, or None.
    """

    poses: dict[str, Pose]
    held: str | None


def initial_layout(scene: Scene, objects: Sequence[str], init: State) -> Layout:
    """Poses for a symbolic state.

    Raises:
        RobotError: `UNSUPPORTED_SCENE` when the state is not one complete Blocksworld configuration
            of at most `scene.max_blocks` blocks, saying which atom is wrong or missing.
    """
    _check_atoms(scene, objects, init)
    towers, held = _towers(objects, init)
    _check_state(init, _state_of(towers, held))
    stacks = [*towers, [held]] if held else towers
    poses = {
        block: scene.slot_pose(slot, level)
        for slot, tower in zip(_from_the_middle(scene), stacks, strict=False)
        for level, block in enumerate(tower)
    }
    return Layout(poses, held)


def free_slot(scene: Scene, occupied: Iterable[Pose], near: Pose) -> Slot:
    """The free slot nearest to a pose.

    Every slot takes a tower of the full height, so whichever is chosen, anything may still be built
    on it. A slot is free when no block is within a slot pitch less one block of it.

    Raises:
        RobotError: `UNSUPPORTED_SCENE` when there is none.
    """
    blocks = list(occupied)
    clearance = scene.slot_pitch - scene.block_size / 2
    free = [
        slot
        for slot in scene.slots
        if all(planar_distance(scene.slot_pose(slot), block) >= clearance for block in blocks)
    ]
    if not free:
        raise _unsupported('no slot is free: clear one, or add slots to the scene')
    return min(free, key=lambda slot: planar_distance(scene.slot_pose(slot), near))


def _check_atoms(scene: Scene, objects: Sequence[str], init: State) -> None:
    if not 1 <= len(objects) <= scene.max_blocks:
        raise _unsupported(
            f'{len(objects)} blocks: the table takes 1 to {scene.max_blocks}'
            f' ({len(scene.slots)} slots, towers of {scene.max_tower}): use fewer blocks'
        )
    for atom in sorted(init):
        text = f'({" ".join(atom)})'
        if _ARITIES.get(atom[0]) != len(atom) - 1:
            raise _unsupported(f'{text} is not an atom that the table can show')
        for name in atom[1:]:
            if name not in objects:
                raise _unsupported(f'{text} names {name}, which is not a block of this task')


def _towers(objects: Sequence[str], init: State) -> tuple[list[list[str]], str | None]:
    """Towers bottom-up in the order of their bottom blocks, and the held block."""
    above: dict[str, str] = {}
    placed: dict[str, Atom] = {}
    for atom in sorted(init):
        if atom[0] not in ('on', 'on-table', 'holding'):
            continue
        if atom[1] in placed:
            raise _unsupported(
                f'{atom[1]} is in two places: ({" ".join(placed[atom[1]])}) and ({" ".join(atom)})'
            )
        placed[atom[1]] = atom
        if atom[0] == 'on':
            if atom[2] in above:
                raise _unsupported(f'{above[atom[2]]} and {atom[1]} are both on {atom[2]}')
            above[atom[2]] = atom[1]
    held = [atom[1] for atom in placed.values() if atom[0] == 'holding']
    if len(held) > 1:
        raise _unsupported(f'the arm holds {" and ".join(held)}: it can hold one')
    towers = []
    for block in objects:
        if placed.get(block, ('',))[0] == 'on-table':
            tower = [block]
            while tower[-1] in above:
                tower.append(above[tower[-1]])
            towers.append(tower)
    known = {block for tower in towers for block in tower} | set(held)
    for block in objects:
        if block not in known:
            raise _unsupported(f'nothing says where {block} stands: give it (on-table {block})')
    return towers, held[0] if held else None


def _state_of(towers: list[list[str]], held: str | None) -> State:
    atoms: set[Atom] = {('holding', held)} if held else {('arm-empty',)}
    for tower in towers:
        atoms.add(('on-table', tower[0]))
        atoms.add(('clear', tower[-1]))
        atoms.update(('on', up, down) for down, up in pairwise(tower))
    return frozenset(atoms)


def _check_state(init: State, shown: State) -> None:
    """An initial state that lies about `clear` or the hand cannot be put on a table."""
    for atom in sorted(init - shown):
        raise _unsupported(f'({" ".join(atom)}) contradicts where the blocks are: remove it')
    for atom in sorted(shown - init):
        raise _unsupported(f'({" ".join(atom)}) follows from where the blocks are: add it')


def _from_the_middle(scene: Scene) -> list[Slot]:
    return sorted(scene.slots, key=lambda slot: (abs(slot.azimuth), slot.azimuth))


def _unsupported(what: str) -> RobotError:
    return RobotError(
        f'this state cannot be set up on the table: {what}', ErrorCode.UNSUPPORTED_SCENE
    )

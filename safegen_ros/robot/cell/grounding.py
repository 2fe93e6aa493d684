# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""From measured poses to ground atoms, as cameras (here: the twin) see them, and back.

Nothing is guessed. A tilted, floating or overlapping block is reported as unexplained: a plausible
but wrong state would let the next step of a plan run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.robot.pose import Pose, planar_distance
from safegen_ros.robot.scene import Scene, Slot

if TYPE_CHECKING:
    from safegen_ros.pddl.model import Atom, State

#: The length of a quaternion may be off by this, as that of measured ones is [1].
LENGTH_TOLERANCE = 0.01


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How exactly blocks are where a relation has them.

    Attributes:
        height: how near a block is to a level [m].
        tilt: a block that leans more has fallen or is about to [rad].
    """

    height: float = 0.003
    tilt: float = math.radians(5.0)


EXACT = Tolerance()
"""The tolerance for the twin, and for blocks at their assumed places."""


@dataclass(frozen=True, slots=True)
class Tool:
    """What takes hold: where the centre of a held block would be [m], and whether it is on."""

    held_centre: tuple[float, float, float]
    on: bool


def is_rigid(pose: Pose) -> bool:
    """Whether a pose has finite numbers and a rotation."""
    finite = all(math.isfinite(value) for value in (*pose.position, *pose.orientation))
    # The rotation of a quaternion of another length is invalid; that of zeros reads as upright.
    return finite and abs(math.hypot(*pose.orientation) - 1.0) <= LENGTH_TOLERANCE


def ground(
    poses: Mapping[str, Pose], tool: Tool, block_size: float, tolerance: Tolerance = EXACT
) -> State:
    """The Blocksworld atoms that hold: on, on-table, clear, holding, arm-empty.

    A block is held when the tool is on and the block is where it holds one. It is on another when
    it is one edge higher and less than half an edge aside. It is on the table when its centre is
    half an edge high.

    Raises:
        RobotError: `STATE_MISMATCH`, listing every block that no relation explains.
    """
    supports, unexplained = _supports(poses, tool, block_size, tolerance)
    if unexplained:
        raise RobotError(
            'the measured blocks do not make a Blocksworld state: '
            + '; '.join(unexplained)
            + ': put them upright and start again',
            ErrorCode.STATE_MISMATCH,
        )
    held = {block for block, support in supports.items() if support == _HELD}
    atoms: set[Atom] = {('holding', block) for block in held} or {('arm-empty',)}
    for block, support in supports.items():
        if support == _TABLE:
            atoms.add(('on-table', block))
        elif support != _HELD:
            atoms.add(('on', block, support))
    covered = set(supports.values())
    atoms.update(('clear', block) for block in supports if block not in covered | held)
    return frozenset(atoms)


def difference(expected: State, found: State) -> str:
    """The atoms in which two states differ, as text."""
    return f'missing: {text_of(expected - found)}; unexpected: {text_of(found - expected)}'


def text_of(atoms: State) -> str:
    """Atoms as PDDL text."""
    return ' '.join(f'({" ".join(atom)})' for atom in sorted(atoms)) or 'nothing'


# Markers that no PDDL name can equal.
_TABLE = '<table>'
_HELD = '<held>'
_SPOKEN = {_TABLE: 'the table', _HELD: 'the tool'}


def _supports(
    poses: Mapping[str, Pose], tool: Tool, block_size: float, tolerance: Tolerance
) -> tuple[dict[str, str], list[str]]:
    """What carries each block, and a sentence for each block that nothing explains."""
    supports: dict[str, str] = {}
    unexplained: list[str] = []
    for name, pose in poses.items():
        if not all(math.isfinite(value) for value in (*pose.position, *pose.orientation)):
            unexplained.append(f'{name} has no finite pose')
            continue
        if not is_rigid(pose):
            length = math.hypot(*pose.orientation)
            unexplained.append(f'{name} has an orientation of length {length:.3g}, not 1')
            continue
        found = _carriers(name, pose, poses, tool, block_size, tolerance.height)
        where = 'at ({:.3f}, {:.3f}, {:.3f}) m'.format(*pose.position)
        if pose.tilt > tolerance.tilt:
            unexplained.append(f'{name} {where} leans {math.degrees(pose.tilt):.0f} deg')
        elif not found:
            unexplained.append(f'{name} {where} rests on nothing')
        elif len(found) > 1:
            said = ' and '.join(_SPOKEN.get(carrier, carrier) for carrier in sorted(found))
            unexplained.append(f'{name} {where} is carried by {said} at once')
        else:
            supports[name] = found[0]
    return supports, unexplained + _overlaps(poses, supports, block_size)


def _carriers(
    name: str,
    pose: Pose,
    poses: Mapping[str, Pose],
    tool: Tool,
    block_size: float,
    tolerance: float,
) -> list[str]:
    height = pose.position[2]
    carriers = [
        other
        for other, below in poses.items()
        if other != name
        and planar_distance(pose, below) < block_size / 2
        and abs(height - below.position[2] - block_size) <= tolerance
    ]
    if abs(height - block_size / 2) <= tolerance:
        carriers.append(_TABLE)
    held = Pose(tool.held_centre)
    level = abs(tool.held_centre[2] - height) <= tolerance
    if tool.on and level and planar_distance(pose, held) < block_size / 2:
        carriers.append(_HELD)
    return carriers


def _overlaps(
    poses: Mapping[str, Pose], supports: Mapping[str, str], block_size: float
) -> list[str]:
    """Two blocks on one support, or inside each other: readings that cannot both be right."""
    said = []
    names = sorted(supports)
    for index, one in enumerate(names):
        for other in names[index + 1 :]:
            same = supports[one] == supports[other] and supports[one] != _TABLE
            apart = planar_distance(poses[one], poses[other])
            level = abs(poses[one].position[2] - poses[other].position[2]) < block_size / 2
            if same:
                said.append(f'{one} and {other} are both on {supports[one]}')
            elif level and apart < block_size / 2:
                said.append(f'{one} and {other} are in the same place')
    return said


# The layout is decided here and nowhere else: tower by tower, in the order in which the problem
# declares its objects, to the slots from the middle of the arc outwards.
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

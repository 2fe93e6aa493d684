# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Where the blocks of a real table are: as somebody sees them, or as the arm must have put them."""

from __future__ import annotations

import math
import statistics
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.robot.arm import Sample, World
from safegen_ros.robot.cell.grounding import Tolerance, Tool, difference, ground, is_rigid
from safegen_ros.robot.cell.perception import Picture
from safegen_ros.robot.cell.settings import IGNORE, REFUSE, PerceptionSettings
from safegen_ros.robot.pose import Pose, planar_distance
from safegen_ros.robot.scene import Scene

if TYPE_CHECKING:
    from safegen_ros.pddl.model import State

#: The tool takes a block that is this near in height, and lets it down on what is this near [m].
REACH = 0.008
STILL_HOLDS = (
    'the tool still holds what the last goal left there: hold a hand under the block, and call '
    '`safegen arm release`'
)
#: The cure where blocks do not stand as the task begins, and are not measured.
SAY_SO = (
    'set the blocks up as the task begins, and say so (safegen arm blocks-set-up, or safegen run '
    '--blocks-set-up)'
)
STILL_M = 0.015
"""An object that is seen at places farther apart along one axis moves [m]."""

DEFAULTS = PerceptionSettings()

#: A tool that holds nothing.
NOWHERE = Tool((0.0, 0.0, 10.0), on=False)


class AssumedWorld(World):
    """Blocks that are assumed to follow the tool; they are not measured.

    It follows the measured joints and the tool, so a move that the arm did not make, or a pick
    beside the block, is noticed. A block that was lost on the way is not.

    At first nothing is known. A person says that the blocks are set up (`confirm`); from then on
    the last known world is what each task has to begin with.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._lock = threading.Lock()
        self._poses: dict[str, Pose] | None = None
        self._unknown = 'the executor has just started'
        self._confirmed = False
        self._held: str | None = None
        self._tool_on = False

    def confirm(self) -> None:
        """Takes a person's statement: the blocks are set up as the next goal begins."""
        with self._lock:
            self._confirmed = True

    @property
    def confirmed(self) -> bool:
        """Whether the next goal begins with the blocks that a person has confirmed."""
        return self._confirmed

    def require_empty_tool(self) -> None:
        """Raises `RobotError` (`STATE_MISMATCH`) while the tool is believed to hold a block."""
        if self._held is not None:
            raise RobotError(STILL_HOLDS, ErrorCode.STATE_MISMATCH)

    def lapse(self) -> None:
        """Ends a statement that the goal it was made for has not needed."""
        with self._lock:
            self._confirmed = False

    def forget(self, reason: str) -> None:
        """From now on the positions of the blocks are unknown, and why."""
        with self._lock:
            self._poses, self._unknown = None, reason
            self._held, self._confirmed = None, False

    def expect(self, blocks: Mapping[str, Pose]) -> dict[str, Pose]:
        """Where the blocks are believed to be when a task begins with them at these poses."""
        with self._lock:
            return self._expected(blocks)

    def reset(self, blocks: Mapping[str, Pose]) -> None:
        """Begins a task; raises as `expect`. A statement of a person is used up."""
        with self._lock:
            self._poses = self._expected(blocks)
            self._confirmed = False

    def _expected(self, blocks: Mapping[str, Pose]) -> dict[str, Pose]:
        self.require_empty_tool()
        if self._confirmed:
            return dict(blocks)
        size = self._scene.block_size
        if self._poses is None:
            raise RobotError(f'{self._nowhere()}: {SAY_SO}', ErrorCode.STATE_MISMATCH)
        wanted = ground(blocks, NOWHERE, size)
        try:
            known = ground(self._poses, NOWHERE, size)
        except RobotError as error:
            raise RobotError(f'{error.message}: {SAY_SO}', error.code) from error
        if known != wanted:
            raise RobotError(
                'the last goal has left the blocks otherwise than this task begins: '
                f'{difference(wanted, known)}: {SAY_SO}, or plan from where they are '
                '(safegen run --from-current)',
                ErrorCode.STATE_MISMATCH,
            )
        return dict(self._poses)

    def _nowhere(self) -> str:
        return f'the positions of the blocks are unknown, as {self._unknown}'

    def block_poses(self) -> dict[str, Pose]:
        """Believed pose of each block."""
        with self._lock:
            if self._poses is None:
                raise RobotError(f'{self._nowhere()}: {SAY_SO}', ErrorCode.STATE_MISMATCH)
            return dict(self._poses)

    def follow(self, sample: Sample) -> Sample:
        """Takes in a look at the arm; returns it with the poses that are believed then."""
        hand = Pose.upright(
            *self._scene.held_centre(sample.joints), self._scene.arm.tool_yaw(sample.joints)
        )
        with self._lock:
            poses = {} if self._poses is None else self._poses
            if sample.tool_on and not self._tool_on:
                self._held = self._at(hand, poses)
            if self._held is not None:
                poses[self._held] = hand
                if not sample.tool_on:
                    self._let_go(self._held, poses)
                    self._held = None
            self._tool_on = sample.tool_on
            return replace(sample, poses=dict(poses))

    def _at(self, hand: Pose, poses: Mapping[str, Pose]) -> str | None:
        """The block that the tool takes: the one where it holds a block."""
        for name, pose in poses.items():
            off = hand.position[2] - pose.position[2]
            if abs(off) <= REACH and planar_distance(hand, pose) < self._scene.block_size / 2:
                return name
        return None

    def _let_go(self, name: str, poses: dict[str, Pose]) -> None:
        """The block rests on what is below it; one that nothing is near to stays in the air."""
        size = self._scene.block_size
        here = poses[name]
        below = [size / 2] + [
            pose.position[2] + size
            for other, pose in poses.items()
            if other != name and planar_distance(pose, here) < size / 2
        ]
        near = [height for height in below if abs(height - here.position[2]) <= REACH]
        if near:
            x, y, _ = here.position
            poses[name] = Pose((x, y, max(near)), here.orientation)


class PerceivedWorld(World):
    """Blocks that a perception system measures.

    Args:
        look: pictures that were taken after the call; raises `RobotError` where there are none.

    Attributes:
        tolerance: of the measured poses.
        others: objects that the task of the last `expect` does not name, and that are obstacles.
    """

    def __init__(
        self,
        scene: Scene,
        look: Callable[[], Sequence[Picture]],
        settings: PerceptionSettings = DEFAULTS,
    ) -> None:
        self._scene, self._look, self._settings = scene, look, settings
        self.tolerance = Tolerance(settings.height_tolerance, math.radians(settings.tilt_tolerance))
        self._blocks: frozenset[str] = frozenset()
        self.others: dict[str, Pose] = {}

    def expect(self, blocks: Mapping[str, Pose]) -> dict[str, Pose]:
        """Where the blocks are measured, when they stand on each other as in these poses."""
        measured, others = self._seen(frozenset(blocks))
        wanted, seen = self.state_of(blocks), self.state_of(measured)
        if wanted != seen:
            raise RobotError(
                f'the table does not show the initial state: {difference(wanted, seen)}: '
                'put the blocks there',
                ErrorCode.STATE_MISMATCH,
            )
        self._blocks, self.others = frozenset(blocks), others
        return self.levelled(measured)

    def reset(self, blocks: Mapping[str, Pose]) -> None:
        """Checks, before anything moves, what `expect` checks, and that no obstacle is new."""
        before = self.others if self._blocks == frozenset(blocks) else None
        self.expect(blocks)
        if before is not None:
            self._require_known(self.others, before)

    def block_poses(self) -> dict[str, Pose]:
        """Measured pose of each block of the task, seen after this call."""
        poses, others = self._seen(self._blocks)
        self._require_known(others, self.others)
        return poses

    def state(self, names: Collection[str]) -> State:
        """The state of the blocks of those names; none for all objects."""
        return self.state_of(self._seen(frozenset(names))[0])

    def state_of(self, poses: Mapping[str, Pose]) -> State:
        """The atoms that hold with an empty tool and the blocks at these poses."""
        return ground(poses, NOWHERE, self._scene.block_size, self.tolerance)

    def levelled(self, poses: Mapping[str, Pose]) -> dict[str, Pose]:
        """The same with each block upright and at its level, as its edge shows."""
        size, levelled = self._scene.block_size, {}
        for name, pose in poses.items():
            x, y, z = pose.position
            level = size / 2 + size * round((z - size / 2) / size)
            near = abs(z - level) <= self.tolerance.height and pose.tilt <= self.tolerance.tilt
            levelled[name] = Pose.upright(x, y, level, pose.yaw) if near else pose
        return levelled

    def _seen(self, names: frozenset[str]) -> tuple[dict[str, Pose], dict[str, Pose]]:
        """The named blocks, and the blocks in their way; without names all blocks."""
        found = median_poses(self._look(), names)
        if hidden := sorted(names - found.keys()):
            raise RobotError(
                f'{" ".join(hidden)} not seen by the perception system, which shows '
                f'{" ".join(sorted(found)) or "nothing"}: put the blocks into its view',
                ErrorCode.STATE_MISMATCH,
            )
        blocks = {name: pose for name, pose in found.items() if name in names or not names}
        others = {name: pose for name, pose in found.items() if name not in blocks}
        if self._settings.other_objects == IGNORE:
            others = {}
        elif others and self._settings.other_objects == REFUSE:
            raise _in_the_way(' '.join(sorted(others)), 'on the table, and not in the task')
        for name, pose in others.items():
            if not is_rigid(pose):
                raise _in_the_way(name, 'seen without a valid pose')
            for block, at in blocks.items():
                if planar_distance(pose, at) < self._scene.block_size:
                    raise _in_the_way(name, f'on {block}, or against it')
        return blocks, others

    def _require_known(self, others: Mapping[str, Pose], before: Mapping[str, Pose]) -> None:
        """Raises where an obstacle is not where it was when the plan was rehearsed."""
        for name, pose in others.items():
            if name not in before:
                raise _in_the_way(name, 'new on the table since the plan was rehearsed')
            if planar_distance(pose, before[name]) > STILL_M:
                raise _in_the_way(name, 'not where it was when the plan was rehearsed')


def _in_the_way(name: str, what: str) -> RobotError:
    return RobotError(
        f'{name} is {what}: take it away, or see the parameter other_objects',
        ErrorCode.STATE_MISMATCH,
    )


def median_poses(pictures: Sequence[Picture], still: Collection[str]) -> dict[str, Pose]:
    """One pose of each object that more than half of the pictures show.

    Those named in `still`, or all where none is, must not move meanwhile.

    Raises:
        RobotError: `STATE_MISMATCH` when one of them does.
    """
    seen: dict[str, list[Pose]] = {}
    for picture in pictures:
        for name, pose in picture.poses.items():
            seen.setdefault(name, []).append(pose)
    found = {}
    for name, poses in seen.items():
        if 2 * len(poses) <= len(pictures):
            continue
        if (not still or name in still) and (apart := _spread(poses)) > STILL_M:
            raise RobotError(
                f'{name} is seen at places {1e3 * apart:.0f} mm apart within one question: it '
                'moves, or the perception system jumps: look at the table',
                ErrorCode.STATE_MISMATCH,
            )
        found[name] = _median(poses)
    return found


def _spread(poses: Sequence[Pose]) -> float:
    """The longest way along one axis between two of the poses [m]."""
    axes = ([pose.position[axis] for pose in poses] for axis in range(3))
    return max(max(values) - min(values) for values in axes)


def _median(poses: Sequence[Pose]) -> Pose:
    """The median of positions, and the orientation that is nearest to all others."""
    wrong = [pose for pose in poses if not is_rigid(pose)]
    if wrong:
        return wrong[0]  # which is reported where the state is made of it
    x, y, z = (statistics.median(pose.position[axis] for pose in poses) for axis in range(3))

    def distance(pose: Pose) -> float:
        return sum(
            1 - abs(sum(a * b for a, b in zip(pose.orientation, other.orientation, strict=True)))
            for other in poses
        )

    # Not a mean, which is not a pose for a cube that is seen turned by 90 deg now and then.
    return Pose((x, y, z), min(poses, key=distance).orientation)

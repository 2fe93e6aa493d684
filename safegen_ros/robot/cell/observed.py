# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Where the blocks of a real table are: as somebody sees them, or as the arm must have put them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.robot.arm import Sample, World
from safegen_ros.robot.cell.grounding import Tool, difference, ground
from safegen_ros.robot.kinematics import tool_yaw
from safegen_ros.robot.pose import Pose, planar_distance
from safegen_ros.robot.scene import Scene

if TYPE_CHECKING:
    from safegen_ros.pddl.model import State

#: The tool takes a block that is this near in height, and lets it down on what is this near [m].
REACH = 0.008
#: An observation must come within this time after it is asked for [s].
PATIENCE = 5.0
STILL_HOLDS = (
    'the tool still holds what the last goal left there: hold a hand under the block, and call '
    '`safegen release`'
)
#: The cure where blocks do not stand as the task begins, and nobody looks.
SAY_SO = (
    'set the blocks up as the task begins, and say so (safegen blocks-set-up, or safegen run '
    '--blocks-set-up)'
)
#: A tool that holds nothing.
NOWHERE = Tool((0.0, 0.0, 10.0), on=False)


@dataclass(frozen=True, slots=True)
class Observation:
    """What a perception system saw: poses by name, and when it came, in `time.monotonic` [s]."""

    poses: dict[str, Pose]
    received: float


class AssumedWorld(World):
    """Blocks that are believed to go where the tool takes them; nobody looks.

    It follows the measured joints and the tool, so a move that the arm did not make, or a pick
    beside the block, is noticed. A block that was lost on the way is not.

    At first nothing is known. A person says that the blocks are set up (`confirm`); from then on
    the last known world is what each task has to begin with.

    Args:
        scene: geometry of the blocks and the tool.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._lock = threading.Lock()
        self._poses: dict[str, Pose] | None = None
        self._unknown = 'the executor has started, and nobody has looked at the table since'
        self._confirmed = False
        self._held: str | None = None
        self._tool_on = False

    def confirm(self) -> None:
        """Takes a person's statement: the blocks are set up as the next goal begins."""
        with self._lock:
            self._confirmed = True

    @property
    def confirmed(self) -> bool:
        """Whether the next goal begins with what a person has stated."""
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
        """From now on nobody knows where the blocks are, and why."""
        with self._lock:
            self._poses, self._unknown = None, reason
            self._held, self._confirmed = None, False

    def expect(self, blocks: Mapping[str, Pose]) -> dict[str, Pose]:
        """Where the blocks are believed to be when a task begins with them at these poses.

        Raises:
            RobotError: `STATE_MISMATCH` when they stand otherwise, or nobody knows how.
        """
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
        return f'nobody knows where the blocks are, as {self._unknown}'

    def block_poses(self) -> dict[str, Pose]:
        """Believed pose of each block.

        Raises:
            RobotError: `STATE_MISMATCH` when nobody knows.
        """
        with self._lock:
            if self._poses is None:
                raise RobotError(f'{self._nowhere()}: {SAY_SO}', ErrorCode.STATE_MISMATCH)
            return dict(self._poses)

    def follow(self, sample: Sample) -> Sample:
        """Takes in a look at the arm; returns it with the poses that are believed then."""
        hand = Pose.upright(*self._scene.held_centre(sample.joints), tool_yaw(sample.joints))
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
        scene: geometry of the blocks.
        latest: the newest observation, or None when there is none yet.
        patience: longest wait for one that is newer than the question [s].
    """

    def __init__(
        self, scene: Scene, latest: Callable[[], Observation | None], patience: float = PATIENCE
    ) -> None:
        self._scene = scene
        self._latest = latest
        self._patience = patience

    def expect(self, blocks: Mapping[str, Pose]) -> dict[str, Pose]:
        """Where the blocks are measured, when they stand on each other as in these poses.

        Raises:
            RobotError: `STATE_MISMATCH` when they do not.
        """
        measured = self.block_poses()
        wanted, seen = self._state(blocks), self._state(measured)
        if wanted != seen:
            raise RobotError(
                f'the table does not show the initial state: {difference(wanted, seen)}: '
                'put the blocks there',
                ErrorCode.STATE_MISMATCH,
            )
        return measured

    def reset(self, blocks: Mapping[str, Pose]) -> None:
        """Checks, before anything moves, what `expect` checks; raises as that."""
        self.expect(blocks)

    def block_poses(self) -> dict[str, Pose]:
        """Measured pose of each block, seen after this call.

        Raises:
            RobotError: `STATE_MISMATCH` when nothing is seen in time.
        """
        asked = time.monotonic()
        while (seen := self._latest()) is None or seen.received < asked:
            if time.monotonic() - asked > self._patience:
                raise RobotError(
                    f'the perception system has said nothing for {self._patience:g} s: start it, '
                    'and look at its topic',
                    ErrorCode.STATE_MISMATCH,
                )
            time.sleep(0.02)
        return dict(seen.poses)

    def _state(self, poses: Mapping[str, Pose]) -> State:
        return ground(poses, NOWHERE, self._scene.block_size)

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
from safegen_ros.robot.cell.grounding import Tool, ground
from safegen_ros.robot.kinematics import tool_yaw
from safegen_ros.robot.pose import Pose, planar_distance
from safegen_ros.robot.scene import Scene

if TYPE_CHECKING:
    from safegen_ros.pddl.model import State

#: The tool takes a block that is this near in height, and lets it down on what is this near [m].
REACH = 0.008
#: An observation must come within this time after it is asked for [s].
PATIENCE = 5.0
_NOWHERE = Tool((0.0, 0.0, 10.0), on=False)


@dataclass(frozen=True, slots=True)
class Observation:
    """What a perception system saw: poses by name, and when it came, in `time.monotonic` [s]."""

    poses: dict[str, Pose]
    received: float


class AssumedWorld(World):
    """Blocks that are believed to go where the tool takes them; nobody looks.

    It follows the measured joints and the tool, so a move that the arm did not make, or a pick
    beside the block, is noticed. A block that was lost on the way is not.

    Args:
        scene: geometry of the blocks and the tool.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._lock = threading.Lock()
        self._poses: dict[str, Pose] = {}
        self._held: str | None = None
        self._tool_on = False

    def reset(self, blocks: Mapping[str, Pose]) -> None:
        """Believes that somebody has set the blocks up at these poses."""
        with self._lock:
            self._poses = dict(blocks)
            self._held = None

    def block_poses(self) -> dict[str, Pose]:
        """Believed pose of each block."""
        with self._lock:
            return dict(self._poses)

    def follow(self, sample: Sample) -> Sample:
        """Takes in a look at the arm; returns it with the poses that are believed then."""
        hand = Pose.upright(*self._scene.held_centre(sample.joints), tool_yaw(sample.joints))
        with self._lock:
            if sample.tool_on and not self._tool_on:
                self._held = self._at(hand)
            if self._held is not None:
                self._poses[self._held] = hand
                if not sample.tool_on:
                    self._let_go(self._held)
                    self._held = None
            self._tool_on = sample.tool_on
            return replace(sample, poses=dict(self._poses))

    def _at(self, hand: Pose) -> str | None:
        """The block that the tool takes: the one where it holds a block."""
        for name, pose in self._poses.items():
            off = hand.position[2] - pose.position[2]
            if abs(off) <= REACH and planar_distance(hand, pose) < self._scene.block_size / 2:
                return name
        return None

    def _let_go(self, name: str) -> None:
        """The block rests on what is below it; one that nothing is near to stays in the air."""
        size = self._scene.block_size
        here = self._poses[name]
        below = [size / 2] + [
            pose.position[2] + size
            for other, pose in self._poses.items()
            if other != name and planar_distance(pose, here) < size / 2
        ]
        near = [height for height in below if abs(height - here.position[2]) <= REACH]
        if near:
            x, y, _ = here.position
            self._poses[name] = Pose((x, y, max(near)), here.orientation)


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

    def reset(self, blocks: Mapping[str, Pose]) -> None:
        """Checks, before anything moves, that the blocks stand on each other as in these poses.

        Raises:
            RobotError: `STATE_MISMATCH` when they do not.
        """
        wanted, measured = self._state(blocks), self._state(self.block_poses())
        if wanted != measured:
            missing = ' '.join(f'({" ".join(atom)})' for atom in sorted(wanted - measured))
            unexpected = ' '.join(f'({" ".join(atom)})' for atom in sorted(measured - wanted))
            raise RobotError(
                f'the table does not show the initial state: missing {missing or "nothing"}, '
                f'seen {unexpected or "nothing"}: put the blocks there',
                ErrorCode.STATE_MISMATCH,
            )

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
        return ground(poses, _NOWHERE, self._scene.block_size)

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Pick, place and home, written once over `Arm`.

A skill starts and ends with the tip at travel height, above every tower, so that the next one may
turn freely. Descents and ascents are straight lines in a few joint moves.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from safegen_ros.robot.arm import TOOL, Arm
from safegen_ros.robot.arms.model import Joints
from safegen_ros.robot.pose import Pose
from safegen_ros.robot.scene import GRIPPER, Scene


@dataclass(frozen=True, slots=True)
class Target:
    """A block to pick, or to be placed: name, pose of its centre, and what carries it."""

    block: str
    pose: Pose
    support: str


def pick(arm: Arm, scene: Scene, target: Target, others: Iterable[Pose]) -> None:
    """Picks a block from above and lifts it to travel height; raises as the arm does."""
    motion = scene.motion
    others = list(others)
    arm.expect_contacts((TOOL, target.block))
    if scene.tool == GRIPPER:
        arm.set_tool(False)  # fingers stay as somebody has left them before the start
    _travel(arm, scene, target.pose, travel_height(scene, [*others, target.pose], carrying=False))
    _vertical(arm, scene, target.pose, scene.grasp_height(target.pose.position[2]))
    arm.wait(motion.settle_s)
    arm.set_tool(True)
    arm.wait(motion.grasp_s)
    _vertical(arm, scene, target.pose, travel_height(scene, others, carrying=True))


def place(arm: Arm, scene: Scene, target: Target, others: Iterable[Pose]) -> None:
    """Places the carried block from above, lets go and retreats to travel height."""
    motion = scene.motion
    others = list(others)
    arm.expect_contacts((TOOL, target.block), (target.block, target.support))
    _travel(arm, scene, target.pose, travel_height(scene, others, carrying=True))
    _vertical(arm, scene, target.pose, scene.release_height(target.pose.position[2]))
    arm.wait(motion.place_settle_s)
    arm.set_tool(False)
    arm.wait(motion.release_s)
    _vertical(arm, scene, target.pose, travel_height(scene, [*others, target.pose], carrying=False))


def home(arm: Arm, scene: Scene, blocks: Iterable[Pose], carrying: bool = False) -> None:
    """Rises above every tower and parks beside the slots."""
    height = max(travel_height(scene, blocks, carrying=carrying), scene.home_height)
    _travel(
        arm, scene, Pose.upright(scene.home.x, scene.home.y, height, scene.home.azimuth), height
    )


def approach(arm: Arm, scene: Scene, over: Pose, height: float, others: Iterable[Pose]) -> None:
    """Brings the tip over a pose at a height [m], from above everything else."""
    _travel(arm, scene, over, max(height, travel_height(scene, others, carrying=False)))
    _vertical(arm, scene, over, height)


def travel_height(scene: Scene, blocks: Iterable[Pose], *, carrying: bool) -> float:
    """Height of the tip at which nothing is touched [m]."""
    tops = [block.position[2] + scene.block_size / 2 for block in blocks]
    load = scene.tip_over_centre + scene.block_size / 2 if carrying else 0.0
    clear = max(tops, default=0.0) + scene.motion.travel_clearance_m + load
    return max(clear, scene.motion.min_travel_height_m)


def _travel(arm: Arm, scene: Scene, above: Pose, height: float) -> None:
    """Rises straight to the height when below it, then goes above a pose in one joint move."""
    joints = arm.joint_positions()
    tip = scene.arm.forward(joints, scene.tool_length)
    x, y, z = (float(value) for value in tip[:3, 3])
    if z < height - 1e-3:
        here = Pose.upright(x, y, z, math.atan2(tip[1, 0], tip[0, 0]))
        _vertical(arm, scene, here, height)
    goal = scene.joints_above(
        above.position[0], above.position[1], height, above.yaw, arm.joint_positions()
    )
    arm.move_joints(goal, scene.motion.travel_speed_fraction)


def _vertical(arm: Arm, scene: Scene, over: Pose, height: float) -> None:
    """Moves the tip straight up or down over a pose to a height [m]."""
    joints = arm.joint_positions()
    start = float(scene.arm.forward(joints, scene.tool_length)[2, 3])
    end = scene.joints_above(over.position[0], over.position[1], height, over.yaw, joints)
    # The whole path is solved before its first part moves: an unreachable point moves nothing.
    for waypoint in _straight(scene, over, (start, joints), (height, end)):
        arm.move_joints(waypoint, scene.motion.vertical_speed_fraction)


def _straight(
    scene: Scene, over: Pose, start: tuple[float, Joints], end: tuple[float, Joints]
) -> list[Joints]:
    """Fewest joint targets, by halving, between which the tip strays little from the vertical.

    A start and an end are the height of the tip [m] and the joints there.
    """
    middle = scene.arm.forward((start[1] + end[1]) / 2, scene.tool_length)[:3, 3]
    x, y, _ = over.position
    strays = math.hypot(middle[0] - x, middle[1] - y) > scene.motion.straightness_m
    if not strays or abs(start[0] - end[0]) < scene.motion.straightness_m:
        return [end[1]]
    height = (start[0] + end[0]) / 2
    half = (height, scene.joints_above(x, y, height, over.yaw, start[1]))
    return _straight(scene, over, start, half) + _straight(scene, over, half, end)

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The real arm of an executor, and a perception node's word on the blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from safegen_msgs.msg import WorldState
from safegen_ros.nodes.base import SafegenNode
from safegen_ros.robot.arm import Sample
from safegen_ros.robot.cell.perception import Perception, read_picture
from safegen_ros.robot.cell.real import MyCobotCell, connect_arm
from safegen_ros.robot.cell.settings import PERCEIVED, ArmSettings, PerceptionSettings, settings_of
from safegen_ros.robot.mycobot.effectors import check_tool
from safegen_ros.robot.scene import Scene
from safegen_ros.ros import qos
from safegen_ros.ros.conversions import pose_from_msg, seconds_of

TOPIC = 'perception/world_state'
"""Where a perception node publishes safegen_msgs/msg/WorldState with the poses of all blocks."""
FRAME = 'base_link'
"""The frame of those poses; none named is taken for it."""


class RealArm:
    """Opens the cell of the real arm.

    Interfaces:
        subscription `perception/world_state` (safegen_msgs/msg/WorldState): poses of all blocks
            [m] in the frame of the arm's base; only with `world:=perceived`.
    """

    def __init__(self, node: SafegenNode) -> None:
        self._node = node
        self._perception: Perception | None = None
        self._subscribed = False

    def open(
        self,
        values: Mapping[str, Any],
        scene: Scene,
        sample: Callable[[Sample], None],
        *,
        rearm: bool,
    ) -> MyCobotCell:
        """Connects to the arm that the parameters name; nothing moves.

        Args:
            sample: called with every reading of the arm, and the blocks of that moment.
            rearm: whether its servos are powered and its error codes cleared; not where it is
                stopped, which leaves that to an operator's reset.

        Raises:
            SafegenError: a parameter is wrong, or the arm is not there or not ready.
        """
        check_tool(values['tool'], scene)
        settings = settings_of(ArmSettings, values)
        perceived = settings.world == PERCEIVED
        self._perception = self._open_perception(values) if perceived else None
        cell = MyCobotCell(
            scene,
            lambda tell: connect_arm(settings, scene.arm, tell),
            perception=self._perception,
            sample=sample,
        )
        if rearm:
            try:
                cell.rearm()
            except BaseException:
                cell.close()
                raise
        if cell.assumed is not None:
            self._node.get_logger().warning(
                'the blocks are not measured: their poses follow from the motions of the arm, '
                'once a person has confirmed that they are set up'
            )
        return cell

    def _open_perception(self, values: Mapping[str, Any]) -> Perception:
        node = self._node

        def silent() -> str:
            if node.count_publishers(TOPIC):
                return f'{TOPIC} has a publisher, that sends nothing: check that node'
            return f'{node.resolve_topic_name(TOPIC)} has no publisher: start it'

        if not self._subscribed:
            # Best effort, which also matches a reliable publisher.
            node.create_subscription(WorldState, TOPIC, self._take, qos.MEASURED)
            self._subscribed = True
        return Perception(settings_of(PerceptionSettings, values), silent=silent)

    def _take(self, message: WorldState) -> None:
        perception, stamp = self._perception, message.header.stamp
        if perception is None:
            return
        poses = [(item.name, pose_from_msg(item.pose)) for item in message.objects]
        perception.take(read_picture(seconds_of(stamp), message.header.frame_id, poses, FRAME))

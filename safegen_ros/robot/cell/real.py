# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The cell of a real arm, from the settings of a bring-up."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.robot.agent.messages import ArmPort, SerialPort, TcpPort
from safegen_ros.robot.arm import Arm, Sample, World
from safegen_ros.robot.arms.model import ArmModel
from safegen_ros.robot.cell.blocks import BlocksworldCell
from safegen_ros.robot.cell.grounding import EXACT, ground
from safegen_ros.robot.cell.observed import NOWHERE, STILL_HOLDS, AssumedWorld, PerceivedWorld
from safegen_ros.robot.cell.perception import Perception
from safegen_ros.robot.cell.settings import TRANSPORTS, ArmSettings
from safegen_ros.robot.pose import KeepOut, Pose
from safegen_ros.robot.scene import Scene

if TYPE_CHECKING:
    from safegen_ros.pddl.model import State
    from safegen_ros.robot.agent_client.channel import AgentAddress
    from safegen_ros.robot.agent_client.ssh_link import SshAddress


SHOWN_S = 1.0
"""A picture that is older is not published any more [s]."""


class MyCobotCell(BlocksworldCell):
    """A real table. It is never set up by the cell: somebody does that.

    Args:
        connect: opens the arm, which calls its argument with every reading.
        perception: sees the blocks; None if they are not measured but assumed to be where the arm
            has put them.
        sample: called with every reading of the arm, and the blocks of that moment.
    """

    def __init__(
        self,
        scene: Scene,
        connect: Callable[[Callable[[Sample], None]], Arm],
        *,
        perception: Perception | None = None,
        sample: Callable[[Sample], None] = lambda sample: None,
    ) -> None:
        self._tell = sample
        self._perception = perception
        self._assumed: AssumedWorld | None = None
        self._perceived: PerceivedWorld | None = None
        world: World
        if perception is None:
            world = self._assumed = AssumedWorld(scene)
            tolerance = EXACT
        else:
            world = self._perceived = PerceivedWorld(scene, perception.look, perception.settings)
            tolerance = self._perceived.tolerance
        super().__init__(scene, connect(self._sampled), world, tolerance=tolerance)

    def prepare(self, objects: Sequence[str], init: State) -> None:
        """Takes the blocks as somebody has set them up; see `BlocksworldCell.prepare`.

        Raises:
            RobotError: as there; and `STATE_MISMATCH` while the tool holds on to something, which
                letting go would drop.
        """
        if self.arm.tool_on():
            raise RobotError(STILL_HOLDS, ErrorCode.STATE_MISMATCH)
        super().prepare(objects, init)

    def known(self, names: Collection[str] = ()) -> State:
        """The last known state, with an empty tool; the arm is not asked."""
        if self._perceived is not None:
            return self._perceived.state(names)
        if self._assumed is not None:
            self._assumed.require_empty_tool()
        return ground(self.world.block_poses(), NOWHERE, self.scene.block_size)

    def obstacles(self) -> tuple[KeepOut, ...]:
        """The objects that the task does not name, as boxes that stand on the table."""
        if self._perceived is None or self._perception is None:
            return ()
        half = self._perception.settings.obstacle_size / 2
        boxes = []
        for name, pose in self._perceived.others.items():
            x, y, z = pose.position
            low, high = (x - half, y - half, 0.0), (x + half, y + half, max(z, 0.0) + half)
            boxes.append(KeepOut(name, low, high))
        return tuple(boxes)

    def poses(self) -> dict[str, Pose]:
        """Pose of each block, as the skills need it."""
        poses = self.world.block_poses()
        return poses if self._perceived is None else self._perceived.levelled(poses)

    def look(self) -> None:
        """Reads the idle arm and reports to `sample`; raises `RobotError` without an answer."""
        self.arm.joint_positions()

    @property
    def assumed(self) -> AssumedWorld | None:
        """The belief where the blocks are; None where they are measured."""
        return self._assumed

    def _sampled(self, sample: Sample) -> None:
        if self._assumed is not None:
            self._tell(self._assumed.follow(sample))
            return
        seen = {} if self._perception is None else self._perception.latest(SHOWN_S)
        self._tell(replace(sample, poses=dict(seen)))


def connect_arm(settings: ArmSettings, model: ArmModel, sample: Callable[[Sample], None]) -> Arm:
    """Opens the arm that the settings name; it holds until `rearm` and `reset_stop`.

    Raises:
        RobotError: there is no driver for that kind of arm (`UNSUPPORTED_SCENE`), or no such arm.
    """
    if not model.driver:
        raise RobotError(
            f'there is no driver for the {model.name} of the scene: use cell twin, or a scene_file '
            'of the arm that is connected',
            ErrorCode.UNSUPPORTED_SCENE,
        )
    from safegen_ros.robot.agent_client.agent_arm import AgentArm, RemoteArm

    remote = RemoteArm(arm_port(settings), settings.tool, model)
    return AgentArm(
        agent_address(settings), remote, speed_limit=settings.speed_limit, sample=sample
    )


def arm_port(settings: ArmSettings) -> ArmPort:
    """The port of the arm, as its agent sees it."""
    if settings.transport not in TRANSPORTS:
        raise RobotError(
            f'transport {settings.transport!r} does not exist: use one of {" ".join(TRANSPORTS)}'
        )
    if settings.transport != 'tcp':
        return SerialPort(settings.port, settings.baud)
    _require(settings, 'host', 'the computer whose TCP server passes bytes to the arm')
    return TcpPort(settings.host, settings.tcp_port)


def agent_address(settings: ArmSettings) -> AgentAddress:
    """Where the agent runs: on this computer, or at the other end of SSH."""
    if settings.transport == 'ssh':
        return ssh_address(settings)
    from safegen_ros.robot.agent_client.channel import LocalAgent

    tcp = f'{settings.host}:{settings.tcp_port}'
    return LocalAgent(
        tcp if settings.transport == 'tcp' else settings.port,
        link_timeout_s=settings.link_timeout,
        hang_timeout_s=settings.hang_timeout,
    )


def ssh_address(settings: ArmSettings) -> SshAddress:
    """Where the agent is that the settings name."""
    from safegen_ros.robot.agent_client.ssh_link import SshAddress

    _require(settings, 'host', 'the computer at the arm')
    _require(settings, 'user', 'who logs in there')
    return SshAddress(
        host=settings.host,
        user=settings.user,
        key_file=Path(settings.key_file).expanduser(),
        known_hosts=Path(settings.known_hosts).expanduser(),
        port=settings.ssh_port,
        command=settings.agent,
        link_timeout_s=settings.link_timeout,
        hang_timeout_s=settings.hang_timeout,
    )


def _require(settings: ArmSettings, name: str, what: str) -> None:
    if not getattr(settings, name):
        raise RobotError(f'transport {settings.transport}: {name} is empty: set it to {what}')

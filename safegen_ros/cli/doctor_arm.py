# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What `safegen doctor` looks at in a real arm: the way to it, its firmware, joints and tool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from safegen_ros.cli.checkup import Check, NotTried, Wrong
from safegen_ros.robot.agent.messages import TcpPort
from safegen_ros.robot.cell.real import arm_port, ssh_address
from safegen_ros.robot.cell.settings import ArmSettings, settings_of
from safegen_ros.robot.scene import GRIPPER

if TYPE_CHECKING:
    from safegen_ros.robot.arm import Arm
    from safegen_ros.robot.arms.model import Joints

#: The speeds of the boards; the wrong one is the commonest reason of silence.
_BAUDS = (115200, 1000000)
_TRANSPONDER = 'choose Transponder on the screen of the base, then switch the arm off and on'


def arm_checks(executor: Mapping[str, Any], pump: bool) -> list[Check]:
    """The checks for the arm that the parameters of an executor name.

    Args:
        pump: whether the tool may be switched.
    """
    settings = settings_of(ArmSettings, executor)
    look = _Arm(settings, str(executor.get('scene_file') or ''), pump)
    both = [
        Check('joint readings', look.joints),
        Check('tool and scene', look.fits),
        Check('tool', look.tool),
    ]
    if settings.transport == 'ssh':
        return [
            Check('SSH', look.ssh),
            Check('agent, port and arm', look.connected),
            *both,
        ]
    return [Check('port and firmware', look.firmware), Check('arm', look.connected), *both]


class _Arm:
    """One arm, connected by the first check that needs it and used by those after it."""

    def __init__(self, settings: ArmSettings, scene_file: str, pump: bool) -> None:
        self._settings = settings
        self._scene_file = scene_file
        self._pump = pump
        self._arm: Arm | None = None
        self._answers = False

    def ssh(self) -> str:
        """Logs in, and ends the connection again."""
        from safegen_ros.robot.agent_client.ssh_link import connect, fingerprint

        address = ssh_address(self._settings)
        client = connect(address)
        try:
            transport = client.get_transport()
            key = fingerprint(transport.get_remote_server_key()) if transport else 'no key'
            self._answers = True
            return f'{address} with the host key {key}'
        finally:
            client.close()

    def firmware(self) -> str:
        """Asks for the version of the firmware, at the speed given and then at the others."""
        settings = self._settings
        found = self._version(settings)
        if found:
            self._answers = True
            where = settings.host if settings.transport == 'tcp' else settings.port
            return f'{where} answers: firmware {found:g}'
        if settings.transport == 'serial':
            for baud in _BAUDS:
                if baud != settings.baud and self._version(replace(settings, baud=baud)):
                    raise Wrong(
                        f'{settings.port} answers at {baud} baud, not at {settings.baud}',
                        f'add baud:={baud}',
                    )
        raise Wrong('the port is open, but the arm does not answer', _TRANSPONDER)

    def connected(self) -> str:
        """Connects as the executor does: power, servos and error code are looked at."""
        from safegen_ros.robot.cell.real import connect_arm
        from safegen_ros.robot.scene import load_scene

        if not self._answers:
            raise NotTried('there is no way to it')
        self._arm = connect_arm(
            self._settings, load_scene(self._scene_file).arm, lambda sample: None
        )
        self._arm.rearm()
        return f'ready, over {self._settings.transport}'

    def joints(self) -> str:
        """Reads the joints twice; at rest the readings agree."""
        arm = self._connected()
        first, second = arm.joint_positions(), arm.joint_positions()
        moved = float(np.degrees(np.abs(second - first).max()))
        if moved > 1.0:
            raise Wrong(f'a joint moves by {moved:.1f} deg between two readings', 'hold the arm')
        return f'{_text(second)} deg'

    def fits(self) -> str:
        """Compares the tool of the settings with that of the scene, and with that of the arm."""
        from safegen_ros.robot.mycobot.effectors import scene_for
        from safegen_ros.robot.scene import default_scene_path, load_scene

        told, path = self._settings.tool, self._scene_file or str(default_scene_path())
        wanted, example = scene_for(told)
        scene = load_scene(path)
        if scene.tool != wanted:
            other = 'gripper' if scene.tool == GRIPPER else 'basic-pump'
            raise Wrong(
                f'the tool is {told}, and {path} is made for tool: {scene.tool}',
                f'add scene_file:={example}, or tool:={other}',
            )
        opening = self._connected().opening()
        if told == GRIPPER and opening is None:
            raise Wrong(
                'the tool is gripper, and no gripper answers at the arm',
                'look at its cable at the flange; with a pump: '
                'add tool:=basic-pump scene_file:=config/scene.yaml',
            )
        if told != GRIPPER and opening is not None:
            raise Wrong(
                f'the tool is {told}, and a gripper answers at the arm',
                'add tool:=gripper scene_file:=config/gripper_scene.yaml, or take the gripper off',
            )
        measured = '' if opening is None else f', open by {1000 * opening:.0f} mm'
        return f'{told}{measured}, as in {path}'

    def tool(self) -> str:
        """Switches the tool on and off, where that is allowed."""
        try:
            arm = self._connected()
            if not self._pump:
                raise NotTried('give --pump to switch it; a held block falls')
            arm.reset_stop()
            arm.set_tool(True)
            arm.wait(0.5)
            arm.set_tool(False)
            return f'{self._settings.tool} was switched on and off: did you hear it?'
        finally:
            if self._arm is not None:
                self._arm.close()

    def _version(self, settings: ArmSettings) -> float:
        """Version of the firmware; 0 when nothing answers."""
        from safegen_ros.robot.mycobot.link import open_serial, open_tcp

        at = arm_port(settings)
        if isinstance(at, TcpPort):
            robot: Any = open_tcp(at.host, at.tcp_port)
        else:
            robot = open_serial(at.port, at.baud)
        try:
            version = robot.get_system_version()
            return float(version) if isinstance(version, int | float) and version > 0 else 0.0
        finally:
            robot.close()
            robot.wire.close()

    def _connected(self) -> Arm:
        if self._arm is None:
            raise NotTried('the arm is not connected')
        return self._arm


def _text(joints: Joints) -> str:
    return ' '.join(f'{value:.1f}' for value in np.degrees(joints))

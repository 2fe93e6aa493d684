# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A program that turns an arm slowly through its agent, for tests that freeze or kill it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from safegen_ros.errors import RobotError
from safegen_ros.robot.agent.messages import SerialPort, TcpPort
from safegen_ros.robot.agent_client.agent_arm import AgentArm, RemoteArm
from safegen_ros.robot.agent_client.channel import LocalAgent
from safegen_ros.robot.agent_client.ssh_link import SshAddress
from support.arm_bench import SCENE, SLOW, ready


def turn(settings: dict[str, Any]) -> None:
    """Turns joint 1; ends with 3 when the arm or the link fails, and with 0 when it arrives."""
    agent, port = settings['agent'], settings['port']
    address: LocalAgent | SshAddress
    if 'key_file' in agent:
        for name in ('key_file', 'known_hosts'):
            agent[name] = Path(agent[name])
        address = SshAddress(**agent)
    else:
        address = LocalAgent(**agent)
    remote = RemoteArm(TcpPort(**port) if 'host' in port else SerialPort(**port))
    with AgentArm(address, remote) as arm:
        ready(arm)
        print('TURNING', flush=True)
        try:
            arm.move_joints(SCENE.home_joints + np.radians([150.0, 0, 0, 0, 0, 0]), SLOW)
        except RobotError:
            sys.exit(3)

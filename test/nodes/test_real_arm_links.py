# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen up mycobot` over TCP and SSH: real nodes, server, agent and library, an emulated arm."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from support.blocks_small import ONE_TEXT
from support.goals import Feedback
from support.model_server import MODEL, ModelServer
from support.stopping import BY_SEARCH, Operator
from support.waiting import patient_arm_file, wait_until

from safegen_ros.benchmarks.stack.emulated_site import LoopbackSsh, has_sshd
from safegen_ros.bringup.supervisor import Supervisor
from safegen_ros.bringup.table import node_specs
from safegen_ros.client import Client
from safegen_ros.errors import ErrorCode
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.robot.emulator.emulator import Emulator
from safegen_ros.robot.scene import load_scene

pytestmark = pytest.mark.nightly

SCENE = load_scene()
#: It takes two minutes, and is stopped in its second step.
LONG = parse_plan('(pickup a)(putdown a)' * 15 + '(pickup a)')


@pytest.fixture(scope='module', params=['tcp', pytest.param('ssh', marks=pytest.mark.nightly)])
def values(
    request: pytest.FixtureRequest, emulator: Emulator, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, object]]:
    """The arguments of the profile that reach the arm."""
    if request.param == 'tcp':
        port = emulator.tcp_port
        file = patient_arm_file(tmp_path_factory.mktemp('arm'), 'config/mycobot.yaml')
        yield {
            'arm_file': file, 'transport': 'tcp', 'host': '127.0.0.1', 'tcp_port': port,
        }  # fmt: skip
        return
    if not has_sshd():
        pytest.skip('THE STACK OVER SSH IS NOT TESTED HERE: apt-get install openssh-server')
    with LoopbackSsh(tmp_path_factory.mktemp('ssh')) as ssh:
        address = ssh.address
        yield {
            'arm_file': patient_arm_file(
                tmp_path_factory.mktemp('arm'), 'config/mycobot_ssh.yaml'
            ),
            'host': address.host, 'ssh_port': address.port, 'user': address.user,
            'key_file': address.key_file, 'known_hosts': address.known_hosts,
            'agent': address.command, 'port': emulator.serial_port, 'baud': 115200,
            'tool': 'basic-pump',
        }  # fmt: skip


@pytest.fixture(scope='module')
def client(
    values: dict[str, object], ros_domain: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Client]:
    """A client of the whole stack; its model is at a server that is never asked."""
    folder = tmp_path_factory.mktemp('stack')
    with ModelServer() as server:
        specs = node_specs(
            'mycobot', {'model': f'{server.url}#{MODEL}', 'speed_limit': 1.0, **values}
        )
        environment = {'ROS_DOMAIN_ID': str(ros_domain), 'SAFEGEN_STATE_DIR': str(folder)}
        with Supervisor(specs, log_dir=folder, environment=environment) as running:
            running.wait_ready()
            with Client() as connected:
                Operator(connected).reset()
                yield connected


def test_a_goal_is_reached_and_the_next_is_stopped_in_mid_motion(
    client: Client, emulator: Emulator
) -> None:
    twin = emulator.firmware.twin
    operator = Operator(client)
    assert operator.call('blocks_set_up').success
    result = client.run(ONE_TEXT, options=BY_SEARCH)
    assert (result.error_code, result.error_msg) == (ErrorCode.NONE, '')
    assert twin.tool_on()
    assert twin.block_poses()['a'].position[2] > 1.5 * SCENE.block_size
    answer = operator.call('release')
    assert answer.success, answer.message
    assert not twin.tool_on()

    assert operator.call('blocks_set_up').success
    moving = Feedback(lambda f: (f.progress.phase, f.progress.step) == ('moving', 2))
    goal = client.start_execute(ONE_TEXT, LONG, on_feedback=moving)
    moving.wait()
    here = twin.joint_positions()
    wait_until(lambda: np.abs(twin.joint_positions() - here).max() > 0.02, 'the arm moves')
    operator.call('stop')
    result = goal.result()
    assert ErrorCode(result.error_code) is ErrorCode.EXECUTION_STOPPED, result.error_msg
    assert 1 <= result.steps_done < len(LONG.steps)
    operator.wait_stopped('')
    last = emulator.last_motion
    assert emulator.first_stop > 0
    here = twin.joint_positions()
    operator.assert_nothing_is_taken()
    assert emulator.last_motion == last
    np.testing.assert_allclose(twin.joint_positions(), here, atol=0.005)
    operator.reset()

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The executor with the real driver: the vendor's library at an emulated arm, in real processes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from geometry_msgs.msg import Point
from geometry_msgs.msg import Pose as PoseMsg
from std_srvs.srv import Trigger
from support.blocks_small import ONE_TEXT
from support.stopping import Operator
from support.waiting import patient_arm_file

from safegen_msgs.msg import ObjectPose, WorldState
from safegen_ros.bringup.supervisor import Supervisor
from safegen_ros.bringup.table import node_specs
from safegen_ros.client import Client
from safegen_ros.errors import ErrorCode
from safegen_ros.node_parameters import EXECUTOR
from safegen_ros.nodes.cell_services import PERCEPTION, STATED, RealArm
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.robot.arm import Sample
from safegen_ros.robot.emulator.emulator import Emulator
from safegen_ros.robot.scene import load_scene
from safegen_ros.ros import qos
from safegen_ros.ros.calls import wait_for

SCENE = load_scene()
PLAN = parse_plan('(pickup a)')


@pytest.fixture(scope='module')
def stack(
    emulator: Emulator, ros_domain: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Supervisor]:
    """`safegen up mycobot` without a planner: the plan is given."""
    folder = tmp_path_factory.mktemp('arm')
    values = {
        'arm_file': patient_arm_file(folder, 'config/mycobot.yaml'),
        'port': emulator.serial_port,
        'speed_limit': 1.0,
    }
    specs = node_specs('mycobot', values)
    with Supervisor(
        [spec for spec in specs if spec.name != 'planner'],
        log_dir=tmp_path_factory.mktemp('stack'),
        environment={'ROS_DOMAIN_ID': str(ros_domain)},
    ) as running:
        running.wait_ready()
        yield running


@pytest.mark.nightly
def test_blocks_are_where_a_perception_node_sees_them(client: Client, emulator: Emulator) -> None:
    values = {parameter.name: parameter.default for parameter in EXECUTOR}
    values |= {'transport': 'tcp', 'host': '127.0.0.1', 'tcp_port': emulator.tcp_port}
    values['world'] = 'perceived'
    seen: list[Sample] = []
    # Whatever a subscription needs of a node, the client's has.
    with RealArm(client.node).open(values, SCENE, seen.append, rearm=True) as cell:
        camera = client.node.create_publisher(WorldState, PERCEPTION, qos.MEASURED)
        at = Point(x=0.0, y=-0.175, z=0.015)

        def publish() -> None:
            world = WorldState(objects=[ObjectPose(name='A', pose=PoseMsg(position=at))])
            world.header.stamp = client.node.get_clock().now().to_msg()
            camera.publish(world)

        timer = client.node.create_timer(0.02, publish)
        assert cell.assumed is None
        assert ('on-table', 'a') in cell.observe()
        assert seen[-1].poses['a'].position == (at.x, at.y, at.z)
        client.node.destroy_timer(timer)


def said(client: Client, service: str) -> tuple[bool, str]:
    """The answer of a service of the operator."""
    caller = client.node.create_client(Trigger, service)
    answer = wait_for(caller.call_async(Trigger.Request()), 30.0, service, ErrorCode.SERVER_LOST)
    return answer.success, answer.message


def test_the_first_start_is_stopped_until_an_operator_resets(
    client: Client, emulator: Emulator
) -> None:
    result = client.execute(ONE_TEXT, PLAN)
    assert ErrorCode(result.error_code) is ErrorCode.EXECUTION_STOPPED
    assert 'no operator has released the real arm' in result.error_msg
    assert emulator.last_motion == 0
    Operator(client, planner=False).reset()


def test_a_plan_moves_the_arm_and_a_pulled_cable_ends_the_next(
    client: Client, emulator: Emulator
) -> None:
    nowhere = emulator.firmware.twin.joint_positions()
    result = client.execute(ONE_TEXT, PLAN)
    assert result.error_code == ErrorCode.STATE_MISMATCH
    assert 'the positions of the blocks are unknown' in result.error_msg
    np.testing.assert_allclose(emulator.firmware.twin.joint_positions(), nowhere, atol=1e-3)
    assert said(client, 'blocks_set_up')[0]
    feedback: list[str] = []
    result = client.execute(
        ONE_TEXT, PLAN, on_feedback=lambda told: feedback.append(told.progress.detail)
    )
    assert (result.error_code, result.error_msg) == (ErrorCode.NONE, '')
    assert [text for text in feedback if text] == [STATED]
    assert list(result.final_state.facts) == ['(holding a)']
    (assumed,) = result.final_state.objects
    measured = emulator.firmware.twin.block_poses()['a'].position
    assert measured[2] > 1.5 * SCENE.block_size
    at = assumed.pose.position
    assert (at.x, at.y, at.z) == pytest.approx(measured, abs=0.005)
    # The arm would go about with the block at its cup, of which the next problem knows nothing.
    result = client.execute(ONE_TEXT, PLAN)
    assert result.error_code == ErrorCode.STATE_MISMATCH
    assert 'still holds what the last goal left there' in result.error_msg
    assert emulator.firmware.twin.tool_on()
    assert said(client, 'release') == (True, 'the pump is off; what it held is let go')
    assert not emulator.firmware.twin.tool_on()
    # It fell. Nobody has said where it is.
    result = client.execute(ONE_TEXT, PLAN)
    assert result.error_code == ErrorCode.STATE_MISMATCH
    assert 'rests on nothing' in result.error_msg
    assert not emulator.firmware.twin.tool_on()
    assert said(client, 'blocks_set_up')[0]
    emulator.close()
    result = client.execute(ONE_TEXT, PLAN)
    assert result.error_code == ErrorCode.ARM_UNREACHABLE
    assert 'plug the arm in' in result.error_msg, result.error_msg

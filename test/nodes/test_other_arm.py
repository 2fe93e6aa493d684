# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An executor with another arm, which only its description and its scene tell of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from support.blocks_small import THREE_TEXT as THREE
from support.stopping import THREE_PLAN
from support.waiting import patient_file, wait_until

from safegen_ros.bringup.supervisor import Supervisor
from safegen_ros.bringup.table import node_specs
from safegen_ros.client import Client
from safegen_ros.errors import ErrorCode
from safegen_ros.goals.recorder import RunRecorder
from safegen_ros.goals.request import check_goal
from safegen_ros.robot.arms.ur5e import UR5E
from safegen_ros.ros import qos
from safegen_ros.ros.conversions import seconds_of
from safegen_ros.tasks.pddl3.task import load_task

pytestmark = pytest.mark.nightly


@pytest.fixture(scope='module')
def stack(ros_domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervisor]:
    """`safegen up sim` with its scene, without a planner."""
    folder = tmp_path_factory.mktemp('stack')
    values = {'params_file': patient_file(folder), 'scene_file': 'config/ur5e_scene.yaml'}
    specs = [spec for spec in node_specs('sim', values) if spec.name != 'planner']
    with Supervisor(
        specs, log_dir=folder, environment={'ROS_DOMAIN_ID': str(ros_domain)}
    ) as running:
        running.wait_ready()
        yield running


def test_a_ur5e_executes_a_proved_plan_on_its_twin(client: Client, tmp_path: Path) -> None:
    joints: list[JointState] = []
    described: list[String] = []
    client.node.create_subscription(JointState, 'joint_states', joints.append, qos.SAMPLES)
    client.node.create_subscription(String, 'robot_description', described.append, qos.LATCHED)
    task = load_task(THREE)
    with RunRecorder(tmp_path, task, '', '') as recorder, recorder.connected(client):
        result = client.execute(THREE, THREE_PLAN)
        end = seconds_of(result.final_state.header.stamp)
        wait_until(lambda: seconds_of(joints[-1].header.stamp) >= end, 'the joints of the end')
        last = tuple(joints[-1].position)
    assert check_goal(task.problem, result.final_state, last, recorder.scene).reached
    assert ErrorCode(result.error_code) is ErrorCode.NONE, result.error_msg
    assert result.steps_done == len(THREE_PLAN)
    wait_until(lambda: bool(described and joints), 'its description and joints')
    assert '<robot name="ur5e">' in described[-1].data
    for message in joints:
        assert UR5E.within_limits(message.position)

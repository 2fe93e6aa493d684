# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The nodes as managed ones: each transition does what it says; inactive, they do nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from action_msgs.msg import GoalStatus
from support.blocks_small import THREE_TEXT as THREE
from support.goals import WAIT_S, Feedback
from support.leading import Manager
from support.model_server import MODEL, ModelServer
from support.motion import Motion
from support.stopping import ENDLESS, THREE_PLAN, Operator
from support.waiting import patient_file, wait_until

from safegen_ros.bringup.supervisor import Supervisor
from safegen_ros.bringup.table import node_specs
from safegen_ros.client import Client
from safegen_ros.errors import ErrorCode
from safegen_ros.pddl.plan import Plan

pytestmark = pytest.mark.nightly


@pytest.fixture(scope='module')
def stack(
    server: ModelServer, ros_domain: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Supervisor]:
    """The nodes as nobody has led them yet."""
    folder = tmp_path_factory.mktemp('stack')
    values = {
        'params_file': patient_file(folder), 'autostart': 'false', 'real_time_factor': 4.0,
        'model': f'{server.url}#{MODEL}',
    }  # fmt: skip
    environment = {'ROS_DOMAIN_ID': str(ros_domain)}
    with Supervisor(node_specs('sim', values), log_dir=folder, environment=environment) as running:
        running.wait_ready()
        yield running


@pytest.fixture
def managers(client: Client) -> Iterator[dict[str, Manager]]:
    """A manager of each node, all of them unconfigured before and after."""
    made = {name: Manager(client, name) for name in ('validator', 'executor', 'planner')}
    assert {manager.state for manager in made.values()} == {'unconfigured'}
    yield made
    for manager in made.values():
        if manager.state == 'active':
            manager.lead('deactivate')
        if manager.state == 'inactive':
            manager.lead('cleanup')


def test_an_executor_through_its_life(
    client: Client, stack: Supervisor, managers: dict[str, Manager]
) -> None:
    executor = managers['executor']
    assert not executor.try_to('activate')
    assert executor.state == 'unconfigured'

    # What cannot be configured says why, and can be mended.
    assert executor.set('scene_file', '/nowhere.yaml') == ''
    assert not executor.try_to('configure')
    assert executor.state == 'unconfigured'
    wait_until(
        lambda: '/nowhere.yaml does not exist' in stack.log_file.read_text(),
        'the reason in the log',
    )
    assert executor.set('scene_file', '') == ''
    executor.lead('configure')
    assert 'it is inactive: deactivate it' in executor.set('cell', 'symbolic')
    executor.lead('activate')
    assert 'cell: parameters are read when the node is configured' in executor.set('cell', 'twin')

    # A motion ends with the deactivation, and nothing resumes with the next activation.
    managers['validator'].lead('configure', 'activate')  # nothing moves without its word
    motion = Motion(client)
    motion.begin()
    feedback = Feedback(lambda f: (f.progress.phase, f.progress.step) == ('moving', 1))
    goal = client.start_execute(THREE, THREE_PLAN, on_feedback=feedback)
    feedback.wait()
    executor.lead('deactivate')
    result = goal.result()
    assert ErrorCode(result.error_code) is ErrorCode.EXECUTION_STOPPED
    assert goal.status == GoalStatus.STATUS_ABORTED
    operator = Operator(client)
    operator.reset()
    refused = client.execute(THREE, Plan())
    assert ErrorCode(refused.error_code) is ErrorCode.EXECUTOR_UNAVAILABLE
    assert 'the executor is inactive: activate it' in refused.error_msg
    executor.lead('activate')
    motion.assert_ended_with(result)

    # Stopped is stopped, whoever leads the node through which states.
    motion.begin()
    assert operator.call('stop').success
    executor.lead('deactivate', 'cleanup', 'configure', 'activate')
    refused = client.execute(THREE, Plan())
    assert ErrorCode(refused.error_code) is ErrorCode.EXECUTION_STOPPED, refused.error_msg
    operator.reset()
    assert len(motion.samples()) == 1  # a new twin shows itself once


def test_a_planner_gives_up_its_goal_and_an_inactive_validator_gives_no_verdict(
    client: Client, server: ModelServer, managers: dict[str, Manager]
) -> None:
    planner, validator = managers['planner'], managers['validator']
    planner.lead('configure', 'activate')
    server.fault = 'silent'
    goal = client.start_plan(THREE, options=ENDLESS)
    server.wait('waiting', 1, WAIT_S)
    planner.lead('deactivate')
    result = goal.result()
    assert ErrorCode(result.error_code) is ErrorCode.PLANNING_CANCELED
    assert 'the planner was deactivated or ended' in result.error_msg
    assert goal.status == GoalStatus.STATUS_ABORTED
    for send in (client.plan, client.run):
        result = send(THREE)
        assert ErrorCode(result.error_code) is ErrorCode.GOAL_REJECTED
        assert 'the planner is inactive: activate it' in result.error_msg
    planner.lead('activate')
    server.fault = ''

    validator.lead('configure', 'activate')
    assert client.validate(THREE, str(THREE_PLAN)).error_code == ErrorCode.NONE
    validator.lead('deactivate')
    answer = client.validate(THREE, str(THREE_PLAN))
    assert ErrorCode(answer.error_code) is ErrorCode.VALIDATOR_UNAVAILABLE
    assert 'the validator is inactive: activate it' in answer.error_msg
    refused = client.plan(THREE, options=ENDLESS)
    assert ErrorCode(refused.error_code) is ErrorCode.VALIDATOR_UNAVAILABLE, refused.error_msg
    assert 'the validator is inactive' in refused.error_msg

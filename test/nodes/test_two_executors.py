# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A second executor in a namespace, as of another user: refused, and the first one is stopped."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.goals import WAIT_S, Feedback
from support.node_programs import node_command
from support.stopping import LONG, LONG_PLAN, Operator, stoppable_stack
from support.waiting import wait_until

from safegen_msgs.msg import StopState
from safegen_ros.bringup.supervisor import Supervisor
from safegen_ros.client import Client
from safegen_ros.errors import ErrorCode
from safegen_ros.nodes.release_store import STOPPED, ReleaseStore
from safegen_ros.ros import qos
from safegen_ros.ros.liveness import HeartbeatMonitor
from safegen_ros.ros.watchdog import STOP_TOPIC


@pytest.fixture(scope='module')
def stack(ros_domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervisor]:
    folder = tmp_path_factory.mktemp('stack')
    with stoppable_stack(ros_domain, folder, 'validator', 'executor') as running:
        yield running


@pytest.fixture
def operator(client: Client) -> Operator:
    return Operator(client, planner=False)


def test_the_second_is_refused_and_the_first_is_stopped(
    client: Client,
    operator: Operator,
    stack: Supervisor,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moving = Feedback(lambda f: f.progress.phase == 'moving')
    goal = client.start_execute(LONG, LONG_PLAN, on_feedback=moving)
    moving.wait()
    second = subprocess.Popen(
        node_command('safegen_ros.nodes.executor', '--ros-args', '-p', 'cell:=symbolic'),
        env={**os.environ, 'SAFEGEN_STATE_DIR': str(tmp_path), 'SAFEGEN_RUNS_DIR': str(tmp_path)},
        stderr=subprocess.PIPE,
        text=True,
    )
    heartbeats = HeartbeatMonitor(client.node)
    wait_until(lambda: len(heartbeats.instances('executor')) == 2, 'both executors')
    _, error = second.communicate(timeout=WAIT_S)
    result = goal.result()  # a client that waits meanwhile gives up a node that runs twice
    assert ErrorCode(result.error_code) is ErrorCode.EXECUTION_STOPPED
    assert 'another executor runs as /executor' in result.error_msg
    assert second.returncode == 1
    assert 'could not be activated: another executor runs as /executor' in error
    monkeypatch.setenv('SAFEGEN_STATE_DIR', str(stack.log_dir))
    with ReleaseStore(stack.domain, '/') as store:
        assert store.read().state == STOPPED
    wait_until(lambda: len(heartbeats.instances('executor')) == 1, 'the end of the second')
    operator.reset()


@pytest.mark.nightly
def test_a_stop_that_another_node_publishes_is_obeyed(client: Client, operator: Operator) -> None:
    moving = Feedback(lambda f: f.progress.phase == 'moving')
    goal = client.start_execute(LONG, LONG_PLAN, on_feedback=moving)
    moving.wait()
    publisher = client.node.create_publisher(StopState, STOP_TOPIC, qos.LATCHED)
    publisher.publish(StopState(stopped=True, reason='light curtain', count=1))
    result = goal.result()
    assert ErrorCode(result.error_code) is ErrorCode.EXECUTION_STOPPED
    assert 'light curtain' in result.error_msg
    client.node.destroy_publisher(publisher)
    operator.reset()

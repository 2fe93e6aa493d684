# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whoever is frozen, or sends no heartbeat, stops the arm."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest
from support.goals import Feedback
from support.model_server import MODEL, ModelServer
from support.motion import Motion
from support.node_programs import node_command
from support.stopping import BY_SEARCH, LONG, Operator, execution, stoppable_stack
from support.waiting import wait_until

from safegen_ros.client import Client
from safegen_ros.errors import ErrorCode
from safegen_ros.nodes.release_store import ReleaseStore
from safegen_ros.ros.stack_state import read_state


def _kill(node: str, domain: int, number: signal.Signals = signal.SIGKILL) -> None:
    state = read_state(domain)
    assert state is not None
    os.kill(state.nodes[node], number)


def test_an_executor_that_was_frozen_with_all_others_stops_when_it_is_thawed(
    ros_domain: int, tmp_path: Path
) -> None:
    """Though every heartbeat is queued."""
    frozen = '/executor', '/planner', '/validator'
    feedback = Feedback(execution('moving', 1))
    with (
        stoppable_stack(ros_domain, tmp_path, silence_s=1.0, real_time_factor=1.0),
        Client() as client,
    ):
        operator = Operator(client, planner=False)
        motion = Motion(client)
        goal = client.start_run(LONG, options=BY_SEARCH, on_feedback=feedback)
        feedback.wait()
        for node in frozen:
            _kill(node, ros_domain, signal.SIGSTOP)
        threading.Event().wait(1.5)
        for node in frozen:
            _kill(node, ros_domain, signal.SIGCONT)
        operator.wait_stopped('the executor was not scheduled for ')
        result = goal.result()
        assert ErrorCode(result.error_code) is ErrorCode.EXECUTION_STOPPED, result.error_msg
        assert operator.call('reset').success
        motion.assert_ended_with(result)


def test_a_supervisor_that_is_frozen_in_a_motion_stops_the_arm(
    ros_domain: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('ROS_DOMAIN_ID', str(ros_domain))
    for name in ('SAFEGEN_RUNTIME_DIR', 'SAFEGEN_STATE_DIR', 'SAFEGEN_RUNS_DIR'):
        monkeypatch.setenv(name, str(tmp_path))
    with (
        ModelServer() as server,
        (tmp_path / 'output').open('w') as output,
        subprocess.Popen(
            node_command(
                'safegen_ros.cli.main',
                'up',
                'sim',
                'cell:=symbolic',
                'real_time_factor:=1',
                f'model:={server.url}#{MODEL}',
            ),
            stdout=output,
            stderr=output,
        ) as supervisor,
    ):
        try:
            wait_until(lambda: 'READY' in (tmp_path / 'output').read_text(), 'the stack', 0.2)
            with Client() as client:
                feedback = Feedback(execution('moving', 1))
                goal = client.start_run(LONG, options=BY_SEARCH, on_feedback=feedback)
                feedback.wait()
                supervisor.send_signal(signal.SIGSTOP)
                result = goal.result()
                assert ErrorCode(result.error_code) is ErrorCode.EXECUTION_STOPPED
                why = 'the supervisor of the stack sent no heartbeat for 4 s'
                assert why in result.error_msg
        finally:
            supervisor.send_signal(signal.SIGCONT)
            supervisor.terminate()
    with ReleaseStore(ros_domain, '/') as store:
        assert store.read().reason == why

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Heartbeats that are queued are no proof of life."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

from support.goals import Feedback
from support.motion import Motion
from support.stopping import BY_SEARCH, LONG, Operator, execution, stoppable_stack

from safegen_ros.client import Client
from safegen_ros.errors import ErrorCode
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

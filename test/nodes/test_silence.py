# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is stopped stays so across a restart; and whoever falls silent stops the arm."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from blocks_small import THREE_TEXT as THREE
from goals import Feedback
from motion import Motion, stamp_of
from stopping import BY_SEARCH, LONG, LONG_PLAN, Operator, execution, stoppable_stack

from safegen_ros.client import Client, Goal
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.nodes import stopping
from safegen_ros.nodes.stopping import NEWS_TIMEOUT_S
from safegen_ros.pddl.plan import Plan
from safegen_ros.processes.state import read_state


def test_an_executor_that_is_started_again_is_still_stopped(
    ros_domain: int, tmp_path: Path
) -> None:
    with stoppable_stack(ros_domain, tmp_path, 'validator', 'executor'), Client() as client:
        assert Operator(client, planner=False).call('stop').success
        _kill('/executor', ros_domain)
    with stoppable_stack(ros_domain, tmp_path, 'validator', 'executor'), Client() as client:
        operator = Operator(client, planner=False)
        operator.wait_stopped('the service stop was called')
        with pytest.raises(SafegenError, match='the stack is stopped: '):
            client.execute(THREE, Plan())
        operator.reset()
        assert client.execute(THREE, Plan()).error_code == ErrorCode.PLAN_REFUSED


def _kill(node: str, domain: int, number: signal.Signals = signal.SIGKILL) -> None:
    state = read_state(domain)
    assert state is not None
    os.kill(state.nodes[node], number)


def test_whoever_falls_silent_during_an_execution_stops_the_arm(
    ros_domain: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stopping, 'NEWS_TIMEOUT_S', 10.0)  # for a client on a busy machine

    def moving() -> Goal:
        while True:
            feedback = Feedback(execution('moving'))
            goal = client.start_run(LONG, options=BY_SEARCH, on_feedback=feedback)
            if feedback.comes(goal):
                return goal
            # A planner that hung may hear of a stop when it is over, and ends what it has then.
            result = goal.result()
            assert ErrorCode(result.error_code) is ErrorCode.PLANNING_STOPPED, result.error_msg

    with stoppable_stack(ros_domain, tmp_path, silence_s=4.0), Client() as client:
        operator, motion = Operator(client, planner=False), Motion(client)
        # A planner that hangs, and comes back when its plan has been stopped.
        goal = moving()
        _kill('/planner', ros_domain, signal.SIGSTOP)
        operator.wait_stopped('the sender of the goal was not heard for 4 s')
        with pytest.raises(SafegenError, match='the stack is stopped: '):
            client.execute(LONG, LONG_PLAN)
        # A reset waits until everybody has heard of it, though not for ever.
        asked = time.monotonic()
        operator.reset()
        assert time.monotonic() - asked >= NEWS_TIMEOUT_S
        _kill('/planner', ros_domain, signal.SIGCONT)
        result = goal.result()
        assert ErrorCode(result.error_code) is ErrorCode.EXECUTION_STOPPED, result.error_msg
        motion.assert_ended_with(result)

        # A planner that dies.
        moving()
        _kill('/planner', ros_domain)
        operator.wait_stopped('the sender of the goal was not heard for 4 s')
        operator.reset()

        # A validator that dies, under a plan sent by hand.
        feedback = Feedback(lambda f: f.progress.phase == 'moving')
        goal = client.start_execute(LONG, LONG_PLAN, on_feedback=feedback)
        feedback.wait()
        _kill('/validator', ros_domain)
        result = goal.result()
        assert ErrorCode(result.error_code) is ErrorCode.EXECUTION_STOPPED, result.error_msg
        assert 'the validator did not answer for 4 s' in result.error_msg
        operator.reset()
        motion.assert_none_without_validator(stamp_of(result.final_state))

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What ends a stack in a motion is a stop for the next stack, and the client is told."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest
from support.stopping import stoppable_stack
from support.waiting import wait_until

from safegen_ros.bringup.supervisor import Supervisor
from safegen_ros.client import Client, Options
from safegen_ros.nodes.release_store import MOVING, STOPPED, ReleaseStore
from safegen_ros.ros.stack_state import read_state
from safegen_ros.tasks.pddl3.task import Pddl3Task

pytestmark = pytest.mark.nightly


@pytest.fixture(autouse=True)
def no_stop_is_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The stack of each test is a new one, whatever the one before was stopped by."""
    monkeypatch.setenv('SAFEGEN_RUNTIME_DIR', str(tmp_path))
    monkeypatch.setenv('SAFEGEN_STATE_DIR', str(tmp_path))


def _kill(stack: Supervisor, node: str) -> None:
    state = read_state(stack.domain)
    assert state is not None
    os.kill(state.nodes[node], signal.SIGKILL)


@pytest.mark.parametrize(
    'node',
    ['', '/executor', '/validator'],
)
def test_what_ends_a_stack_in_a_motion_is_a_stop_for_the_next_one(
    ros_domain: int, tmp_path: Path, tower_order: Pddl3Task, node: str
) -> None:
    """A node that dies, and also the operator who takes the stack down."""
    moving = threading.Event()
    with stoppable_stack(ros_domain, tmp_path, real_time_factor=1.0) as stack, Client() as client:
        goal = client.start_run(
            tower_order.problem_text,
            options=Options(strategy='search', time_budget_s=3600.0),
            on_feedback=lambda f: moving.set() if f.execution.phase == 'moving' else None,
        )
        assert moving.wait(60.0)
        if node:
            _kill(stack, node)
            wait_until(lambda: stack.poll() is not None, 'the supervisor to notice')
        stack.stop()
        if node == '/validator':
            assert f'{node} ended with signal SIGKILL' in goal.result().error_msg
    with ReleaseStore(ros_domain, '/') as store:
        stored = store.read()
    causes = {'': 'its owner has closed it', '/executor': 'goal '}
    cause = causes.get(node, f'{node} ended with signal SIGKILL')
    assert cause in stored.reason
    assert stored.state == (MOVING if node == '/executor' else STOPPED)

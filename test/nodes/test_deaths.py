# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A node that is killed: the client is told in time, and nothing moves without a verdict.

The model is at a server that writes no plan: a node that loads one takes seconds to start.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.goals import Feedback
from support.model_server import MODEL, ModelServer
from support.waiting import wait_until

from safegen_ros.bringup.supervisor import Supervisor
from safegen_ros.bringup.table import node_specs
from safegen_ros.client import Client, Goal, Options
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.nodes.release_store import MOVING, STOPPED, ReleaseStore
from safegen_ros.ros.stack_state import read_state
from safegen_ros.tasks.pddl3.task import Pddl3Task

pytestmark = pytest.mark.nightly

UNSOLVABLE = """
(define (problem impossible) (:domain blocksworld) (:objects a b)
  (:init (arm-empty) (on-table a) (on-table b) (clear a) (clear b))
  (:goal (and (on a b) (on b a))))
"""
PARAMETERS = """
/**/planner:
  ros__parameters:
    validator_timeout: 2.0
"""


@pytest.fixture(autouse=True)
def no_stop_is_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The stack of each test is a new one, whatever the one before was stopped by."""
    monkeypatch.setenv('SAFEGEN_RUNTIME_DIR', str(tmp_path))
    monkeypatch.setenv('SAFEGEN_STATE_DIR', str(tmp_path))


@contextmanager
def _stack(domain: int, folder: Path, real_time_factor: float = 0.0) -> Iterator[Supervisor]:
    parameters = folder / 'parameters.yaml'
    parameters.write_text(PARAMETERS, encoding='utf-8')
    with ModelServer() as server:
        values = {
            'params_file': parameters,
            'real_time_factor': real_time_factor,
            'model': f'{server.url}#{MODEL}',
        }
        specs, environment = node_specs('sim', values), {'ROS_DOMAIN_ID': str(domain)}
        with Supervisor(specs, log_dir=folder, environment=environment) as running:
            running.wait_ready()
            yield running


def _endless(client: Client) -> Goal:
    """A goal that is planned for until something ends it."""
    judged = Feedback(lambda f: f.planning.phase == 'judged')
    options = Options(max_attempts=255, search_fallback=False, time_budget_s=3600.0)
    goal = client.start_run(UNSOLVABLE, options=options, on_feedback=judged)
    judged.wait()
    return goal


def _kill(stack: Supervisor, node: str) -> None:
    state = read_state(stack.domain)
    assert state is not None
    os.kill(state.nodes[node], signal.SIGKILL)


def test_a_goal_that_ends_with_the_stack_says_what_ended_it(
    ros_domain: int, tmp_path: Path
) -> None:
    with _stack(ros_domain, tmp_path) as stack, Client() as client:
        goal = _endless(client)
        _kill(stack, '/validator')
        wait_until(lambda: stack.poll() is not None, 'the supervisor to notice')
        stack.stop()
        assert '/validator ended with signal SIGKILL' in goal.result().error_msg


def test_a_client_beside_the_supervisor_is_told_at_once(ros_domain: int, tmp_path: Path) -> None:
    def alive() -> str | None:
        died = stack.poll()
        return None if died is None else died.message

    with _stack(ros_domain, tmp_path) as stack, Client(alive=alive) as client:
        goal = _endless(client)
        _kill(stack, '/planner')
        with pytest.raises(SafegenError, match='/planner ended with') as caught:
            goal.result()
        assert caught.value.code is ErrorCode.SERVER_LOST


@pytest.mark.parametrize(
    'node',
    [
        '',
        '/executor',
        pytest.param('/validator', marks=pytest.mark.nightly),
        pytest.param('/planner', marks=pytest.mark.nightly),
    ],
)
def test_what_ends_a_stack_in_a_motion_is_a_stop_for_the_next_one(
    ros_domain: int, tmp_path: Path, tower_order: Pddl3Task, node: str
) -> None:
    """A node that dies, and also the operator who takes the stack down."""
    moving = threading.Event()
    with _stack(ros_domain, tmp_path, real_time_factor=1.0) as stack, Client() as client:
        client.start_run(
            tower_order.problem_text,
            options=Options(strategy='search', time_budget_s=3600.0),
            on_feedback=lambda f: moving.set() if f.execution.phase == 'moving' else None,
        )
        assert moving.wait(60.0)
        if node:
            _kill(stack, node)
            wait_until(lambda: stack.poll() is not None, 'the supervisor to notice')
        stack.stop()
    with ReleaseStore(ros_domain, '/') as store:
        stored = store.read()
    causes = {'': 'its owner has closed it', '/executor': 'goal '}
    cause = causes.get(node, f'{node} ended with signal SIGKILL')
    assert cause in stored.reason
    assert stored.state == (MOVING if node == '/executor' else STOPPED)

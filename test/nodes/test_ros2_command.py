# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The real `ros2` command and the real launch, where they are installed; the wheels lack both."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.blocks_small import THREE_TEXT as THREE
from support.model_server import MODEL, ModelServer
from support.stopping import stoppable_stack
from support.waiting import WAIT_S, wait_until

from safegen_ros.bringup.profiles import PROFILES
from safegen_ros.bringup.supervisor import Supervisor
from safegen_ros.ros.interfaces import INTERFACES
from safegen_ros.ros.stack_state import environment_defaults

LACKING = [name for name in ('ros2cli', 'ros2launch', 'launch_ros') if find_spec(name) is None]
pytestmark = pytest.mark.skipif(
    bool(LACKING),
    reason=f'{", ".join(LACKING)} not installed: the real ros2 command and launch are NOT checked',
)

ROS2 = [sys.executable, '-c', 'import sys; from ros2cli.cli import main; sys.exit(main())']


def environment() -> dict[str, str]:
    return os.environ | environment_defaults() | {'PYTHONUNBUFFERED': '1'}


def ros2(*words: str) -> str:
    """What the command prints; discovery may have it look twice."""
    done = subprocess.run(
        [*ROS2, *words], env=environment(), capture_output=True, text=True, timeout=120, check=False
    )
    assert 'Traceback' not in done.stderr, done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope='module')
def stack(ros_domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervisor]:
    with stoppable_stack(ros_domain, tmp_path_factory.mktemp('stack')) as running:
        yield running
        ros2('daemon', 'stop')  # which the command has started for this domain


def test_the_command_sees_the_graph(stack: Supervisor) -> None:
    wait_until(
        lambda: set(ros2('node', 'list', '--no-daemon').split()) >= {f'/{n}' for n in INTERFACES},
        'all nodes',
    )
    for words, line in (
        (('action', 'list', '-t'), '/run_task [safegen_msgs/action/RunTask]'),
        (('node', 'info', '/executor'), '/execute_plan: safegen_msgs/action/ExecutePlan'),
        (('node', 'info', '/executor'), '/robot_description: std_msgs/msg/String'),
        (('topic', 'list', '-t'), '/executor/scene [visualization_msgs/msg/MarkerArray]'),
    ):
        wait_until(lambda words=words, line=line: line in ros2(*words), line)
    assert 'clock:' in ros2('topic', 'echo', '--once', '/clock')


def test_the_command_handles_parameters_and_states(stack: Supervisor) -> None:
    described = ros2('param', 'describe', '/planner', 'temperature')
    assert 'sampling temperature [1]' in described
    assert 'Max value: 2.0' in described
    assert 'Double value is: 0.6' in ros2('param', 'get', '/planner', 'temperature')
    refused = ros2('param', 'set', '/executor', 'cell', 'symbolic')
    assert 'parameters are read when the node is configured' in refused
    assert ros2('lifecycle', 'get', '/validator').strip() == 'active [3]'
    for transition, state in (('deactivate', 'inactive [2]'), ('activate', 'active [3]')):
        assert 'Transitioning successful' in ros2('lifecycle', 'set', '/validator', transition)
        assert ros2('lifecycle', 'get', '/validator').strip() == state


def test_the_command_sends_a_goal(stack: Supervisor) -> None:
    goal = json.dumps(
        {'task': {'problem': THREE}, 'strategy': 'search', 'time_budget': {'sec': 60}}
    )
    said = ros2('action', 'send_goal', '-f', '/plan_task', 'safegen_msgs/action/PlanTask', goal)
    assert 'Goal finished with status: SUCCEEDED' in said
    assert 'Feedback:' in said
    assert 'action: stack' in said


def test_launch_shows_its_arguments_and_refuses_wrong_ones() -> None:
    shown = ros2('launch', 'safegen_ros', 'sim.launch.py', '--show-args')
    for spec in PROFILES['sim'].args:
        assert f"'{spec.name}':" in shown
    assert 'is not valid. Valid options are' in ros2(
        'launch', 'safegen_ros', 'sim.launch.py', 'cell:=nothing'
    )


def test_launch_starts_the_stack_and_ctrl_c_ends_it(ros_domain: int, tmp_path: Path) -> None:
    with ModelServer() as server, (tmp_path / 'output').open('w+') as output:
        launch = subprocess.Popen(
            [
                *ROS2, 'launch', '-n', 'safegen_ros', 'sim.launch.py', 'namespace:=launched',
                'cell:=symbolic', f'model:={server.url}#{MODEL}',
            ],
            env=environment() | {'SAFEGEN_RUNS_DIR': str(tmp_path)},
            stdout=output, stderr=output, start_new_session=True,
        )  # fmt: skip

        def said() -> str:
            return (tmp_path / 'output').read_text()

        try:
            wait_until(lambda: 'ready to plan with' in said(), 'the planner')
        finally:
            os.killpg(launch.pid, signal.SIGINT)
            launch.wait(WAIT_S)
        for node in INTERFACES:
            assert f'[launched.{node}]' in said()
        assert said().count('process has finished cleanly') == len(INTERFACES)
        assert 'process has died' not in said()

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A running stack: real processes, real middleware, the shipped model, the physics of the twin."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.blocks_small import ONE_TEXT
from support.command_line import CommandLine
from support.goals import WAIT_S, Endings
from support.model_server import ModelServer
from support.motion import Motion
from support.one_process import Stack, one_process_stack
from support.stopping import Operator
from support.waiting import patient_file

from safegen_ros.bringup.supervisor import Supervisor
from safegen_ros.bringup.table import node_specs
from safegen_ros.cli import operator as operator_verbs
from safegen_ros.cli import stack_status
from safegen_ros.client import Client
from safegen_ros.robot.cell.grounding import initial_layout
from safegen_ros.robot.emulator.emulator import Emulator
from safegen_ros.robot.scene import load_scene
from safegen_ros.robot.twin.twin import MujocoTwin
from safegen_ros.tasks.pddl3.task import load_task

REAL_TIME_FACTOR = 4.0
"""Slow enough that a cancel arrives in the middle of a motion, fast enough for a test."""


@pytest.fixture(scope='module')
def stack(ros_domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervisor]:
    """Planner, validator and executor as `safegen up sim` starts them."""
    folder = tmp_path_factory.mktemp('stack')
    values = {'params_file': patient_file(folder), 'real_time_factor': REAL_TIME_FACTOR}
    specs = node_specs('sim', values)
    with Supervisor(
        specs, log_dir=folder, environment={'ROS_DOMAIN_ID': str(ros_domain)}
    ) as running:
        running.wait_ready()
        yield running


@pytest.fixture(scope='module')
def server() -> Iterator[ModelServer]:
    """What a stack may ask for plans instead of a model."""
    with ModelServer() as running:
        yield running


@pytest.fixture(scope='module')
def client(stack: Supervisor) -> Iterator[Client]:
    """A client of that stack."""
    assert os.environ['ROS_DOMAIN_ID'] == str(stack.domain)
    with Client(alive=stack.why_gone) as connected:
        yield connected


@pytest.fixture(scope='module')
def listener(client: Client) -> Motion:
    """The executor's samples."""
    return Motion(client)


@pytest.fixture
def motion(listener: Motion) -> Motion:
    """The executor's samples from the beginning of the test on."""
    listener.begin()
    return listener


@pytest.fixture(scope='module')
def operator(client: Client) -> Operator:
    return Operator(client)


@pytest.fixture
def calmed(operator: Operator) -> Iterator[None]:
    """What a test that has failed has left under way is no matter of the next one."""
    yield
    operator.calm()


@pytest.fixture(scope='module')
def endings(client: Client) -> Iterator[Endings]:
    """The statuses of goals, of which each has one end."""
    heard = Endings(client)
    yield heard
    heard.assert_one_each()


@pytest.fixture
def safegen(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> CommandLine:
    """The verbs of an operator; a busy machine does not make a node or its news missing."""
    monkeypatch.setattr(operator_verbs, 'DISCOVERY_S', WAIT_S)
    monkeypatch.setattr(stack_status, 'DISCOVERY_S', WAIT_S)
    monkeypatch.setattr(stack_status, 'LATCHED_S', WAIT_S)
    return CommandLine(monkeypatch, capfd)


@pytest.fixture(scope='module')
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the parameters and journals of the stack in this process."""
    return tmp_path_factory.mktemp('nodes')


@pytest.fixture(scope='module')
def in_process(ros_domain: int, folder: Path) -> Iterator[Stack]:
    """A stack in this process, with a symbolic cell."""
    with one_process_stack(folder) as made:
        yield made


@pytest.fixture(scope='module')
def emulator() -> Iterator[Emulator]:
    """An arm at a serial port and a TCP port, with the block of `ONE_TEXT` before it."""
    scene, problem = load_scene(), load_task(ONE_TEXT).problem
    layout = initial_layout(scene, tuple(problem.objects), problem.init)
    with MujocoTwin(scene, layout.poses) as twin, Emulator(twin, tcp_port=0) as running:
        yield running

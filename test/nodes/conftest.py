# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A running stack: real processes, real middleware, the shipped model, the physics of the twin."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from support.motion import Motion
from support.waiting import patient_file

from safegen_ros.bringup.supervisor import Supervisor
from safegen_ros.bringup.table import node_specs
from safegen_ros.client import Client

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
def client(stack: Supervisor) -> Iterator[Client]:
    """A client of that stack."""

    def alive() -> str | None:
        died = stack.poll()
        return None if died is None else died.message

    assert os.environ['ROS_DOMAIN_ID'] == str(stack.domain)
    with Client(alive=alive) as connected:
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

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A stack whose model answers from a script, the console of it, and a browser that has it open."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support import disturbed_executor
from support.leading import Manager
from support.model_server import MODEL, ModelServer, Script
from support.waiting import patient_file

from safegen_ros.bringup.supervisor import Supervisor
from safegen_ros.bringup.table import node_specs
from safegen_ros.client import Client

if TYPE_CHECKING:
    from safegen_ros.console.console import OperatorConsole

SLOW, FAST = 0.2, 0.0
"""Real-time factors: a plan of ten steps takes minutes at the first one, so that it is stopped in
the middle also by a slow browser."""


@pytest.fixture(scope='module')
def script() -> Script:
    return Script()


@pytest.fixture(scope='module')
def disturbances(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of what somebody beside the arm does; there is none before a test writes it."""
    return tmp_path_factory.mktemp('acts') / 'acts.json'


@pytest.fixture(scope='module')
def stack(
    ros_domain: int, script: Script, disturbances: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Supervisor]:
    folder = tmp_path_factory.mktemp('stack')
    with ModelServer() as server:
        server.script = script
        values = {
            'real_time_factor': SLOW,
            'model': f'{server.url}#{MODEL}',
            # A browser that renders with the CPU leaves the console little of it.
            'params_file': patient_file(folder),
        }
        environment = {
            'ROS_DOMAIN_ID': str(ros_domain),
            'SAFEGEN_RUNTIME_DIR': os.environ['SAFEGEN_RUNTIME_DIR'],
            'PYTHONPATH': str(Path(disturbed_executor.__file__).parents[1]),
            disturbed_executor.VARIABLE: str(disturbances),
        }
        specs = [
            replace(spec, module='support.disturbed_executor') if spec.name == 'executor' else spec
            for spec in node_specs('sim', values)
        ]
        with Supervisor(specs, log_dir=folder, environment=environment) as running:
            running.wait_ready()
            yield running


@pytest.fixture(scope='module')
def fast(stack: Supervisor) -> None:
    """The same stack from here on with an arm that is as fast as it goes."""
    with Client() as client:
        executor = Manager(client, 'executor')
        executor.lead('deactivate', 'cleanup')
        assert executor.set('real_time_factor', FAST) == ''
        executor.lead('configure', 'activate')


@pytest.fixture(scope='module')
def console(stack: Supervisor) -> Iterator[OperatorConsole]:
    from safegen_ros.console.console import OperatorConsole, Settings

    with OperatorConsole(Settings(port=0)) as served:
        yield served

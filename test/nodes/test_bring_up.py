# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Nodes that lead themselves wait for those that they need, in whatever order they are started."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from support.blocks_small import THREE_TEXT as THREE
from support.goals import WAIT_S
from support.model_server import MODEL, ModelServer
from support.node_programs import node_command
from support.stopping import THREE_PLAN
from support.waiting import wait_until

from safegen_ros.bringup.supervisor import Supervisor
from safegen_ros.bringup.table import node_specs
from safegen_ros.client import Client
from safegen_ros.errors import ErrorCode

pytestmark = pytest.mark.nightly


def ready_at(stack: Supervisor, work: str) -> float:
    """When a node was ready, by its own stamp [s]: the lines of two nodes come in any order."""
    line = re.compile(rf'\[(\d+\.\d+)\] \[[^]]*\]: ready to {work}')
    wait_until(lambda: bool(line.search(stack.log_file.read_text())), f'ready to {work}')
    (stamp,) = line.findall(stack.log_file.read_text())
    return float(stamp)


def test_nothing_is_active_before_the_validator_is(ros_domain: int, tmp_path: Path) -> None:
    environment = {'ROS_DOMAIN_ID': str(ros_domain), 'ROS_LOG_DIR': str(tmp_path)}
    with ModelServer() as server:
        specs = node_specs('sim', {'model': f'{server.url}#{MODEL}'})
        others = [replace(spec, ready=None) for spec in reversed(specs) if spec.name != 'validator']
        with (
            Supervisor(others, log_dir=tmp_path, environment=environment) as stack,
            Client() as client,
        ):
            stack.wait_ready()
            state = client.heartbeats.state
            for name in ('planner', 'executor'):
                wait_until(lambda name=name: state(name) == 'inactive', f'the {name}')
            assert 'ready to' not in stack.log_file.read_text()
            # The last one, and not by this supervisor.
            validator = subprocess.Popen(
                node_command(specs[0].module), env={**os.environ, **environment}
            )
            try:
                for name in ('validator', 'executor', 'planner'):
                    wait_until(lambda name=name: state(name) == 'active', f'the {name}')
                executes, plans = (ready_at(stack, work) for work in ('execute', 'plan'))
                assert executes < plans
                answer = client.validate(THREE, str(THREE_PLAN))
                assert ErrorCode(answer.error_code) is ErrorCode.NONE, answer.error_msg
            finally:
                validator.terminate()
                assert validator.wait(WAIT_S) == 0

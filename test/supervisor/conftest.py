# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A place to start small programs as nodes in."""

from __future__ import annotations

import os

import pytest
from support.node_programs import PROGRAMS, ROOT, Command


@pytest.fixture
def world(tmp_path, monkeypatch, ros_domain):
    """The programs on the import path of the nodes, and a runtime folder of this test."""
    for name, text in PROGRAMS.items():
        (tmp_path / f'node_{name}.py').write_text(text)
    monkeypatch.setenv('SAFEGEN_RUNTIME_DIR', str(tmp_path / 'runtime'))
    monkeypatch.setenv('ROS_DOMAIN_ID', str(ros_domain))
    paths = [str(ROOT), str(tmp_path), *filter(None, [os.environ.get('PYTHONPATH')])]
    monkeypatch.setenv('PYTHONPATH', os.pathsep.join(paths))
    monkeypatch.setenv('OMP_NUM_THREADS', '1')
    return tmp_path


@pytest.fixture
def command(world):
    started = []

    def start(*specs, **more):
        started.append(Command(world, *specs, **more))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.process.kill()
            each.process.wait()

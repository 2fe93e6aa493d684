# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Waits for what another thread or process brings about."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import yaml

from safegen_ros.paths import data_path

WAIT_S = 60.0


def patient_file(folder: Path, silence_s: float = 60.0, **more: Mapping[str, object]) -> Path:
    """A file with the parameters of a stack that bears long silences, and further ones by node.

    A busy machine holds up nodes and clients: only a test of silence has a short one [s].
    """
    values = {node: {'heartbeat_timeout': silence_s} for node in ('planner', 'executor')}
    for node, further in more.items():
        values[node] = values.get(node, {}) | dict(further)
    text = {f'/**/{node}': {'ros__parameters': own} for node, own in values.items()}
    file = folder / 'parameters.yaml'
    file.write_text(yaml.safe_dump(text), encoding='utf-8')
    return file


def patient_arm_file(folder: Path, shipped: str, silence_s: float = 10.0) -> Path:
    """A shipped parameter file of an arm, whose agent bears long silences."""
    text = data_path(shipped).read_text(encoding='utf-8')
    limits = (f'    {name}: {silence_s}\n' for name in ('link_timeout', 'hang_timeout'))
    path = folder / 'arm.yaml'
    path.write_text(text + ''.join(limits), encoding='utf-8')
    return path


def wait_until(condition: Callable[[], bool], what: str, every_s: float = 0.002) -> None:
    """Ask for a condition until it holds."""
    deadline = time.monotonic() + WAIT_S
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, f'waited {WAIT_S} s for: {what}'
        pause.wait(every_s)

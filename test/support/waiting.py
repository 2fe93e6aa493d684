# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Waits for what another thread or process brings about."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from safegen_ros.paths import data_path

WAIT_S = 60.0
PATIENT = """
/**/planner:
  ros__parameters:
    heartbeat_timeout: 60.0
/**/executor:
  ros__parameters:
    heartbeat_timeout: 60.0
"""
"""For a stack whose tests are not about silence: a busy machine holds up nodes and clients."""


def patient_file(folder: Path, more: str = '') -> Path:
    """A file with the parameters of a stack that bears long silences, and further ones in YAML."""
    file = folder / 'parameters.yaml'
    file.write_text(PATIENT + more, encoding='utf-8')
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

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An executor that is configured from an overlay, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CONFIGURE = """
import rclpy
from safegen_ros.nodes.executor import ExecutorNode
from safegen_ros.robot.scene import default_scene_path
rclpy.init()
node = ExecutorNode()
print(node.trigger_configure().name, node.failure)
print(default_scene_path())
node.end()
"""


def configured(script: str, environment: dict[str, str], folder: Path) -> list[str]:
    """What an executor with default parameters tells that is configured in an overlay."""
    done = subprocess.run(
        ['bash', '-c', f'{script} exec {sys.executable} -'],
        cwd=folder,
        env={**environment, 'SAFEGEN_RUNS_DIR': str(folder), 'SAFEGEN_STATE_DIR': str(folder)},
        input=CONFIGURE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-2:]

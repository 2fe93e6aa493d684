# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The process that computes the preview ends with the stack, without a word."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from support.waiting import WAIT_S

SCRIPT = """
import signal, sys
from support.blocks_small import THREE
from safegen_ros.console.rehearsed import PlanPreview
from safegen_ros.robot.scene import load_scene
from safegen_ros.search.solve import solve

if __name__ == '__main__':
    with PlanPreview(load_scene()) as rehearser:
        rehearser.want(THREE.problem, solve(THREE.problem).plan, None)
        rehearser._future.result()
        try:
            print('rehearsed', flush=True)
            signal.pause()
        except KeyboardInterrupt:
            pass
"""


def test_ctrl_c_of_the_whole_group_prints_no_traceback(tmp_path: Path) -> None:
    program = tmp_path / 'program.py'
    program.write_text(SCRIPT, encoding='utf-8')
    paths = [str(Path(__file__).parents[1]), os.environ.get('PYTHONPATH', '')]
    running = subprocess.Popen(
        [sys.executable, str(program)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, 'PYTHONPATH': os.pathsep.join(paths)}, start_new_session=True,
    )  # fmt: skip
    assert running.stdout is not None
    assert running.stdout.readline() == 'rehearsed\n'
    os.killpg(running.pid, signal.SIGINT)
    _, errors = running.communicate(timeout=WAIT_S)
    assert 'Traceback' not in errors
    assert 'KeyboardInterrupt' not in errors

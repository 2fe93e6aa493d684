# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""With which exit status the process of a node ends, and that it ends at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from rclpy.executors import MultiThreadedExecutor

from safegen_ros.nodes import running

WAIT_S = 60.0


class _Executor(MultiThreadedExecutor):
    """That of rclpy without nodes, so that it only waits; it may be told to fail."""

    fails = spinning = False

    def add_node(self, node: Any) -> None:
        node.executor = self

    def spin_once(self) -> None:
        self.spinning = True
        super().spin_once()
        self.spinning = False
        if self.fails:
            raise RuntimeError('an error in a callback')

    def shutdown(self, timeout_sec: float) -> None:
        assert not self.spinning, 'the node has waited for its executor in vain'
        super().shutdown(timeout_sec)


class _Node:
    """Is up at once, and is told to end where nothing fails by itself."""

    def __init__(self, fails: bool) -> None:
        self._fails = fails
        self.executor: Any = None

    def bring_up(self, stop: threading.Event) -> None:
        if self._fails:
            self.executor.fails = True
            self.executor.create_task(lambda: None)
        else:
            raise SystemExit(0)  # as a signal does

    def end(self) -> None:
        """Has nothing to end."""

    def destroy_node(self) -> None:
        """Is in no graph."""


@pytest.mark.filterwarnings('ignore::pytest.PytestUnhandledThreadExceptionWarning')
@pytest.mark.parametrize('fails', [False, True])
def test_a_node_fails_where_its_executor_does(monkeypatch: pytest.MonkeyPatch, fails: bool) -> None:
    monkeypatch.setattr(running, 'MultiThreadedExecutor', _Executor)
    nothing: Any = Mock()
    monkeypatch.setattr(running, '_on_stop_signals', nothing)
    monkeypatch.setattr(running, '_STOP_SIGNALS', ())
    monkeypatch.setattr(running.sys, 'setswitchinterval', nothing)
    monkeypatch.setattr(running.gc, 'freeze', nothing)
    made: Any = _Node(fails)
    assert running.run_node(lambda: made) == int(fails)


SIGNALLED = """
import sys, threading, time
from safegen_ros.nodes import running
from test_run_node import _Executor, _Node

running.MultiThreadedExecutor = _Executor
node = _Node(False)
node.bring_up = lambda stop: time.sleep(float(sys.argv[1])) or print('up', flush=True)
print('begins', flush=True)
sys.exit(running.run_node(lambda: node))
"""


@pytest.mark.nightly
@pytest.mark.parametrize(('takes_s', 'line'), [('0', 'up'), ('60', 'begins')])
def test_many_signals_at_once_end_a_node(takes_s: str, line: str) -> None:
    """Where a supervisor is killed, its nodes get one for each of its threads."""
    command = [sys.executable, '-c', SIGNALLED, takes_s]
    folder = {'PYTHONPATH': str(Path(__file__).parent)}
    running_nodes = [
        subprocess.Popen(command, env=os.environ | folder, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    try:
        for process in running_nodes:
            assert process.stdout is not None
            while process.stdout.readline().strip() != line:
                assert process.poll() is None
            time.sleep(0.05)
            for _ in range(200):
                process.send_signal(signal.SIGTERM)
        assert [process.wait(WAIT_S) for process in running_nodes] == [0] * 3
    finally:
        for process in running_nodes:
            process.kill()
            process.communicate()

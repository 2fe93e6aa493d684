# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""With which exit status the process of a node ends, without ROS."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from safegen_ros.nodes import running

WAIT_S = 60.0


class _Executor:
    """Waits until it is woken up or told to fail, and then raises."""

    def __init__(self, num_threads: int) -> None:
        self.over = threading.Event()
        self.fails = self.spinning = False

    def add_node(self, node: Any) -> None:
        node.executor = self

    def spin_once(self) -> None:
        self.spinning = True
        assert self.over.wait(WAIT_S)
        self.spinning = False
        if self.fails:
            raise RuntimeError('an error in a callback')

    def wake(self) -> None:
        self.over.set()

    def shutdown(self, timeout_sec: float) -> None:
        assert not self.spinning


class _Node:
    """Is up at once, and is told to end where nothing fails by itself."""

    def __init__(self, fails: bool) -> None:
        self._fails = fails
        self.executor: Any = None

    def bring_up(self, stop: threading.Event) -> None:
        if self._fails:
            self.executor.fails = True
            self.executor.wake()
        else:
            stop.set()

    def end(self) -> None:
        """Has nothing to end."""

    def destroy_node(self) -> None:
        """Is in no graph."""


@pytest.mark.filterwarnings('ignore::pytest.PytestUnhandledThreadExceptionWarning')
@pytest.mark.parametrize('fails', [False, True])
def test_a_node_fails_where_its_executor_does(monkeypatch: pytest.MonkeyPatch, fails: bool) -> None:
    monkeypatch.setattr(running, 'MultiThreadedExecutor', _Executor)
    nothing: Any = Mock()
    monkeypatch.setattr(running, 'rclpy', SimpleNamespace(init=nothing, try_shutdown=nothing))
    monkeypatch.setattr(running, '_on_stop_signals', nothing)
    monkeypatch.setattr(running, '_STOP_SIGNALS', ())
    monkeypatch.setattr(running.sys, 'setswitchinterval', nothing)
    made: Any = _Node(fails)
    assert running.run_node(lambda: made) == int(fails)

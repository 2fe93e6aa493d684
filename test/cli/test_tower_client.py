# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The node of the example where the answers of the stack do not arrive at first."""

from __future__ import annotations

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rclpy.task import Future

ROOT = Path(__file__).parents[2]


def _service(did: list[str], answers: list[bool]) -> Any:
    """Stands for the client of a service; `answers` has whether each answer in turn arrives."""

    def call_async(request: Any) -> Any:
        did.append('asked')
        answer: Any = Future()
        if answers.pop(0):
            answer.set_result(None)
        return answer

    return SimpleNamespace(call_async=call_async)


def _action(did: list[str]) -> Any:
    """Stands for the client of an action, which nobody answers."""

    def send_goal_async(goal: Any, feedback: Any) -> Any:
        did.append('sent')
        return Future()

    return SimpleNamespace(server_is_ready=lambda: True, send_goal_async=send_goal_async)


def test_it_sends_its_goal_when_a_question_was_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / 'examples' / 'tower_client'))
    from tower_client.run_tower import TowerClient

    did: list[str] = []

    class Alone(TowerClient):
        """That node without a graph."""

        def __init__(self) -> None:
            self._problem, self._budget_s = ROOT / 'examples' / 'tower_order.pddl', 1.0
            self._interrupted = False
            self._client, self._planner = _action(did), _service(did, [False, False, True])

        def get_logger(self) -> Any:
            return logging.getLogger('alone')

        def _wait(self, done: Any, timeout_s: float, heed: bool = True) -> bool:
            return bool(done())

    assert Alone().run() == 1
    assert did == ['asked', 'asked', 'asked', 'sent']

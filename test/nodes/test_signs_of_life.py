# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Who is remembered of those that give signs of life."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from unique_identifier_msgs.msg import UUID

from safegen_ros.nodes import watchdog
from safegen_ros.nodes.watchdog import SignsOfLife

FLOOD = 5000


class _Signs:
    """`SignsOfLife` without ROS: signs are given by hand."""

    def __init__(self) -> None:
        self._take: Any = None
        node: Any = SimpleNamespace(create_subscription=self._subscribe, group=None)
        self.signs = SignsOfLife(node)

    def _subscribe(self, kind: Any, name: str, take: Any, profile: Any, **how: Any) -> None:
        self._take = take

    def give(self, goal: bytes) -> None:
        self._take(UUID(uuid=list(goal)))


def _id(number: int) -> bytes:
    return number.to_bytes(16, 'big')


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(watchdog, 'time', SimpleNamespace(monotonic=lambda: now[0]))
    return now


def test_a_watched_sender_is_silent_however_many_others_are_not(clock: list[float]) -> None:
    given = _Signs()
    mine = b'm' * 16
    given.give(mine)
    with given.signs.watched(mine):
        clock[0] = 9.0
        for number in range(FLOOD):
            given.give(_id(number))
        assert given.signs.silent_s(mine) == 9.0
    # A goal that is over is one of many.
    for number in range(FLOOD):
        given.give(_id(number))
    assert given.signs.silent_s(mine) == 0.0


def test_a_goal_that_two_watch_is_kept_for_the_second(clock: list[float]) -> None:
    given = _Signs()
    mine = b'm' * 16
    with given.signs.watched(mine):
        given.give(mine)
        with given.signs.watched(mine):
            pass
        clock[0] = 9.0
        for number in range(FLOOD):
            given.give(_id(number))
        assert given.signs.silent_s(mine) == 9.0


def test_no_flood_fills_the_memory() -> None:
    given = _Signs()
    with given.signs.watched(b'n' * 16):  # never heard
        for number in range(FLOOD):
            given.give(_id(number))
        kept = [number for number in range(FLOOD) if given.signs.silent_s(_id(number)) > 0.0]
        assert len(kept) <= 2049
        assert kept[-1] == FLOOD - 1

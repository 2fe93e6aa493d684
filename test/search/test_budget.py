# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A budget says what ran out, and asks the caller now and then."""

from __future__ import annotations

import re

import pytest

from safegen_ros.errors import Canceled, ErrorCode
from safegen_ros.search import budget as module
from safegen_ros.search.budget import Budget, SearchLimit


class _Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> _Clock:
    found = _Clock()
    monkeypatch.setattr(module, 'time', found)
    return found


def test_time_runs_out(clock: _Clock) -> None:
    budget = Budget(2.0, 100.0)
    clock.now += 1.5
    budget.tick()
    assert (budget.seconds, budget.left_s) == (1.5, 0.5)
    clock.now += 0.5
    with pytest.raises(SearchLimit, match='time limit of 2 s') as caught:
        budget.tick()
    assert caught.value.code is ErrorCode.PLANNING_TIMEOUT


@pytest.mark.parametrize(
    ('limit_s', 'told'),
    [(30.0, '30'), (17.9997, '18'), (0.001, '0.001'), (2.5, '2.5'), (3600.0, '3600'), (-0.1, '0')],
)
def test_the_limit_is_told_as_a_person_would(clock: _Clock, limit_s: float, told: str) -> None:
    budget = Budget(limit_s, 1.0)
    clock.now += limit_s + 1.0
    with pytest.raises(SearchLimit, match=rf'time limit of {re.escape(told)} s:'):
        budget.tick()


def test_a_part_ends_by_itself_and_asks_the_same_caller(clock: _Clock) -> None:
    stop = False
    whole = Budget(10.0, 7.0, lambda: stop)
    part = whole.part(1.0)
    assert part.memory_limit_mb == 7.0
    clock.now += 1.0
    whole.tick()
    with pytest.raises(SearchLimit):
        part.tick()
    stop = True
    with pytest.raises(Canceled):
        whole.part(1.0).tick()


def test_the_caller_is_asked_a_hundred_times_a_second(clock: _Clock) -> None:
    asked = []
    budget = Budget(60.0, 100.0, lambda: bool(asked.append(clock.now)))
    for _ in range(10_000):
        budget.tick()
        clock.now += 0.0001
    assert 90 <= len(asked) <= 101


def test_a_cancel_is_heard_at_the_first_tick() -> None:
    with pytest.raises(Canceled) as caught:
        Budget(60.0, 100.0, lambda: True).tick()
    assert caught.value.code is ErrorCode.PLANNING_CANCELED


def test_memory_runs_out() -> None:
    budget = Budget(60.0, 1.0)
    assert budget.room_for(1 << 10) == 1 << 10
    budget.use(1 << 19)
    assert budget.room_for(1 << 10) == 1 << 9
    with pytest.raises(SearchLimit, match='memory limit of 1 MiB') as caught:
        budget.use(1 << 20)
    assert caught.value.code is ErrorCode.PLANNING_TIMEOUT
    assert budget.room_for(1) == 0

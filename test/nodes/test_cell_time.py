# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Simulated time as one clock, and the calls of a ticker."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.waiting import WAIT_S, wait_until

from safegen_ros.ros import simulation_clock as sim_clock
from safegen_ros.ros.liveness import Ticker
from safegen_ros.ros.simulation_clock import SimulationClock


class Heard:
    """In place of a node: keeps what is published and logged."""

    def __init__(self) -> None:
        self.times: list[int] = []
        self.errors: list[str] = []

    def create_publisher(self, kind: Any, topic: str, profile: Any) -> Any:
        assert topic == '/clock'
        return SimpleNamespace(publish=lambda message: self.times.append(_ns(message.clock)))

    def get_logger(self) -> Any:
        return SimpleNamespace(error=lambda text, **how: self.errors.append(text))


def _ns(stamp: Any) -> int:
    return stamp.sec * 1_000_000_000 + stamp.nanosec


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A wall clock that the test moves."""
    now = SimpleNamespace(s=100.0)
    monkeypatch.setattr(sim_clock.time, 'monotonic', lambda: now.s)
    return now


def test_a_new_world_goes_on_where_the_last_one_was(wall: SimpleNamespace) -> None:
    clock = SimulationClock(Heard(), idle=lambda: False)
    assert [_ns(clock.stamp(s)) for s in (0.0, 0.04, 0.08)] == [0, 40_000_000, 80_000_000]
    # Later, if only by the least that there is: a stamp names one look.
    assert [_ns(clock.stamp(s)) for s in (0.0, 1.5)] == [80_000_001, 1_580_000_001]


def test_time_passes_between_goals_and_never_while_one_runs(wall: SimpleNamespace) -> None:
    node, idle = Heard(), [True]
    clock = SimulationClock(node, idle=lambda: idle[0])
    clock.factor = 4.0
    clock.stamp(0.0)
    wall.s += 0.5
    clock.tick()
    idle[0] = False
    wall.s += 10.0
    clock.tick()
    assert node.times[-2:] == [2_000_000_000, 2_000_000_000]
    # What the goal took by the wall clock is not made up for afterwards.
    idle[0] = True
    clock.tick()
    assert node.times[-1] == 2_000_000_000


def test_a_fast_cell_is_not_told_more_often_than_anybody_can_use(wall: SimpleNamespace) -> None:
    node = Heard()
    clock = SimulationClock(node, idle=lambda: False)
    for step in range(1, 1001):
        wall.s += 0.0005
        clock.stamp(step * 0.04)
    assert len(node.times) <= 0.5 / sim_clock.NEWS_S + 2


@given(st.lists(st.one_of(st.none(), st.floats(0.0, 100.0)), max_size=30), st.booleans())
def test_it_never_goes_back(looks: list[float | None], idle: bool) -> None:
    node = Heard()
    clock = SimulationClock(node, idle=lambda: idle)
    stamps = []
    for seconds in looks:
        if seconds is None:
            clock.tick()
        else:
            stamps.append(_ns(clock.stamp(seconds)))
    assert stamps == sorted(stamps)
    assert node.times == sorted(node.times)


def test_a_ticker_goes_on_after_an_error_and_ends_when_it_is_closed() -> None:
    node, calls = Heard(), []

    def function() -> None:
        calls.append(threading.current_thread())
        raise ValueError('broken')

    with Ticker(node, 0.001, function) as ticker:
        wait_until(lambda: len(calls) >= 3, 'three calls')
    assert 'ValueError: broken' in node.errors[0]
    assert not calls[0].is_alive()
    ticker.close()


def test_a_ticker_may_be_closed_by_its_own_call() -> None:
    closed = threading.Event()
    tickers: list[Ticker] = []
    ready = threading.Event()

    def function() -> None:
        ready.wait(WAIT_S)
        tickers[0].close()
        closed.set()

    tickers.append(Ticker(Heard(), 0.001, function))
    ready.set()
    assert closed.wait(WAIT_S)

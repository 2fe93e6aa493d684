# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Deadlines and watchdog timers on a fake clock, and the real clock that counts suspend."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safegen_ros.sync import Deadline, WatchdogTimer, boottime

TIMEOUT_S, PERIOD_S = 4.0, 0.25


def test_a_deadline_moves_on_with_each_restart_and_excuses_no_stall() -> None:
    now = [100.0]
    deadline = Deadline(0.35, lambda: now[0])
    for _ in range(3):
        now[0] += 0.3
        assert not deadline.over
        assert deadline.left_s == pytest.approx(0.05)
        deadline.restart()
    # A watcher that was held up for 9 s has seen nothing for 9 s.
    now[0] += 9.0
    assert deadline.over
    assert deadline.left_s == pytest.approx(-8.65)


def test_the_clock_counts_suspend() -> None:
    before, now = time.clock_gettime(time.CLOCK_BOOTTIME), boottime()
    assert 0 <= now - before < 60


class _Scene:
    """A timer, and a sender of signs, on a clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0
        self.timer = WatchdogTimer(TIMEOUT_S, PERIOD_S, lambda: self.now)

    def look_after(self, seconds: float, fed: bool = False) -> bool:
        """A look; where it is fed, the sign is read just before it."""
        self.now += seconds
        if fed:
            self.timer.feed()
        return self.timer.look()


@given(
    st.integers(0, 40),
    st.floats(0.0, PERIOD_S, exclude_max=True),
    st.floats(PERIOD_S + 0.01, TIMEOUT_S - PERIOD_S) | st.none(),
)
def test_the_bound_is_the_timeout_and_two_periods(
    alive: int, died: float, stall: float | None
) -> None:
    scene = _Scene()
    for _ in range(alive):
        assert not scene.look_after(PERIOD_S, fed=True)
    scene.now += died
    scene.timer.feed()
    last = scene.now
    if stall is not None:  # what was sent before the end is read only after it
        assert not scene.look_after(stall - died, fed=True)
        died = 0.0
    while not scene.look_after(PERIOD_S - died):
        died = 0.0
    assert TIMEOUT_S - PERIOD_S < scene.now - last <= TIMEOUT_S + 2 * PERIOD_S + 1e-6


def test_a_sender_that_goes_on_is_never_silent_however_late_the_looks() -> None:
    scene = _Scene()
    for _ in range(50):
        assert not scene.look_after(TIMEOUT_S - PERIOD_S, fed=True)


def test_what_is_queued_is_read_before_it_expires() -> None:
    scene = _Scene()
    assert not scene.look_after(TIMEOUT_S + 1.0)  # held up: nothing could be read
    assert not scene.look_after(PERIOD_S, fed=True)
    assert not scene.look_after(PERIOD_S)
    assert not scene.look_after(TIMEOUT_S + 1.0)
    assert scene.look_after(PERIOD_S)


@pytest.mark.parametrize('late', [0.0, 3.0])
def test_a_sign_that_is_read_late_does_not_count_from_then(late: float) -> None:
    scene = _Scene()
    assert not scene.look_after(PERIOD_S + late, fed=True)
    assert scene.timer.silent_s == pytest.approx(PERIOD_S + late if late else 0.0)

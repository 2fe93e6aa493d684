# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Deadlines by a clock of the test, and by the real one that counts suspend."""

from __future__ import annotations

import time

import pytest

from safegen_ros.deadline import Deadline, boottime


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

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen bench boxnet speed` measures steps that are taken and tasks that are solved."""

from __future__ import annotations

from dataclasses import replace

import pytest

from safegen_ros.benchmarks.speed import boxnet
from safegen_ros.datasets.boxnet.draw import tasks
from safegen_ros.tasks.boxnet.model import State
from safegen_ros.tasks.boxnet.verifier import take_step


def test_the_step_that_is_timed_moves_all_25_robots_and_may_be_taken() -> None:
    task = next(tasks((6, 6), 5, '0', held_out=True))
    step = boxnet.all_move(task)
    assert len(step) == 25
    assert isinstance(take_step(task, task.start, step), State)
    assert isinstance(take_step(replace(task, idle_arms='block'), task.start, step[::2]), State)


def test_all_figures_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boxnet, 'SIZES', range(2, 4))
    monkeypatch.setattr(boxnet, 'OBJECTS', range(1, 3))
    seen = []
    report = boxnet.measure_boxnet(2, 20, 0, lambda what, done, total: seen.append((done, total)))
    assert seen[-1] == (8, 8)
    assert all(m.value is not None and m.value >= 0 for m in report.measurements)
    named = {m.name: m for m in report.measurements}
    assert named['optimal planner: median'].reached
    assert 0 < named['optimal planner: plans proved shortest'].value <= 100


def test_a_step_that_is_refused_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boxnet, 'SIZES', range(2, 3))
    monkeypatch.setattr(boxnet, 'OBJECTS', range(1, 2))
    elsewhere = (boxnet.Move(0, (0, 0), (0, 0), False),)
    monkeypatch.setattr(boxnet, 'all_move', lambda task: elsewhere)
    with pytest.raises(RuntimeError, match='is refused'):
        boxnet.measure_boxnet(1, 1, 0, lambda what, done, total: None)

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen bench boxnet speed` measures steps that are taken and tasks that are solved."""

from __future__ import annotations

from dataclasses import replace

import pytest

from safegen_ros.benchmarks.speed import worlds
from safegen_ros.benchmarks.speed.worlds import draw_cases, large_cases, measure_planetarium
from safegen_ros.datasets.boxnet.draw import tasks
from safegen_ros.datasets.planetarium.pairs import kits
from safegen_ros.tasks.boxnet.model import State
from safegen_ros.tasks.boxnet.verifier import take_step


def test_the_step_that_is_timed_moves_all_25_robots_and_may_be_taken() -> None:
    task = next(tasks((6, 6), 5, '0', held_out=True))
    step = worlds.all_move(task)
    assert len(step) == 25
    assert isinstance(take_step(task, task.start, step), State)
    assert isinstance(take_step(replace(task, idle_arms='block'), task.start, step[::2]), State)


def test_all_figures_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worlds, 'SIZES', range(2, 4))
    monkeypatch.setattr(worlds, 'OBJECTS', range(1, 3))
    seen = []
    report = worlds.measure_boxnet(2, 20, 0, lambda what, done, total: seen.append((done, total)))
    assert seen[-1] == (8, 8)
    assert all(m.value is not None and m.value >= 0 for m in report.measurements)
    named = {m.name: m for m in report.measurements}
    assert named['optimal planner: median'].reached
    assert 0 < named['optimal planner: plans proved shortest'].value <= 100


def test_a_step_that_is_refused_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worlds, 'SIZES', range(2, 3))
    monkeypatch.setattr(worlds, 'OBJECTS', range(1, 2))
    elsewhere = (worlds.Move(0, (0, 0), (0, 0), False),)
    monkeypatch.setattr(worlds, 'all_move', lambda task: elsewhere)
    with pytest.raises(RuntimeError, match='is refused'):
        worlds.measure_boxnet(1, 1, 0, lambda what, done, total: None)


def test_every_figure_is_taken_of_pairs_whose_answer_is_known() -> None:
    report = measure_planetarium(2, 4, lambda *_: None)
    assert [m.unit for m in report.measurements] == ['ms'] * 5
    assert all(m.value is not None and m.value > 0 for m in report.measurements)
    assert [m.target for m in report.measurements] == [None, None, None, 5.0, 100.0]


def test_pairs_follow_from_the_seed_and_differ_in_names() -> None:
    kit = kits()['gripper']
    cases = list(draw_cases(kit, 3, 1))
    assert cases == list(draw_cases(kit, 3, 1))
    assert cases != list(draw_cases(kit, 3, 2))
    assert all(case.one != case.other for case in cases)
    assert {case.equivalent for case in cases} == {True, None}
    assert next(large_cases(0)).one.count('on-table') + next(large_cases(0)).one.count('(on ') > 55

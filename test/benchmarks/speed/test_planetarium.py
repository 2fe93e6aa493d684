# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from safegen_ros.benchmarks.speed.planetarium import (
    draw_cases,
    large_cases,
    measure,
)
from safegen_ros.datasets.planetarium.pairs import kits


def test_every_figure_is_taken_of_pairs_whose_answer_is_known() -> None:
    report = measure(2, 4, lambda *_: None)
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

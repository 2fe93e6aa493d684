# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The order of the categories and the progress of equation 9."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from safegen_ros.verdict import Category, Verdict


def test_categories_are_ordered_worst_first() -> None:
    assert [c.name for c in sorted(Category)] == [
        'UNKNOWN', 'FORMAT_ERROR', 'SAFETY_VIOLATION', 'PRECONDITION_VIOLATION',
        'GOAL_NOT_SATISFIED', 'SUCCESS',
    ]  # fmt: skip


def test_only_success_may_execute() -> None:
    assert [c for c in Category if Verdict(c).ok] == [Category.SUCCESS]
    assert not Verdict().ok
    assert Verdict().category is Category.UNKNOWN


@pytest.mark.parametrize(
    ('verdict', 'reference', 'progress'),
    [
        (Verdict(Category.SUCCESS), None, 1.0),
        (Verdict(Category.UNKNOWN, plan_length=4, goal_fraction=1.0), 4, 0.0),
        (Verdict(Category.FORMAT_ERROR, '', 2, 4), 4, 0.0),
        (Verdict(Category.GOAL_NOT_SATISFIED, '', -1, 4, 0.75), 8, 0.75),
        (Verdict(Category.SAFETY_VIOLATION, '', 0, 4), 8, 0.0),
        (Verdict(Category.SAFETY_VIOLATION, '', 2, 4), 8, 0.25),
        (Verdict(Category.SAFETY_VIOLATION, '', 2, 4), None, 0.5),
        (Verdict(Category.SAFETY_VIOLATION, '', -1, 4), 8, 0.5),
        (Verdict(Category.SAFETY_VIOLATION, '', -1, 0), None, 0.0),
        (Verdict(Category.PRECONDITION_VIOLATION, '', 3, 4), 8, 0.375),
        (Verdict(Category.PRECONDITION_VIOLATION, '', 9, 10), 4, 1.0),
    ],
)
def test_progress(verdict: Verdict, reference: int | None, progress: float) -> None:
    assert verdict.progress(reference) == progress


def test_a_verdict_cannot_be_changed() -> None:
    verdict = Verdict(Category.SAFETY_VIOLATION)
    with pytest.raises(FrozenInstanceError):
        verdict.category = Category.SUCCESS  # type: ignore[misc]
    assert not hasattr(verdict, '__dict__')

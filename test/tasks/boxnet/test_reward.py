# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Rewards of answers: form, success, and steps too many with their floor."""

from __future__ import annotations

import pytest

from safegen_ros.tasks.boxnet.answers import REFUSAL
from safegen_ros.tasks.boxnet.model import Move
from safegen_ros.tasks.boxnet.prompts import EXAMPLE, EXAMPLE_PLAN, answer_text
from safegen_ros.tasks.boxnet.reward import reward
from safegen_ros.tasks.boxnet.verifier import verify

PLAN = verify(EXAMPLE, EXAMPLE_PLAN).plan
LAST = PLAN[-1][0]
FIDGET = (Move(LAST.robot, LAST.end, LAST.end, False),)


@pytest.mark.parametrize(
    ('text', 'reference', 'earned'),
    [
        (answer_text('so', PLAN, whole=True), 4, 1.1),
        (answer_text('so', PLAN, whole=True), 6, 1.1),
        (EXAMPLE_PLAN, 4, 1.0),
        (answer_text('so', (*PLAN, FIDGET, FIDGET), whole=True), 4, 0.9),
        (answer_text('so', (*PLAN, *[FIDGET] * 30), whole=True), 4, 0.2),
        (answer_text('so', PLAN[:2], whole=True), 4, 0.1),
        (answer_text('so', PLAN[:2] + (FIDGET,) * 40, whole=True), 4, 0.1),
        ('nonsense', 4, 0.0),
        (f'<think>no</think>\n{REFUSAL}', 4, 0.1),
        (f'<think>no</think>\n{REFUSAL}', None, 1.1),
        (answer_text('so', PLAN, whole=True), None, 0.1),
    ],
)
def test_an_answer_earns(text: str, reference: int | None, earned: float) -> None:
    assert reward(verify(EXAMPLE, text), reference) == pytest.approx(earned)

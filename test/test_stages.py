# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The stages and phases of the code are the constants of the messages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from safegen_msgs import msg
from safegen_msgs.action import RunTask
from safegen_ros.stages import ExecutionPhase, GoalStage, PlanningPhase


@pytest.mark.parametrize(
    ('ours', 'message'),
    [
        (GoalStage, RunTask.Feedback),
        (PlanningPhase, msg.PlanningProgress),
        (ExecutionPhase, msg.ExecutionProgress),
    ],
)
def test_the_stages_are_the_constants_of_the_message(ours: Any, message: Any) -> None:
    names = [name for name in dir(type(message)) if name.isupper()]
    values = {name: getattr(message, name) for name in names}
    constants = {name: value for name, value in values.items() if isinstance(value, str)}
    assert {each.name: each.value for each in ours} == constants


def test_a_phase_is_its_text_wherever_it_is_written() -> None:
    phase = ExecutionPhase.MOVING
    assert (f'{phase}', str(phase), json.dumps(phase)) == ('moving', 'moving', '"moving"')
    assert msg.ExecutionProgress(phase=phase).phase == 'moving'
    assert phase in {'moving'}

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The stubs of the ROS interfaces: mypy knows their fields, parts and constants."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
USES = """\
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Point
from safegen_msgs.action import PlanTask
from safegen_msgs.msg import Plan, Step
from sensor_msgs.msg import JointState
from unique_identifier_msgs.msg import UUID

level: bytes = DiagnosticStatus.OK
joints = JointState(position=(0.1, 0.2))
first: float = joints.position[0]
id = UUID(uuid=list(range(16)))
key: bytes = id.uuid.tobytes()
plan = Plan(steps=[Step(action='stack', arguments=['b1', 'b2'])])
plan.steps.append(Step())
goal = PlanTask.Goal()
goal.time_budget.sec = 3
sent = PlanTask.Impl.SendGoalService.Request(goal_id=id, goal=goal)
"""
FAULTS = {
    'Plan(step=[])': 'Unexpected keyword argument "step"',
    'plan.sauce': '"Plan" has no attribute "sauce"',
    "Point(x='1')": 'Argument "x" to "Point" has incompatible type "str"',
    'goal.task = plan': 'Incompatible types in assignment',
    'PlanTask.Reply': '"type[PlanTask]" has no attribute "Reply"',
}


@pytest.mark.slow
def test_mypy_finds_wrong_uses_of_messages_and_nothing_else(tmp_path: Path) -> None:
    wrong = tmp_path / 'uses.py'
    wrong.write_text(USES + '\n'.join(FAULTS))
    command = [sys.executable, '-m', 'mypy', '--no-error-summary', '--hide-error-context']
    command.append(str(wrong))
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = [line for line in done.stdout.splitlines() if ': error: ' in line]
    assert len(found) == len(FAULTS), done.stdout + done.stderr
    for line, fault in zip(found, FAULTS.values(), strict=True):
        assert fault in line

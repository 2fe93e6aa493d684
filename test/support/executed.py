# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A plan for a PDDL problem, carried out in a cell as a node does it."""

from __future__ import annotations

from typing import Any

from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.robot.cell.execution import Cell, ExecutionOutcome, carry_out
from safegen_ros.tasks.cells import OneRobot
from safegen_ros.tasks.pddl3.task import Pddl3Task
from safegen_ros.tasks.task import WorldJob


def execute_plan(problem: Problem, plan: Plan, cell: Cell, **options: Any) -> ExecutionOutcome:
    """How the execution ended; the options are those of `carry_out`."""
    task, steps = Pddl3Task(problem, '', ''), tuple((step,) for step in plan.steps)
    return carry_out(WorldJob(task, steps, OneRobot(cell), task.monitor(steps)), **options)

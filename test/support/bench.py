# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A cell on the twin with what was asked of it, and a task of three blocks for it."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from safegen_ros.errors import Canceled, ErrorCode, RobotError
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.robot.cell.blocks import BlocksworldCell, simulated_cell
from safegen_ros.robot.cell.execution import ExecutionOutcome
from safegen_ros.robot.pose import Pose
from safegen_ros.robot.scene import load_scene
from safegen_ros.tasks.pddl3.task import load_task
from safegen_ros.verdict import Category
from support.executed import execute_plan

SCENE = load_scene()
WAIT_S = 30.0
FAR = SCENE.slot_pose(SCENE.slots[-1])
"""Three blocks stand on the slots in the middle: the last slot is free."""

TEXT = """
(define (problem three) (:domain blocksworld) (:objects a b c)
  (:init {init})
  (:goal {goal})
  (:constraints {constraint}))
"""
TABLE = '(on-table a) (on-table b) (on-table c) (clear a) (clear b) (clear c)'
HELD = '(holding a) (on-table b) (on-table c) (clear b) (clear c)'
NEVER = '(always (not (on c b)))'
PLAN = parse_plan('(pickup a)(stack a b)(pickup c)(stack c a)')


def problem(init=f'(arm-empty) {TABLE}', constraint=NEVER, goal='(and (on a b) (on c a))'):
    return load_task(TEXT.format(init=init, constraint=constraint, goal=goal)).problem


class Bench:
    """A cell on the twin, with everything that was asked of it and every sample."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.samples: list[np.ndarray] = []
        self.phases: list[tuple[str, int]] = []
        self.stopped = threading.Event()
        self.on_sample = lambda: None
        self.on_phase = lambda phase, step: None
        self.draw = lambda: (0.0, 0.0, 0.0)
        self.cell = simulated_cell(SCENE, sample=self._sampled, target_error=self._drawn)
        self.samples.clear()

    def _sampled(self, sample) -> None:
        self.samples.append(sample.joints)
        self.on_sample()

    def _drawn(self):
        return self.draw()

    def _told(self, progress) -> None:
        self.phases.append((progress.phase, progress.step))
        self.on_phase(progress.phase, progress.step)

    def run(self, task=None, plan=PLAN, *, budget=WAIT_S, cancelled=lambda: False, **more):
        return execute_plan(
            task or problem(),
            plan,
            self,
            time_budget_s=budget,
            cancelled=cancelled,
            notify=self._told,
            **more,
        )

    # The interface of a cell: what is asked is noted, then done.

    def prepare(self, objects, init):
        self.calls.append('prepare')
        self.cell.prepare(objects, init)

    def execute(self, action, arguments):
        self.calls.append(action)
        self.cell.execute(action, arguments)

    def observe(self):
        return self.cell.observe()

    def stop(self):
        self.cell.stop()
        self.stopped.set()

    def reset_stop(self):
        self.cell.reset_stop()

    def place(self, block: str, pose: Pose) -> None:
        """Somebody else puts a block somewhere."""
        self.cell.world.disturb(block, pose)

    def onto(self, block: str, under: str) -> None:
        """Somebody else puts a block on another one."""
        x, y, z = self.cell.poses()[under].position
        self.place(block, Pose.upright(x, y, z + SCENE.block_size, self.cell.poses()[under].yaw))


def assert_stopped(bench: Bench) -> None:
    """The arm refuses to move, and does not, until somebody resets the stop."""
    cell: BlocksworldCell = bench.cell
    before, count = cell.arm.joint_positions(), len(bench.samples)
    for command in (cell.home, lambda: cell.arm.wait(1.0), lambda: cell.arm.set_tool(True)):
        with pytest.raises((Canceled, RobotError)):
            command()
    np.testing.assert_array_equal(cell.arm.joint_positions(), before)
    assert len(bench.samples) == count


def assert_works_again(bench: Bench) -> None:
    """The next execution sets the cell up anew and succeeds."""
    bench.on_sample = lambda: None
    bench.on_phase = lambda phase, step: None
    bench.draw = lambda: (0.0, 0.0, 0.0)
    outcome = bench.run(problem(goal='(on a b)'), Plan(PLAN.steps[:2]))
    assert outcome.error_code is ErrorCode.NONE, outcome.message
    assert outcome.observed is not None
    assert ('on', 'a', 'b') in outcome.observed


def assert_done(outcome: ExecutionOutcome) -> None:
    assert outcome.error_code is ErrorCode.NONE, outcome.message
    assert outcome.verdict.category is Category.SUCCESS
    assert outcome.observed is not None
    assert {('on', 'a', 'b'), ('on', 'c', 'a'), ('on-table', 'b')} <= outcome.observed


def assert_never_moved(bench: Bench, outcome: ExecutionOutcome) -> None:
    assert outcome.steps_done == 0
    assert outcome.observed is None
    assert not bench.calls
    assert not bench.samples
    assert_stopped(bench)

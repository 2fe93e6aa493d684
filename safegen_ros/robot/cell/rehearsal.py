# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A whole plan on the twin before the first real motion: reach, limits, collisions, poses.

Symbols say nothing of geometry: a plan that is proved safe may still have the wrist sweep a tower.
So every motion is made on a separate twin first, with the same skills, as fast as the machine can.
A fault there is a verdict like any other, and goes back to the planner.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from safegen_ros.errors import Canceled, ErrorCode, RobotError
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.robot.arm import Sample
from safegen_ros.robot.cell.blocks import BlocksworldCell, Offset
from safegen_ros.robot.cell.settings import REHEARSAL_S
from safegen_ros.robot.pose import Pose
from safegen_ros.robot.scene import Scene
from safegen_ros.robot.twin.contacts import CollisionError, Contact
from safegen_ros.verdict import Category, Verdict

# What no plan can do here, whatever it does before; all other faults are about how it was done.
_NOT_POSSIBLE = (
    ErrorCode.OUT_OF_REACH,
    ErrorCode.LIMIT_VIOLATION,
    ErrorCode.UNSUPPORTED_SCENE,
)


@dataclass(frozen=True, slots=True)
class StepContact:
    """A contact during a step.

    Attributes:
        step: index of the step from 0.
        contact: which bodies, how hard, and whether it was expected.
    """

    step: int
    contact: Contact


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """How a rehearsal went.

    Attributes:
        verdict: `SUCCESS` where every step had its effect; `SAFETY_VIOLATION` where something
            collides, falls or jams, `PRECONDITION_VIOLATION` where a pose cannot be reached, with
            the step and the reason.
        contacts: what came together, step by step; resting blocks are left out.
        simulated_s: time that the arm would take [s].
        wall_s: time that the rehearsal took [s].
    """

    verdict: Verdict
    contacts: tuple[StepContact, ...]
    simulated_s: float
    wall_s: float


def rehearse(
    problem: Problem,
    plan: Plan,
    scene: Scene,
    *,
    poses: Mapping[str, Pose] | None = None,
    held: str | None = None,
    proved: Verdict | None = None,
    cancelled: Callable[[], bool] = lambda: False,
    time_limit_s: float = REHEARSAL_S,
    sample: Callable[[int, Sample], None] = lambda step, look: None,
    target_error: Callable[[], Offset] | None = None,
) -> Rehearsal:
    """Executes a plan on a twin without a display.

    Args:
        plan: its steps; proved before, since nothing here looks at constraints or the goal.
        poses: where the blocks were measured, none of them in the tool; where None, as the initial
            state is set up.
        held: which of those the arm takes before the plan begins, if any.
        proved: the verdict of the validator, on which that of the rehearsal is based.
        cancelled: asked before each step.
        time_limit_s: by the wall clock [s].
        sample: told of the step, from 0, and of the twin in it, 25 times per simulated second; the
            step is -1 while the blocks are set up.
        target_error: as of `BlocksworldCell`.

    Raises:
        RobotError: the initial state cannot be set up (`UNSUPPORTED_SCENE`), or the time is over
            (`REHEARSAL_FAILED`); there is no verdict then, and nothing may move.
        Canceled: as `cancelled` said.
    """
    from safegen_ros.robot.twin.twin import MujocoTwin

    begun = time.monotonic()
    contacts: list[StepContact] = []
    verdict = replace(
        proved or Verdict(plan_length=len(plan), goal_fraction=1.0), category=Category.SUCCESS
    )
    index = -1
    with MujocoTwin(scene, sample=lambda look: sample(index, look)) as twin:
        cell = BlocksworldCell(scene, twin, twin, target_error=target_error)
        _set_up(cell, problem, poses, held)
        twin.take_contacts()
        start = twin.sim_time
        for index, step in enumerate(plan.steps):
            if cancelled():
                raise Canceled('the rehearsal was stopped', ErrorCode.EXECUTION_CANCELED)
            if time.monotonic() - begun > time_limit_s:
                raise RobotError(
                    f'the rehearsal is not over after {time_limit_s:g} s, in step {index + 1} of '
                    f'{len(plan)}, and without it nothing moves: plan in smaller parts',
                    ErrorCode.REHEARSAL_FAILED,
                )
            try:
                cell.execute(step.action, step.arguments)
            except RobotError as error:
                verdict = _failed(verdict, index, f'step {index + 1} {step}', error)
            contacts += [StepContact(index, contact) for contact in twin.take_contacts()]
            if not verdict.ok:
                break
        simulated = twin.sim_time - start
    return Rehearsal(verdict, tuple(contacts), simulated, time.monotonic() - begun)


def _set_up(
    cell: BlocksworldCell, problem: Problem, poses: Mapping[str, Pose] | None, held: str | None
) -> None:
    if poses is None:
        cell.prepare(tuple(problem.objects), problem.init)
    else:
        cell.world.reset(poses)
        cell.home()
        if held is not None:
            cell.execute('pickup', (held,))


def _failed(verdict: Verdict, index: int, where: str, error: RobotError) -> Verdict:
    """The verdict on a plan after a fault of the twin."""
    impossible = error.code in _NOT_POSSIBLE
    if isinstance(error, CollisionError):
        cure = 'take another order of steps, in which the way is still free'
    elif impossible:
        cure = 'put the block where the arm can reach'
    else:
        cure = 'take another way'
    return replace(
        verdict,
        category=Category.PRECONDITION_VIOLATION if impossible else Category.SAFETY_VIOLATION,
        reason=f'rehearsal on the twin, {where}: {error.message}: {cure}',
        failing_step=index,
        failing_state=index,
        goal_fraction=0.0,
    )

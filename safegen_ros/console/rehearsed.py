# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The motion of a proved plan before it is made: rehearsed here, on a hidden twin.

It is made with the code and the scene of the stack's own rehearsal, in a separate process, so that
neither the page nor the arm waits for it. It is a picture for a person and decides nothing.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context, parent_process

from safegen_ros.errors import SafegenError
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.robot.arm import Sample
from safegen_ros.robot.pose import Pose
from safegen_ros.robot.scene import Scene
from safegen_ros.sync import Closing

LIMIT_S = 120.0
"""Longest rehearsal, by the wall clock [s], of which it gets what the arm and the page leave."""

_KEPT_EVERY = 2  # of the 25 samples a simulated second
_NICENESS = 10


@dataclass(frozen=True, slots=True)
class Posture:
    """A moment of a motion.

    Attributes:
        step: that it belongs to, from 0.
        joints: shape (6,) [rad].
        blocks: pose of each.
    """

    step: int
    joints: tuple[float, ...]
    blocks: Mapping[str, Pose]


@dataclass(frozen=True, slots=True)
class RehearsedMotion:
    """A rehearsed motion.

    Attributes:
        plan: its steps as text, by which it is known again.
        postures: in order, 12.5 per simulated second.
        trouble: why it ended early; empty where it did not.
    """

    plan: tuple[str, ...]
    postures: tuple[Posture, ...]
    trouble: str = ''

    def at(self, seconds: float) -> Posture | None:
        """The posture of a moment [s], over and over again; None of no motion."""
        count = len(self.postures)
        return self.postures[int(seconds * 25 / _KEPT_EVERY) % count] if count else None


class PlanPreview(Closing):
    """Rehearses one plan after another; what a newer one takes the place of is left out."""

    def __init__(self, cell: Scene) -> None:
        self._cell = cell
        self._pool: ProcessPoolExecutor | None = None
        self._wanted: tuple[str, ...] = ()
        self._problem: Problem | None = None
        self._future: Future[RehearsedMotion] | None = None

    def want(self, problem: Problem, plan: Plan, poses: Mapping[str, Pose] | None) -> None:
        """Begins, unless it is this plan that is under way or done.

        Args:
            poses: where the blocks are; None where the task sets them up.
        """
        steps = tuple(map(str, plan.steps))
        # After a replan the same steps may begin in another world.
        if steps == self._wanted and (problem is self._problem or problem == self._problem):
            self._problem = problem
            return
        if self._pool is None:
            self._pool = ProcessPoolExecutor(1, get_context('spawn'), _begin)
        if self._future is not None:
            self._future.cancel()
        self._wanted, self._problem = steps, problem
        self._future = self._pool.submit(
            _rehearse, problem, plan, self._cell, dict(poses) if poses is not None else None
        )

    def forget(self) -> None:
        """There is no plan any more."""
        self._wanted, self._future = (), None

    @property
    def motion(self) -> RehearsedMotion | None:
        """That of the last plan; None while there is none."""
        if self._future is None or not self._future.done() or self._future.cancelled():
            return None
        error = self._future.exception()
        return RehearsedMotion(self._wanted, (), str(error)) if error else self._future.result()

    def close(self) -> None:
        """Ends the process."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends with the stack, and without a traceback
    os.nice(_NICENESS)  # the arm and the page come first
    threading.Thread(target=_end_with_the_console, daemon=True).start()


def _end_with_the_console() -> None:
    """Ends this process when its parent does, even if the parent was killed."""
    if (parent := parent_process()) is not None:
        parent.join()
    os._exit(1)


def _rehearse(
    problem: Problem, plan: Plan, cell: Scene, poses: dict[str, Pose] | None
) -> RehearsedMotion:
    from safegen_ros.robot.cell.rehearsal import rehearse

    found: list[Posture] = []
    count = 0

    def sample(step: int, look: Sample) -> None:
        nonlocal count
        count += 1
        if step >= 0 and count % _KEPT_EVERY == 0:
            joints = tuple(float(angle) for angle in look.joints)
            found.append(Posture(step, joints, dict(look.poses)))

    steps = tuple(map(str, plan.steps))
    try:
        outcome = rehearse(problem, plan, cell, poses=poses, sample=sample, time_limit_s=LIMIT_S)
    except SafegenError as error:
        return RehearsedMotion(steps, tuple(found), error.message)
    return RehearsedMotion(
        steps, tuple(found), '' if outcome.verdict.ok else outcome.verdict.reason
    )

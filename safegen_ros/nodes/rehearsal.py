# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The rehearsal of a plan at the executor."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from safegen_msgs import msg
from safegen_msgs.action import ExecutePlan
from safegen_msgs.srv import RehearsePlan
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.nodes.base import SafegenNode
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.moments import plan_of_steps
from safegen_ros.pddl.plan import Plan
from safegen_ros.planning.loop import Steps
from safegen_ros.robot.cell.blocks import BlocksworldCell
from safegen_ros.robot.cell.rehearsal import Rehearsal, rehearse
from safegen_ros.robot.pose import KeepOut, Pose, same_place
from safegen_ros.ros import conversions
from safegen_ros.tasks.task import ActionTask
from safegen_ros.verdict import Verdict
from safegen_ros.verify.validator import Validator

_SAME_PLACE_M, _SAME_TURN = 0.002, 0.05
"""How far blocks may be from where they were when a rehearsal still counts for them [m, rad]."""

_Key = tuple[str, str, str, bool]


@dataclass(frozen=True, slots=True)
class _Found:
    """What a rehearsal has shown.

    Attributes:
        key: the task, the plan, and whether it continues another one.
        poses: where the blocks stood before it.
        obstacles: what else stood there.
    """

    key: _Key
    poses: Mapping[str, Pose]
    obstacles: tuple[KeepOut, ...]
    went: Rehearsal

    def counts_for(
        self, key: _Key, poses: Mapping[str, Pose], obstacles: tuple[KeepOut, ...]
    ) -> bool:
        """Whether the same would be shown again."""
        same_blocks = self.poses.keys() == poses.keys() and all(
            same_place(pose, self.poses[name], _SAME_PLACE_M, _SAME_TURN)
            for name, pose in poses.items()
        )
        same_obstacles = len(obstacles) == len(self.obstacles) and all(
            box.name == known.name and math.dist(box.centre, known.centre) <= _SAME_PLACE_M
            for box, known in zip(obstacles, self.obstacles, strict=True)
        )
        return self.key == key and same_blocks and same_obstacles


class Rehearser:
    """Rehearses each plan once, when it is asked for first.

    Interfaces:
        service `rehearse_plan` (safegen_msgs/srv/RehearsePlan): the verdict of the twin on a plan.

    Args:
        cell: the cell of the arm; None where there is none, and nothing to rehearse for.
    """

    def __init__(
        self,
        node: SafegenNode,
        cell: Callable[[], BlocksworldCell | None],
        real: Callable[[], bool],
    ) -> None:
        self._node = node
        self._cell = cell
        self._real = real
        self._lock = threading.Lock()
        self._found: _Found | None = None

    def activate(self) -> None:
        """Offers the service."""
        self._node.offer(RehearsePlan, 'rehearse_plan', self._serve)

    def forget(self) -> None:
        """Called when something may have moved: the blocks are no longer where they were."""
        with self._lock:
            self._found = None

    def for_goal(
        self, goal: ExecutePlan.Goal, task: ActionTask, steps: Steps, cancelled: Callable[[], bool]
    ) -> Callable[[Verdict], Verdict] | None:
        """The check for `execution.carry_out`; None without a rehearsal.

        Args:
            goal: of `execute_plan`.

        Raises:
            SafegenError: it goes step by step, which cannot be rehearsed (`UNSUPPORTED_FEATURE`).
        """
        cell = self._wanted()
        problem = task.problem
        if cell is None or problem is None:
            return None
        if goal.step_by_step:
            raise SafegenError(
                'a single step cannot be rehearsed with a block in the tool, and nothing moves '
                'here without a rehearsal: send the goal without step_by_step',
                ErrorCode.UNSUPPORTED_FEATURE,
            )
        plan, as_it_is = plan_of_steps(steps), goal.resume or goal.from_current

        def ask(verdict: Verdict) -> Verdict:
            return self._rehearsed(cell, goal.task, problem, plan, verdict, as_it_is, cancelled)[0]

        return ask

    def _wanted(self) -> BlocksworldCell | None:
        node = self._node
        wanted = self._real() or node.values['rehearse'] == 'always' or node.site.keep_out
        return self._cell() if wanted else None

    def _serve(
        self, request: RehearsePlan.Request, response: RehearsePlan.Response
    ) -> RehearsePlan.Response:
        cancelled = self._node.inactive.is_set

        def work() -> None:
            problem = conversions.problem_from_msg(request.task)
            plan = conversions.plan_from_msg(request.plan)
            # For any sender, an unproved plan is not worth a rehearsal.
            verdict, seconds = Validator(problem).verify(plan), 0.0
            cell = self._wanted()
            if verdict.ok and cell is not None:
                response.rehearsed = True
                verdict, seconds = self._rehearsed(
                    cell, request.task, problem, plan, verdict, request.resume, cancelled
                )
            response.verdict = conversions.verdict_to_msg(verdict)
            response.arm_time = conversions.duration_to_msg(seconds)

        return self._node.answered(request, response, work)

    def _rehearsed(
        self,
        cell: BlocksworldCell,
        sent: msg.Task,
        problem: Problem,
        plan: Plan,
        proved: Verdict,
        resume: bool,
        cancelled: Callable[[], bool],
    ) -> tuple[Verdict, float]:
        """The verdict, and the time of the motion [s]; a known result is not computed again."""
        key = (sent.domain, sent.problem, str(plan), resume)
        with self._lock:  # a twin takes a whole core: one at a time
            poses, held = _start(cell, problem, resume)
            boxes = cell.obstacles()
            if self._found is None or not self._found.counts_for(key, poses, boxes):
                went = rehearse(
                    problem,
                    plan,
                    replace(cell.scene, keep_out=(*cell.scene.keep_out, *boxes)),
                    poses=poses,
                    held=held,
                    proved=proved,
                    cancelled=cancelled,
                )
                said = 'passes' if went.verdict.ok else went.verdict.reason
                self._node.get_logger().info(
                    f'rehearsal of {len(plan)} steps, {went.simulated_s:.1f} s of the arm in '
                    f'{went.wall_s:.1f} s: {said}'
                )
                self._found = _Found(key, poses, boxes, went)
            return self._found.went.verdict, self._found.went.simulated_s


def _start(
    cell: BlocksworldCell, problem: Problem, resume: bool
) -> tuple[dict[str, Pose], str | None]:
    """Where the blocks stand before the plan, and the one that the arm takes first.

    Raises:
        RobotError: they are not as the task says (`STATE_MISMATCH`), or not known.
    """
    if resume:
        return cell.poses(), None
    return cell.start_of(tuple(problem.objects), problem.init)

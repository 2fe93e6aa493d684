# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Between the messages of safegen_msgs and the values of the core; nothing else lives here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import copy
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Point, Quaternion
from geometry_msgs.msg import Pose as PoseMessage

from safegen_msgs import msg
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.facts import fact_of
from safegen_ros.pddl.model import Problem, State
from safegen_ros.pddl.moments import plan_of_steps, steps_of_plan
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.pddl.sexpr import MAX_TEXT
from safegen_ros.pddl.writer import atom_text
from safegen_ros.robot.pose import Pose
from safegen_ros.verdict import BrokenConstraint, Category, Verdict

if TYPE_CHECKING:
    from safegen_ros.planning.loop import Attempt, Steps
    from safegen_ros.robot.cell.execution import ConcurrentStep, ExecutionProgress
    from safegen_ros.tasks.task import ActionTask

MAX_STEPS = 10_000
"""Most steps of a plan message that are looked at."""

AS_READ: Mapping[str, str] = MappingProxyType({})
"""The spelling of names in lower case."""

_REMEMBERED = 100_000
"""Longest text of a task that is cached [characters]: a goal is read for the journal and for its
work, and by the validator for each of its attempts.
"""


def problem_from_msg(message: msg.Task) -> Problem:
    """Reads the problem of a goal that has to be a PDDL task.

    Raises:
        SafegenError: as `task_from_msg`, and for a task of another world (`UNSUPPORTED_FEATURE`).
    """
    task = task_from_msg(message)
    if task.problem is None:
        raise SafegenError(
            f'a task in format {task.format} cannot be asked for this: send one in PDDL',
            ErrorCode.UNSUPPORTED_FEATURE,
        )
    return task.problem


def task_from_msg(message: msg.Task) -> ActionTask:
    """Reads the task of a goal, of whatever world.

    Raises:
        SafegenError: with the place in the text and the code for the client.
    """
    from safegen_ros.tasks.pddl3.formats import PDDL, WORDS  # most clients read no task

    if message.format == WORDS:
        raise SafegenError(
            'the task is in words, which plan_task and run_task of the planner understand: send '
            'the problem that they have made of it',
            ErrorCode.UNKNOWN_FORMAT,
        )
    if message.constraints or message.start:
        raise SafegenError(
            f'the task has constraints or a start besides a problem in '
            f'{message.format or PDDL}: write them into the problem, or send format {WORDS}',
            ErrorCode.BAD_PDDL,
        )
    for text in (message.domain, message.problem):
        if len(text) > MAX_TEXT:
            raise SafegenError(
                f'the task holds a text of {len(text):,} characters, more than the limit of '
                f'{MAX_TEXT:,}: send one problem',
                ErrorCode.TASK_TOO_LARGE,
            )
    if len(message.domain) + len(message.problem) > _REMEMBERED:
        return _read.__wrapped__(message.problem, message.domain, message.format)
    # The result is shared, and each reader keeps its own findings.
    return copy(_read(message.problem, message.domain, message.format))


@lru_cache(maxsize=8)
def _read(problem: str, domain: str, format: str) -> ActionTask:
    from safegen_ros.tasks.table import read_action_task

    return read_action_task(problem, domain, format)


def plan_to_msg(plan: Plan | None, source: str = '', task: msg.Task | None = None) -> msg.Plan:
    """A plan as message, see `pddl.moments`; None becomes a plan without steps.

    Args:
        task: its problem, whose timed initial literals are among its steps.
    """
    steps: Steps = steps_of_plan(plan) if plan else ()
    if task is not None:
        with suppress(SafegenError):  # of a task that cannot be read the node says why
            read = task_from_msg(task)
            if read.problem is not None and read.problem.timed:
                steps = read.steps_of(str(plan)) or steps
    return steps_to_msg(steps, source)


def plan_from_msg(message: msg.Plan) -> Plan:
    """The plan of a message, in lower case as PDDL names are read.

    Raises:
        SafegenError: it has more than `MAX_STEPS` steps, or as of `plan_of_steps`.
    """
    return plan_of_steps(steps_from_msg(message))


def spelling_of(task: ActionTask) -> Mapping[str, str]:
    """The names that the texts of a task have with capitals, which a dispatcher may mind."""
    return task.problem.spelling if task.problem is not None else {}


def steps_to_msg(
    steps: Sequence[ConcurrentStep], source: str = '', spelling: Mapping[str, str] = AS_READ
) -> msg.Plan:
    """Steps in which several robots may act, as message."""
    return msg.Plan(steps=[step_to_msg(step, spelling) for step in steps], source=source)


def step_to_msg(step: ConcurrentStep, spelling: Mapping[str, str] = AS_READ) -> msg.Step:
    """One step as message; one without actions is empty."""
    if not step:
        return msg.Step()
    first, *others = Plan(step).spelt(spelling).steps
    return msg.Step(
        action=first.action,
        arguments=list(first.arguments),
        beside=[msg.GroundAction(action=s.action, arguments=list(s.arguments)) for s in others],
    )


def step_from_msg(message: msg.Step) -> ConcurrentStep:
    """The actions of a step, in lower case."""
    actions = _actions(message) if message.action or message.beside else []
    return tuple(
        Step(each.action.lower(), tuple(a.lower() for a in each.arguments)) for each in actions
    )


def step_text(message: msg.Step) -> str:
    """A step for a person and for records: '(stack b1 b2)', several actions one after the other."""
    return ' '.join(f'({" ".join((each.action, *each.arguments))})' for each in _actions(message))


def _actions(message: msg.Step) -> list[msg.Step | msg.GroundAction]:
    """The first action of a step, which the step itself holds, and those beside it."""
    return [message, *message.beside]


def steps_from_msg(message: msg.Plan) -> Steps:
    """The steps of a message, in lower case.

    Raises:
        SafegenError: there are more than `MAX_STEPS`.
    """
    if len(message.steps) > MAX_STEPS:
        raise SafegenError(
            f'the plan has {len(message.steps):,} steps, more than the limit of {MAX_STEPS:,}',
            ErrorCode.PLAN_REFUSED,
        )
    return tuple(map(step_from_msg, message.steps))


def verdict_to_msg(verdict: Verdict) -> msg.Verdict:
    """A verdict as message."""
    return msg.Verdict(
        category=int(verdict.category),
        failing_step=verdict.failing_step,
        reason=verdict.reason,
        goal_fraction=verdict.goal_fraction,
        progress=verdict.progress(),
        broken=[
            msg.BrokenConstraint(
                text=each.text,
                variables=[variable for variable, _ in each.binding],
                objects=[name for _, name in each.binding],
                state=each.state,
                step=each.step,
                reason=each.reason,
                place=each.place,
            )
            for each in verdict.broken
        ],
        unsatisfied=list(verdict.unsatisfied),
        failing_state=verdict.failing_state,
        step_blocked=verdict.step_blocked,
        plan_length=verdict.plan_length,
    )


def verdict_from_msg(message: msg.Verdict) -> Verdict:
    """The verdict of a message; a category that does not exist is `UNKNOWN`."""
    try:
        category = Category(message.category)
    except ValueError:
        category = Category.UNKNOWN
    return Verdict(
        category,
        message.reason,
        message.failing_step,
        message.plan_length,
        message.goal_fraction,
        tuple(
            BrokenConstraint(
                each.text,
                tuple(zip(each.variables, each.objects, strict=False)),
                each.state,
                each.step,
                each.reason,
                each.place,
            )
            for each in message.broken
        ),
        tuple(message.unsatisfied),
        message.failing_state,
        message.step_blocked,
    )


def attempt_to_msg(
    attempt: Attempt,
    number: int,
    replan: int = 0,
    base: int = 0,
    spelling: Mapping[str, str] = AS_READ,
) -> msg.Attempt:
    """An attempt as message.

    Args:
        number: of it within its goal, from 1.
        replan: number of the replan that it is made for.
        base: steps that had been taken, where a task is worked on step by step.
        spelling: of the names in its plan.
    """
    return msg.Attempt(
        number=min(number, 65535),
        replan=replan,
        base=base,
        source=attempt.source,
        text=attempt.text,
        plan=steps_to_msg(attempt.steps, attempt.source, spelling),
        verdict=verdict_to_msg(attempt.verdict),
        seconds=attempt.seconds,
    )


def remaining_to_msg(rest: object, task: ActionTask) -> msg.Task:
    """The rest of a task.

    Args:
        rest: the verdict of its monitor.
    """
    domain, problem = task.rest(rest)
    return msg.Task(domain=domain, problem=problem, format=task.rest_format)


def code_from_msg(number: int) -> ErrorCode:
    """The error code of a result; a number that stands for none is `UNKNOWN`."""
    try:
        return ErrorCode(number)
    except ValueError:
        return ErrorCode.UNKNOWN


def execution_progress_to_msg(
    progress: ExecutionProgress, spelling: Mapping[str, str] = AS_READ
) -> msg.ExecutionProgress:
    """Progress of an execution as message."""
    message = msg.ExecutionProgress(phase=progress.phase, step=progress.step, total=progress.total)
    if progress.current:
        message.current = step_to_msg(progress.current, spelling)
    return message


def object_poses(poses: Mapping[str, Pose]) -> list[msg.ObjectPose]:
    """Poses by name as messages."""
    return [_object_pose(name, pose) for name, pose in poses.items()]


def _object_pose(name: str, pose: Pose) -> msg.ObjectPose:
    x, y, z = (float(v) for v in pose.position)
    qx, qy, qz, qw = (float(v) for v in pose.orientation)
    turn = Quaternion(w=qw, x=qx, y=qy, z=qz)
    return msg.ObjectPose(
        name=name, pose=PoseMessage(position=Point(x=x, y=y, z=z), orientation=turn)
    )


def pose_from_msg(message: PoseMessage) -> Pose:
    """The pose of a message."""
    p, q = message.position, message.orientation
    return Pose((p.x, p.y, p.z), (q.x, q.y, q.z, q.w))


def seconds_of(stamp: Time | Duration) -> float:
    """A time stamp or a duration [s]."""
    return float(stamp.sec + stamp.nanosec * 1e-9)


def time_to_msg(nanoseconds: int) -> Time:
    """A time stamp [ns] as message."""
    return Time(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)


def facts_of(state: State) -> list[str]:
    """The atoms of a state as PDDL text, in order."""
    return [atom_text(atom) for atom in sorted(state)]


def state_from_facts(facts: Sequence[str]) -> State:
    """The state with the atoms of a message.

    Raises:
        SafegenError: one of them is not an atom (`STATE_MISMATCH`).
    """
    found = set()
    for fact in facts:
        try:
            found.add(fact_of(fact))
        except ValueError:
            raise SafegenError(
                f'{fact[:80]!a} is observed, but is not a ground atom: write it as (on b1 b2)',
                ErrorCode.STATE_MISMATCH,
            ) from None
    return frozenset(found)


def budget_from_msg(message: Duration, default_s: float, code: ErrorCode) -> float:
    """The time budget of a goal [s]; zero takes the default.

    Raises:
        SafegenError: it is negative; with `code`.
    """
    seconds = seconds_of(message)
    if seconds < 0:
        raise SafegenError(
            f'the time budget is {seconds:g} s: give the goal more than 0, or 0 for the default',
            code,
        )
    return seconds or default_s


def duration_to_msg(seconds: float) -> Duration:
    """A length of time as message; negative lengths become zero."""
    whole = max(seconds, 0.0)
    return Duration(sec=int(whole), nanosec=int((whole - int(whole)) * 1e9))


def sum_of(first: Duration, second: Duration) -> Duration:
    """Two lengths of time one after the other."""
    return duration_to_msg(seconds_of(first) + seconds_of(second))

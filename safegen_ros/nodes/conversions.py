# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Between the messages of safegen_msgs and the values of the core; nothing else lives here."""

from __future__ import annotations

from builtin_interfaces.msg import Duration

from safegen_msgs import msg
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.pddl.sexpr import MAX_TEXT
from safegen_ros.planning.loop import Attempt
from safegen_ros.robot.execution import ExecutionProgress
from safegen_ros.verdict import BrokenConstraint, Category, Verdict
from safegen_ros.worlds.pddl3.task import Pddl3Task, load_task

MAX_STEPS = 10_000
"""Most steps of a plan message that are looked at."""


def task_from_msg(message: msg.Task) -> Pddl3Task:
    """Reads the task of a goal.

    Raises:
        SafegenError: with the place in the text and the code for the client.
    """
    for text in (message.domain, message.problem):
        if len(text) > MAX_TEXT:
            raise SafegenError(
                f'the task holds a text of {len(text):,} characters, more than the limit of '
                f'{MAX_TEXT:,}: send one problem',
                ErrorCode.TASK_TOO_LARGE,
            )
    return load_task(message.problem, message.domain, format=message.format)


def plan_to_msg(plan: Plan | None, source: str = '') -> msg.Plan:
    """A plan as message; None becomes a plan without steps."""
    steps = plan.steps if plan else ()
    return msg.Plan(
        steps=[msg.Step(action=s.action, arguments=list(s.arguments)) for s in steps],
        source=source,
    )


def plan_from_msg(message: msg.Plan) -> Plan:
    """The plan of a message, in lower case as PDDL names are read.

    Raises:
        SafegenError: it has more than `MAX_STEPS` steps.
    """
    if len(message.steps) > MAX_STEPS:
        raise SafegenError(
            f'the plan has {len(message.steps):,} steps, more than the limit of {MAX_STEPS:,}',
            ErrorCode.PLAN_REFUSED,
        )
    return Plan(
        tuple(
            Step(step.action.lower(), tuple(a.lower() for a in step.arguments))
            for step in message.steps
        )
    )


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


def attempt_to_msg(attempt: Attempt) -> msg.Attempt:
    """An attempt as message."""
    return msg.Attempt(
        number=min(attempt.number, 255),
        source=attempt.source,
        text=attempt.text,
        plan=plan_to_msg(attempt.plan, attempt.source),
        verdict=verdict_to_msg(attempt.verdict),
        seconds=attempt.seconds,
    )


def execution_progress_to_msg(progress: ExecutionProgress) -> msg.ExecutionProgress:
    """Progress of an execution as message."""
    message = msg.ExecutionProgress(phase=progress.phase, step=progress.step, total=progress.total)
    if progress.current is not None:
        message.current = msg.Step(
            action=progress.current.action, arguments=list(progress.current.arguments)
        )
    return message


def budget_from_msg(message: Duration, default_s: float, code: ErrorCode) -> float:
    """The time budget of a goal [s]; zero takes the default.

    Raises:
        SafegenError: it is negative; with `code`.
    """
    seconds = duration_from_msg(message)
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


def duration_from_msg(message: Duration) -> float:
    """A length of time [s]."""
    return float(message.sec) + float(message.nanosec) * 1e-9

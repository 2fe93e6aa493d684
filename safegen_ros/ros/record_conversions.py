# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Messages about a goal, as the events of a journal."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any

from builtin_interfaces.msg import Time
from rclpy.node import Node
from rclpy.subscription import Subscription
from unique_identifier_msgs.msg import UUID

from safegen_msgs import msg
from safegen_ros.errors import RecordError, SafegenError
from safegen_ros.pddl.model import State
from safegen_ros.pddl.sexpr import MAX_TEXT
from safegen_ros.record.events import (
    Event,
    ObservedEvent,
    PhaseEvent,
    PlanEvent,
    ResultEvent,
    StackEvent,
    StepEvent,
)
from safegen_ros.record.journal import JournalEntry
from safegen_ros.record.node_journal import GOAL_ID
from safegen_ros.record.run import AttemptRecord, BlockRecord, ModelRecord, ReplanRecord, TaskRecord
from safegen_ros.record.run_log import read_event, task_record
from safegen_ros.ros import conversions, qos
from safegen_ros.stages import ExecutionPhase
from safegen_ros.tasks.pddl3.formats import PDDL

_NO_GOAL = '0' * 32
_KEPT_OF_TOO_LONG = 1000
"""How much is written down of a text that is refused for its length [characters]."""


def received_task(task: msg.Task, source: str) -> TaskRecord:
    """The task of a goal, also one that cannot be read."""
    try:
        return task_record(conversions.task_from_msg(task), source, task.domain)
    except SafegenError:
        domain, problem, constraints, start = (
            text if len(text) <= MAX_TEXT else text[:_KEPT_OF_TOO_LONG]
            for text in (task.domain, task.problem, task.constraints, task.start)
        )
        form = task.format or PDDL
        return TaskRecord(
            '', source, '', domain, problem, form, constraints=constraints, start=start
        )


def stack_event(values: Mapping[str, Any], goal: Any, second_opinion: bool = False) -> StackEvent:
    """The planners of a goal, or else those of the planner node.

    `second_opinion` is that of the validator, with its first verdict.
    """
    model = ModelRecord(
        name=values['model'],
        max_attempts=goal.max_attempts or values['max_attempts'],
        temperature=values['temperature'],
        top_p=values['top_p'],
        seed=goal.seed or values['seed'],
        search_fallback=goal.search_fallback and values['search_fallback'],
    )
    return StackEvent(model, '', second_opinion)


def attempt_record(message: msg.Attempt) -> AttemptRecord:
    """An attempt with its verdict."""
    return AttemptRecord(
        number=message.number,
        source=message.source,
        text=message.text,
        steps=step_texts(message.plan),
        verdict=conversions.verdict_from_msg(message.verdict),
        seconds=message.seconds,
        base=message.base,
        replan=message.replan,
    )


def replan_record(message: msg.Replan) -> ReplanRecord:
    """That a task is planned again."""
    task = message.task
    return ReplanRecord(
        message.number, message.reason, message.steps_done, task.domain, task.problem
    )


def sent_plan(message: msg.Plan) -> msg.Plan:
    """A plan that came for execution; of one that is refused for its length, the beginning."""
    steps = message.steps[: conversions.MAX_STEPS]
    return msg.Plan(steps=steps, source=message.source or 'client')


def plan_event(message: msg.Plan) -> PlanEvent:
    """A plan that came for execution."""
    return PlanEvent(step_texts(message), message.source)


def progress_event(
    message: msg.ExecutionProgress, at: float, seen: State | None = None
) -> StepEvent | ObservedEvent | PhaseEvent:
    """A phase or a step of an execution, `at` seconds after its start [s].

    `seen` is the observation, which only the executor has.
    """
    if message.phase == ExecutionPhase.MOVING:
        return StepEvent(message.step, conversions.step_text(message.current), at)
    if message.phase == ExecutionPhase.OBSERVED:
        facts = None if seen is None else tuple(conversions.facts_of(seen))
        return ObservedEvent(message.step, at, facts)
    return PhaseEvent(message.phase, at, message.detail)


def observed_event(observation: msg.Observation, at: float) -> ObservedEvent:
    """A look at the world step by step, `at` seconds after the start of the execution [s]."""
    world = observation.world
    return ObservedEvent(
        observation.steps_done,
        at,
        tuple(world.facts),
        tuple(world.unseen),
        observation.look,
        observation.text,
    )


def result_event(result: Any, plan: msg.Plan) -> ResultEvent:
    """The result of a goal of any action; `plan` is the one that it is about."""
    world = getattr(result, 'final_state', None)
    timings = {
        name: conversions.seconds_of(getattr(result, f'{name}_time'))
        for name in ('planning', 'execution')
        if hasattr(result, f'{name}_time')
    }
    return ResultEvent(
        step_texts(plan),
        plan.source,
        conversions.verdict_from_msg(result.verdict),
        getattr(result, 'steps_done', 0),
        tuple(world.facts) if world is not None and (world.facts or world.objects) else None,
        timings,
        getattr(result, 'approved_by', ''),
    )


def entry_to_msg(entry: JournalEntry) -> msg.RunEvent:
    """An entry of a node's journal, as the node publishes it."""
    data = dict(entry.data)
    goal = data.pop(GOAL_ID, _NO_GOAL)
    written = datetime.fromisoformat(entry.time)
    return msg.RunEvent(
        stamp=Time(sec=int(written.timestamp()), nanosec=written.microsecond * 1000),
        goal_id=UUID(uuid=list(bytes.fromhex(goal))),
        number=entry.number,
        kind=entry.kind,
        data=json.dumps(data),
    )


def event_from_msg(message: msg.RunEvent) -> tuple[str, Event]:
    """The goal, 32 hexadecimal digits or none, and the event of such a message.

    Raises:
        RecordError: it is not an event, as from another version.
    """
    try:
        data = json.loads(message.data)
    except ValueError as error:
        raise RecordError(f'a published event cannot be read: {error}') from error
    if not isinstance(data, dict):
        raise RecordError('a published event cannot be read: its data is not a JSON object')
    entry = JournalEntry(message.number, '', message.kind, data)
    goal = goal_id_text(message.goal_id)
    return '' if goal == _NO_GOAL else goal, read_event('a published event', entry)


def hear_events(
    node: Node, take: Callable[[str, str, Event], None], **options: Any
) -> list[Subscription[msg.RunEvent]]:
    """Subscriptions to the events of planner and executor, those of before included.

    Args:
        take: told the node, the goal and the event; those of another version are left out.
    """

    def heard(name: str, message: msg.RunEvent) -> None:
        with suppress(RecordError):  # of another version, which the record of the node is for
            take(name, *event_from_msg(message))

    return [
        node.create_subscription(
            msg.RunEvent, f'{name}/events', partial(heard, name), qos.RECORDED, **options
        )
        for name in ('planner', 'executor')
    ]


def goal_id_text(goal_id: UUID) -> str:
    """The id of a goal as 32 hexadecimal digits."""
    return bytes(goal_id.uuid).hex()


def block_records(world: msg.WorldState) -> tuple[BlockRecord, ...]:
    """Where the blocks were measured."""
    return tuple(
        BlockRecord(each.name, (p.x, p.y, p.z), (q.x, q.y, q.z, q.w))
        for each in world.objects
        for p, q in [(each.pose.position, each.pose.orientation)]
    )


def step_texts(plan: msg.Plan) -> tuple[str, ...]:
    """The steps of a plan, each as '(action arguments)', or as several of them."""
    return tuple(map(conversions.step_text, plan.steps))

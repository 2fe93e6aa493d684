# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What happens in a run: each event goes into the journal, and only from there into the record.

So a record never knows more than the journal, and a journal alone gives back the whole record.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from safegen_ros.errors import ErrorCode
from safegen_ros.record import run
from safegen_ros.record.signatures import ApprovalRecord
from safegen_ros.verdict import Verdict

NO_MODEL = run.ModelRecord('', 0, 0.0, 0.0, 0, False)


@dataclass(frozen=True, slots=True)
class TaskEvent:
    """A run begins; the fields are those of `RunRecord`."""

    run_id: str
    started: str
    task: run.TaskRecord
    cell: str = ''
    stepwise: bool = False
    site: str = ''


@dataclass(frozen=True, slots=True)
class GoalEvent:
    """An entry belongs to a goal: the one that it is about, or one that it leads to.

    Attributes:
        action: 'plan_task', 'run_task' or 'execute_plan'.
        id: of the goal, 32 hexadecimal digits.
    """

    action: str
    id: str


@dataclass(frozen=True, slots=True)
class StackEvent:
    """The planners and the cell; the fields are those of `RunRecord`.

    A field at its default changes nothing.
    """

    model: run.ModelRecord
    cell: str
    second_opinion: bool = False
    site: str = ''


@dataclass(frozen=True, slots=True)
class PlanEvent:
    """A plan came for execution; the fields are those of `RunRecord`."""

    plan: tuple[str, ...]
    plan_source: str


@dataclass(frozen=True, slots=True)
class PassedEvent:
    """The next planner is asked; `reason` says why, of each that was passed over."""

    reason: str


@dataclass(frozen=True, slots=True)
class UnboundEvent:
    """The rules of the site that do not apply to the task, each with the reason."""

    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StopEvent:
    """The stack was stopped or, where `stopped` is false, reset; of the journal of a node.

    Attributes:
        stopped: which of the two.
        since: when, in UTC, ISO 8601; what it ended may have been written down before it.
    """

    stopped: bool
    reason: str
    since: str


@dataclass(frozen=True, slots=True)
class PhaseEvent:
    """The execution is in a phase that is not a step.

    Attributes:
        phase: 'verifying', 'preparing' or 'done'.
        at: from the start of the execution, in wall time [s].
        detail: of 'preparing', where the initial state comes from.
    """

    phase: str
    at: float
    detail: str = ''


@dataclass(frozen=True, slots=True)
class StepEvent:
    """A step begins.

    Attributes:
        index: from 0.
        step: '(action arguments)'.
        at: from the start of the execution, in wall time [s].
        source: the level that proposed a step that was chosen alone; empty for a step of a plan.
    """

    index: int
    step: str
    at: float
    source: str = ''


@dataclass(frozen=True, slots=True)
class ObservedEvent:
    """The steps so far are done, and the world was looked at.

    Attributes:
        at: from the start of the execution, in wall time [s].
        facts: the atoms that held, as PDDL text; None where only the executor knows them.
        unseen: the objects that were out of view, for which the facts are assumed.
        look: the object that was looked at right before; empty behind a step, and at first.
        text: the same in words, where the model reads words.
    """

    done: int
    at: float
    facts: tuple[str, ...] | None = None
    unseen: tuple[str, ...] = ()
    look: str = ''
    text: str = ''


@dataclass(frozen=True, slots=True)
class ResultEvent:
    """The result of the goal; the fields are those of `RunRecord`.

    Attributes:
        facts: the atoms that held at the end, as PDDL text; None when nothing was observed.
    """

    plan: tuple[str, ...]
    plan_source: str
    verdict: Verdict
    steps_done: int
    facts: tuple[str, ...] | None = None
    timings: dict[str, float] = field(default_factory=dict)
    approved_by: str = ''


@dataclass(frozen=True, slots=True)
class EndEvent:
    """How the goal ended, or the run without one."""

    error: ErrorCode
    message: str


@dataclass(frozen=True, slots=True)
class MeasuredEvent:
    """The world at the end against the goal; the fields are those of `RunRecord`."""

    reached: bool | None
    goal: tuple[run.GoalRecord, ...] = ()
    blocks: tuple[run.BlockRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class FilesEvent:
    """The files kept of the run; the fields are those of `RunRecord`."""

    timings: dict[str, float]
    versions: dict[str, str]
    artefacts: tuple[run.ArtefactRecord, ...]


Event = (
    TaskEvent | GoalEvent | StackEvent | PlanEvent | StopEvent | PhaseEvent | StepEvent
    | ObservedEvent | ResultEvent | EndEvent | MeasuredEvent | FilesEvent | PassedEvent
    | UnboundEvent | ApprovalRecord | run.AttemptRecord | run.ReplanRecord | run.AnswerRecord
    | run.UnderstoodRecord | run.ReleaseRecord
)  # fmt: skip

EVENTS: dict[str, type] = {
    'task': TaskEvent,
    'goal': GoalEvent,
    'stack': StackEvent,
    'answer': run.AnswerRecord,
    'understood': run.UnderstoodRecord,
    'attempt': run.AttemptRecord,
    'passed': PassedEvent,
    'unbound': UnboundEvent,
    'replan': run.ReplanRecord,
    'plan': PlanEvent,
    'approval': ApprovalRecord,
    'stop': StopEvent,
    'release': run.ReleaseRecord,
    'phase': PhaseEvent,
    'step': StepEvent,
    'observed': ObservedEvent,
    'result': ResultEvent,
    'end': EndEvent,
    'measured': MeasuredEvent,
    'files': FilesEvent,
}
"""What the entries of a journal are, by their kind; the first one of a run is a 'task'."""

KINDS = {event: kind for kind, event in EVENTS.items()}
"""The kind of each of them."""


def begin(event: TaskEvent) -> run.RunRecord:
    """The record of a run of which nothing but the task is known."""
    return run.RunRecord(
        run_id=event.run_id,
        started=event.started,
        task=event.task,
        model=NO_MODEL,
        cell=event.cell,
        stepwise=event.stepwise,
        site=event.site,
    )


def advance(record: run.RunRecord, event: Event) -> run.RunRecord:
    """The record after an event."""
    if isinstance(event, StackEvent):
        return replace(
            record,
            model=record.model if event.model == NO_MODEL else event.model,
            cell=event.cell or record.cell,
            second_opinion=event.second_opinion or record.second_opinion,
            site=event.site or record.site,
        )
    if isinstance(event, run.AnswerRecord):
        return replace(record, answers=(*record.answers, event))
    if isinstance(event, run.UnderstoodRecord):
        return _with_understood(record, event)
    if isinstance(event, run.AttemptRecord):
        return _with_attempt(record, event)
    if isinstance(event, UnboundEvent):
        return replace(record, unbound=event.rules)
    if isinstance(event, PassedEvent):
        return replace(record, passed=(*record.passed, event.reason))
    if isinstance(event, run.ReplanRecord):
        return replace(record, replans=(*record.replans, event))
    if isinstance(event, run.ReleaseRecord):
        before = record.releases
        if before and before[-1].phase == 'asked':
            before = before[:-1]
        return replace(record, releases=(*before, event))
    if isinstance(event, ApprovalRecord):
        # Planner and executor both write it down.
        known = event in record.approvals
        return record if known else replace(record, approvals=(*record.approvals, event))
    if isinstance(event, PlanEvent):
        return replace(record, plan=event.plan, plan_source=event.plan_source)
    if isinstance(event, StepEvent):
        return _with_step(record, event)
    if isinstance(event, ObservedEvent):
        return _with_observation(record, event)
    if isinstance(event, ResultEvent):
        worlds = record.worlds
        if event.facts is not None and not record.stepwise:
            last = run.WorldRecord(event.steps_done, event.facts)
            worlds = worlds if worlds[-1:] == (last,) else (*worlds, last)
        return replace(
            record,
            plan=event.plan,
            plan_source=event.plan_source,
            verdict=event.verdict,
            steps_done=event.steps_done,
            worlds=worlds,
            approved_by=event.approved_by,
            timings={**record.timings, **event.timings},
        )
    if isinstance(event, EndEvent):
        return replace(record, error_code=event.error, message=event.message)
    if isinstance(event, MeasuredEvent):
        return replace(record, goal=event.goal, blocks=event.blocks, reached=event.reached)
    if isinstance(event, FilesEvent):
        return replace(
            record,
            timings={**record.timings, **event.timings},
            versions=event.versions,
            artefacts=event.artefacts,
        )
    return record  # a goal, a phase or a stop, which are reported nowhere else


def _with_understood(record: run.RunRecord, event: run.UnderstoodRecord) -> run.RunRecord:
    record = replace(record, understood=event)
    if not event.problem:
        return record
    task = replace(
        record.task,
        name=event.name,
        domain_name=event.domain_name,
        domain=event.domain,
        pddl=event.problem,
    )
    return replace(record, task=task)


def _with_attempt(record: run.RunRecord, attempt: run.AttemptRecord) -> run.RunRecord:
    known = {(each.replan, each.number): each for each in (*record.attempts, attempt)}
    record = replace(record, attempts=tuple(each for _, each in sorted(known.items())))
    if not attempt.verdict.ok or record.stepwise:
        return record
    # Known from here on, even if the result never comes.
    return replace(record, plan=attempt.steps, plan_source=attempt.source, verdict=attempt.verdict)


def _with_step(record: run.RunRecord, event: StepEvent) -> run.RunRecord:
    record = replace(
        record, steps=(*record.steps, run.StepRecord(event.index, event.step, event.at, None))
    )
    if not event.source:
        return record
    return replace(record, plan=(*record.plan, event.step), plan_source=event.source)


def _with_observation(record: run.RunRecord, event: ObservedEvent) -> run.RunRecord:
    if event.facts is not None:
        world = run.WorldRecord(event.done, event.facts, event.unseen, event.look, event.text)
        record = replace(record, worlds=(*record.worlds, world))
    if not record.steps or not event.done or event.look:
        return record
    *before, last = record.steps
    last = replace(last, seconds=event.at - last.begun_s)
    done = max(record.steps_done, event.done)
    return replace(record, steps=(*before, last), steps_done=done)

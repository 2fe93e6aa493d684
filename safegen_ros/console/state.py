# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the console knows: the stack, and the goal that was begun last, whoever has sent it.

The messages of the nodes come in, and values that the page is drawn from go out. There is no
drawing and no ROS graph here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from safegen_ros.errors import ErrorCode
from safegen_ros.pddl.model import Problem
from safegen_ros.record.run import AttemptRecord, ReplanRecord
from safegen_ros.robot.pose import Pose
from safegen_ros.ros import conversions, record_conversions
from safegen_ros.stages import ExecutionPhase, PlanningPhase
from safegen_ros.verdict import Verdict

RUN, PLAN, EXECUTE = 'run_task', 'plan_task', 'execute_plan'
"""The actions whose goals are followed."""

MAX_ATTEMPTS = 300
"""Most attempts of a goal that are kept; those before are in its record."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A plan that waits for an operator.

    Attributes:
        goal: id of the goal that it is for.
        digest: by which it is approved; empty where it is not that of task and plan.
        steps: each as '(action arguments)'.
        verdict: of the verifier.
        expires: when it counts as refused, Unix time [s].
        replans: how often the task was planned for anew before.
        request: in plain words, of which a model made the task; empty where there was none.
    """

    goal: str
    digest: str
    steps: tuple[str, ...]
    verdict: Verdict
    expires: float
    replans: int
    request: str = ''

    @property
    def may_be_approved(self) -> bool:
        """Whether it is proved, and the plan of its digest."""
        return bool(self.digest) and self.verdict.ok


@dataclass(frozen=True, slots=True)
class GoalView:
    """One goal, as far as it was told.

    Attributes:
        id: 32 hexadecimal digits.
        action: one of those above.
        ours: whether this console has sent it.
        problems: what is planned for, by the number of the replan that it is for; 0 is the task
            that was asked for. What is not known is not there.
        stage: a stage of `wording.Situation`.
        source: the level that is asked for a plan.
        attempt: its number, from 1.
        max_attempts: how many the model has.
        detail: what was told with the stage.
        attempts: every answer with its verdict.
        plan: the steps that are proved or executed.
        step: how many of them are done.
        moving: whether the step after those is under way.
        replans: each time that the task was planned for anew.
        code: how it ended; None while it goes on.
        message: the reason.
        reading: what a request in words was understood as; empty where there was none.
        question: what has to be said more clearly.
    """

    id: str
    action: str
    ours: bool = False
    problems: Mapping[int, Problem] = field(default_factory=dict)
    stage: str = 'waiting'
    source: str = ''
    attempt: int = 0
    max_attempts: int = 0
    detail: str = ''
    attempts: tuple[AttemptRecord, ...] = ()
    plan: tuple[str, ...] = ()
    step: int = 0
    moving: bool = False
    replans: tuple[ReplanRecord, ...] = ()
    code: ErrorCode | None = None
    message: str = ''
    reading: str = ''
    question: str = ''

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self.code is None

    @property
    def executes(self) -> bool:
        """Whether its plan is executed; the plan of a `plan_task` goal is only proved."""
        return self.action != PLAN

    @property
    def problem(self) -> Problem | None:
        """What is planned for now."""
        return self.problems.get(len(self.replans))

    def with_problem(self, problem: Problem | None, replan: int = 0) -> GoalView:
        """The same with a task, where that is known."""
        if problem is None:
            return self
        return replace(self, problems={**self.problems, replan: problem})


def planned(view: GoalView, progress: Any) -> GoalView:
    """The view after a `PlanningProgress`."""
    if not view.running:
        return view  # the result has overtaken it
    view = replace(
        view,
        stage=_STAGES.get(progress.phase, progress.phase) or view.stage,
        source=progress.source or view.source,
        attempt=progress.attempt_number or view.attempt,
        max_attempts=progress.max_attempts or view.max_attempts,
        detail=progress.detail,
    )
    if progress.phase == PlanningPhase.JUDGED:
        attempt = record_conversions.attempt_record(progress.attempt)
        view = with_attempt(view, attempt)
        if attempt.verdict.ok:
            view = replace(view, stage='preparing')
    elif progress.phase == PlanningPhase.UNDERSTOOD:
        view = replace(view, reading=progress.reading)
    return view


_STAGES = {
    PlanningPhase.TRANSLATED: PlanningPhase.TRANSLATING,
    PlanningPhase.UNDERSTOOD: PlanningPhase.GENERATING,
    PlanningPhase.JUDGED: PlanningPhase.GENERATING,
}
"""The stage that follows the end of a phase; any other phase is the stage itself."""


def with_attempt(view: GoalView, attempt: AttemptRecord) -> GoalView:
    """The view with an attempt more; one that is there already is taken once."""
    if any(known.number == attempt.number for known in view.attempts):
        return view
    kept = sorted((*view.attempts, attempt), key=lambda each: each.number)[-MAX_ATTEMPTS:]
    proved = attempt.steps if attempt.verdict.ok else view.plan
    return replace(view, attempts=tuple(kept), plan=proved)


def executed(view: GoalView, progress: Any) -> GoalView:
    """The view after an `ExecutionProgress`."""
    if not view.running:
        return view
    return replace(
        view,
        stage='rehearsing' if progress.phase == ExecutionPhase.REHEARSING else 'executing',
        step=progress.step,
        moving=progress.phase == ExecutionPhase.MOVING,
        detail=progress.phase,
    )


def awaits(view: GoalView, steps: tuple[str, ...], problem: Problem | None) -> GoalView:
    """The view while a plan waits for an operator."""
    if not view.running:
        return view
    return replace(view.with_problem(problem, len(view.replans)), plan=steps, step=0)


def replanned(view: GoalView, message: Any, problem: Problem | None) -> GoalView:
    """The view after a `Replan`, with what is left of the task."""
    if not view.running:
        return view
    record = record_conversions.replan_record(message)
    view = replace(
        view, stage='replanning', replans=(*view.replans, record), detail=record.reason,
        plan=(), step=0, moving=False,
    )  # fmt: skip
    return view.with_problem(problem, len(view.replans))


def ended(view: GoalView, result: Any) -> GoalView:
    """The view after the result of the goal, of whichever action."""
    for attempt in map(record_conversions.attempt_record, getattr(result, 'attempts', ())):
        view = with_attempt(view, attempt)
    carried_out = result.error_code == ErrorCode.NONE and view.executes and view.plan
    return replace(
        view,
        stage='ended',
        moving=False,
        code=conversions.code_from_msg(result.error_code),
        message=result.error_msg,
        reading=getattr(result, 'reading', '') or view.reading,
        question=getattr(result, 'question', ''),
        step=len(view.plan) if carried_out else view.step,
    )


@dataclass(frozen=True, slots=True)
class StopView:
    """The topic `stopped`; `known` is false before anything was heard."""

    known: bool = False
    stopped: bool = False
    reason: str = ''
    count: int = 0


@dataclass(frozen=True, slots=True)
class PartView:
    """A line of `/diagnostics`: level 0 is OK, 1 a warning, 2 an error, 3 is stale.

    `hardware` is what the node works with, such as the cell of the executor.
    """

    name: str
    level: int
    message: str
    hardware: str = ''


@dataclass(frozen=True, slots=True)
class MonitorView:
    """Where each constraint stands in the observed world, as the validator's monitor says.

    Attributes:
        goal: id of the `execute_plan` goal.
        step: steps that were done in that world.
        standings: pairs of a constraint in PDDL and `pending`, `satisfied` or `violated`.
        reason: why the execution may not go on; empty where it may.
    """

    goal: str = ''
    step: int = 0
    standings: tuple[tuple[str, str], ...] = ()
    reason: str = ''


@dataclass(frozen=True, slots=True)
class Look:
    """The last look at the cell.

    Attributes:
        stamp: by the clock of the cell [s].
        sent: when the executor sent it, Unix time [s].
        heard: when it came, by the monotonic clock [s].
        joints: by name [rad], fingers [m]; empty before the first sample.
        poses: of the blocks, in the frame of the arm.
        facts: ground atoms that held then, as PDDL.
    """

    stamp: float = 0.0
    sent: float = 0.0
    heard: float = 0.0
    joints: Mapping[str, float] = field(default_factory=dict)
    poses: Mapping[str, Pose] = field(default_factory=dict)
    facts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that is known at a moment.

    Attributes:
        goal: the one that was begun last; None before the first.
        pending: the plan that waits for an operator.
        stop: whether anything may move.
        nodes: state of each node of the stack, empty where it does not tell.
        parts: what the nodes say of themselves.
        monitor: the live constraints.
        look: at the cell.
        beat: of the last heartbeat of a sender of a goal, by the monotonic clock [s].
        others: goals that have not ended beside `goal`.
    """

    goal: GoalView | None = None
    pending: Pending | None = None
    stop: StopView = StopView()
    nodes: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, PartView] = field(default_factory=dict)
    monitor: MonitorView = MonitorView()
    look: Look = Look()
    beat: float | None = None
    others: int = 0

    @property
    def waits(self) -> bool:
        """Whether it is the plan of the goal that is shown that waits for an operator."""
        return (
            self.goal is not None and self.pending is not None and self.pending.goal == self.goal.id
        )

    @property
    def robot(self) -> str:
        """What executes: the cell of the executor; empty before the executor has reported."""
        found = [part for name, part in self.parts.items() if 'executor' in name.partition(':')[0]]
        return next((part.hardware for part in found if part.hardware), '')

    @property
    def up(self) -> bool:
        """Whether every node is there and takes work."""
        return bool(self.nodes) and all(state == 'active' for state in self.nodes.values())


class ConsoleState:
    """The snapshot as it changes; any thread may read it and change it."""

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._snapshot = Snapshot()

    @property
    def snapshot(self) -> Snapshot:
        """What is known now."""
        return self._snapshot

    def wait(self, seen: Snapshot, seconds: float) -> Snapshot:
        """The snapshot as soon as it is another one than this; this one after a time [s]."""
        with self._lock:
            self._lock.wait_for(lambda: self._snapshot is not seen, seconds)
            return self._snapshot

    def set(self, **values: Any) -> None:
        """Replaces fields of the snapshot."""
        self.change(lambda snapshot: replace(snapshot, **values))

    def change(self, change: Callable[[Snapshot], Snapshot]) -> None:
        """Replaces the snapshot by what a function makes of it; that must not take long."""
        with self._lock:
            self._snapshot = change(self._snapshot)
            self._lock.notify_all()

    def goal(self, id: str, change: Callable[[GoalView], GoalView]) -> None:
        """Changes the view of a goal, if that is the one that is shown."""

        def changed(snapshot: Snapshot) -> Snapshot:
            if snapshot.goal is None or snapshot.goal.id != id:
                return snapshot
            return replace(snapshot, goal=change(snapshot.goal))

        self.change(changed)

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The state that the console knows: the stack, and the goal that was begun last, from any sender.

The events of the nodes come in and are folded as by everybody who follows a run; values that the
page is drawn from go out. There is no drawing and no ROS graph here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from safegen_msgs.msg import PlanningProgress
from safegen_ros.errors import ErrorCode
from safegen_ros.pddl.model import Problem
from safegen_ros.record import events
from safegen_ros.record import run as records
from safegen_ros.record.present.runs import problem_of_attempt
from safegen_ros.record.run_events import RunEvents
from safegen_ros.robot.pose import Pose
from safegen_ros.stages import ExecutionPhase, PlanningPhase
from safegen_ros.verdict import Verdict

RUN, PLAN, EXECUTE = 'run_task', 'plan_task', 'execute_plan'
"""The actions whose goals are followed."""

_LOST = 'the node that held the goal is gone: look at the cell before the next one'


@dataclass(frozen=True, slots=True)
class Pending:
    """A plan that waits for an operator.

    Attributes:
        goal: id of the goal that it is for.
        digest: by which it is approved; empty where it is not that of task and plan.
        steps: each as '(action arguments)'.
        expires: when it counts as refused, Unix time [s].
        problem: that it solves; None where that is not known here.
        request: in plain words, of which a model made the task; empty where there was none.
    """

    goal: str
    digest: str
    steps: tuple[str, ...]
    verdict: Verdict
    expires: float
    problem: Problem | None = None
    request: str = ''

    @property
    def may_be_approved(self) -> bool:
        """Whether it is proved, and the plan of its digest."""
        return bool(self.digest) and self.verdict.ok


@dataclass(frozen=True, slots=True)
class GoalView:
    """One goal, as far as it was reported.

    Attributes:
        id: 32 hexadecimal digits.
        record: of its run, folded from its events.
        action: one of those above.
        ours: whether this console has sent it.
        stage: a stage of `wording.Situation`.
        source: the level that is asked for a plan.
        attempt: its number, from 1.
        max_attempts: how many the model has.
        moving: whether the step after those that are done is under way.
        running: whether it has not ended.
    """

    id: str
    record: records.RunRecord
    action: str = RUN
    ours: bool = False
    stage: str = 'waiting'
    source: str = ''
    attempt: int = 0
    max_attempts: int = 0
    moving: bool = False
    running: bool = True

    @property
    def executes(self) -> bool:
        """Whether its plan is executed; the plan of a `plan_task` goal is only proved."""
        return self.action != PLAN

    @property
    def problem(self) -> Problem | None:
        """The goal of the planner now."""
        return problem_of_attempt(self.record, len(self.record.replans))

    @property
    def plan(self) -> tuple[str, ...]:
        """The steps that are proved or executed; none during a replan."""
        replans = len(self.record.replans)
        proved = [each.replan for each in self.record.attempts if each.verdict.ok]
        return () if replans and replans not in proved else self.record.plan

    @property
    def step(self) -> int:
        """How many steps of that plan are done."""
        if not self.running and self.executes and self.record.error_code is ErrorCode.NONE:
            return len(self.plan)
        before = sum(each.steps_done for each in self.record.replans)
        return max(0, self.record.steps_done - before)

    @property
    def code(self) -> ErrorCode | None:
        """How it ended; None while it goes on."""
        return None if self.running else self.record.error_code


def after(view: GoalView, event: events.Event) -> GoalView:
    """The view after an event of its run."""
    view = replace(view, record=events.advance(view.record, event))
    if isinstance(event, events.GoalEvent):
        return replace(view, action=event.action) if event.id == view.id else view
    if isinstance(event, records.AttemptRecord):
        return replace(view, stage='preparing' if event.verdict.ok else 'generating')
    if isinstance(event, records.AnswerRecord | records.UnderstoodRecord):
        return replace(view, stage='translating')
    if isinstance(event, events.PhaseEvent):
        rehearsing = event.phase == ExecutionPhase.REHEARSING
        return replace(view, stage='rehearsing' if rehearsing else 'executing', moving=False)
    if isinstance(event, events.StepEvent):
        return replace(view, stage='executing', moving=True)
    if isinstance(event, events.ObservedEvent):
        return replace(view, moving=False)
    if isinstance(event, records.ReplanRecord):
        return replace(view, stage='replanning', moving=False)
    if isinstance(event, events.EndEvent):
        return replace(view, stage='ended', moving=False, running=False)
    return view


def asked(view: GoalView, progress: PlanningProgress) -> GoalView:
    """The view with the planner at work, by a `PlanningProgress`, which is not an event of the run.

    It is not ordered with the events: once a plan is proved, it says nothing new.
    """
    late = not view.running or view.stage in ('preparing', 'executing')
    if late and not (view.running and view.record.stepwise and not view.moving):
        return view
    return replace(
        view,
        stage=progress.phase if progress.phase in _ASKED else view.stage,
        source=progress.source or view.source,
        attempt=progress.attempt_number or view.attempt,
        max_attempts=progress.max_attempts or view.max_attempts,
    )


_DONE = (PlanningPhase.TRANSLATED, PlanningPhase.UNDERSTOOD, PlanningPhase.JUDGED)
_ASKED = tuple(phase for phase in PlanningPhase if phase not in _DONE)
"""Phases of planning in which somebody is at work: each is a stage."""


@dataclass(frozen=True, slots=True)
class StopView:
    """The topic `stopped`; `known` is false before anything was heard, `since` Unix time [s]."""

    known: bool = False
    stopped: bool = False
    reason: str = ''
    count: int = 0
    since: float = 0.0


@dataclass(frozen=True, slots=True)
class PartView:
    """A line of `/diagnostics`: level 0 is OK, 1 a warning, 2 an error, 3 is stale.

    `hardware` is what the node works with, such as the cell of the executor.
    """

    name: str
    level: int
    message: str
    hardware: str = ''

    @property
    def node(self) -> str:
        """The name of its node, without a namespace."""
        return self.name.partition(':')[0].rpartition('/')[2]


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
        nodes: state of each node of the stack, empty where it does not report one.
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
        parts = self.parts.values()
        return next((p.hardware for p in parts if p.node == 'executor' and p.hardware), '')

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
        """The known state now."""
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
        """Replaces the snapshot by the result of a function, which must not take long."""
        with self._lock:
            self._snapshot = change(self._snapshot)
            self._lock.notify_all()


class Goals:
    """The goals of a stack, each folded from its events; the one that was begun last is shown.

    Any thread may use it.

    Args:
        at: where that one is shown.
    """

    def __init__(self, at: ConsoleState) -> None:
        self._at = at
        self._lock = threading.RLock()
        self._views: dict[str, GoalView] = {}
        self._ours: set[str] = set()
        self._shown = ''
        self._events = RunEvents(self._note)

    def take(self, node: str, goal: str, event: events.Event) -> None:
        """Takes an event that a node has published."""
        with self._lock:
            self._events.take(goal, event)
            # An execution beside a `run_task` goal is taken for one that this leads to.
            alone = node == 'planner' or not any(
                view.running and view.action == RUN for view in self._views.values()
            )
            if isinstance(event, events.TaskEvent) and alone and not self._events.run_of(goal):
                self._events.claim(goal)

    def _note(self, run: str, event: events.Event) -> None:
        if isinstance(event, events.TaskEvent):
            view = GoalView(run, events.begin(event), ours=run in self._ours)
            shown = self._views.get(self._shown)
            # The history of one node may come behind that of the other.
            if shown is None or event.started >= shown.record.started:
                self._shown = run
        elif run in self._views:
            view = after(self._views[run], event)
        else:
            return
        self._views[run] = view
        if isinstance(event, events.GoalEvent) and event.id != run:
            self._views.pop(event.id, None)
            self._shown = run if self._shown == event.id else self._shown
        for id in [id for id, view in self._views.items() if not view.running]:
            if id != self._shown:
                del self._views[id]
                self._events.forget(id)
        self._show()

    def asked(self, id: str, progress: PlanningProgress) -> None:
        """Records the planner at work for a goal."""
        with self._lock:
            if id in self._views:
                self._views[id] = asked(self._views[id], progress)
                self._show()

    def sent(self, id: str) -> None:
        """Takes in that this console has sent a goal; its first event may have come before."""
        with self._lock:
            self._ours.add(id)
            if id in self._views:
                self._views[id] = replace(self._views[id], ours=True)
                self._show()

    def leave(self) -> None:
        """Shows a goal that has ended no longer: the next task begins, or the stack was reset."""
        with self._lock:
            view = self._views.get(self._shown)
            if view is not None and not view.running:
                self._shown = ''
                self._views.pop(view.id)
                self._events.forget(view.id)
                self._show()

    def lose(self, there: Collection[str]) -> None:
        """Ends the goals whose node is gone: no report of their end will come."""
        with self._lock:
            for id, view in list(self._views.items()):
                node = 'executor' if view.action == EXECUTE else 'planner'
                if view.running and node not in there:
                    self._note(id, events.EndEvent(ErrorCode.SERVER_LOST, _LOST))

    def _show(self) -> None:
        running = [v for v in self._views.values() if v.running and v.action != EXECUTE]
        shown, others = self._views.get(self._shown), max(0, len(running) - 1)
        self._at.set(goal=shown, others=others)

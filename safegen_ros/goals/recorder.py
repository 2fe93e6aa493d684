# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""One run as it is written down: the journal while it happens, then recording, video, report."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any

from rcl_interfaces.msg import ParameterValue
from rcl_interfaces.srv import GetParameters
from rclpy.client import Client as ServiceClient
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState

from safegen_msgs.action import PlanTask, RunTask
from safegen_msgs.msg import WorldState
from safegen_ros.client import Client, Goal
from safegen_ros.errors import ErrorCode
from safegen_ros.goals.request import CLIENT, GoalCheck, TranslatedRequest, check_facts, check_goal
from safegen_ros.paths import data_path, share_dir
from safegen_ros.pddl.plan import Plan
from safegen_ros.record import events
from safegen_ros.record import run as records
from safegen_ros.record.journal import JOURNAL
from safegen_ros.record.mcap_writer import STACK_TOPICS, McapRecorder, unsubscribe
from safegen_ros.record.present.report import write_report
from safegen_ros.record.run_events import RunEvents
from safegen_ros.record.run_log import RunLog, task_record
from safegen_ros.robot.arms.model import JOINT_NAMES
from safegen_ros.robot.scene import load_scene
from safegen_ros.ros import conversions, qos, record_conversions
from safegen_ros.ros.calls import answer_of
from safegen_ros.ros.record_conversions import hear_events
from safegen_ros.ros.stack_state import no_stack
from safegen_ros.sync import Closing
from safegen_ros.tasks.task import ActionTask

MATCH_TIMEOUT_S = 5.0
"""How long the recorder may take to find the topics, and to get their last messages [s]."""

ANSWER_S = 10.0
"""How long a node of the stack may take to answer [s]."""

_JOINTS = 'joint_states'
_OF_ARM = (_JOINTS, 'robot_description')


Show = Callable[[events.Event, records.RunRecord], None]


class RunStage(Enum):
    """How far a run has come; the value says what an interruption means there."""

    STARTING = 'no goal had been sent: nothing moved'
    SENDING = (
        'the goal was being sent, and is cancelled if it was accepted: look at the cell before '
        'the next one'
    )
    RUNNING = (
        'the goal was cancelled, but its end was not awaited: look at the cell before the next one'
    )
    ENDED = 'the goal had ended, but the world was not compared with it'


class RunRecorder(Closing):
    """Follows one `RunTask` goal and keeps its record.

    The events of the nodes come in the client's thread and all else in the caller's, so each change
    of the record is made under the lock.

    Args:
        source: the file that the task came from.
        domain_text: the domain as it was sent; empty for a built-in one.
        spoken: the words that the task was made of, where it was.
    """

    def __init__(
        self,
        folder: Path,
        task: ActionTask,
        source: str,
        domain_text: str,
        spoken: TranslatedRequest | None = None,
        stepwise: bool = False,
    ) -> None:
        self.folder = folder
        self.stage = RunStage.STARTING
        self.joints: tuple[float, ...] = ()
        self.recording_error = ''
        self.by_hand = False
        self.noted: Show = lambda event, record: None
        """Told each event once it is on the disk, with the record that has it."""
        self._changed = threading.Condition()
        self._stamp = -1.0
        self._goal = ''
        self._events = RunEvents(self._take)
        self._closed = False
        self.scene = load_scene()
        record = task_record(task, source, domain_text) if spoken is None else spoken.task
        self._log = RunLog(folder, record, stepwise=stepwise)
        for event in () if spoken is None else spoken.events:
            self._log.note(event)

    @property
    def record(self) -> records.RunRecord:
        """All that is written down."""
        return self._log.record

    @contextmanager
    def connected(self, client: Client) -> Iterator[None]:
        """Follows the events of the stack, and records its topics while it is open.

        Raises:
            SafegenError: there is no stack here (`SERVER_LOST`).
        """
        self._ask_cell(client)
        heard: list[Subscription[Any]] = [*hear_events(client.node, self._heard_event)]
        if not self.symbolic:
            joints = self._heard_joints
            heard.append(client.node.create_subscription(JointState, _JOINTS, joints, qos.SAMPLES))
        topics = tuple(t for t in STACK_TOPICS if t.name not in _OF_ARM or not self.symbolic)
        recorder = McapRecorder(client.node, topics, self.folder / 'run.mcap')
        try:
            with recorder:
                self._wait(lambda: not recorder.unmatched(), MATCH_TIMEOUT_S)
                yield
        finally:
            for subscription in heard:
                unsubscribe(client.node, subscription)
            if recorder.error is not None:
                self.recording_error = f'ended early: {recorder.error}'

    def _ask_cell(self, client: Client) -> None:
        asked = ['cell', 'world', 'scene_file']
        cell, world, file = (v.string_value for v in _parameters(client, 'executor', asked))
        self._note(events.StackEvent(events.NO_MODEL, records.cell_name(cell, world)))
        if not self.symbolic:  # before anything moves: it may not be on this computer
            self.scene = load_scene(file and data_path(file))

    @property
    def symbolic(self) -> bool:
        """Whether the stack has a symbolic cell, where nothing moves and nothing is measured."""
        return self.record.cell == records.SYMBOLIC

    def _heard_event(self, node: str, goal: str, event: events.Event) -> None:
        with self._changed:
            if not self._closed and self.stage is not RunStage.ENDED:
                self._events.take(goal, event)
            self._changed.notify_all()

    def _take(self, run: str, event: events.Event) -> None:
        """Takes in an event of this run; its end is what the result says."""
        if isinstance(event, events.TaskEvent):
            self._note(events.StackEvent(events.NO_MODEL, event.cell, site=event.site))
        elif isinstance(event, events.GoalEvent) and event.id == run:
            pass  # written down when the goal was accepted
        elif not isinstance(event, events.ResultEvent | events.MeasuredEvent | events.EndEvent):
            self._note(event)

    def sent(self, task: ActionTask, plan: Plan) -> None:
        """Writes down a plan that somebody else wrote, before it is sent."""
        steps, verdict = tuple(map(str, plan.steps)), task.verify(str(plan))
        self.by_hand = True
        self._note(records.AttemptRecord(1, CLIENT, '\n'.join(steps), steps, verdict, 0.0))

    def accepted(self, goal: str) -> None:
        """Writes down the id of the goal, by which the nodes know it."""
        with self._changed:
            self._note(events.GoalEvent('execute_plan' if self.by_hand else 'run_task', goal))
            self.stage = RunStage.RUNNING
            self._goal = goal
            self._events.claim(goal)

    def finish(self, result: RunTask.Result, interrupted: bool = False) -> None:
        """Takes in the result of the goal; what it says counts more than what was heard before.

        Args:
            interrupted: whether it is the answer to a cancel.
        """
        self._wait(lambda: self._events.ended(self._goal), MATCH_TIMEOUT_S)
        with self._changed:
            self.stage = RunStage.ENDED
            self._note(record_conversions.result_event(result, result.plan))
        code = conversions.code_from_msg(result.error_code)
        self.end(code, _cancelled(code, result) if interrupted else result.error_msg)
        if result.final_state.objects and not self.symbolic:
            self._await_last_samples(result)

    def _await_last_samples(self, result: RunTask.Result) -> None:
        """Waits for the joints of the moment of the result; without them there are none at all."""
        last = conversions.seconds_of(result.final_state.header.stamp)
        self._wait(lambda: self._stamp >= last, MATCH_TIMEOUT_S)
        with self._changed:
            if self._stamp < last:
                self.joints = ()

    def end(self, code: ErrorCode, message: str) -> None:
        """Takes in how the goal ended."""
        self._note(events.EndEvent(code, message))

    @property
    def known(self) -> bool:
        """Whether it is known how the goal ended: by an error, or by a look at the world."""
        failed = self.record.error_code is not ErrorCode.NONE
        return self.stage is RunStage.ENDED and (failed or self.record.reached is not None)

    def interrupted(self) -> None:
        """Records that the user has left, if no result says how the run ended."""
        self.end(ErrorCode.UNKNOWN, f'interrupted by the user: {self.stage.value}')

    def look(self, task: ActionTask, world: WorldState) -> None:
        """Compares the world of the result with the goal of a task."""
        if task.problem is not None and not self.symbolic:
            self.measured(check_goal(task.problem, world, self.joints, self.scene))
        else:
            self.measured(check_facts(task, world))

    def measured(self, check: GoalCheck) -> None:
        """Takes in the comparison of the world at the end with the goal."""
        goal = tuple(records.GoalRecord(text, held) for text, held in check.conjuncts)
        if check.problem:
            goal = (records.GoalRecord(check.problem, False),)
        blocks = tuple(
            records.BlockRecord(name, pose.position, pose.orientation)
            for name, pose in sorted(check.poses.items())
        )
        self._note(events.MeasuredEvent(check.reached, goal, blocks))

    def stop_listening(self) -> None:
        """Leaves out what is heard later."""
        with self._changed:
            self._closed = True

    def keep(self, seconds: float, *more: records.ArtefactRecord) -> Path:
        """Writes down which files there are, how long all took [s] and what made them.

        Returns:
            The report, which is written, too.
        """
        files = [records.ArtefactRecord('journal', JOURNAL)]
        if (self.folder / 'run.mcap').exists():
            files.append(records.ArtefactRecord('recording', 'run.mcap', self.recording_error))
        made_by = {**records.versions(), 'commit': records.source_commit(share_dir()) or 'unknown'}
        self._note(events.FilesEvent({'whole run': seconds}, made_by, (*files, *more)))
        return write_report(self.record, self.folder)

    def close(self) -> None:
        """Closes the journal; harmless when repeated."""
        with self._changed:
            self._closed = True
            self._log.close()

    def _note(self, event: events.Event) -> None:
        with self._changed:
            self._log.note(event)
            self._changed.notify_all()
            self.noted(event, self.record)

    def _heard_joints(self, message: JointState) -> None:
        angles = dict(zip(message.name, message.position, strict=False))
        with self._changed:
            stamp = message.header.stamp
            self._stamp = stamp.sec + stamp.nanosec * 1e-9
            complete = all(name in angles for name in JOINT_NAMES)
            self.joints = tuple(angles[name] for name in JOINT_NAMES) if complete else ()
            self._changed.notify_all()

    def _wait(self, condition: Callable[[], bool], timeout_s: float) -> None:
        """Waits for a condition that messages or discovery make true, no longer than that."""
        deadline = time.monotonic() + timeout_s
        with self._changed:
            while not condition() and time.monotonic() < deadline:
                self._changed.wait(0.05)


def planned(
    client: Client, start: Callable[[], Goal[PlanTask.Result]], show: Show
) -> tuple[PlanTask.Result, tuple[events.Event, ...]]:
    """The result of a goal that is only planned, and its events.

    Args:
        show: told each event as it comes, with the record of the run up to it.
    """
    changed, told = threading.Condition(), list[events.Event]()
    record: records.RunRecord | None = None

    def note(run: str, event: events.Event) -> None:
        nonlocal record
        if isinstance(event, events.TaskEvent):
            record = events.begin(event)
        elif record is not None:
            record = events.advance(record, event)
            show(event, record)
        told.append(event)

    goals = RunEvents(note)

    def heard(node: str, goal: str, event: events.Event) -> None:
        with changed:
            goals.take(goal, event)
            changed.notify_all()

    subscriptions = hear_events(client.node, heard)
    try:
        goal = start()
        with changed:
            goals.claim(goal.id)
        result = goal.result()
        with changed:
            changed.wait_for(lambda: goals.ended(goal.id), MATCH_TIMEOUT_S)
    finally:
        for subscription in subscriptions:
            unsubscribe(client.node, subscription)
    return result, tuple(told)


def _parameters(client: Client, node: str, names: list[str]) -> list[ParameterValue]:
    """Values of parameters of a node of the stack; raises `SafegenError` when there is none."""
    parameters: ServiceClient[GetParameters.Request, GetParameters.Response]
    parameters = client.node.create_client(GetParameters, f'{node}/get_parameters')
    if not parameters.wait_for_service(timeout_sec=MATCH_TIMEOUT_S):
        raise no_stack(client.node.get_namespace())
    answer = answer_of(
        parameters,
        GetParameters.Request(names=names),
        ANSWER_S,
        f'node {node}, asked for its parameters,',
        ErrorCode.SERVER_LOST,
    )
    return list(answer.values)


def _cancelled(code: ErrorCode, result: RunTask.Result) -> str:
    """How a goal ended that the user has interrupted; empty when it was done all the same."""
    if code is ErrorCode.PLANNING_CANCELED:
        where = 'the goal was cancelled while planning: nothing moved'
    elif code is ErrorCode.EXECUTION_CANCELED:
        where = (
            f'the goal was cancelled and its execution has stopped, with {result.steps_done} of '
            f'{len(result.plan.steps)} steps done'
        )
    else:
        where = result.error_msg
    return f'interrupted by the user: {where}' if where else ''

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The entries of a node about its goals, written before they are published."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from rclpy.publisher import Publisher

from safegen_msgs import msg
from safegen_ros.errors import ErrorCode, RecordError, SafegenError
from safegen_ros.paths import runs_dir
from safegen_ros.record.events import (
    EndEvent,
    Event,
    GoalEvent,
    MeasuredEvent,
    StopEvent,
    TaskEvent,
)
from safegen_ros.record.node_journal import NodeJournal
from safegen_ros.record.run import ReleaseRecord
from safegen_ros.ros import qos, record_conversions
from safegen_ros.ros.actions import GoalHandle
from safegen_ros.ros.lifecycle import ManagedNode
from safegen_ros.tasks.site import Site

EVENTS_TOPIC = '~/events'
"""Where each entry of the journal is published, once it is on the disk."""


class GoalJournal:
    """The journal of a node while that is configured; any thread may use it.

    Events on the disk are published: a follower of a run folds the same events as a reader.

    Every method raises `SafegenError` (`JOURNAL_FAILED`) where something could not be written. What
    it was about must not be done then.
    """

    def __init__(self, node: ManagedNode, site: Callable[[], Site]) -> None:
        self._node, self._site = node, site
        self._file: NodeJournal | None = None
        self._owed: deque[tuple[str, EndEvent]] = deque()
        self._paying = threading.Lock()
        self._publishing = threading.Lock()
        self._events: Publisher[msg.RunEvent] | None = None

    def open(self, folder: str) -> None:
        """Begins a new file below a folder; empty for that of all runs."""
        root = Path(folder).expanduser().absolute() if folder else runs_dir()
        namespace = self._node.get_namespace().rstrip('/').replace('/', '.')
        stack = f'{self._node.context.get_domain_id()}{namespace}'
        with _named():
            self._file = NodeJournal(root, f'{stack}.{self._node.get_name()}')
        if self._events is None:
            self._events = self._node.create_publisher(msg.RunEvent, EVENTS_TOPIC, qos.RECORDED)
        self._node.get_logger().info(f'journal: {self._file.path}')

    def close(self) -> None:
        """Ends the file; harmless when repeated."""
        with suppress(SafegenError):
            self._pay()
        self._owed.clear()
        file, self._file = self._file, None
        if file is not None:
            with _named():
                file.close()

    def begin(
        self,
        goal_handle: GoalHandle,
        action: str,
        *events: Event,
        cell: str = '',
        stepwise: bool = False,
    ) -> None:
        """Writes down that a goal came.

        Args:
            goal_handle: of the goal, whose request has a task.
            events: what else is known by now.
            cell: what will execute it, where that is known.
            stepwise: whether it is worked on step by step.
        """
        now, goal = datetime.now(timezone.utc), record_conversions.goal_id_text(goal_handle.goal_id)
        task = record_conversions.received_task(goal_handle.request.task, f'a client of {action}')
        run = f'{now:%Y%m%dT%H%M%SZ}-{goal[:8]}'
        site = self._site().digest
        begun = TaskEvent(run, now.isoformat(timespec='seconds'), task, cell, stepwise, site)
        self._write(goal, begun, GoalEvent(action, goal), *events)

    def note(self, goal_handle: GoalHandle, *events: Event) -> None:
        """Writes down what happens to a goal."""
        self._write(record_conversions.goal_id_text(goal_handle.goal_id), *events)

    def end(
        self,
        goal_handle: GoalHandle,
        result: Any,
        plan: msg.Plan,
        code: ErrorCode,
        message: str,
    ) -> None:
        """Writes down how a goal ended, as its client is about to be told."""
        events: list[Event] = [record_conversions.result_event(result, plan)]
        if code is ErrorCode.NONE and hasattr(result, 'final_state'):
            # An execution succeeds only when the goal was observed to hold.
            blocks = record_conversions.block_records(result.final_state)
            events.append(MeasuredEvent(True, blocks=blocks))
        self.note(goal_handle, *events, EndEvent(code, message))

    def owe(self, goal_handle: GoalHandle, code: ErrorCode, message: str) -> None:
        """Keeps an end that the disk did not take, and writes it down once it takes anything."""
        if self._file is not None:
            goal = record_conversions.goal_id_text(goal_handle.goal_id)
            self._owed.append((goal, EndEvent(code, message)))

    def stop(self, stopped: bool, reason: str, since: float) -> None:
        """Writes down a stop or a reset; nothing while the node is not configured, and idle.

        Args:
            stopped: which of the two.
            since: when, since the epoch [s].
        """
        if self._file is not None:
            time = datetime.fromtimestamp(since, timezone.utc).isoformat(timespec='microseconds')
            self._write('', StopEvent(stopped, reason, time))

    def release(self, phase: str, said: str = '') -> None:
        """Writes down that the tool lets go; the fields are those of `ReleaseRecord`."""
        now = datetime.now(timezone.utc).isoformat(timespec='microseconds')
        self._write('', ReleaseRecord(phase, said, now))

    def _write(self, goal: str, *events: Event) -> None:
        self._pay()
        self._put(goal, *events)

    def _pay(self) -> None:
        with self._paying:
            while self._owed:
                self._put(*self._owed[0])
                self._owed.popleft()

    def _put(self, goal: str, *events: Event) -> None:
        with _named():
            if self._file is None or self._events is None:
                raise RecordError('the journal of the node is closed, as the node is inactive')
            with self._publishing:  # in the order in which they are written down
                for entry in self._file.write(goal, *events):
                    if self._node.context.ok():
                        self._events.publish(record_conversions.entry_to_msg(entry))


@contextmanager
def _named() -> Iterator[None]:
    """Errors of a journal, with their code."""
    try:
        yield
    except RecordError as error:
        raise SafegenError(error.message, ErrorCode.JOURNAL_FAILED) from error

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The threads of a session that wait for the arm or the client, so that its reader need not."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable
from typing import Any

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.robot.agent import messages
from safegen_ros.robot.agent.messages import AgentError

_MAX_UNWRITTEN = 1000
_MAX_WAITING = 32


class Writer:
    """Sends lines and heartbeats; a sender never waits for the client."""

    def __init__(self, sink: int) -> None:
        self.failed = False
        self._sink = sink
        self._lines: queue.Queue[bytes | None] = queue.Queue(_MAX_UNWRITTEN)
        self._thread = threading.Thread(target=self._write, name='writer', daemon=True)
        self._thread.start()

    def say(self, message: dict[str, Any]) -> None:
        """Sends a message, some time."""
        try:
            self._lines.put_nowait(messages.encode(message))
        except queue.Full:
            self.failed = True

    def answer(self, number: int, result: Any = None) -> None:
        """Sends the result of a request."""
        self.say({'id': number, 'ok': True, 'result': result})

    def refuse(self, error: AgentError) -> None:
        """Sends the reason why a request has no result."""
        self.say({'id': error.id, 'ok': False, 'code': error.code, 'message': error.message})

    def end(self, timeout_s: float) -> None:
        """Writes the remaining lines, if the client takes them in this time [s]."""
        try:
            self._lines.put_nowait(None)
        except queue.Full:
            return
        self._thread.join(timeout_s)

    def _write(self) -> None:
        beat = messages.encode({'event': 'beat'})
        while True:
            try:
                line = self._lines.get(timeout=messages.BEAT_S)
            except queue.Empty:
                line = beat
            if line is None:
                return
            try:
                while line:
                    line = line[os.write(self._sink, line) :]
            except OSError:
                self.failed = True
                return


class Lane:
    """A thread that works requests off one by one, and answers them."""

    def __init__(self, writer: Writer, name: str) -> None:
        self._writer = writer
        self._work: queue.Queue[tuple[int, Callable[[], Any]] | None] = queue.Queue()
        self._unfinished = 0
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def busy(self) -> bool:
        """Whether something waits or is under way."""
        with self._lock:
            return self._unfinished > 0

    def submit(self, number: int, work: Callable[[], Any]) -> None:
        """Has a request worked off; raises `AgentError` (`busy`) where too many wait."""
        with self._lock:
            if self._unfinished >= _MAX_WAITING:
                raise AgentError('busy', f'{_MAX_WAITING} requests wait: send them more slowly')
            self._unfinished += 1
        self._work.put((number, work))

    def end(self) -> None:
        """Ends after the submitted work, and waits for it."""
        self._work.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (item := self._work.get()) is not None:
            number, work = item
            try:
                answer, error = of_arm(work), None
            except AgentError as refused:
                refused.id = number
                answer, error = None, refused
            # Before the answer: who has it may send the next request at once.
            with self._lock:
                self._unfinished -= 1
            if error is None:
                self._writer.answer(number, answer)
            else:
                self._writer.refuse(error)


def of_arm(work: Callable[[], Any]) -> Any:
    """The result of something that the arm does; its errors become those of the protocol."""
    try:
        return work()
    except AgentError:
        raise
    except SafegenError as error:
        raise AgentError(f'robot:{error.code.name}', error.message) from error
    except Exception as error:
        what = f'{type(error).__name__}: {error}: look at the arm before the next goal'
        raise AgentError(f'robot:{ErrorCode.ROBOT_FAULT.name}', what) from error

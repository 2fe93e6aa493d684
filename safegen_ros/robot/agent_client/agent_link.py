# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""One conversation with an agent: requests, answers, events and heartbeats.

It ends once and for all when anything about it is in doubt: the agent holds the arm then.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from typing import Any

from safegen_ros.errors import Canceled, ErrorCode, RobotError
from safegen_ros.robot.agent import messages
from safegen_ros.robot.agent_client.channel import SEND_TIMEOUT_S, AgentAddress, Channel
from safegen_ros.schema import NotJsonError, SchemaReader, json_object
from safegen_ros.sync import Closing, Deadline

#: The agent is given up after this much silence [s], or after twice that which it bears of this
#: end, where that is longer: a slow network is slow both ways.
LINK_TIMEOUT_S = 1.0
#: Time for the agent to start and say hello [s].
HELLO_TIMEOUT_S = 20.0
#: Characters of the agent's standard error that are kept.
_LAST_WORDS = 1000

READER = SchemaReader('the answer of the agent', RobotError)
"""The reader of the messages of an agent."""


@dataclass(frozen=True, slots=True)
class _Hello:
    event: str
    version: int
    limits: Mapping[str, tuple[tuple[float, float], ...]]


@dataclass(frozen=True, slots=True)
class _End:
    event: str
    reason: messages.Word


@dataclass(frozen=True, slots=True)
class _Result:
    id: int
    ok: bool
    result: Any


@dataclass(frozen=True, slots=True)
class _Refusal:
    id: int | None
    ok: bool
    code: messages.Word
    message: str


class AgentLink(Closing):
    """A running agent that has said hello.

    Args:
        on_sample: called with an event `sample`, in a thread of this object, whenever one comes; a
            `RobotError` of it ends the link.

    Raises:
        RobotError: `ARM_UNREACHABLE`, with the cure.
    """

    def __init__(self, address: AgentAddress, on_sample: Callable[[dict[str, Any]], None]) -> None:
        self.address = address
        #: Why the link ended; empty while it lives.
        self.lost = ''
        self._on_sample = on_sample
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._numbers = itertools.count(1)
        self._pending: dict[int, Future[Any]] = {}
        self._hello: Future[dict[str, Any]] = Future()
        self._last_words = ''
        self._ended = threading.Event()
        try:
            self.channel: Channel = address.open()
        except OSError as error:
            raise self.unreachable(f'the agent cannot be started: {error}') from error
        for work in (self._read, self._beat):
            threading.Thread(target=work, name=f'agent {work.__name__}', daemon=True).start()
        try:
            hello = self._greet()
        except BaseException:
            self.lose('it was not taken up')
            raise
        #: What the agent said first: `version` and `limits`.
        self.hello = hello

    def ask(self, request: dict[str, Any], timeout_s: float) -> Any:
        """Sends a request, and waits for its answer.

        Raises:
            RobotError: the agent or its arm refused it; `ARM_UNREACHABLE` when there is no link, or
                no answer in time, which ends the link.
            Canceled: the arm was stopped.
        """
        number = next(self._numbers)
        future: Future[Any] = Future()
        with self._lock:
            if self.lost:
                raise self.unreachable(self.lost)
            self._pending[number] = future
        self._send({**request, 'id': number})
        try:
            return future.result(timeout_s)
        except FutureTimeoutError:
            self.lose(f'no answer to {request["op"]} came within {timeout_s:g} s')
            raise self.unreachable(self.lost) from None
        finally:
            with self._lock:
                self._pending.pop(number, None)

    def lose(self, why: str) -> None:
        """Ends the link; pending answers become errors. Returns at once."""
        with self._lock:
            if self.lost:
                return
            self.lost = why
            for future in (*self._pending.values(), self._hello):
                if not future.done():
                    future.set_exception(self.unreachable(why))
        self._ended.set()
        # Cutting may wait for a thread of paramiko, and a stop must not wait.
        threading.Thread(target=self.channel.cut, daemon=True).start()

    def close(self) -> None:
        """Says goodbye; the agent holds and releases the arm."""
        with contextlib.suppress(RobotError, Canceled):  # cutting the link says the same
            self.ask({'op': 'close'}, SEND_TIMEOUT_S)
        self.lose('it was closed')

    def unreachable(self, what: str) -> RobotError:
        """The error for a link that is not there."""
        return RobotError(
            f'{self.address}: the link to the agent of the arm is lost: {what}; the agent holds '
            'the arm when its client is silent: look at the arm, its cable or network and power',
            ErrorCode.ARM_UNREACHABLE,
        )

    def _greet(self) -> dict[str, Any]:
        try:
            hello = self._hello.result(HELLO_TIMEOUT_S)
        except FutureTimeoutError:
            raise self.unreachable(f'no hello came within {HELLO_TIMEOUT_S:g} s') from None
        except RobotError as error:
            raise RobotError(
                f'{self.address}: safegen-agent does not run: {self.lost}: {self.address.cure}',
                error.code,
            ) from error
        if hello.get('version') != messages.VERSION:
            raise self.unreachable(
                f'the agent speaks version {hello.get("version")} of the protocol, and this is '
                f'{messages.VERSION}: install the same version of safegen_ros at both ends'
            )
        return hello

    def _send(self, message: dict[str, Any]) -> None:
        try:
            with self._sending:
                self.channel.send(messages.encode(message))
        except OSError as error:
            if self._hello.done():  # who reads knows better why an agent did not begin
                self.lose(f'nothing can be sent: {error or type(error).__name__}')

    def _beat(self) -> None:
        while not self._ended.wait(messages.BEAT_S):
            self._send({'op': 'beat'})

    def _read(self) -> None:
        lines = messages.LineReader()
        heard = Deadline(max(LINK_TIMEOUT_S, 2 * self.address.link_timeout_s))
        while not self._ended.is_set():
            # Before the look: what came in the meantime lies there, and is read first.
            late = self._hello.done() and heard.over
            try:
                data = self.channel.receive(wait=not late)
            except OSError as error:
                return self.lose(str(error) or type(error).__name__)
            self._note_errors()
            if data == b'':
                said = f' ({self._last_words.strip()})' if self._last_words else ''
                return self.lose(f'the agent has ended{said}')
            if data:
                heard.restart()
            elif late:
                return self.lose(f'nothing was heard for {heard.timeout_s:g} s')
            for line in lines.feed(data or b''):
                try:
                    self._take(line)
                except (NotJsonError, RobotError, messages.AgentError) as error:
                    return self.lose(f'what it says makes no sense: {error}')
        return None

    def _take(self, line: bytes | messages.AgentError) -> None:
        if isinstance(line, messages.AgentError):
            raise line
        value = json_object(line)
        event = value.get('event')
        if event is None:
            kind: type[_Result | _Refusal] = _Result if value.get('ok') is True else _Refusal
            self._answer(READER.read(kind, value))
        elif event == 'hello':
            if self._hello.done():
                raise RobotError('hello comes once')
            if value.get('version') == messages.VERSION:
                READER.read(_Hello, value)
            self._hello.set_result(value)
        elif event == 'sample':
            self._on_sample(value)
        elif event == 'end':
            self.lose(f'the agent has ended: {READER.read(_End, value).reason}')

    def _answer(self, answer: _Result | _Refusal) -> None:
        if answer.id is None:
            # It cannot be said which request was not understood, so none can be relied on.
            raise RobotError(answer.message)
        with self._lock:
            future = self._pending.get(answer.id)
            if future is None or future.done():
                return  # it came too late
            if isinstance(answer, _Result):
                future.set_result(answer.result)
            else:
                future.set_exception(_error(answer.code, answer.message))

    def _note_errors(self) -> None:
        words = self.channel.errors()
        printable = ''.join(each if each.isprintable() else ' ' for each in words)
        self._last_words = (self._last_words + printable)[-_LAST_WORDS:]


def _error(code: str, message: str) -> RobotError | Canceled:
    """The error of the agent as ours; one that is not known here is a fault of the arm."""
    name = code.removeprefix('robot:')
    if name == ErrorCode.EXECUTION_CANCELED.name:
        return Canceled(message, ErrorCode.EXECUTION_CANCELED)
    known = code.startswith('robot:') and name in ErrorCode.__members__
    return RobotError(message, ErrorCode[name] if known else ErrorCode.ROBOT_FAULT)

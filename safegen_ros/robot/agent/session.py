# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""One client of the agent, from its first word to the last: the arm is held when the link dies.

The reading thread waits neither for the arm nor for the client, so that silence is always noticed.
The arm moves in one thread, is queried in another, and a third one writes.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import select
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from safegen_ros.errors import Canceled, ErrorCode, RobotError
from safegen_ros.robot.agent import messages
from safegen_ros.robot.agent.lanes import Lane, Writer, of_arm
from safegen_ros.robot.agent.messages import (
    MAX_LINE,
    AgentError,
    Ask,
    Beat,
    Open,
    Request,
    Run,
    Switch,
    port_of,
)
from safegen_ros.robot.arm import Arm, Sample
from safegen_ros.robot.arms.model import ArmModel
from safegen_ros.robot.program import carry_out, parse_program
from safegen_ros.schema import NotJsonError, SchemaReader, json_object
from safegen_ros.sync import Deadline

#: Highest id of a request.
MAX_ID = 2**53

ASKS = ('joints', 'tool', 'opening', 'stop', 'reset', 'rearm', 'close')

_KINDS: Mapping[str, type[Request]] = {
    'open': Open, 'beat': Beat, 'run': Run, 'switch': Switch, **dict.fromkeys(ASKS, Ask)
}  # fmt: skip

#: A client says its first word within this time [s].
FIRST_WORD_S = 10.0
#: So many lines in a row that are not requests end the session: the link is not to be trusted.
MAX_BAD_LINES = 100
#: Time for the arm's threads to end once it is stopped [s]. An arm that is still being opened may
#: take longer: 1.5 s, up to 8 s more for a port in use by another agent, and its questions. Then it
#: is not `held`, and the guard sends the stop where its port was taken already.
END_S = 5.0
#: Time to release the arm [s].
CLOSE_S = 1.5
#: Longest time between two looks at the deadline [ms].
_LOOK_MS = 20
#: Longest read at once [bytes].
_CHUNK = 1 << 16


#: Takes a reading of the arm.
Sampler = Callable[[Sample], None]


@dataclass(frozen=True, slots=True)
class SessionFiles:
    """File descriptors of a session.

    Attributes:
        source: what the client says.
        sink: what the client hears.
        end: where the guard sends heartbeats; at its end of file, and where they cease, the session
            ends too; None for none.
    """

    source: int
    sink: int
    end: int | None = None


class Session:
    """Serves one client.

    Args:
        open_arm: opens the arm that the client asks for, which reports its readings; may raise.
        models: the arms that it may ask for.
        link_timeout_s: silence after which the arm is held [s]; also when it was this process that
            did not run for so long.
        alive: called again and again by the thread that watches the link.

    Attributes:
        held: whether the arm was held and let go of at the end, or never taken.
    """

    def __init__(
        self,
        link: SessionFiles,
        open_arm: Callable[[Open, Sampler], Arm],
        models: Mapping[str, ArmModel],
        *,
        link_timeout_s: float = messages.LINK_TIMEOUT_S,
        alive: Callable[[], None] = lambda: None,
    ) -> None:
        self._link = link
        self._open_arm = open_arm
        self._models = models
        self._kind = ''
        self._timeout = link_timeout_s
        self._watched = Deadline(link_timeout_s)
        self._alive = alive
        self.held = False
        self._arm: Arm | None = None
        self._ending = self._stop_first = False
        self._lock = threading.Lock()
        self._writer = Writer(link.sink)
        self._motion = Lane(self._writer, 'motion')
        self._queries = Lane(self._writer, 'queries')

    def run(self) -> str:
        """Serves until the client closes, falls silent or cannot be understood.

        Returns:
            Why it ended. The arm had to hold then; `held` says whether it is released too.
        """
        self._writer.say(
            {
                'event': 'hello',
                'version': messages.VERSION,
                'limits': {name: arm.bounds.tolist() for name, arm in self._models.items()},
            }
        )
        reason = 'the agent has failed'
        try:
            reason = self._serve_lines()
        finally:
            self._end(reason)
        return reason

    def _serve_lines(self) -> str:
        lines = messages.LineReader()
        poll = select.poll()
        poll.register(self._link.source, select.POLLIN)
        if self._link.end is not None:
            poll.register(self._link.end, select.POLLIN)
        heard, guarded = Deadline(FIRST_WORD_S), Deadline(self._timeout)
        bad = 0
        self._watched.restart()
        while True:
            self._alive()
            if self._writer.failed:
                return 'the client does not read its messages'
            if self._watched.over and self._arm is not None:
                return f'the agent did not run for {self._timeout:g} s'
            self._watched.restart()
            # Before the look: what came in the meantime lies there, and is read first.
            late = heard.over
            ready = [descriptor for descriptor, _ in poll.poll(0 if late else _LOOK_MS)]
            if self._link.end in ready:
                if not os.read(self._link.end, _CHUNK):
                    return 'the agent was asked to end'
                guarded.timeout_s = self._timeout
                guarded.restart()
            elif self._link.end is not None and guarded.over and self._arm is not None:
                return f'the guard of the agent did not run for {guarded.timeout_s:g} s'
            data = b''
            if self._link.source in ready:
                with contextlib.suppress(ConnectionResetError):  # it died with something unread
                    data = os.read(self._link.source, _CHUNK)
                if not data:
                    return 'the client has closed the link'
            for line in lines.feed(data):
                try:
                    request = _parsed(line)
                except AgentError as error:
                    self._writer.refuse(error)
                    bad += 1
                    if bad >= MAX_BAD_LINES:
                        return f'{bad} lines in a row were not requests'
                    continue
                bad, late = 0, False
                heard.timeout_s = self._timeout
                heard.restart()
                if isinstance(request, Ask) and request.op == 'close':
                    self._writer.answer(request.id)
                    return 'the client has said goodbye'
                self._serve(request)
            if late:
                return f'nothing was heard of the client for {self._timeout:g} s'

    def _serve(self, request: Request) -> None:
        if isinstance(request, Beat):
            return
        try:
            if isinstance(request, Open):
                self._open(request)
            elif isinstance(request, Ask) and request.op == 'stop':
                self._stop(request)
            else:
                self._command(request, self._opened())
        except AgentError as error:
            error.id = request.id
            self._writer.refuse(error)

    def _open(self, request: Open) -> None:
        if request.arm not in self._models:
            known = ' '.join(self._models)
            raise AgentError('bad_field', f'arm: must be one of {known}')
        if self._arm is not None or self._motion.busy:
            raise AgentError('already_open', 'the arm is open: close the session to open another')

        def work() -> None:
            self._kind = request.arm
            arm = self._open_arm(request, self._sample)
            with self._lock:
                stop, close = self._stop_first, self._ending
                self._arm = None if close else arm
            if stop:
                arm.stop()
            if close:
                arm.close()

        self._motion.submit(request.id, work)

    def _sample(self, sample: Sample) -> None:
        joints = [float(each) for each in sample.joints]
        self._writer.say(
            {
                'event': 'sample',
                'joints': joints,
                'tool_on': sample.tool_on,
                'opening': None if sample.opening is None else float(sample.opening),
            }
        )

    def _stop(self, request: Ask) -> None:
        # In this thread: nothing that waits may come before a stop.
        with self._lock:
            # An arm that is still being opened begins stopped.
            self._stop_first, arm = self._arm is None, self._arm
        if arm is not None:
            of_arm(arm.stop)
        self._writer.answer(request.id)

    def _command(self, request: Run | Switch | Ask, arm: Arm) -> None:
        if isinstance(request, Ask) and request.op not in ('reset', 'rearm'):
            asks: dict[str, Callable[[], Any]] = {
                'joints': lambda: _joints(arm), 'tool': arm.tool_on, 'opening': arm.opening,
            }  # fmt: skip
            self._queries.submit(request.id, asks[request.op])
            return
        if self._motion.busy:
            raise AgentError('busy', 'the arm executes a program: wait for its end, or stop it')
        if isinstance(request, Ask):
            reset = arm.reset_stop if request.op == 'reset' else arm.rearm
            self._motion.submit(request.id, reset)
        elif isinstance(request, Switch):
            self._motion.submit(request.id, lambda: arm.set_tool(request.on))
        else:
            self._motion.submit(request.id, lambda: self._run(request, arm))

    def _run(self, request: Run, arm: Arm) -> None:
        data = request.program.encode('utf-8')
        if hashlib.sha256(data).hexdigest() != request.sha256:
            raise AgentError('digest_mismatch', 'the program and its digest differ: send it again')
        program = parse_program(data, self._models[self._kind])

        def done(count: int) -> None:
            self._writer.say({'event': 'step', 'id': request.id, 'done': count})
            # This thread may run first after a stall, in which the motion was not watched.
            if self._watched.over:
                raise Canceled('no process has watched the motion', ErrorCode.EXECUTION_CANCELED)

        try:
            carry_out(program, arm, done)
        except RobotError:
            raise  # the arm holds
        except Exception:
            # Perhaps of the vendor's library: the state of the arm is not known.
            arm.stop()
            raise

    def _opened(self) -> Arm:
        if self._arm is None:
            raise AgentError('not_open', 'no arm is open: send open, and wait for its answer')
        return self._arm

    def _end(self, reason: str) -> None:
        """Holds the arm first, then lets go of everything, in bounded time."""
        with self._lock:
            self._ending = True
            arm = self._arm
        try:
            if arm is not None:
                arm.stop()
        finally:
            ended = self._ended(self._motion.end, END_S)
            self._ended(self._queries.end, 1.0)
            self.held = ended and (arm is None or self._ended(arm.close, CLOSE_S))
            self._writer.say({'event': 'end', 'reason': reason})
            self._writer.end(0.5)

    def _ended(self, call: Callable[[], None], timeout_s: float) -> bool:
        """Whether a call returns in this time [s]; meanwhile this thread sends heartbeats."""
        over, failed = threading.Event(), threading.Event()

        def work() -> None:
            try:
                call()
            except Exception:
                failed.set()
            over.set()

        threading.Thread(target=work, name='end', daemon=True).start()
        deadline = Deadline(timeout_s)
        while not over.wait(_LOOK_MS / 1000):
            self._alive()
            if deadline.over:
                return False
        return not failed.is_set()


def _parsed(line: bytes | AgentError) -> Request:
    if isinstance(line, AgentError):
        raise line
    return parse_request(line)


def _joints(arm: Arm) -> list[float]:
    return [float(each) for each in arm.joint_positions()]


def parse_request(line: bytes) -> Request:
    """Reads one line of a client, without its end.

    Raises:
        AgentError: it is not a request: `line_too_long`, `not_json`, `unknown_op` or `bad_field`.
    """
    if len(line) >= MAX_LINE:
        raise AgentError('line_too_long', f'a line is at most {MAX_LINE} bytes long')
    number: int | None = None
    reader = SchemaReader('', lambda text: AgentError('bad_field', text, number))
    try:
        value = json_object(line)
    except NotJsonError as error:
        raise AgentError('not_json', f'the line: {error}') from error
    op = reader.read(str, value.pop('op', None), 'op')
    if op == 'beat':
        return reader.read(Beat, value)
    found = reader.read(int, value.get('id'), 'id')
    reader.need(0 <= found <= MAX_ID, 'id', found, f'take 0 to {MAX_ID}')
    number = found
    if op not in _KINDS:
        raise AgentError('unknown_op', f'op: must be one of {" ".join(_KINDS)}', number)
    if op == 'open':
        at = port_of(reader, value)
        reader.keys(value, '', ('id', 'arm', 'tool'))
        value['at'] = at
    elif op in ASKS:
        value['op'] = op
    return reader.read(_KINDS[op], value)

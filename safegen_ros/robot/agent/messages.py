# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The protocol between `robot.agent_client` and the agent: one JSON object per line, both ways.

docs/arm-driver.md describes it. What a client sends are requests; what the agent sends are answers,
which repeat the id of a request, and events.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from safegen_ros.robot.strict_json import FieldError, Fields, NotJsonError, read_object

VERSION = 3
#: Longest line, its end included [bytes]: a motion program is one, with the longest text.
MAX_LINE = 1 << 18
#: Both sides send a heartbeat this often [s].
BEAT_S = 0.05
#: The agent holds the arm after this much silence of its client [s]. With the time between two
#: looks and the time that the arm takes to stop, it holds within half a second.
LINK_TIMEOUT_S = 0.35
#: The same for the process that moves the arm, which may hang [s]. It sends a heartbeat every
#: 20 ms; on two cores with eight programs that never rest, two came 66 ms apart at most.
HANG_TIMEOUT_S = 0.25
#: Both may be set from and to this [s].
TIMEOUT_RANGE_S = (0.1, 10.0)
#: Highest id of a request.
MAX_ID = 2**53

_DIGEST = re.compile(r'[0-9a-f]{64}')


class AgentError(Exception):
    """A request that is refused, with a code for programs and a message for people.

    Args:
        code: one word, such as `not_json`; `robot:NAME` for an error of the arm, with the name of
            its `ErrorCode`.
        id: of the request; None when it has none that could be read.
    """

    def __init__(self, code: str, message: str, id: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.id = id


@dataclass(frozen=True, slots=True)
class SerialPort:
    """A serial port with its baud rate [1/s]."""

    port: str
    baud: int


@dataclass(frozen=True, slots=True)
class TcpPort:
    """A TCP server that passes bytes to the serial port of an arm."""

    host: str
    tcp_port: int


ArmPort = SerialPort | TcpPort


@dataclass(frozen=True, slots=True)
class Open:
    """Take the arm: its kind, its port, and what takes hold of a block."""

    id: int
    arm: str
    at: ArmPort
    tool: str


@dataclass(frozen=True, slots=True)
class Beat:
    """A heartbeat; it is not answered."""


@dataclass(frozen=True, slots=True)
class Run:
    """Execute a motion program, given as its text and the SHA-256 of that in hex."""

    id: int
    program: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Switch:
    """Have the tool take hold, or let go."""

    id: int
    on: bool


@dataclass(frozen=True, slots=True)
class Ask:
    """A request without fields, one of `ASKS`."""

    id: int
    op: str


Request = Open | Beat | Run | Switch | Ask
ASKS = ('joints', 'tool', 'opening', 'stop', 'reset', 'rearm', 'close')
TOOLS = ('gpio-pump', 'basic-pump', 'gripper')


def parse_request(line: bytes) -> Request:
    """Reads one line of a client, without its end.

    Raises:
        AgentError: it is not a request: `line_too_long`, `not_json`, `unknown_op` or `bad_field`.
    """
    if len(line) >= MAX_LINE:
        raise AgentError('line_too_long', f'a line is at most {MAX_LINE} bytes long')
    number: int | None = None
    try:
        fields = read_object(line)
        op = fields.text('op')
        if op != 'beat':
            number = fields.integer('id', 0, MAX_ID)
        request = _request(op, number or 0, fields)
        fields.end()
    except NotJsonError as error:
        raise AgentError('not_json', f'the line: {error}') from error
    except FieldError as error:
        raise AgentError('bad_field', str(error), number) from error
    return request


def encode(message: dict[str, Any]) -> bytes:
    """One line with its end; ASCII alone, so that no character can end it early."""
    return json.dumps(message, allow_nan=False).encode('ascii') + b'\n'


def _request(op: str, number: int, fields: Fields) -> Request:
    if op == 'beat':
        return Beat()
    if op in ASKS:
        return Ask(number, op)
    if op == 'open':
        arm, tool = fields.text('arm'), fields.text('tool')
        if tool not in TOOLS:
            raise fields.fail('tool', f'must be one of {" ".join(TOOLS)}')
        return Open(number, arm, port_of(fields), tool)
    if op == 'run':
        program, digest = fields.text('program', MAX_LINE), fields.text('sha256')
        if not _DIGEST.fullmatch(digest):
            raise fields.fail('sha256', 'must be 64 hex digits')
        return Run(number, program, digest)
    if op == 'switch':
        return Switch(number, fields.flag('on'))
    known = ' '.join(('open', 'beat', 'run', 'switch', *ASKS))
    raise AgentError('unknown_op', f'op: must be one of {known}', number)


def port_of(fields: Fields) -> ArmPort:
    """The port of an arm: `host` and `tcp_port`, or else `port` and `baud`; else `FieldError`."""
    if 'host' in fields:
        return TcpPort(fields.text('host'), fields.integer('tcp_port', 1, 65535))
    return SerialPort(fields.text('port', 4000), fields.integer('baud', 1200, 4_000_000))


class LineReader:
    """Cuts a stream of bytes into lines, in bounded memory.

    A line that is too long is passed over up to its end and reported once.
    """

    def __init__(self, longest: int = MAX_LINE) -> None:
        self._longest = longest
        self._rest = b''
        self._passing_over = False

    def feed(self, data: bytes) -> list[bytes | AgentError]:
        """The complete lines so far, without their ends; an error instead of a long one."""
        found: list[bytes | AgentError] = []
        *lines, rest = (self._rest + data).split(b'\n')
        for line in lines:
            if self._passing_over:
                self._passing_over = False
            elif len(line) >= self._longest:
                found.append(_too_long())
            else:
                found.append(line)
        if len(rest) >= self._longest:
            if not self._passing_over:
                found.append(_too_long())
            self._passing_over, rest = True, b''
        self._rest = b'' if self._passing_over else rest
        return found


def _too_long() -> AgentError:
    return AgentError('line_too_long', f'a line is at most {MAX_LINE} bytes long')

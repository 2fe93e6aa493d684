# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The protocol between `robot.agent_client` and the agent: one JSON object per line, both ways.

docs/arm-driver.md describes it. What a client sends are requests; what the agent sends are answers,
which repeat the id of a request, and events.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, fields
from typing import Annotated, Any

from safegen_ros.schema import (
    Rule,
    SchemaReader,
    between,
    one_of,
    printable,
)

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

TOOLS = ('gpio-pump', 'basic-pump', 'gripper')

Word = Annotated[str, printable(200)]
_Digest = Annotated[str, Rule(re.compile('[0-9a-f]{64}').fullmatch, 'write 64 hex digits')]


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

    port: Annotated[str, printable(4000)]
    baud: Annotated[int, between(1200, 4_000_000)]


@dataclass(frozen=True, slots=True)
class TcpPort:
    """A TCP server that passes bytes to the serial port of an arm."""

    host: Word
    tcp_port: Annotated[int, between(1, 65535)]


ArmPort = SerialPort | TcpPort


@dataclass(frozen=True, slots=True)
class Open:
    """Take the arm: its kind, its port, and what takes hold of a block."""

    id: int
    arm: Word
    at: ArmPort
    tool: Annotated[str, one_of(*TOOLS)]


@dataclass(frozen=True, slots=True)
class Beat:
    """A heartbeat; it is not answered."""


@dataclass(frozen=True, slots=True)
class Run:
    """Execute a motion program, given as its text and the SHA-256 of that in hex."""

    id: int
    program: Annotated[str, printable(MAX_LINE)]
    sha256: _Digest


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


def encode(message: dict[str, Any]) -> bytes:
    """One line with its end; ASCII alone, so that no character can end it early."""
    return json.dumps(message, allow_nan=False).encode('ascii') + b'\n'


def port_of(reader: SchemaReader, value: dict[str, Any]) -> ArmPort:
    """Takes a port out of an object: `host` and `tcp_port`, or else `port` and `baud`."""
    kind: type[ArmPort] = TcpPort if 'host' in value else SerialPort
    names = [each.name for each in fields(kind) if each.name in value]
    return reader.read(kind, {name: value.pop(name) for name in names})


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

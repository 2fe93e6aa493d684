# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a supervisor has to say: its exit status, its errors, and its events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from safegen_ros.bringup.profiles import NodeSpec
from safegen_ros.child_process import describe_exit
from safegen_ros.errors import ErrorCode, SafegenError


class ExitCode(IntEnum):
    """Exit status of `safegen up`."""

    CLEAN = 0
    NODE_DIED = 1
    USAGE = 2
    NOT_READY = 3
    KILLED = 4


class NodeDiedError(SafegenError):
    """A required node ended unexpectedly.

    Attributes:
        node: its full name.
        lines: the last lines that it wrote.
    """

    def __init__(self, node: str, code: int, lines: Sequence[str]) -> None:
        tail = ''.join(f'\n  {line}' for line in lines)
        super().__init__(f'{node} ended with {describe_exit(code)}{tail}', ErrorCode.SERVER_LOST)
        self.node = node
        self.lines = tuple(lines)


class NotReadyError(SafegenError):
    """A node did not offer its interface in time."""

    def __init__(self, spec: NodeSpec, lines: Sequence[str]) -> None:
        tail = ''.join(f'\n  {line}' for line in lines)
        what = f'serve its page at port {spec.page_port}'
        if spec.ready is not None:
            what = (
                f'offer the {spec.ready.kind} {spec.ready.name} within {spec.ready.timeout_s:g} s'
            )
        super().__init__(f'{spec.full_name} did not {what}{tail}', ErrorCode.SERVER_LOST)
        self.node = spec.full_name


@dataclass(frozen=True, slots=True)
class SupervisorEvent:
    """Something that a screen may want to show.

    Attributes:
        kind: 'started', 'ready', 'died', 'respawned', 'stopping' or 'killed'.
        node: full node name.
        text: the time since its start, how it ended, or the signal it gets.
    """

    kind: str
    node: str
    text: str

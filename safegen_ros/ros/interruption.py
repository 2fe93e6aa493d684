# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Why a node gives up what it is doing, where nobody has cancelled it."""

from __future__ import annotations

import os

from safegen_ros.errors import SafegenError
from safegen_ros.ros.lifecycle import ManagedNode
from safegen_ros.ros.stack_state import StackState, last_beat, read_state


class Interruption:
    """Knows what ends this process, or deactivates its node.

    Args:
        node: of this process.
    """

    def __init__(self, node: ManagedNode) -> None:
        self._node = node
        self._parent = os.getppid()

    def cause(self) -> str:
        """What it is; empty where nothing does."""
        if os.getppid() != self._parent:
            return 'the supervisor of the stack has ended'
        if ending := self._taken_down():
            return f'the stack was taken down: {ending}'
        if self._node.inactive.is_set():
            return f'the {self._node.get_name()} was deactivated or ended'
        return ''

    @property
    def supervised(self) -> bool:
        """Whether a supervisor has started this process."""
        return self._stack() is not None

    def supervisor_beat(self) -> int:
        """A number that changes while the supervisor runs."""
        return last_beat(self._node.context.get_domain_id(), self._node.get_namespace())

    def _taken_down(self) -> str:
        """Why the supervisor of this process takes its stack down; empty where it does not."""
        stack = self._stack()
        if stack is None or stack.status != 'stopping':
            return ''
        return stack.reason or 'no reason is given'

    def _stack(self) -> StackState | None:
        """The stack that this process is one of; None where it is of none."""
        try:
            domain = self._node.context.get_domain_id()
            stack = read_state(domain, self._node.get_namespace())
        except (OSError, ValueError, TypeError, SafegenError):
            return None
        return stack if stack is not None and os.getpid() in stack.nodes.values() else None

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Why a node gives up what it is doing, where nobody has cancelled it."""

from __future__ import annotations

import os

from safegen_ros.errors import SafegenError
from safegen_ros.nodes.managed import ManagedNode
from safegen_ros.processes.state import read_state


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

    def _taken_down(self) -> str:
        """Why the supervisor of this process takes its stack down; empty where it does not."""
        try:
            domain = self._node.context.get_domain_id()
            stack = read_state(domain, self._node.get_namespace())
        except (OSError, ValueError, TypeError, SafegenError):
            return ''
        if stack is None or stack.status != 'stopping' or os.getpid() not in stack.nodes.values():
            return ''
        return stack.reason or 'no reason is given'

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""One executor for each namespace of a ROS domain, whoever starts another one."""

from __future__ import annotations

import threading
from collections.abc import Callable

from safegen_ros.errors import SafegenError
from safegen_ros.nodes.base import SafegenNode
from safegen_ros.ros.liveness import (
    ALIVE_S,
    FINALIZED,
    Instance,
    boottime,
)


class SoleExecutor:
    """Keeps two executors of one name from moving an arm: each of them would take every goal.

    Args:
        node: the executor.
        stop: stops the stack, with the reason.
    """

    def __init__(self, node: SafegenNode, stop: Callable[[str], object]) -> None:
        self._node = node
        self._stop = stop
        self._checked = False
        self._begun, self._pause = boottime(), threading.Event()
        node.heartbeats.listen(self._hear)

    def check(self) -> None:
        """Makes sure that no other executor is alive; one that has just ended is waited for.

        Raises:
            SafegenError: another one is.
        """
        self._pause.wait(ALIVE_S - boottime() + self._begun)  # listened long enough to hear one
        if not self._node.heartbeats.wait_for(lambda: not self._others(), 2 * ALIVE_S):
            raise SafegenError(
                f'another executor runs as {self._node.get_fully_qualified_name()} in this ROS '
                'domain, maybe of another user or computer: end one of the two, or give this one '
                'another namespace or ROS_DOMAIN_ID'
            )
        self._checked = True

    def _others(self) -> list[Instance]:
        alive = self._node.heartbeats.instances(self._node.get_fully_qualified_name())
        return [each for each in alive if each.id != self._node.heartbeat.instance]

    def _hear(self, instance: Instance) -> None:
        name, own = self._node.get_fully_qualified_name(), self._node.heartbeat.instance
        another = instance.node == name and instance.id != own and instance.state != FINALIZED
        # Before its own check it has never moved anything, and will not where that fails.
        if another and self._checked:
            self._stop(f'another executor runs as {name} in this ROS domain: end one of the two')

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Leads the nodes of a stack through their lives, as a lifecycle manager does."""

from __future__ import annotations

from typing import Any

from goals import WAIT_S
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient

from safegen_ros.client import Client
from safegen_ros.errors import ErrorCode
from safegen_ros.nodes.base import wait_for
from safegen_ros.nodes.managed import StateClient

STEPS = {
    'configure': Transition.TRANSITION_CONFIGURE,
    'activate': Transition.TRANSITION_ACTIVATE,
    'deactivate': Transition.TRANSITION_DEACTIVATE,
    'cleanup': Transition.TRANSITION_CLEANUP,
}


class Manager:
    """Leads a node of a client's stack."""

    def __init__(self, client: Client, node: str) -> None:
        self._node = node
        self._change: Any = client.node.create_client(ChangeState, f'{node}/change_state')
        self._parameters = AsyncParameterClient(client.node, node)
        assert self._change.wait_for_service(timeout_sec=WAIT_S)
        assert self._parameters.wait_for_services(WAIT_S)
        # Made last: when it is answered, the answers of the others would arrive, too.
        self._state = StateClient(client.node, node)
        assert self.state

    @property
    def state(self) -> str:
        return self._state.wait(WAIT_S)

    def try_to(self, step: str) -> bool:
        request = ChangeState.Request(transition=Transition(id=STEPS[step]))
        future = self._change.call_async(request)
        return wait_for(future, WAIT_S, step, ErrorCode.SERVER_LOST).success

    def lead(self, *steps: str) -> None:
        for step in steps:
            assert self.try_to(step), (self._node, step, self.state)

    def set(self, name: str, value: Any) -> str:
        """Sets a parameter; why it was refused, or nothing."""
        future = self._parameters.set_parameters([Parameter(name, value=value)])
        (result,) = wait_for(future, WAIT_S, name, ErrorCode.SERVER_LOST).results
        assert result.successful == (not result.reason)
        return result.reason

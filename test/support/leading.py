# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Leads the nodes of a stack through their lives, as a lifecycle manager does."""

from __future__ import annotations

from typing import Any

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient

from safegen_ros.client import Client
from safegen_ros.errors import ErrorCode
from safegen_ros.ros.calls import wait_for
from support.goals import WAIT_S

STEPS = {
    'configure': Transition.TRANSITION_CONFIGURE,
    'activate': Transition.TRANSITION_ACTIVATE,
    'deactivate': Transition.TRANSITION_DEACTIVATE,
    'cleanup': Transition.TRANSITION_CLEANUP,
}


class StateCaller:
    """Asks a node of a client's stack for its lifecycle state, as a lifecycle manager does.

    Made last, its first answer shows that those of older service clients arrive, too.
    """

    def __init__(self, client: Client, node: str) -> None:
        self._client: Any = client.node.create_client(GetState, f'{node}/get_state')
        assert self._client.wait_for_service(timeout_sec=WAIT_S)
        assert self.state

    @property
    def state(self) -> str:
        future = self._client.call_async(GetState.Request())
        answer = wait_for(future, WAIT_S, 'its state', ErrorCode.SERVER_LOST)
        return str(answer.current_state.label)


class Manager:
    """Leads a node of a client's stack."""

    def __init__(self, client: Client, node: str) -> None:
        self._node = node
        self._change: Any = client.node.create_client(ChangeState, f'{node}/change_state')
        self._parameters = AsyncParameterClient(client.node, node)
        assert self._change.wait_for_service(timeout_sec=WAIT_S)
        assert self._parameters.wait_for_services(WAIT_S)
        self._state = StateCaller(client, node)

    @property
    def state(self) -> str:
        return self._state.state

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

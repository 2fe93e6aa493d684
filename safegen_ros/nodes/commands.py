# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Commands of an operator to a node: see `authorizing`."""

from __future__ import annotations

from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node

from safegen_msgs.srv import Operate
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.keys.authority import Command, sign
from safegen_ros.keys.key_pair import operator_key
from safegen_ros.nodes.asking import answer_of
from safegen_ros.nodes.authorizing import SERVICE, signature_to_msg, stack_name
from safegen_ros.nodes.base import wait_for


class CommandClient:
    """Sends commands to a node, signed where this user has a key.

    Args:
        node: of whoever sends; its executor must be spinning elsewhere.
        name: of the node that is told, relative to the namespace.
    """

    def __init__(self, node: Node, name: str) -> None:
        self._node = node
        self._name = name
        self._client: Any = node.create_client(
            Operate, f'{name}/{SERVICE}', callback_group=ReentrantCallbackGroup()
        )

    def wait(self, timeout_s: float) -> bool:
        """Whether the node is there, or comes within that time [s]."""
        return bool(self._client.wait_for_service(timeout_sec=timeout_s))

    def ask(self, timeout_s: float) -> Operate.Response:
        """What a node says of itself, with a nonce; nothing is commanded.

        Raises:
            SafegenError: it is not there, or does not answer within the time [s] (`SERVER_LOST`).
        """
        lost = ErrorCode.SERVER_LOST
        if not self.wait(timeout_s):
            raise SafegenError(f'the {self._name} is not there: start the stack', lost)
        what = f'the {self._name}'
        answer: Operate.Response = answer_of(self._client, Operate.Request(), timeout_s, what, lost)
        return answer

    def do(self, command: str, argument: str = '', *, timeout_s: float) -> Operate.Response:
        """Sends a command once; raises as `ask`."""
        asked = self.ask(timeout_s)
        request = Operate.Request(command=command, argument=argument)
        pair = operator_key() if asked.keys else None
        if pair is not None:
            what = Command(stack_name(self._node), command, argument)
            request.signature = signature_to_msg(sign(pair, what, asked.nonce))
        lost = ErrorCode.SERVER_LOST
        answer: Operate.Response = wait_for(
            self._client.call_async(request), timeout_s, f'the {self._name}', lost
        )
        return answer

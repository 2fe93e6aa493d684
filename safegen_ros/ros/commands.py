# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Signed commands: their messages, and the client that sends them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.client import Client
from rclpy.node import Node

from safegen_msgs import msg
from safegen_msgs.srv import Operate
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.ros.calls import answer_of

if TYPE_CHECKING:  # a client that signs nothing needs no cryptography
    from safegen_ros.keys.authority import Signature

SERVICE = 'operate'


def stack_name(node: Node) -> str:
    """The stack in which a command counts: its ROS domain and its namespace."""
    return f'{node.context.get_domain_id()}{node.get_namespace()}'


def signature_to_msg(signature: Signature) -> msg.Signature:
    """A signature as message."""
    return msg.Signature(
        key=signature.key,
        nonce=signature.nonce,
        time=signature.time,
        value=list(signature.value),
    )


def signature_from_msg(message: msg.Signature) -> Signature:
    """The signature of a message."""
    from safegen_ros.keys.authority import Signature

    return Signature(message.key, message.nonce, message.time, bytes(message.value[:100]))


class CommandClient:
    """Sends commands to a node, signed where this user has a key.

    Args:
        node: node of the sender; its executor must be spinning elsewhere.
        name: name of the node that gets the command, relative to the namespace.
    """

    def __init__(self, node: Node, name: str) -> None:
        self._node = node
        self._name = name
        self._client: Client[Operate.Request, Operate.Response] = node.create_client(
            Operate, f'{name}/{SERVICE}', callback_group=ReentrantCallbackGroup()
        )

    def wait(self, timeout_s: float) -> bool:
        """Whether the node is there, or comes within that time [s]."""
        return bool(self._client.wait_for_service(timeout_sec=timeout_s))

    def ask(self, timeout_s: float) -> Operate.Response:
        """The description of a node, with a nonce; nothing is commanded.

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
        from safegen_ros.keys.authority import Command, sign
        from safegen_ros.keys.key_pair import operator_key

        asked = self.ask(timeout_s)
        request = Operate.Request(command=command, argument=argument)
        pair = operator_key() if asked.keys else None
        if pair is not None:
            what = Command(stack_name(self._node), command, argument)
            request.signature = signature_to_msg(sign(pair, what, asked.nonce))
        lost = ErrorCode.SERVER_LOST
        answer: Operate.Response = answer_of(
            self._client, request, timeout_s, f'the {self._name}', lost
        )
        return answer

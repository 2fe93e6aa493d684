# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Operators at the border of a node: the service `operate`, and the signatures of goals."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rclpy.service import Service
from std_srvs.srv import Trigger

from safegen_msgs.srv import Operate
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.keys.authority import Authority, Command, Operator, Role, read_operators
from safegen_ros.keys.key_pair import installation_key
from safegen_ros.node_parameters import OPERATORS_FILE
from safegen_ros.paths import data_path
from safegen_ros.ros.actions import GoalHandle
from safegen_ros.ros.commands import SERVICE, goal_command, signature_from_msg, stack_name
from safegen_ros.ros.lifecycle import ManagedNode
from safegen_ros.ros.message_limits import check_sendable
from safegen_ros.tasks.site import Site

_MAX_ARGUMENT = 10_000  # characters


@dataclass(frozen=True, slots=True)
class Handler:
    """What a command does.

    Attributes:
        work: told who asks, and the argument; returns what happened, or raises `SafegenError`.
    """

    role: Role
    work: Callable[[str, str], str]


class CommandServer:
    """Takes the commands of operators, and checks that the senders of goals may send them.

    Interfaces:
        service `~/operate` (safegen_msgs/srv/Operate).

    Args:
        node: whose commands they are; its parameters are declared.

    Raises:
        SafegenError: the operators file, or the key of this installation, cannot be used.
    """

    def __init__(self, node: ManagedNode, site: Callable[[], Site]) -> None:
        self._node, self._site = node, site
        file = node.get_parameter(OPERATORS_FILE.name).value
        operators: Mapping[str, Operator] = read_operators(data_path(file)) if file else {}
        self.authority = Authority(operators, installation_key() if operators else None)
        self._handlers: dict[str, Handler] = {}
        self._triggers: list[Service[Trigger.Request, Trigger.Response]] = []
        self._service = node.create_service(
            Operate, f'~/{SERVICE}', self._serve, callback_group=node.transitions
        )
        if not operators:
            node.get_logger().warning(
                'no operators_file is set: any process that reaches this node may send goals, '
                'approve, reset, release and set parameters'
            )

    @property
    def required(self) -> bool:
        """Whether commands and goals must be signed."""
        return self.authority.required

    def add(self, name: str, role: Role, work: Callable[[str, str], str]) -> None:
        """Adds a command; see `Handler`."""
        self._handlers[name] = Handler(role, work)

    def trigger(self, name: str, what: str, work: Callable[[str], str]) -> None:
        """Adds a command of operators that is a service (std_srvs/Trigger), too.

        The service has no place for a signature: it is refused where one is needed.

        Args:
            what: its name in a refusal.
            work: as of `Handler`; not used where the service is called.
        """

        def serve(request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            try:
                if why := self.unsigned(what):
                    raise SafegenError(why)
                response.message = work('')
                response.success = True
            except SafegenError as error:
                response.message = error.message
            return response

        self.add(name, Role.OPERATOR, lambda by, _: work(by or 'an operator'))
        group = self._node.group
        self._triggers.append(self._node.create_service(Trigger, name, serve, callback_group=group))

    def unsigned(self, what: str) -> str:
        """Why a service that has no place for a signature does not do something; else empty."""
        if not self.required:
            return ''
        self._node.get_logger().warning(f'{what} was refused, as it was not signed')
        return (
            f'{what} must be signed here, since operators_file is set: use the safegen command '
            f'with an operator key, or the service {self._node.get_name()}/{SERVICE}'
        )

    def sender_of(self, action: str, goal_handle: GoalHandle) -> str:
        """Who has sent a goal; empty where no keys are configured.

        Raises:
            SafegenError: its signature does not count (`NOT_AUTHORIZED`), or the site does not
                let him send goals (`SITE_REFUSED`).
        """
        if not self.required:
            return ''
        goal = goal_handle.request
        name = self.authority.check(
            goal_command(self._node, action, goal),
            signature_from_msg(goal.signature),
            Role.SENDER,
            nonce=bytes(goal_handle.goal_id.uuid).hex(),
        )
        self._site().check_sender(name)
        return name

    def _serve(self, request: Operate.Request, response: Operate.Response) -> Operate.Response:
        response.keys = self.required
        response.site = self._site().digest
        try:
            check_sendable(request)
            duplicates = self._node.heartbeats.duplicates
            response.message = self._done(request) if request.command else '\n'.join(duplicates())
            response.success = True
        except SafegenError as error:
            response.message = error.message
            if error.code is ErrorCode.NOT_AUTHORIZED:
                self._node.get_logger().warning(f'a command was refused: {error.message}')
        except Exception as error:  # the answer must not read as success
            response.message = self._node.unexpected(error)[1]
        response.nonce = self.authority.nonce()
        return response

    def _done(self, request: Operate.Request) -> str:
        handler = self._handlers.get(request.command)
        if handler is None or len(request.argument) > _MAX_ARGUMENT:
            known = ' '.join(self._handlers)
            raise SafegenError(
                f'{request.command[:40]!a} is not a command here, or its argument is too long: '
                f'use one of {known}'
            )
        by = ''
        if not self.required and handler.role is Role.ENGINEER:
            raise SafegenError(
                f'{request.command}: without operators_file use the ROS service of the node'
            )
        if self.required:
            by = self.authority.check(
                Command(stack_name(self._node), request.command, request.argument),
                signature_from_msg(request.signature),
                handler.role,
            )
        return handler.work(by, request.argument)


def parameters_of(argument: str) -> dict[str, Any]:
    """The names and values of a command `set_parameters`.

    Raises:
        SafegenError: they are not a JSON object of numbers, truth values and texts.
    """
    try:
        values = json.loads(argument)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict) or not all(
        isinstance(value, (bool, int, float, str)) for value in values.values()
    ):
        raise SafegenError('the argument must be a JSON object of names and values')
    return values

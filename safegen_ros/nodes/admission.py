# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The border of a node: who may command it and send goals, and what a task means at this site."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any

from rclpy.service import Service
from std_srvs.srv import Trigger

from safegen_msgs import msg
from safegen_msgs.srv import Operate
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.keys.authority import (
    Authority,
    Command,
    Operator,
    Role,
    read_operators,
)
from safegen_ros.keys.key_pair import installation_key
from safegen_ros.node_parameters import OPERATORS_FILE
from safegen_ros.paths import data_path
from safegen_ros.record.run import TWIN
from safegen_ros.ros import conversions
from safegen_ros.ros.actions import GoalHandle, goal_command
from safegen_ros.ros.calls import check_sendable
from safegen_ros.ros.commands import SERVICE, signature_from_msg, stack_name
from safegen_ros.ros.lifecycle import ManagedNode
from safegen_ros.tasks.site import Bound, Site, bind, refused
from safegen_ros.tasks.task import ActionTask, TaskMonitor

_MAX_ARGUMENT = 10_000  # characters


_Work = Callable[[str, str], str]
"""What a command does: told who asks, and the argument, it returns what happened."""


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
        self._handlers: dict[str, tuple[Role, _Work]] = {}
        self._triggers: list[Service[Trigger.Request, Trigger.Response]] = []
        self._service = node.create_service(
            Operate, f'~/{SERVICE}', self._serve, callback_group=node.transitions
        )

    @property
    def required(self) -> bool:
        """Whether commands and goals must be signed."""
        return self.authority.required

    def add(self, name: str, role: Role, work: _Work) -> None:
        """Adds a command; `work` may raise `SafegenError`."""
        self._handlers[name] = role, work

    def trigger(self, name: str, what: str, work: Callable[[str], str]) -> None:
        """Adds a command of operators that is a service (std_srvs/Trigger), too.

        The service has no place for a signature: it is refused where one is needed.

        Args:
            what: its name in a refusal.
            work: told who asks, or nothing where the service is called.
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
        role, work = self._handlers.get(request.command, (None, None))
        if role is None or work is None or len(request.argument) > _MAX_ARGUMENT:
            known = ' '.join(self._handlers)
            raise SafegenError(
                f'{request.command[:40]!a} is not a command here, or its argument is too long: '
                f'use one of {known}'
            )
        by = ''
        if not self.required and role is Role.ENGINEER:
            raise SafegenError(
                f'{request.command}: without operators_file use the ROS service of the node'
            )
        if self.required:
            by = self.authority.check(
                Command(stack_name(self._node), request.command, request.argument),
                signature_from_msg(request.signature),
                role,
            )
        return work(by, request.argument)


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


_REMEMBERED = 8
_MOST_RESTS = 1000

_Key = tuple[str, str, str]


class BoundTasks:
    """Reads tasks with the rules of a site.

    The rest of a bound task is bound already: a rule that was kept must not be demanded again. A
    node takes a task for such a rest only if it has watched the execution that left it.

    Args:
        log: takes each note about a rule that does not apply to a task.
    """

    def __init__(self, site: Site, log: Callable[[str], object] = lambda note: None) -> None:
        self._site = site
        self._log = log
        self._known: OrderedDict[_Key, Bound] = OrderedDict()
        self._rests: OrderedDict[_Key, None] = OrderedDict()

    def task(self, message: msg.Task, resume: bool = False) -> ActionTask:
        """The task of a goal, with the rules.

        Args:
            resume: whether it is known to be the rest of a bound task.

        Raises:
            SafegenError: it cannot be read, or the rules do not allow it (`SITE_REFUSED`).
        """
        task = conversions.task_from_msg(message)
        if not self._site.rules or resume or _key(message) in self._rests:
            return task
        return copy(self._bound(_key(message), task).task)

    def unbound(self, message: msg.Task, resume: bool = False) -> tuple[str, ...]:
        """The rules that do not apply to a task, each with the reason; arguments as for `task`."""
        self.task(message, resume)
        bound = self._known.get(_key(message))
        return () if bound is None or resume else bound.notes

    def message(self, message: msg.Task) -> msg.Task:
        """The same task as text, with the rules in it; raises as `task`."""
        task = self.task(message)
        if task.problem_text == message.problem:
            return message
        return msg.Task(domain=message.domain, problem=task.problem_text, format=message.format)

    def keep_rest(self, message: msg.Task, monitor: TaskMonitor) -> None:
        """Remembers what an execution leaves of a bound task."""
        rest = monitor.remaining() if self._site.rules else None
        if rest is None:
            return
        left = conversions.remaining_to_msg(rest, conversions.task_from_msg(message))
        self._rests[_key(left)] = None
        while len(self._rests) > _MOST_RESTS:
            self._rests.popitem(last=False)

    def _bound(self, key: _Key, task: ActionTask) -> Bound:
        found = self._known.pop(key, None)
        if found is None:
            found = bind(task, self._site)
            for note in found.notes:
                self._log(f'task {task.name}: {note}')
        self._known[key] = found
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return found


def require_keep_out(task: ActionTask, cell: str, site: Site) -> None:
    """Refuses a task whose motions cannot be checked for keep-out boxes (`SITE_REFUSED`)."""
    if site.keep_out and cell == TWIN and task.problem is None:
        raise refused(
            f'the site has keep-out boxes, and a task in format {task.format} moves arms that '
            'are not rehearsed: start the stack with cell:=symbolic, or without keep_out'
        )


def require_same_site(theirs: str, ours: Site) -> None:
    """Refuses to go on with a validator that has loaded another site file (`SITE_REFUSED`)."""
    if theirs != ours.digest:
        raise refused(
            f'the validator has loaded {_named(theirs)}, and this node {_named(ours.digest)}: '
            'set the same site_file for all nodes, and start them again'
        )


def _named(digest: str) -> str:
    return f'the site file of digest {digest[:16]!a}' if digest else 'no site file'


def _key(message: msg.Task) -> _Key:
    return message.domain, message.problem, message.format

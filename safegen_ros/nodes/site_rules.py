# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The rules of the site at the border of a node: what a task means, and who may send it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any

from rclpy.action.server import ServerGoalHandle

from safegen_msgs import msg
from safegen_msgs.action import ExecutePlan
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.keys.authority import APPROVAL_S, Role
from safegen_ros.nodes.approval import (
    approval_command,
    approval_record,
    plan_digest,
    plan_looked_at,
)
from safegen_ros.record.run import TWIN
from safegen_ros.ros import conversions
from safegen_ros.ros.commands import signature_from_msg
from safegen_ros.tasks.site import Bound, Site, bind, refused
from safegen_ros.tasks.task import ActionTask, TaskMonitor

if TYPE_CHECKING:
    from safegen_ros.nodes.base import SafegenNode

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


class ExecutionGate:
    """Whether a goal of `execute_plan` is from one who may send it, and approved if need be."""

    def __init__(self, node: SafegenNode) -> None:
        self._node = node

    def check(self, goal_handle: ServerGoalHandle[ExecutePlan.Goal, Any, Any]) -> None:
        """Raises `SafegenError` (`NOT_AUTHORIZED`, `SITE_REFUSED` or `APPROVAL_REFUSED`)."""
        node, goal = self._node, goal_handle.request
        node.commands.sender_of('execute_plan', goal_handle)
        if node.site.approve_always and goal.plan.steps:
            self._check_approval(goal_handle)

    def _check_approval(self, goal_handle: ServerGoalHandle[ExecutePlan.Goal, Any, Any]) -> None:
        goal, node = goal_handle.request, self._node
        approval = goal.approval
        digest = plan_digest(goal.task, goal.plan, approval.request, node.site.digest)
        if approval.digest != digest or not approval.by:
            raise SafegenError(
                'the site wants every plan approved, and this one is not: send the goal to '
                'run_task, which asks an operator',
                ErrorCode.APPROVAL_REFUSED,
            )
        if node.commands.required:
            signature = signature_from_msg(approval.signature)
            node.commands.authority.check(
                approval_command(node, digest, True, approval.reason),
                signature,
                Role.OPERATOR,
                nonce=signature.nonce,
                fresh_s=APPROVAL_S,
            )
        about = plan_looked_at(goal.task, goal.plan, approval.request, node.site.digest)
        node.journal.note(goal_handle, approval_record(node, approval, about))


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

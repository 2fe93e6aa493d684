# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Goals of one action: signed, sent with a heartbeat, watched, and cancelled until they end."""

from __future__ import annotations

import hashlib
import json
import threading
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

from rclpy.action.client import ClientGoalHandle
from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node
from rclpy.type_support import Action, GetResultServiceResponse
from unique_identifier_msgs.msg import UUID

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.ros.calls import check_sendable, cleaned, wait_for
from safegen_ros.ros.commands import signature_to_msg, stack_name
from safegen_ros.ros.liveness import HeartbeatMonitor, HeartbeatPublisher, NodeInstance
from safegen_ros.ros.rclpy_compat import GoalClient
from safegen_ros.ros.watchdog import ProcessWatch, Rules
from safegen_ros.sync import Closing

if TYPE_CHECKING:  # a client that signs nothing needs no cryptography
    from safegen_ros.keys.authority import Command
    from safegen_ros.keys.key_pair import KeyPair

CONNECT_TIMEOUT_S = 10.0
"""How long a server may take to appear, and then to accept a goal [s]."""


class ActionResult(Protocol):
    """The part of every result about the end of its goal."""

    error_code: int
    error_msg: str


Goal = TypeVar('Goal')
Result = TypeVar('Result', bound=ActionResult)
Feedback = TypeVar('Feedback')
GoalHandle: TypeAlias = ServerGoalHandle[Any, Any, Any]
"""A goal of any action, at its server."""
Ended: TypeAlias = GetResultServiceResponse[Result]
"""Status and result of a goal, as rclpy has them."""


class NotThere(SafegenError):
    """No server of the action is there."""


class SentGoal(Closing, Generic[Result]):
    """A goal that was accepted; made by `GoalSender.send`.

    Attributes:
        future: done when the result is there.
    """

    def __init__(
        self,
        sender: GoalSender[Any, Result, Any],
        handle: ClientGoalHandle[Any, Result, Any],
        watch: ProcessWatch,
    ) -> None:
        self.id = handle.goal_id
        self.handle = handle
        self.future = handle.get_result_async()
        self._sender, self._watch, self._abandoned = sender, watch, False
        self.future.add_done_callback(lambda _: self._ended())

    def _ended(self) -> None:
        self._watch.close()
        self._sender.ended(self.id)

    @property
    def lost(self) -> str:
        """Why no server works on the goal; empty while one does."""
        return self._watch.lost

    def cancel(self) -> None:
        """Cancels the goal until it has ended; returns at once."""
        self._sender.cancel(self.id)

    def abandon(self) -> None:
        """Lists the goal no longer: its server ends it as that of a lost sender."""
        if not self._abandoned:
            self._abandoned = True
            self._sender.abandon(self.id)

    def close(self) -> None:
        """Ends the watch; a goal without a result that was not abandoned is cancelled."""
        self._watch.close()
        if not self.future.done() and not self._abandoned:
            self.cancel()


class GoalSender(Generic[Goal, Result, Feedback]):
    """Sends goals of one action to the node that serves it; for any thread.

    The heartbeat of this process lists each goal from before it is sent until it has ended. A
    cancelled goal is cancelled again with each heartbeat of the server that still lists it.

    Args:
        node: of the sender; its executor must be spinning elsewhere.
        server: name of the node that serves it, relative to the namespace.
        timeout_s: longest silence of that node while it works on a goal [s].
        group: callback group; one goal's feedback comes in order in an exclusive one.
    """

    def __init__(
        self,
        node: Node,
        heartbeat: HeartbeatPublisher,
        heartbeats: HeartbeatMonitor,
        kind: type[Action],
        name: str,
        server: str,
        timeout_s: float,
        group: CallbackGroup | None = None,
    ) -> None:
        self.timeout_s = timeout_s
        self._heartbeat, self._heartbeats = heartbeat, heartbeats
        self._name, self._server = name, heartbeats.full_name(server)
        self._client = GoalClient(node, kind, name, callback_group=group)
        self._lock = threading.Lock()
        self._cancelled: dict[bytes, UUID] = {}
        heartbeats.listen(self._take)

    def send(
        self, goal: Goal, on_feedback: Callable[[Feedback], None], goal_id: UUID | None = None
    ) -> SentGoal[Result]:
        """Sends a goal and waits until it is accepted.

        Raises:
            NotThere: no server is there.
            SafegenError: none accepts it in time (`SERVER_LOST`), or as `check_sendable`.
        """
        check_sendable(goal)
        if not self._client.wait_for_server(timeout_sec=CONNECT_TIMEOUT_S):
            raise NotThere(
                f'action {self._name} is not there after {CONNECT_TIMEOUT_S:g} s',
                ErrorCode.SERVER_LOST,
            )
        id = goal_id or UUID(uuid=list(uuid.uuid4().bytes))
        self._heartbeat.begin(id)
        sent = self._client.send_goal_async(
            goal, lambda message: on_feedback(cleaned(message.feedback)), goal_uuid=id
        )
        what = f'action {self._name}'
        try:
            handle = wait_for(sent, CONNECT_TIMEOUT_S, what, ErrorCode.SERVER_LOST)
            if not handle.accepted:
                raise SafegenError(f'{what} rejected the goal', ErrorCode.GOAL_REJECTED)
            return SentGoal(self, handle, self._watch(bytes(id.uuid)))
        except BaseException:
            self.cancel(id)
            sent.add_done_callback(lambda _: self.cancel(id))  # it may still be accepted
            raise

    def _watch(self, goal: bytes) -> ProcessWatch:
        def works(instance: NodeInstance) -> bool:
            return instance.node == self._server and goal in instance.served

        rules = Rules(timeout_s=self.timeout_s)
        return ProcessWatch(self._heartbeats, f'node {self._server}', works, rules)

    def cancel(self, goal_id: UUID) -> None:
        """Cancels a goal until it has ended; returns at once."""
        with self._lock:
            self._cancelled[bytes(goal_id.uuid)] = goal_id
        self._client.cancel(goal_id)

    def abandon(self, goal_id: UUID) -> None:
        """Lists a goal no longer: its server ends it as that of a lost sender."""
        self._heartbeat.end(goal_id)
        self._heartbeat.publish()

    def ended(self, goal_id: UUID) -> None:
        """Notes that a goal has ended."""
        with self._lock:
            self._cancelled.pop(bytes(goal_id.uuid), None)
        self._heartbeat.end(goal_id)

    def _take(self, instance: NodeInstance) -> None:
        if instance.node != self._server:
            return
        with self._lock:
            cancelled = list(self._cancelled.items())
        for goal, goal_id in cancelled:
            if goal in instance.served:
                self._client.cancel(goal_id)
            else:
                self.ended(goal_id)


def goal_command(node: Node, action: str, goal: Any) -> Command:
    """What the sender of a goal signs: each of its fields, but for the signature itself."""
    from safegen_ros.keys.authority import Command

    values = _values(goal)
    del values['signature']
    digest = hashlib.sha256(json.dumps(values, sort_keys=True).encode('ascii')).hexdigest()
    return Command(stack_name(node), action, digest)


def sign_goal(node: Node, pair: KeyPair | None, action: str, goal: Any, goal_id: UUID) -> None:
    """Signs a goal, where there is a key and the goal has a place for it."""
    from safegen_ros.keys.authority import sign

    if pair is not None and hasattr(goal, 'signature'):
        command = goal_command(node, action, goal)
        goal.signature = signature_to_msg(sign(pair, command, bytes(goal_id.uuid).hex()))


def _values(message: Any) -> Any:
    """A message as JSON holds it."""
    if hasattr(message, 'get_fields_and_field_types'):
        names = message.get_fields_and_field_types()
        return {name: _values(getattr(message, name)) for name in names}
    if isinstance(message, (str, bool, int, float)):
        return message
    return [_values(each) for each in message] if hasattr(message, '__iter__') else int(message)

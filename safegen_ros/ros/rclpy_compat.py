# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Workarounds for gaps of rclpy 9.1.2 (ROS 2 Kilted); nothing else touches its private parts.

Each has a test in `test/nodes/test_rclpy_compat.py`.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

from rclpy.action import ActionClient, ActionServer
from rclpy.action.client import ClientGoalHandle
from rclpy.action.server import ServerGoalHandle
from rclpy.executors import MultiThreadedExecutor
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.service import Service
from rclpy.task import Future
from unique_identifier_msgs.msg import UUID

from safegen_ros.ros import qos

RESULT_TIMEOUT_S = 900
"""How long a finished goal's result is kept for a client that asks late [s]."""

CANCELING_TIMEOUT_S = 2.0
"""How long a goal's state may lag behind the cancel callback that has stopped its work [s]."""

DISCOVERY_TIMEOUT_S = 2.0
"""Longest wait of an answer for the discovery of its client [s]."""

_KEPT_GOALS = 8
"""Goals whose feedback is still heard; only the last one of a client is ever running."""


def await_canceling(goal_handle: ServerGoalHandle[Any, Any, Any]) -> None:
    """Waits until a goal whose cancel callback was called has the state `CANCELING`.

    rclpy changes the state only after the callback, which may have ended the work already; and only
    from that state a goal can be `CANCELED`.
    """
    deadline, pause = time.monotonic() + CANCELING_TIMEOUT_S, threading.Event()
    while not goal_handle.is_cancel_requested and time.monotonic() < deadline:
        pause.wait(0.001)


def destroy_actions(node: Node) -> None:
    """Destroys the action servers and clients of a node, which `destroy_node` leaves.

    Each of them keeps the node in the graph, where it is taken for a later one of its name.
    """
    for each in list(node.waitables):
        if isinstance(each, ActionServer | ActionClient):
            each.destroy()


def finish_callbacks(executor: MultiThreadedExecutor) -> None:
    """Waits for the callbacks that an executor which no longer spins has handed to its threads.

    In rclpy those that have not begun when it is shut down fail, each with a warning, as they use
    its guard condition, which is gone.
    """
    executor._executor.shutdown(wait=True)


def lifecycle_state(node: Any) -> tuple[int, str]:
    """Number and label of the state of a lifecycle node, for which there is no public call."""
    number, label = node._state_machine.current_state
    return int(number), str(label)


def await_discovery_of_clients(service: Service[Any, Any]) -> None:
    """Makes a service send each answer as soon as it has discovered the client that asked.

    A request can arrive before the reader of its answer is discovered, mostly at a server that has
    just been started. rmw_fastrtps 9.3 waits 0.1 s for the reader and then reports that nothing was
    sent; rclpy makes a warning of that and drops the answer. An answer to a client that has gone is
    not such a case.
    """
    warnings.filterwarnings('error', 'failed to send response', RuntimeWarning)
    send = service.send_response

    def send_when_discovered(response: Any, header: Any) -> None:
        deadline = time.monotonic() + DISCOVERY_TIMEOUT_S
        while time.monotonic() < deadline:
            try:
                send(response, header)
                return
            except SystemError as error:
                # What a warning that is an error becomes on its way out of C++.
                if not isinstance(error.__cause__, RuntimeWarning):
                    raise
        get_logger('safegen').warning(
            f'{service.srv_name}: the client of an answer was not discovered '
            f'within {DISCOVERY_TIMEOUT_S:.3g} s'
        )

    service.send_response = send_when_discovered  # type: ignore[method-assign]


def destroy_lifecycle(node: Any) -> None:
    """Destroys the state machine of a lifecycle node, which `destroy_node` leaves."""
    node._state_machine.destroy_when_not_in_use()


class GoalServer(ActionServer[Any, Any, Any]):
    """`ActionServer` that begins the work of a goal at once, and latches its first status.

    rclpy makes the work a task of the executor, which gets to it after its next look at everything
    else. Here it has a separate thread.

    rclpy publishes the status of its goals only when one changes. Here it is published once at the
    start, with no goal: a client that hears it knows that its answers arrive, see `GoalClient`.

    A goal whose client has gone before it could be accepted stays `ACCEPTED` for ever in rclpy.
    Here it is not one of the `open_goals`.
    """

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        ours = {
            'feedback_pub_qos_profile': qos.EVENTS,
            'result_timeout': RESULT_TIMEOUT_S,
            **qos.ACTION_SERVICES,
        }
        self._at_work: dict[bytes, threading.Thread] = {}
        super().__init__(*arguments, **{**ours, **keywords})
        with self._lock:
            self._handle.publish_status()

    def notify_execute(
        self,
        goal_handle: ServerGoalHandle[Any, Any, Any],
        execute_callback: Callable[..., Any] | None,
    ) -> None:
        """See `ActionServer`."""
        work = self._execute_goal(execute_callback or self._execute_callback, goal_handle)
        goal = bytes(goal_handle.goal_id.uuid)

        async def fail(error: BaseException) -> None:
            raise error

        def run() -> None:
            try:
                work.send(None)
            except StopIteration:
                pass
            except BaseException as error:
                if self._node.executor is None:
                    raise
                self._node.executor.create_task(fail, error)  # which ends the node
            finally:
                self._at_work.pop(goal, None)

        thread = threading.Thread(target=run, name='goal', daemon=True)
        self._at_work[goal] = thread
        thread.start()

    def open_goals(self) -> list[bytes]:
        """The ids of the goals that are worked on."""
        return list(self._at_work)

    def join(self, timeout_s: float) -> None:
        """Waits until every goal whose work has ended has sent its result [s]."""
        end = time.monotonic() + timeout_s
        for thread in list(self._at_work.values()):
            thread.join(max(end - time.monotonic(), 0.0))


class GoalClient(ActionClient[Any, Any, Any]):
    """`ActionClient` for a caller that sends goals from another thread than the executor's.

    `send_goal_async` makes a second future after it has given up its lock, and returns that one; a
    server whose answer is taken in between resolves the first, and the caller waits for ever
    (ros2/rclpy#1123 and its backport). Answers are taken under the same lock, so holding it for the
    whole call closes the gap. The other future, which nothing resolves any more, is forgotten here:
    else one is left of each goal for as long as the client lives.

    It makes its lock after it has shown itself to the executor, which dies of the missing lock when
    it looks at that very moment. Here the lock is there before everything else.

    It stops listening to feedback when the result is there, although earlier messages may be read
    after it: a server that is fast enough, such as a symbolic cell, was never heard. Here the last
    goals stay heard, as much is kept unread as of other events, and events before the result are
    handed on before it.

    It takes a server for ready when the requests to it are connected, though the answers may not
    be. Here a server is ready when its latched status has arrived, for which the last of the
    connections is made.
    """

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        self._whole_call = threading.RLock()
        self._connected = threading.Event()
        profiles = {**qos.ACTION_SERVICES, 'feedback_sub_qos_profile': qos.EVENTS}
        super().__init__(*arguments, **{**profiles, **keywords})

    @property
    def _lock(self) -> Any:
        return self._whole_call

    @_lock.setter
    def _lock(self, other: Any) -> None:
        """Leaves the lock as it is: that of the base class comes too late, and is not an RLock."""

    async def execute(self, taken_data: Any) -> None:
        """See `ActionClient.execute`."""
        if 'status' in taken_data:
            self._connected.set()
        try:
            if 'result' in taken_data:
                for message in self._feedback_up_to_now(taken_data.pop('feedback', None)):
                    await super().execute({'feedback': message})
        finally:
            await super().execute(taken_data)

    def _feedback_up_to_now(self, first: Any) -> list[Any]:
        """The message taken already, if any, and then all waiting ones."""
        taken = [] if first is None else [first]
        with self._lock:
            while len(taken) <= qos.EVENTS.depth:  # however much feedback other goals have
                message = self._client_handle.take_feedback(self._action_type.Impl.FeedbackMessage)
                if message is None:
                    break
                taken.append(message)
        return taken

    def wait_for_server(self, timeout_sec: float | None = None) -> bool:
        """Waits until what a server sends arrives here; false when that takes longer [s]."""
        end = math.inf if timeout_sec is None else time.monotonic() + timeout_sec
        if not self.server_is_ready():
            self._connected.clear()  # the next one has its own status
        return super().wait_for_server(timeout_sec) and self._connected.wait(
            None if timeout_sec is None else max(end - time.monotonic(), 0.0)
        )

    def send_goal_async(self, *arguments: Any, **keywords: Any) -> Any:
        """See `ActionClient.send_goal_async`."""
        with self._lock:
            for goal in list(self._feedback_callbacks)[:-_KEPT_GOALS]:
                del self._feedback_callbacks[goal]
            had = len(self._futures)
            returned = super().send_goal_async(*arguments, **keywords)
            for each in self._futures[had:]:
                if each is not returned:
                    self.remove_future(each)
            return returned

    def cancel(self, goal_id: UUID) -> None:
        """Sends a cancel request for a goal, also before its acceptance is known here.

        In rclpy only the handle of an accepted goal can be cancelled.
        """
        unaccepted: Any = None
        with contextlib.suppress(RuntimeError):  # the client was destroyed
            self._cancel_goal_async(ClientGoalHandle(self, goal_id, unaccepted))

    def _remove_pending_result_request(self, future: Future[Any]) -> None:
        heard = dict(self._feedback_callbacks)
        super()._remove_pending_result_request(future)
        self._feedback_callbacks.update(heard)

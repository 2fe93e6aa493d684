# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An action client whose goals lose neither their answer nor, in a burst, their feedback."""

from __future__ import annotations

import math
import threading
import time
import uuid
import weakref
from collections.abc import Callable
from typing import Any

from rclpy.action import ActionClient
from rclpy.action.client import ClientGoalHandle
from unique_identifier_msgs.msg import UUID

from safegen_ros.nodes import qos
from safegen_ros.nodes.silence import Silence
from safegen_ros.nodes.text_limits import check_sendable

ASK_AGAIN_S = 0.25
"""How long an answer that shows that a server is ready may take before it is asked again [s]."""

FIRST_STATUS_S = 1.0
"""How long the statuses that our servers latch may take to arrive, where others latch none [s]."""

STILL_THERE_S = 1.0
"""For how long a server counts as there after an answer [s]."""

_KEPT_GOALS = 8
"""Goals whose feedback is still heard; only the last one of a client is ever running."""


GONE_S = 1.0
"""How long no server may be ready before the one of a goal counts as gone [s]."""

_NOT_ACCEPTED: Any = None
_ANSWERS = {'goal', 'cancel', 'result'}


def _event_of(future: Any) -> threading.Event:
    """Set when the future is done."""
    done = threading.Event()
    future.add_done_callback(lambda _: done.set())
    return done


class GoalClient(ActionClient):
    """`ActionClient` for a caller that sends goals from another thread than the executor's.

    `send_goal_async` of rclpy 9.1.2 (ROS 2 Kilted) makes a second future after it has given up its
    lock, and returns that one; a server whose answer is taken in between resolves the first, and
    the caller waits for ever (ros2/rclpy#1123 and its backport). Answers are taken under the same
    lock, so holding it for the whole call closes the gap. The other future, which nothing resolves
    any more, is forgotten here: else one is left of each goal for as long as the client lives.

    It also makes its lock after it has shown itself to the executor, which dies of the missing lock
    when it looks at that very moment. Here the lock is there before everything else.

    And it stops listening to feedback when the result is there, although what was sent before the
    result may be read after it: a server that is fast enough, such as a symbolic cell, was never
    heard. Here the last goals stay heard, as much is kept unread as of other events, and what is
    here before the result is handed on before it.

    And it takes a server for ready when the requests to it are connected, though the answers may
    not be: on a busy machine the first goal of a new client was accepted, and nobody was told. Here
    a server is ready when an answer of it has arrived; and, as its first feedback could still be
    lost, its latched statuses, which come by the last of the connections that are made.

    And whether a server is there it knows from the middleware, which counts a killed process as
    there for its lease, and one that was started anew as the same. `silence_of` a goal tells both.
    """

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        self._whole_call = threading.RLock()
        self._answered_at = -math.inf
        self._told = threading.Event()
        self._silences: weakref.WeakValueDictionary[bytes, Silence] = weakref.WeakValueDictionary()
        profiles = {**qos.ACTION_SERVICES, 'feedback_sub_qos_profile': qos.EVENTS}
        super().__init__(*arguments, **{**profiles, **keywords})

    @property
    def _lock(self) -> Any:
        return self._whole_call

    @_lock.setter
    def _lock(self, other: Any) -> None:
        """Leaves the lock as it is: that of the base class comes too late, and is no RLock."""

    def silence_of(self, goal_id: UUID) -> Silence:
        """What is not heard of a goal from now on; our servers repeat the status of each."""
        silence = self._silences[bytes(goal_id.uuid)] = Silence()
        return silence

    def absence(self) -> Callable[[], bool]:
        """A function to look with again and again: whether the server of a goal is gone.

        While the middleware takes leave of a dead one, a live one of the same name is not ready for
        a moment, as its requests and answers are counted together.
        """
        unready = Silence()

        def look() -> bool:
            if self.server_is_ready():
                unready.hear()
            return unready.seconds() > GONE_S

        return look

    async def execute(self, taken_data: Any) -> None:
        """See `ActionClient.execute`."""
        if _ANSWERS & taken_data.keys():
            self._answered_at = time.monotonic()
        if 'status' in taken_data:
            self._told.set()
            for status in taken_data['status'].status_list:
                self._hear(status.goal_info.goal_id)
        try:
            if 'result' in taken_data:
                for message in self._feedback_up_to_now(taken_data.pop('feedback', None)):
                    # No status is read meanwhile, which would show that the goal is not silent.
                    self._hear(message.goal_id)
                    await super().execute({'feedback': message})
        finally:
            await super().execute(taken_data)

    def _hear(self, goal_id: UUID) -> None:
        silence = self._silences.get(bytes(goal_id.uuid))
        if silence is not None:
            silence.hear()

    def _feedback_up_to_now(self, first: Any) -> list[Any]:
        """What was taken already, if anything, and then all that is here and was not."""
        taken = [] if first is None else [first]
        with self._lock:
            while len(taken) <= qos.EVENTS.depth:  # however fast other goals tell of themselves
                message = self._client_handle.take_feedback(self._action_type.Impl.FeedbackMessage)
                if message is None:
                    break
                taken.append(message)
        return taken

    def wait_for_server(self, timeout_sec: float | None = None) -> bool:
        """Waits until what a server says arrives here; false when that takes longer [s]."""
        end = math.inf if timeout_sec is None else time.monotonic() + timeout_sec
        if not self.server_is_ready():
            self._told.clear()  # another one will tell
        if not self._answered(timeout_sec):
            return False
        self._told.wait(min(FIRST_STATUS_S, max(end - time.monotonic(), 0.0)))
        return True

    def _answered(self, timeout_sec: float | None) -> bool:
        """Waits until answers of a server arrive here; false when that takes longer [s]."""
        end = math.inf if timeout_sec is None else time.monotonic() + timeout_sec
        while super().wait_for_server(max(end - time.monotonic(), 0.0) if timeout_sec else None):
            if time.monotonic() - self._answered_at < STILL_THERE_S:
                return True
            # Of a goal that nobody has: it changes nothing, however often it is asked.
            nobody = UUID(uuid=list(uuid.uuid4().bytes))
            answered = self._cancel_goal_async(ClientGoalHandle(self, nobody, _NOT_ACCEPTED))
            arrived = _event_of(answered)
            left = end - time.monotonic()
            if arrived.wait(min(ASK_AGAIN_S, max(left, 0.0))) or answered.done():
                return True
            if left <= 0:
                return False
        return False

    def send_goal_async(self, *arguments: Any, **keywords: Any) -> Any:
        """See `ActionClient.send_goal_async`; raises as `check_sendable`."""
        check_sendable(arguments[0] if arguments else keywords['goal'])
        with self._lock:
            for goal in list(self._feedback_callbacks)[:-_KEPT_GOALS]:
                del self._feedback_callbacks[goal]
            had = len(self._futures)
            returned = super().send_goal_async(*arguments, **keywords)
            for each in self._futures[had:]:
                if each is not returned:
                    self.remove_future(each)
            return returned

    def _remove_pending_result_request(self, future: Any) -> None:
        heard = dict(self._feedback_callbacks)
        super()._remove_pending_result_request(future)
        self._feedback_callbacks.update(heard)

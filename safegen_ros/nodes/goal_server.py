# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An action server that says again and again which goals it has, so that its death is noticed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from rclpy.action import ActionServer
from rclpy.action.server import ServerGoalHandle

from safegen_ros.nodes import qos

STATUS_S = 0.5
"""How often the statuses of the goals are told while one is under way [s]."""

RESULT_TIMEOUT_S = 900
"""How long a finished goal's result is kept for a client that asks late [s]."""


class GoalServer(ActionServer):
    """`ActionServer` with the profiles of the stack, which repeats its topic `_action/status`.

    rclpy publishes that topic only when a status changes. Repeated, it is a sign of life for each
    goal that it names, of a server that still has it: one that was started anew has not. And it is
    published once at the start, with no goal: whoever comes then knows of none, in place of knowing
    nothing.
    """

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        ours = {
            'feedback_pub_qos_profile': qos.EVENTS,
            'result_timeout': RESULT_TIMEOUT_S,
            **qos.ACTION_SERVICES,
        }
        self._at_work: set[threading.Thread] = set()
        super().__init__(*arguments, **{**ours, **keywords})
        with self._lock:
            self._handle.publish_status()

    def notify_execute(
        self, goal_handle: ServerGoalHandle, execute_callback: Callable[..., Any] | None
    ) -> None:
        """Begins the work of a goal at once, in a thread of its own; see `ActionServer`.

        rclpy makes it a task of the executor, which gets to it after its next look at everything
        else.
        """
        work = self._execute_goal(execute_callback or self._execute_callback, goal_handle)

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
                self._at_work.discard(threading.current_thread())

        thread = threading.Thread(target=run, name='goal', daemon=True)
        self._at_work.add(thread)
        thread.start()

    def join(self, timeout_s: float) -> None:
        """Waits until every goal whose work has ended has told its result [s]."""
        end = time.monotonic() + timeout_s
        for thread in list(self._at_work):
            thread.join(max(end - time.monotonic(), 0.0))

    def open_goals(self) -> list[bytes]:
        """The ids of the goals that were accepted and have not ended."""
        return [id for id, goal in list(self._goal_handles.items()) if goal.is_active]

    def tell_statuses(self) -> None:
        """Publishes the statuses of all goals while one is under way; any thread may call it."""
        # Not under the lock: a goal that ends has its own, and wants that one then.
        if any(goal.is_active for goal in list(self._goal_handles.values())):
            with self._lock:  # under which goals come and go
                self._handle.publish_status()

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An action client whose goals cannot lose their answer to the thread that spins."""

from __future__ import annotations

import threading
from typing import Any

from rclpy.action import ActionClient


class GoalClient(ActionClient):
    """`ActionClient` for a caller that sends goals from another thread than the executor's.

    `send_goal_async` of rclpy 9.1.2 (ROS 2 Kilted) makes a second future after it has given up its
    lock, and returns that one; a server whose answer is taken in between resolves the first, and
    the caller waits for ever (ros2/rclpy#1123 and its backport). Answers are taken under the same
    lock, so holding it for the whole call closes the gap.
    """

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._lock: Any = threading.RLock()

    def send_goal_async(self, *arguments: Any, **keywords: Any) -> Any:
        """See `ActionClient.send_goal_async`."""
        with self._lock:
            return super().send_goal_async(*arguments, **keywords)

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A function that is called again and again, in a thread of its own, whatever time the node has."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable

from rclpy.node import Node

from safegen_ros.closing import Closing


class Ticker(Closing):
    """Calls a function at a period of the wall clock until it is closed.

    A timer of the node would stand still with simulated time, and each of its calls would wake the
    executor with all that it waits for, which is what an idle node would then spend its time on.

    Args:
        node: logs what the function raises; the next call comes all the same.
        period_s: between two calls [s].
        function: must be quick.
    """

    def __init__(self, node: Node, period_s: float, function: Callable[[], None]) -> None:
        self._node = node
        self._period_s = period_s
        self._function = function
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name='ticker', daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._closed.wait(self._period_s):
            try:
                self._function()
            except Exception as error:
                self._node.get_logger().error(
                    ''.join(traceback.format_exception(error)), throttle_duration_sec=60.0
                )

    def close(self) -> None:
        """Ends the calls; none is under way afterwards."""
        self._closed.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()

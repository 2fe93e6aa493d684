# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An event loop that callers without one share."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

END_S = 2.0
"""Longest time for a connection to be closed."""


class LoopThread:
    """An event loop in a daemon thread, which ends with its owner."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name='model-server', daemon=True
        )
        self._thread.start()
        self._stop = weakref.finalize(self, self._loop.call_soon_threadsafe, self._loop.stop)

    def start(self, work: Coroutine[Any, Any, None]) -> Future[None]:
        """Begins something; cancelling what is returned cancels it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self, last: Coroutine[Any, Any, None]) -> None:
        """Ends what is open, does something last, and ends; a second time it does nothing."""
        if not self._stop.alive:
            last.close()
            return
        self.start(_end(last)).result()
        self._stop()
        self._thread.join()
        self._loop.close()


async def _end(last: Coroutine[Any, Any, None]) -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=END_S)
    with suppress(asyncio.TimeoutError):
        await asyncio.wait_for(last, END_S)

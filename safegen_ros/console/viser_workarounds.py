# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What works around viser 1.1.1 and its web server, which offer no hook for it."""

from __future__ import annotations

import asyncio
import ctypes
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import viser

_SCRIPTS = {
    '1.1.1': "'sha256-5iRcjB7VnwnYpbUpHa15FmjNIRu22hIQnvWuocHMxJw=' "
    "'sha256-o/BTEGoB4UnTxqb+3RxwUFQZkWXpqUxouHkbDNrAkqE='",
}
"""The two scripts in the page of a viser, the second of which the first one unpacks. Where a
version is not known, any script that stands in the page may run."""

_TRIM_THRESHOLD, _ARENA_MAX = -1, -8  # of <malloc.h>
_GIVEN_BACK = 1 << 18  # above this, free memory at the end of the heap is given back [bytes]


def keep_compact() -> bool:
    """Has this process keep one heap; call it before threads begin.

    The console sends some hundred messages a second to each viewer, each packed in memory that one
    thread takes and another one gives back. With a heap for each thread, as in glibc, the holes add
    up: the process grew by some MB an hour with the same contents.

    Returns:
        whether the C library can; only glibc can, and only there is it needed.
    """
    mallopt = getattr(ctypes.CDLL(None), 'mallopt', None)
    if mallopt is None:
        return False
    # Once it is set, the size from which memory is taken outside of the heap no longer rises: what
    # messages are packed in comes and goes, and leaves a hole where it was on the heap.
    return bool(mallopt(_ARENA_MAX, 1) and mallopt(_TRIM_THRESHOLD, _GIVEN_BACK))


def show_to(viewer: viser.ClientHandle, folder: viser.GuiFolderHandle, visible: bool) -> None:
    """Shows or hides a folder of all viewers for one of them, until it is set for all again."""
    from viser._messages import GuiUpdateMessage

    updates = {'visible': visible}
    viewer.gui._websock_interface.queue_message(GuiUpdateMessage(folder._impl.uuid, updates))


def page_scripts() -> str:
    """The scripts that may run in the page of this viser, for a content policy."""
    import viser

    return _SCRIPTS.get(viser.__version__, "'unsafe-inline'")


@contextmanager
def served_through(guard: Callable[[Any, Callable[..., Any]], dict[str, Any]]) -> Iterator[None]:
    """Puts a guard before each server of viser that is made in this context.

    Args:
        guard: makes the arguments of the server from viser's handler and `process_request`.
    """
    from websockets.asyncio import server as websockets_server

    original: Any = websockets_server.serve

    def serve(
        handler: Any, *args: Any, process_request: Callable[..., Any], max_size: int, **more: Any
    ) -> Any:
        guarded = guard(handler, process_request)
        return original(guarded.pop('handler'), *args, **guarded, **more)

    websockets_server.serve = serve  # type: ignore[misc, assignment]
    try:
        yield
    finally:
        websockets_server.serve = original  # type: ignore[misc]


def show_at_once() -> None:
    """Has the page show each message when it comes.

    The page of viser spaces messages out by the server's times. After a hiccup it delays all later
    ones by up to 100 ms, so that a recorded motion looks smooth. An operator has to see the arm
    where it is. What comes more than 100 ms after the message before is shown at once, so each one
    says that it does.
    """
    from viser.infra import _infra

    seconds = itertools.count()
    clock = {**vars(vars(_infra)['time']), 'perf_counter': lambda: float(next(seconds))}
    vars(_infra)['time'] = SimpleNamespace(**clock)


class Wakened(asyncio.Event):
    """An event that any thread may set; those who wait for it are woken in the loop alone."""

    def set(self) -> None:
        """Sets it; from outside of a loop no waiter wakes."""
        if asyncio._get_running_loop() is None:
            self._value = True
            return
        self._value = False  # else it counts as told already
        super().set()


def wake_in_its_thread() -> None:
    """Lets other threads write messages while viewers wait for them.

    viser 1.1 sets the event of new messages in the writer's thread and then in that of the loop.
    The first looks through those who wait while the loop changes them, which can fail: a picture
    was not drawn to its end, and the page said so.
    """
    from viser.infra._async_message_buffer import AsyncMessageBuffer

    make = AsyncMessageBuffer.__init__
    if getattr(make, 'is_ours', False):
        return

    def made(self: Any, *arguments: Any, **keywords: Any) -> None:
        make(self, *arguments, **keywords)
        self.message_event = Wakened()

    made.is_ours = True  # type: ignore[attr-defined]
    AsyncMessageBuffer.__init__ = made  # type: ignore[method-assign]

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A server of viser behind the gate, which does not report its page and holds nothing back."""

from __future__ import annotations

import asyncio
import contextlib
import io
import itertools
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from safegen_ros.console.access import Gate, guarded
from safegen_ros.console.inbound import Inbound
from safegen_ros.errors import SafegenError

if TYPE_CHECKING:
    import viser


def serve(gate: Gate, port: int) -> viser.ViserServer:
    """The server, which has begun.

    Args:
        gate: who is let in, and at which address it is served.
        port: 0 for any that is free.

    Raises:
        SafegenError: the port is taken, or this viser cannot be guarded.
    """
    import viser

    _show_at_once()
    _wake_in_its_thread()
    inbound = Inbound()
    with contextlib.redirect_stdout(io.StringIO()), guarded(gate, inbound):
        server = viser.ViserServer(
            host=gate.host, port=port, label='safegen console', verbose=False
        )
    if port and server.get_port() != port:
        server.stop()
        raise SafegenError(
            f'port {port} of {gate.host} is taken: end what is there, or name another one with '
            '--port'
        )
    inbound.guis = lambda: [server.gui, *(each.gui for each in server.get_clients().values())]
    return server


def _show_at_once() -> None:
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


def _wake_in_its_thread() -> None:
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

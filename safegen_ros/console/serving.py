# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A server of viser behind the gate, which tells nobody else of its page and holds nothing back."""

from __future__ import annotations

import contextlib
import io
import itertools
from types import SimpleNamespace
from typing import Any

from safegen_ros.console.gate import Gate, guarded
from safegen_ros.errors import SafegenError


def serve(gate: Gate, port: int) -> Any:
    """The server, which has begun.

    Args:
        gate: who is let in, and at which address it is served.
        port: 0 for any that is free.

    Raises:
        SafegenError: the port is taken, or this viser cannot be guarded.
    """
    import viser
    from viser import _messages

    _show_at_once()
    with contextlib.redirect_stdout(io.StringIO()), guarded(gate):
        server = viser.ViserServer(
            host=gate.host, port=port, label='safegen console', verbose=False
        )
    if port and server.get_port() != port:
        server.stop()
        raise SafegenError(
            f'port {port} of {gate.host} is taken: end what is there, or name another one with '
            '--port'
        )
    # A tunnel through somebody's server that any viewer could ask for.
    for message in (_messages.ShareUrlRequest, _messages.ShareUrlDisconnect):
        server._websock_server.unregister_handler(message)
    return server


def _show_at_once() -> None:
    """Has the page show each message when it comes.

    The page of viser spaces messages out by the times that the server writes into them: after a
    hiccup it holds all that follows back for up to 100 ms, so that a recorded motion looks smooth.
    An operator has to see the arm where it is. What comes more than 100 ms after the message before
    is shown at once, so each one says that it does.
    """
    from viser.infra import _infra

    seconds = itertools.count()
    clock = {**vars(_infra.time), 'perf_counter': lambda: float(next(seconds))}
    _infra.time = SimpleNamespace(**clock)  # type: ignore[assignment]

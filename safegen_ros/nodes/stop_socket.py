# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A socket of an executor for `safegen stop` of its user, without the start of ROS."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from safegen_ros.sync import Closing

ANSWER_S = 10.0
"""How long an executor may take to answer [s]; it answers a stop when the arm is at rest."""


class StopSocket(Closing):
    """Stops for each connection, and answers it as the service `stop` does.

    Args:
        path: of the socket, in a folder of this user alone; that of a killed executor is replaced.
        stop: whether it worked, and what happened, as for `std_srvs/Trigger`; for any thread.

    Raises:
        OSError: no socket can be made.
    """

    def __init__(self, path: Path, stop: Callable[[], tuple[bool, str]]) -> None:
        self._path = path
        self._stop = stop
        self._socket = socket.socket(socket.AF_UNIX)
        path.unlink(missing_ok=True)
        with _address(path) as address:
            self._socket.bind(address)
        self._socket.listen()
        threading.Thread(target=self._serve, name='stop_socket', daemon=True).start()

    def _serve(self) -> None:
        with self._socket, suppress(OSError):  # it is closed
            while True:
                connection, _ = self._socket.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):  # the caller has gone
            connection.sendall(json.dumps(self._stop()).encode())

    def close(self) -> None:
        """Takes no more connections; harmless when repeated."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # which ends the wait for a connection
            self._path.unlink(missing_ok=True)


def stop_at(path: Path, timeout_s: float) -> tuple[bool, str] | None:
    """The answer of the executor at a socket; None where none listens.

    Raises:
        TimeoutError: one listens, and does not answer in time [s].
    """
    try:
        with _address(path) as address, socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(timeout_s)
            connection.connect(address)
            with connection.makefile('rb') as answer:
                success, message = json.loads(answer.read(64 * 1024))
    except TimeoutError:
        raise
    except (OSError, ValueError, TypeError):
        return None
    return success is True, str(message)


@contextmanager
def _address(path: Path) -> Iterator[str]:
    """A name of the socket that is short enough for the kernel, whatever its folder."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f'/proc/self/fd/{folder}/{path.name}'
    finally:
        os.close(folder)

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Watches over the process that moves the arm, and stops the arm when that process cannot.

A process that is killed, or that hangs, sends no stop, and the firmware goes on to its last
target. So the agent is two processes: this one starts the other, hears from it again and again, and
when it is dead or silent sends the firmware the stop itself.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from types import FrameType

from safegen_ros.robot.agent.messages import HANG_TIMEOUT_S, ArmPort, SerialPort, port_of
from safegen_ros.schema import SchemaReader, json_object
from safegen_ros.sync import Deadline

#: Time between two looks [s].
_LOOK_S = 0.02
#: So many stops are sent, this far apart [s]; the longest frame takes as many bytes as three.
_STOPS = 5
_STOP_PAUSE_S = 0.01
#: Time to reach a TCP server, and for a port to take a stop [s].
_CONNECT_S = 1.0
_WRITE_S = 0.2
#: Time for the watched process to end after its signal [s].
END_S = 8.0
#: The heartbeat of either process: a line with nothing in it.
ALIVE = b'\n'


def taken(port: ArmPort, stop: bytes) -> bytes:
    """The line that says that the watched process has this port, and what makes the arm hold."""
    return json.dumps({**asdict(port), 'stop': stop.hex()}).encode('ascii') + b'\n'


def released() -> bytes:
    """The line that says that the arm is held and the port is free."""
    return b'null\n'


class Guard:
    """Runs `python -m safegen_ros.robot.agent.serve` and watches it.

    It inherits standard input and output. It writes to the descriptor of `--news` the lines of the
    functions of this module. The descriptor of `--end` carries heartbeats of this process; it
    closes to end the guard, and when this process dies.

    Args:
        arguments: for the other process.
        hang_timeout_s: its silence after which it is killed and the arm held [s]; also when it was
            this process that could not watch for so long.
    """

    def __init__(self, arguments: Sequence[str], hang_timeout_s: float = HANG_TIMEOUT_S) -> None:
        self._timeout = hang_timeout_s
        self._news, news = os.pipe()
        end, self._end = os.pipe()
        os.set_blocking(self._end, False)
        self._told_at: float | None = None
        self._port: ArmPort | None = None
        self._stop = b''
        module = [sys.executable, '-m', 'safegen_ros.robot.agent.serve']
        # A separate session: signals of a terminal to its processes come here only.
        self._process = subprocess.Popen(
            [*module, '--news', str(news), '--end', str(end), *arguments],
            pass_fds=(news, end),
            start_new_session=True,
        )
        os.close(news)
        os.close(end)

    def run(self) -> int:
        """Waits for the end of the other process; returns its exit status, 1 when it was killed.

        Where it has not held the arm, this does.
        """
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, self._tell)
        self._follow()
        status = self._process.wait()
        if self._port is not None:
            try:
                hold(self._port, self._stop)
            except OSError as error:
                _say(f'the arm may still move, and cannot be made to hold: {error}: cut its power')
                return 1
            _say('the arm holds: the process that moved it had died, or hung')
        return status if status >= 0 else 1

    def _follow(self) -> None:
        """Reads the news to their end; kills a process that hangs while it has the arm."""
        rest = b''
        heard, watched = Deadline(self._timeout), Deadline(self._timeout)
        while True:
            ready, _, _ = select.select([self._news], [], [], _LOOK_S)
            held_up = watched.over
            watched.restart()
            if self._told_at is None:
                with contextlib.suppress(OSError):  # it is full, or the other process has ended
                    os.write(self._end, ALIVE)
            if ready:
                data = os.read(self._news, 4096)
                if not data:
                    return
                heard.restart()
                *lines, rest = (rest + data).split(b'\n')
                for line in filter(None, lines):
                    self._take(line)
                if isinstance(self._port, SerialPort):
                    import serial  # noqa: F401 (so that it is there at once when it is needed)
            hangs = self._port is not None and (held_up or heard.over)
            late = self._told_at is not None and time.monotonic() - self._told_at > END_S
            if hangs or late:
                self._process.kill()
                return

    def _take(self, line: bytes) -> None:
        if line == b'null':
            self._port = None
            return
        value, reader = json_object(line), SchemaReader('', ValueError)
        self._port = port_of(reader, value)
        self._stop = bytes.fromhex(reader.read(str, value.get('stop'), 'stop'))

    def _tell(self, number: int, frame: FrameType | None) -> None:
        if self._told_at is None:
            self._told_at = time.monotonic()
            os.close(self._end)


def hold(port: ArmPort, stop: bytes) -> None:
    """Sends the firmware on a port its stop, which makes it hold where it is.

    More than once: the dead process may have left half a frame, and what follows is taken for the
    rest of it.
    """
    with _opened(port) as write:
        for _ in range(_STOPS):
            write(stop)
            time.sleep(_STOP_PAUSE_S)


@contextlib.contextmanager
def _opened(port: ArmPort) -> Iterator[Callable[[bytes], object]]:
    if isinstance(port, SerialPort):
        import serial

        line = serial.Serial()
        line.port, line.baudrate, line.write_timeout = port.port, port.baud, _WRITE_S
        # As the vendor's library does: this line resets the boards of some arms.
        line.rts = False
        with line:
            yield line.write
        return
    with socket.create_connection((port.host, port.tcp_port), _CONNECT_S) as connection:
        connection.settimeout(_WRITE_S)
        yield connection.sendall
        # Unread answers would reset the connection before the server reads the stops.
        connection.shutdown(socket.SHUT_WR)
        with contextlib.suppress(OSError):
            while connection.recv(4096):
                pass


def _say(what: str) -> None:
    print(f'safegen-agent: {what}', file=sys.stderr)

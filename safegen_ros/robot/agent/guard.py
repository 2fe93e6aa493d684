# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Watches over the process that moves the arm, and stops the arm when that process cannot.

A process that is killed, or that hangs, sends no stop, and the firmware goes on to its last
target. So the agent is two processes: this one starts the other, hears from it again and again, and
when it is dead or silent sends the firmware the stop itself.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from types import FrameType

from safegen_ros.robot.agent.messages import HANG_TIMEOUT_S
from safegen_ros.robot.mycobot.frames import Command, Frame
from safegen_ros.watched_time import WatchedTime

#: Time between two looks [s]. What counts as silence is what this process has looked on at: when
#: all the computer stands still, nobody hangs.
_LOOK_S = 0.02
#: So many stops are sent; the longest frame takes as many bytes as three of them.
_STOPS = 5
#: Time to end that the watched process gets once it is told to [s].
END_S = 8.0
#: What the watched process writes as a sign of life: a line with nothing in it.
ALIVE = b'\n'

Port = tuple[str, int]


def taken(port: str, baud: int) -> bytes:
    """The line that tells that the watched process has this port."""
    return json.dumps([port, baud]).encode('ascii') + b'\n'


def released() -> bytes:
    """The line that tells that the arm is held and the port is free."""
    return b'null\n'


class Guard:
    """Runs `python -m safegen_ros.robot.agent.serve` and watches it.

    It inherits standard input and output. It writes to the descriptor of `--news` what the
    functions of this module make; the descriptor of `--end` ends when it shall end, and when this
    process dies.

    Args:
        arguments: for the other process.
        hang_timeout_s: its silence after which it is killed and the arm held [s].
    """

    def __init__(self, arguments: Sequence[str], hang_timeout_s: float = HANG_TIMEOUT_S) -> None:
        self._timeout = hang_timeout_s
        self._news, news = os.pipe()
        end, self._end = os.pipe()
        self._told_at: float | None = None
        self._port: Port | None = None
        module = [sys.executable, '-m', 'safegen_ros.robot.agent.serve']
        # A session of its own: what a terminal sends to its processes comes here only.
        self._process = subprocess.Popen(
            [*module, '--news', str(news), '--end', str(end), *arguments],
            pass_fds=(news, end),
            start_new_session=True,
        )
        os.close(news)
        os.close(end)

    def run(self) -> int:
        """Waits for the end of the other process, and holds the arm where it has not done so.

        Returns:
            Its exit status, 1 when it was killed.
        """
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, self._tell)
        self._follow()
        status = self._process.wait()
        if self._port is not None:
            try:
                hold(*self._port)
            except OSError as error:
                _say(f'the arm may still move, and cannot be told to hold: {error}: cut its power')
                return 1
            _say('the arm was told to hold: the process that moved it had died, or hung')
        return status if status >= 0 else 1

    def _follow(self) -> None:
        """Reads the news to their end; kills a process that hangs while it has the arm."""
        rest, heard = b'', 0.0
        watch = WatchedTime(2 * _LOOK_S)
        while True:
            ready, _, _ = select.select([self._news], [], [], _LOOK_S)
            passed = watch.look()
            if ready:
                data = os.read(self._news, 4096)
                if not data:
                    return
                heard = passed
                *lines, rest = (rest + data).split(b'\n')
                for line in filter(None, lines):
                    news = json.loads(line)
                    self._port = None if news is None else (news[0], news[1])
                if self._port is not None:
                    import serial  # noqa: F401 (so that it is there at once when it is needed)
            hangs = self._port is not None and passed - heard > self._timeout
            late = self._told_at is not None and time.monotonic() - self._told_at > END_S
            if hangs or late:
                self._process.kill()
                return

    def _tell(self, number: int, frame: FrameType | None) -> None:
        if self._told_at is None:
            self._told_at = time.monotonic()
            os.close(self._end)


def hold(port: str, baud: int) -> None:
    """Sends the firmware on a port the stop, which makes it hold where it is.

    More than once: the dead process may have left half a frame, and what follows is taken for the
    rest of it.

    Raises:
        OSError: the port cannot be opened, or takes nothing.
    """
    import serial

    line = serial.Serial()
    line.port, line.baudrate, line.write_timeout = port, baud, 0.2
    # As the vendor's library does: this line resets the boards of some arms.
    line.rts = False
    with line:
        for _ in range(_STOPS):
            line.write(Frame(Command.STOP).encode())
            time.sleep(0.01)


def _say(what: str) -> None:
    print(f'safegen-agent: {what}', file=sys.stderr)

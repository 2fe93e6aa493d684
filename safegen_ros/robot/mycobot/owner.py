# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The one thread that owns the port of an arm: who asks waits a turn, and a stop does not."""

from __future__ import annotations

import termios
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from safegen_ros.errors import ErrorCode, RobotError, SafegenError
from safegen_ros.robot.mycobot.link import Interrupted, SerialRobot, TcpRobot
from safegen_ros.sync import Closing, boottime

Robot = SerialRobot | TcpRobot
Result = TypeVar('Result')

#: The firmware gets so many commands to hold, until it says that it does.
STOP_TRIES = 3
#: How often an answer that does not come, or cannot be right, is asked for again.
READ_TRIES = 5


class PortOwner(Closing):
    """The vendor's library, used by one thread."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._wire = robot.wire
        #: The port, for messages.
        self.name = self._wire.name
        self._lock = threading.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix='mycobot')
        self._halting: Future[bool] | None = None
        self._halt_waits = False
        self._closed = False

    def ask(self, name: str, *args: Any) -> Any:
        """Calls a method of the vendor's library; any thread.

        Raises:
            RobotError: the library failed, or the arm is gone.
            Canceled: the call would move the arm, and it is stopped.
        """
        return self.ask_counted(name, *args)[0]

    def ask_again(self, name: str, *args: Any) -> Any:
        """As `ask`, but with as much patience as a reading has.

        Only for questions, and for messages that may be repeated: the answer may be delayed for
        longer than the library waits.
        """
        for _ in range(READ_TRIES - 1):
            answer = self.ask(name, *args)
            if answer not in (-1, None):
                return answer
            self.wait_quiet()
        return self.ask(name, *args)

    def ask_counted(self, name: str, *args: Any) -> tuple[Any, int, float]:
        """As `ask`, with a value that gives the age of an answer.

        Returns:
            The answer, how often the library had to ask for it, and when its turn came, before the
            first time, in `boottime` [s].
        """

        def call() -> tuple[Any, int, float]:
            self._wire.sent = 0
            began = boottime()
            return getattr(self._robot, name)(*args), self._wire.sent, began

        while True:
            try:
                return self._submit(call).result()
            except Interrupted:
                continue  # the stop goes first; it is in the queue already
            except SafegenError:
                raise
            except Exception as error:
                # The library raises whatever its decoding stumbles over, or its port.
                gone = isinstance(error, (OSError, termios.error))
                cure = ': look at cable, power and port' if gone else ''
                raise RobotError(
                    f'{self.name}: {name} failed: {type(error).__name__}: {error}{cure}',
                    ErrorCode.ARM_UNREACHABLE if gone else ErrorCode.ROBOT_FAULT,
                ) from error

    def wait_quiet(self) -> None:
        """Waits until no late answer comes any more; see `Wire.wait_quiet`."""
        self._submit(self._wire.wait_quiet).result()

    def halt(self) -> None:
        """Shuts the gate for motion commands, and has the arm told to hold; returns at once."""
        with self._lock:
            if self._closed:
                return
            self._wire.shut()
            if not self._halt_waits:
                self._halt_waits = True
                self._halting = self._thread.submit(self._halt)

    def halted(self) -> bool:
        """Waits for the end of the last `halt`; returns whether the arm has said that it holds."""
        with self._lock:
            halting = self._halting
        return halting is not None and halting.result()

    def open_gate(self) -> None:
        """Lets motion commands out again."""
        with self._lock:
            self._halting = None
            self._wire.open_gate()

    def close(self) -> None:
        """Releases the port, once what waits is done; nothing leaves it any more."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._thread.shutdown(wait=True)
        self._robot.close()
        self._wire.close()

    def _submit(self, call: Callable[[], Result]) -> Future[Result]:
        try:
            return self._thread.submit(call)
        except RuntimeError as error:  # the pool is shut down
            raise RobotError('the arm is closed: connect again') from error

    def _halt(self) -> bool:
        """Has the arm hold; returns whether it said that it does."""
        try:
            return any(self._robot.stop() == 1 for _ in range(STOP_TRIES))
        except Exception:
            return False
        finally:
            with self._lock:
                self._halt_waits = False
                self._wire.give_up_stop()

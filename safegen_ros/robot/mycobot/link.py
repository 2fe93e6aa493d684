# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The vendor's library on a wire that lets nothing dangerous out.

The library builds, checks and decodes frames, and sends a command again when no answer comes. All
bytes that it writes pass `Wire.send`, which knows a few absolute commands only, checks the limits
once more, and sends no motion command while the gate is shut. All that it reads comes from
`Wire.receive`, which another thread can end.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import math
import os
import select
import socket
import threading
import time
from typing import Any

from pymycobot import MyCobot280, MyCobot280Socket

from safegen_ros.errors import Canceled, ErrorCode, RobotError
from safegen_ros.robot.arms.mycobot_280 import MYCOBOT_280
from safegen_ros.robot.mycobot.effectors import PUMP_PIN
from safegen_ros.robot.mycobot.frames import MOTION, Frame, FrameCommand, FrameReader, unpack

#: Longest wait for one answer [s]; an ATOM answers within 20 ms. The library asks three times.
WINDOW = 0.25
#: The same for the answer to a stop [s].
STOP_WINDOW = 0.1
#: Longest wait for the port to take one frame [s].
SEND_TIMEOUT = 0.05
#: A line is quiet when nothing came for this time [s].
QUIET = 0.3
CONNECT_TIMEOUT = 5.0
#: Time between two tries to take a port [s].
_LOCK_POLL = 0.1

#: All that may leave. Relative moves are not here: one that the library repeats would be doubled.
ALLOWED = frozenset(
    {
        FrameCommand.GET_SYSTEM_VERSION,
        FrameCommand.GET_ERROR,
        FrameCommand.CLEAR_ERROR,
        FrameCommand.POWER_ON,
        FrameCommand.IS_POWER_ON,
        FrameCommand.SET_FRESH_MODE,
        FrameCommand.GET_ANGLES,
        FrameCommand.SEND_ANGLES,
        FrameCommand.STOP,
        FrameCommand.ARE_SERVOS_ENABLED,
        FrameCommand.IS_SERVO_ENABLED,
        FrameCommand.FOCUS_SERVO,
        FrameCommand.GET_GRIPPER_VALUE,
        FrameCommand.SET_GRIPPER_VALUE,
        FrameCommand.SET_BASIC_OUTPUT,
    }
)


class Interrupted(Exception):
    """A stop has to leave before the answer that was waited for."""


class Wire:
    """The bytes to and from one arm.

    `shut` and `open_gate` may be called by any thread; the rest by the owner of the port.

    Args:
        fd: descriptor of the serial port or socket; it stays the library's to close.
        name: of the port, for messages.
    """

    def __init__(self, fd: int, name: str) -> None:
        self.name = name
        #: Frames sent since the caller set it to 0: more than one, and an answer may be old.
        self.sent = 0
        self._fd = fd
        self._reader = FrameReader()
        self._gate = threading.Lock()
        self._shut = False
        self._stop_waits = False
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(self._wake, False)

    def send(self, data: bytes) -> None:
        """Writes one frame, after all that came in before it was thrown away.

        Raises:
            RobotError: the frame may not leave, a limit is broken, or the port takes nothing.
            Canceled: it moves the arm or switches the tool, and the gate is shut.
            Interrupted: a stop has to leave first.
        """
        frame = self._checked(data)
        self._discard()
        # The closing of the gate waits for this lock, so that after it no motion command leaves.
        with self._gate:
            if frame.command == FrameCommand.STOP:
                self._stop_waits = False
            elif self._stop_waits:
                raise Interrupted
            if self._shut and _acts(frame):
                raise Canceled('the arm is stopped', ErrorCode.EXECUTION_CANCELED)
            self._write(data)
        self.sent += 1

    def receive(self, command: int) -> bytes:
        """The next frame that answers a command; empty when none comes in time.

        Raises:
            RobotError: the line echoes, or the other side is gone.
            Interrupted: a stop has to leave.
        """
        is_stop = command == FrameCommand.STOP
        end = time.monotonic() + (STOP_WINDOW if is_stop else WINDOW)
        while (left := end - time.monotonic()) > 0:
            readable = select.select([self._fd, self._woken], [], [], left)[0]
            if self._woken in readable:
                self._drain_wake()
            if self._stop_waits and not is_stop:
                raise Interrupted
            if self._fd not in readable:
                continue
            for frame in self._reader.feed(self._read()):
                if frame.command != command:
                    continue  # a late answer to something else
                if not frame.payload:
                    raise RobotError(
                        f'{self.name}: what is sent comes back, so no answer can be trusted: look '
                        'for a loop in the wiring, and whether the base shows Transponder'
                    )
                return frame.encode()
        return b''

    def wait_quiet(self) -> None:
        """Waits until no late answer comes any more, for a second at most."""
        end = time.monotonic() + 1.0
        while time.monotonic() < end:
            readable = select.select([self._fd, self._woken], [], [], QUIET)[0]
            if self._woken in readable:
                self._drain_wake()
            if self._stop_waits or not readable:
                return
            if self._fd in readable:
                self._read()
        self._reader.clear()

    def shut(self) -> None:
        """Lets no motion command out from now on, and makes way for a stop; any thread."""
        with self._gate:
            self._shut = self._stop_waits = True
        # A pipe that is full of earlier ones wakes as well.
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake, b'!')

    def give_up_stop(self) -> None:
        """Lets questions out again although no stop could be sent."""
        with self._gate:
            self._stop_waits = False

    def open_gate(self) -> None:
        """Lets motion commands out again; any thread."""
        with self._gate:
            self._shut = self._stop_waits = False

    def close(self) -> None:
        """Releases what is the wire's own; the library closes the port."""
        os.close(self._woken)
        os.close(self._wake)

    def _checked(self, data: bytes) -> Frame:
        frames = FrameReader().feed(data)
        if len(frames) != 1 or frames[0].encode() != data:
            raise RobotError(f'{self.name}: {data.hex(" ")} is not one frame and was not sent')
        frame = frames[0]
        if frame.command not in ALLOWED:
            raise RobotError(
                f'{self.name}: command 0x{frame.command:02x} may not leave and was not sent: use '
                'absolute joint moves'
            )
        if frame.command == FrameCommand.SEND_ANGLES:
            MYCOBOT_280.check_joints([math.radians(value / 100) for value in unpack(frame.payload)])
        return frame

    def _discard(self) -> None:
        self._reader.clear()
        while select.select([self._fd], [], [], 0)[0]:
            self._read()

    def _read(self) -> bytes:
        try:
            data = os.read(self._fd, 4096)
        except BlockingIOError:
            return b''
        except OSError as error:
            raise self._gone(os.strerror(error.errno or errno.EIO)) from error
        if not data:
            raise self._gone('the other side has closed it')
        return data

    def _write(self, data: bytes) -> None:
        end = time.monotonic() + SEND_TIMEOUT
        while data:
            left = end - time.monotonic()
            if left <= 0 or not select.select([], [self._fd], [], left)[1]:
                raise self._gone(f'it takes no bytes for {SEND_TIMEOUT} s')
            try:
                data = data[os.write(self._fd, data) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise self._gone(os.strerror(error.errno or errno.EIO)) from error

    def _drain_wake(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._woken, 4096)

    def _gone(self, why: str) -> RobotError:
        return RobotError(
            f'{self.name}: the arm is gone ({why}): look at cable, power and port',
            ErrorCode.ARM_UNREACHABLE,
        )


def _acts(frame: Frame) -> bool:
    """Whether a frame moves a joint or the fingers, or switches the pump."""
    pump = frame.command == FrameCommand.SET_BASIC_OUTPUT and frame.payload[:1] == bytes(
        (PUMP_PIN,)
    )
    return pump or frame.command in (*MOTION, FrameCommand.SET_GRIPPER_VALUE)


class SerialRobot(MyCobot280):
    """The vendor's class for a serial port, on a `Wire`."""

    def __init__(self, port: str, baud: int, patience_s: float) -> None:
        super().__init__(port, baud)
        # Two programs on one port take each other's answers; the library locks nothing.
        _lock(self._serial_port.fileno(), patience_s)
        self.wire = Wire(self._serial_port.fileno(), port)

    def _write(self, command: Any, method: Any = None) -> None:
        self.wire.send(bytes(command))

    def _read(self, genre: int, method: Any = None) -> bytes:
        return self.wire.receive(genre)


class TcpRobot(MyCobot280Socket):
    """The vendor's class for TCP, on a `Wire`."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(host, port)
        self.sock.setblocking(False)
        self.wire = Wire(self.sock.fileno(), f'{host}:{port}')

    def connect_socket(self) -> socket.socket:
        """Connects with an end to its patience, which the library's own has not."""
        return socket.create_connection((self.SERVER_IP, self.SERVER_PORT), CONNECT_TIMEOUT)

    def _write(self, command: Any, method: Any = None) -> None:
        self.wire.send(bytes(command))

    def _read(self, genre: int, method: Any = None) -> bytes:
        return self.wire.receive(genre)


def open_serial(port: str, baud: int, patience_s: float = 0.0) -> SerialRobot:
    """Opens a serial port for this process alone; raises `RobotError` (`ARM_UNREACHABLE`).

    Another program gets `patience_s` to let go of it.
    """
    try:
        return SerialRobot(port, baud, patience_s)
    except BlockingIOError as error:
        raise _unreachable(port, 'another program uses it: end that program') from error
    except OSError as error:  # serial.SerialException is one
        cure = 'plug the arm in and name its port, such as /dev/ttyUSB0 or /dev/ttyAMA0'
        if error.errno in (errno.EACCES, errno.EPERM):
            cure = 'join the group of the port: sudo usermod -aG dialout $USER, and log in again'
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise _unreachable(port, f'{reason}: {cure}') from error


def open_tcp(host: str, port: int) -> TcpRobot:
    """Connects to a server that passes bytes to the arm's serial port."""
    try:
        return TcpRobot(host, port)
    except socket.gaierror as error:
        cure = 'no computer has this name: correct host, or give an address'
        raise _unreachable(f'{host}:{port}', cure) from error
    except OSError as error:
        cure = 'start the server at the arm, and look at its address, port and firewall'
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise _unreachable(f'{host}:{port}', f'{reason}: {cure}') from error


def _lock(fd: int, patience_s: float) -> None:
    """Takes a port for this process; raises `BlockingIOError` when another one keeps it."""
    for _ in range(round(patience_s / _LOCK_POLL)):
        with contextlib.suppress(BlockingIOError):
            return fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        time.sleep(_LOCK_POLL)
    return fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _unreachable(name: str, what: str) -> RobotError:
    return RobotError(f'{name}: cannot be opened: {what}', ErrorCode.ARM_UNREACHABLE)

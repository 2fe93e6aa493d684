# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""One emulated arm at a pseudo-terminal, and at a TCP port if wanted, in real time."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import os
import queue
import random
import select
import socket
import threading
import time
import tty
from collections.abc import Callable, Sequence
from pathlib import Path

from safegen_ros.errors import SafegenError
from safegen_ros.robot.emulator.faults import ArmFault, FaultyLine
from safegen_ros.robot.emulator.firmware import Firmware
from safegen_ros.robot.mycobot.frames import MOTION, Frame, FrameCommand, FrameReader
from safegen_ros.robot.twin.twin import TICK, MujocoTwin
from safegen_ros.sync import Closing

#: An emulator that was held up for longer than this does not catch up [s].
_LAG = 0.5
#: Commands that make a stopped arm fit to move: an operator's reset sends them, and nothing else.
_REARMING = frozenset({
    FrameCommand.POWER_ON, FrameCommand.CLEAR_ERROR,
    FrameCommand.FOCUS_SERVO, FrameCommand.SET_FREE_MODE,
})  # fmt: skip
#: Longest wait for the thread of the emulator [s].
_WORK_S = 10.0
#: What a broken servo reports, beside the joints' own 1 to 6.
_COLLISION = 16


class EmulatorError(SafegenError):
    """The emulator cannot offer the port that was asked for."""


class _Client:
    """A descriptor that speaks to the arm, and the beginning of a frame from it."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.reader = FrameReader()


class Emulator(Closing):
    """A myCobot 280 at a port, from its construction until it is closed.

    Args:
        twin: the arm that it moves; stays the caller's.
        link: a symbolic link to make to the serial port, for a name that stays.
        tcp_port: port on the loopback to offer as well; 0 for a free one, None for none.
        faults: what goes wrong, see `KNOBS`.

    Attributes:
        serial_port: path of the pseudo-terminal.
        tcp_port: the port that was opened, or None.
        last_motion: when the last motion command came, in `time.monotonic` [s]; 0 for never.
        last_rearming: the same for the last command that powers servos or clears an error code.
        last_stop: the same for the last stop command.
        motions_after_stop: number of motion commands that came after `first_stop`.
        first_stop: the same for the first stop command since somebody set it to 0.

    Raises:
        EmulatorError: the link or the port cannot be had.
    """

    def __init__(
        self,
        twin: MujocoTwin,
        *,
        link: Path | None = None,
        tcp_port: int | None = None,
        faults: Sequence[ArmFault] = (),
        seed: int = 0,
    ) -> None:
        self.last_motion = 0.0
        self.last_rearming = 0.0
        self.last_stop = 0.0
        self.motions_after_stop = 0
        self.first_stop = 0.0
        self.firmware = Firmware(twin)
        self._line = FaultyLine(faults, random.Random(seed))  # noqa: S311 - faults, not secrets
        self._struck: set[str] = set()
        self._closing = threading.Event()
        self._work: queue.SimpleQueue[tuple[Callable[[], None], threading.Event]] = (
            queue.SimpleQueue()
        )
        self._late: list[tuple[float, int, _Client, bytes]] = []
        self._order = itertools.count()
        self._listener = self._listen(tcp_port)
        self.tcp_port: int | None = None
        if self._listener is not None:
            self.tcp_port = self._listener.getsockname()[1]
        self._connection: socket.socket | None = None
        self._link: Path | None = None
        self._open_serial(link)
        self._thread = threading.Thread(target=self._serve, name='emulator', daemon=True)
        self._thread.start()

    def strike(self, fault: ArmFault) -> None:
        """Lets a fault begin now."""
        self._do(lambda: self._line.add(fault, time.monotonic()))

    def repair(self) -> None:
        """Ends all faults: plugs the cable in, and repairs servos; the power stays off."""
        self._do(self._repaired)

    def _do(self, work: Callable[[], None]) -> None:
        """Has the thread of the emulator do something, and waits for it."""
        done = threading.Event()
        self._work.put((work, done))
        if not done.wait(_WORK_S):
            raise EmulatorError(f'the emulator does nothing for {_WORK_S:g} s')

    def _repaired(self) -> None:
        self._line.clear()
        self.firmware.repair()
        if 'unplugged' in self._struck:
            self._open_serial(self._link)
            self._listener = self._listen(self.tcp_port)
        self._struck.clear()

    def close(self) -> None:
        """Ends the emulation; the port is gone."""
        if self._closing.is_set():
            return
        self._closing.set()
        self._thread.join()
        self._unplug()

    def _open_serial(self, link: Path | None) -> None:
        # The far end stays open here as well, so that a client may go and come back.
        master, self._slave = os.openpty()
        tty.setraw(master)
        tty.setraw(self._slave)
        os.set_blocking(master, False)
        self.serial_port = os.ttyname(self._slave)
        self._clients = [_Client(master)]
        self._link = self._make_link(link)

    def _listen(self, port: int | None) -> socket.socket | None:
        if port is None:
            return None
        try:
            return socket.create_server(('127.0.0.1', port))
        except OSError as error:
            raise EmulatorError(
                f'TCP port {port} cannot be opened: {os.strerror(error.errno or 0)}: use another'
            ) from error

    def _make_link(self, link: Path | None) -> Path | None:
        if link is None:
            return None
        try:
            # One that an emulator left behind points to nothing; anything else is not ours.
            if link.is_symlink() and not link.exists():
                link.unlink()
            link.symlink_to(self.serial_port)
        except OSError as error:
            self._unplug()
            raise EmulatorError(
                f'{link} cannot be made: {os.strerror(error.errno or 0)}: use another --port'
            ) from error
        return link

    # The one thread

    def _serve(self) -> None:
        due = time.monotonic()
        while not self._closing.is_set():
            now = time.monotonic()
            if now - due > _LAG:
                due = now
            while not self._work.empty():
                work, done = self._work.get()
                work()
                done.set()
            while due <= now:
                self._strike(now)
                self.firmware.tick()
                due += TICK
            self._flush(now)
            next_event = min([due, *(entry[0] for entry in self._late[:1])])
            self._take(max(0.0, next_event - time.monotonic()))

    def _take(self, wait: float) -> None:
        """Waits for bytes, for a time at most, and serves who sent them."""
        clients = {client.fd: client for client in self._clients}
        waiting: list[int | socket.socket] = [*clients]
        if self._listener is not None:
            waiting.append(self._listener)
        for ready in select.select(waiting, [], [], wait)[0]:
            if isinstance(ready, socket.socket):
                self._accept(ready)
            elif isinstance(ready, int) and ready in clients:
                self._read(clients[ready])

    def _accept(self, listener: socket.socket) -> None:
        """One connection at a time, as the vendor's server has; the newest is served."""
        try:
            connection = listener.accept()[0]
        except OSError:
            return  # who called has hung up already
        self._drop()
        self._connection = connection
        self._connection.setblocking(False)
        self._clients.append(_Client(self._connection.fileno()))

    def _drop(self) -> None:
        if self._connection is not None:
            fd = self._connection.fileno()
            self._clients = [client for client in self._clients if client.fd != fd]
            self._connection.close()
            self._connection = None

    def _read(self, client: _Client) -> None:
        try:
            data = os.read(client.fd, 4096)
        except OSError:
            data = b''
        if not data and self._connection is not None and client.fd == self._connection.fileno():
            self._drop()
        for frame in client.reader.feed(data):
            self._handle(client, frame, time.monotonic())

    def _handle(self, client: _Client, frame: Frame, now: float) -> None:
        if frame.command in MOTION:
            self.last_motion = now
            self.motions_after_stop += bool(self.first_stop)
            self._line.began(now)
        if frame.command in _REARMING:
            self.last_rearming = now
        if frame.command == FrameCommand.STOP:
            self.first_stop = self.first_stop or now
            self.last_stop = now
        if self._line.echoes(now):
            self._write(client, frame.encode())
        if not self._line.takes(now):
            return
        answer = self.firmware.handle(frame)
        sent = self._line.answer(answer, now) if answer is not None else None
        if sent is None:
            return
        delay, data = sent
        if delay:
            heapq.heappush(self._late, (now + delay, next(self._order), client, data))
        else:
            self._write(client, data)

    def _flush(self, now: float) -> None:
        while self._late and self._late[0][0] <= now:
            _, _, client, data = heapq.heappop(self._late)
            if client in self._clients:
                self._write(client, data)

    def _write(self, client: _Client, data: bytes) -> None:
        # No reader, or the sender is gone: the answer is lost, as on a real line.
        with contextlib.suppress(OSError):
            os.write(client.fd, data)

    def _strike(self, now: float) -> None:
        """Faults of the arm itself happen once, when their time has come."""
        for name in ('servo_error', 'limit_stop', 'power_off', 'unplugged'):
            value = self._line.active(name, now)
            if value is None or name in self._struck:
                continue
            self._struck.add(name)
            if name == 'power_off':
                self.firmware.power_off()
            elif name == 'unplugged':
                self._unplug()
            else:
                broken = name == 'servo_error'
                joint = int(value)
                self.firmware.stop_joint(joint, _COLLISION if broken else joint, broken=broken)

    def _unplug(self) -> None:
        self._drop()
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        for client in self._clients:
            os.close(client.fd)
        if self._clients:
            os.close(self._slave)
            if self._link is not None:
                self._link.unlink(missing_ok=True)
        self._clients = []

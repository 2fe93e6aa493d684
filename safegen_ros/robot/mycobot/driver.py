# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The real myCobot 280 behind `Arm`, through the vendor's library, by serial port or TCP.

One thread owns the port (`owner`). A move is one absolute target, sent without waiting for its
acknowledgement, which says nothing: the arm has arrived when its measured joints say so, and what
the arm cannot be believed about stops it.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from safegen_ros.closing import Closing
from safegen_ros.errors import Canceled, ErrorCode, RobotError
from safegen_ros.robot.arm import Arm, ContactPair, Sample
from safegen_ros.robot.gripper import opening_of
from safegen_ros.robot.limits import (
    JOINT_NAMES,
    MAX_SPEED,
    Joints,
    check_joints,
    check_speed,
    move_duration,
)
from safegen_ros.robot.mycobot.owner import READ_TRIES, PortOwner, Robot
from safegen_ros.robot.mycobot.readings import joints_of, jump, off_way
from safegen_ros.robot.mycobot.status import ArmStatus
from safegen_ros.watched_time import WatchedTime

#: Time between two readings while the arm moves [s]. More often, and users see the firmware fall
#: silent for seconds.
POLL = 0.1
#: Arrived when every joint is this near its target, and moved no more than `STILL` since the last
#: reading [rad]. The servos hold a load, and a pick presses, a little short of the target.
ARRIVAL_ANGLE = float(np.radians(1.0))
STILL = float(np.radians(0.3))
#: The same where it goes so slowly that it moves less than that between two readings; a servo's
#: count is a little less.
STILL_SLOW = float(np.radians(0.1))
#: An arm that is not at its target and has not moved for so long is asked again, or given up [s].
STALL = 1.0
RESENDS = 2
#: So much counts at most from one look to the next [s]: more than a question blocks, three times
#: `WINDOW`, and less than `STALL`, so that being held up once does not make an arm seem stuck.
LONGEST_LOOK = 0.9
#: A stopped arm must be at rest within this time [s], counted in readings, of which each may take
#: seconds at a bad line: one that moves after twice the time is told about.
REST_TIMEOUT = 2.0
#: So many readings must agree within `STILL_SLOW` where it did not say that it holds: at 1 % of its
#: speed it turns by 0.75 deg meanwhile.
UNTOLD_LOOKS = 6


class Effector(Protocol):
    """What takes hold of a block: a pump, or a gripper."""

    def switch(self, on: bool) -> float | None:
        """Takes hold or lets go; returns the distance of fingers [m]; raises if unconfirmed."""
        ...


class MyCobot(Closing, Arm):
    """A myCobot 280 that is ready to move once it is made.

    Args:
        robot: from `open_serial` or `open_tcp`; this object closes it.
        effector: makes the device that takes hold from the way to ask the arm, such as
            `BasicOutputPump`.
        speed_limit: fraction of the highest joint speed that no move exceeds, in (0, 1].
        sample: called with every accepted reading, in the thread that asked for it.

    Attributes:
        stopped_at: when it was stopped last, in `time.monotonic` [s]; 0 for never.

    Raises:
        RobotError: the arm does not answer or is not fit to move; the port is closed again.
    """

    def __init__(
        self,
        robot: Robot,
        effector: Callable[[Callable[..., Any]], Effector],
        *,
        speed_limit: float = 1.0,
        sample: Callable[[Sample], None] | None = None,
    ) -> None:
        self.sample = sample
        self.stopped_at = 0.0
        self._port = PortOwner(robot)
        self._speed_limit = check_speed(speed_limit)
        self._effector = effector(self._port.ask_again)
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._stops = 0
        self._fault: tuple[str, ErrorCode] | None = None
        self._closed = False
        self._tool_on = False
        self._opening: float | None = None
        self._last: tuple[float, Joints] | None = None
        try:
            self._make_ready()
        except BaseException:
            self.close()
            raise

    # Asking

    def status(self) -> ArmStatus:
        """Asks the arm how it is; moves nothing."""
        ask = self._port.ask_again
        powered = ask('is_power_on')
        if powered in (-1, None):
            # At a dead port each of the other questions would take its seconds, too.
            return ArmStatus(version=None, powered=False, servos=False, error=None, joints=None)
        version = ask('get_system_version')
        error = ask('get_error_information')
        try:
            joints = self._read()
        except RobotError:
            joints = None
        return ArmStatus(
            version=float(version) if isinstance(version, int | float) and version > 0 else None,
            powered=powered == 1,
            servos=ask('is_all_servo_enable') == 1,
            error=error if isinstance(error, int) and error >= 0 else None,
            joints=joints,
        )

    def joint_positions(self) -> Joints:
        """Measured joint angles, shape (6,) [rad].

        Raises:
            RobotError: no plausible reading could be had.
        """
        return self._read()

    def tool_on(self) -> bool:
        """Whether the effector was switched on last; nothing on the arm measures it."""
        return self._tool_on

    def opening(self) -> float | None:
        """Measured distance between the fingers [m], asked for now; None without a gripper."""
        value = self._port.ask('get_gripper_value')
        return opening_of(value) if type(value) is int and 0 <= value <= 100 else None

    # Commands

    def move_joints(self, target: ArrayLike, speed: float) -> None:
        """Moves to an absolute target; see `Arm.move_joints`."""
        goal = check_joints(target)
        fraction = min(check_speed(speed), self._speed_limit)
        self._check_ready()
        try:
            # Down, so that the limit holds; and 0.29 is 28.999 hundredths.
            self._move(goal, max(1, int(100 * fraction + 1e-6)))
        except Canceled:
            self._check_ready()
            raise
        except RobotError as error:
            self._fail(error.message, error.code)
        except BaseException:
            # Of whoever takes the readings, say: nobody looks after the motion any more.
            self.stop()
            raise

    def set_tool(self, on: bool) -> None:
        """Switches the effector, and checks that the arm still answers.

        A pump that starts can pull the supply of the base so low that it restarts.
        """
        self._check_ready()
        try:
            # Whatever becomes of the command, the block may be held from here on.
            self._tool_on = on or self._tool_on
            self._opening = self._effector.switch(on)
            self._tool_on = on
            self._read()
        except Canceled:
            self._check_ready()
            raise
        except RobotError as error:
            self._fail(error.message, error.code)

    def wait(self, seconds: float) -> None:
        """Lets time pass; see `Arm.wait`."""
        self._check_ready()
        if self._stopped.wait(seconds):
            self._check_ready()

    def expect_contacts(self, *pairs: ContactPair) -> None:
        """Nothing: this arm feels no contact."""

    def stop(self) -> None:
        """Shuts the gate for motion commands, then has the arm hold; see `Arm.stop`."""
        with self._lock:
            self._stops += 1
            if not self._stopped.is_set():
                self.stopped_at = time.monotonic()
            self._stopped.set()
            self._port.halt()

    def reset_stop(self) -> None:
        """Allows motion again, when the arm is fit for it.

        Raises:
            RobotError: it is not; the stop stays.
            Canceled: it was stopped again meanwhile; so does that.
        """
        with self._lock:
            stops = self._stops
        self._port.halted()
        self._last = None  # somebody may have moved the arm by hand
        self._make_ready()
        with self._lock:
            if self._stops != stops:
                raise Canceled('the arm was stopped again', ErrorCode.EXECUTION_CANCELED)
            self._fault = None
            self._stopped.clear()
            self._port.open_gate()

    def close(self) -> None:
        """Stops the arm and releases the port."""
        self.stop()
        self._closed = True
        self._port.close()

    # Inside

    def _make_ready(self) -> None:
        """Powers the servos, clears an old error, and checks that the arm can be believed."""
        ask = self._port.ask_again
        powered = ask('is_power_on')
        if powered not in (0, 1):
            raise RobotError(
                f'{self._port.name}: the arm does not answer (is_power_on: {powered}): look at '
                'cable, power, baud rate, and that the base shows Transponder',
                ErrorCode.ARM_UNREACHABLE,
            )
        if not powered:
            self._port.ask('power_on')
        if ask('is_all_servo_enable') != 1:
            self._port.ask('focus_all_servos')
        if ask('get_error_information') not in (0, -1):
            self._port.ask('clear_error_information')
        # The newest target wins. Old firmware has only a queue, which does no harm: a target is
        # sent when the one before was reached, or again.
        self._port.ask('set_fresh_mode', 1)
        status = self.status()
        if status.trouble:
            raise RobotError(
                f'{self._port.name}: the arm is not ready: {status.trouble}',
                ErrorCode.ROBOT_FAULT if status.joints is not None else ErrorCode.ARM_UNREACHABLE,
            )

    def _move(self, goal: Joints, percent: int) -> None:
        start = now = self._read()
        degrees = [float(value) for value in np.round(np.degrees(goal), 2)]

        def send() -> None:
            self._port.ask('send_angles', degrees, percent, True)

        send()
        # An arm on this computer is held up together with this process.
        watch = WatchedTime(LONGEST_LOOK)
        moved = 0.0
        seen = start  # where it was when it last moved; between two readings a slow arm hardly does
        duration = move_duration(goal - start, percent / 100)
        longest = 2 * duration + 3.0
        # A smooth start is slow: a long and slow way is seen only after a share of its time.
        way = max(STILL, float(np.abs(goal - start).max()))
        patience = STALL + duration * math.sqrt(STILL / (3 * way))
        still = min(STILL, max(STILL_SLOW, 0.5 * percent / 100 * MAX_SPEED * POLL))
        resends = 0
        while True:
            if self._stopped.wait(POLL):
                raise Canceled('the arm is stopped', ErrorCode.EXECUTION_CANCELED)
            before, now, passed = now, self._read(watch.look), watch.look()
            change = float(np.abs(now - before).max())
            if float(np.abs(goal - now).max()) <= ARRIVAL_ANGLE and change <= still:
                return
            if wrong := off_way(start, goal, now):
                raise RobotError(f'{wrong}: the arm went another way and was stopped')
            if float(np.abs(now - seen).max()) > STILL:
                seen, moved = now, passed
            stalled = passed - moved > patience
            if stalled and resends < RESENDS:
                # The frame may have been lost; an absolute target may be sent again.
                resends += 1
                send()
                moved = passed
            elif stalled or passed > longest:
                raise RobotError(self._why_not_there(goal, now))

    def _why_not_there(self, goal: Joints, now: Joints) -> str:
        self.stop()  # the questions can take long where the arm answers no more
        error = np.abs(goal - now)
        worst = int(np.argmax(error))
        trouble = self.status().trouble or 'something blocks the arm, or its commands are lost'
        return (
            f'{JOINT_NAMES[worst]} stays {np.degrees(error[worst]):.1f} deg from its target: '
            f'{trouble}'
        )

    def _read(self, look: Callable[[], object] = lambda: None) -> Joints:
        """A reading that can be believed, newer than the call; looks after whatever blocks."""
        problem: Joints | str = ''
        answer: Any = None
        for _ in range(READ_TRIES):
            answer, asked, began = self._port.ask_counted('get_angles')
            now = time.monotonic()
            look()
            if asked > 1:
                # It may answer the first request: where the arm was, not where it is.
                self._port.wait_quiet()
                look()
                if isinstance(answer, list):
                    answer, problem = None, 'its answers come late'
                    continue
            problem = joints_of(answer)
            if not isinstance(problem, str):
                joints, problem = problem, ''
                if self._last is not None:
                    # From before the earlier question to after this answer, which is never less
                    # than a motion had, whenever this process was held up. It is more by the time
                    # of two answers: of 20 ms each they let 8 deg more pass, and of `WINDOW` each,
                    # the latest that are taken, 98 deg. Less could be less than a motion had.
                    problem = jump(self._last[1], joints, now - self._last[0])
                if not problem:
                    self._last = (began, joints)
                    if self.sample is not None:
                        self.sample(Sample(time.time(), joints, {}, self._tool_on, self._opening))
                    return joints
        raise RobotError(
            f'{self._port.name}: the arm cannot be read: {problem} ({READ_TRIES} times): look at '
            'cable, power, and that the base shows Transponder',
            ErrorCode.ARM_UNREACHABLE if answer in (-1, None) else ErrorCode.ROBOT_FAULT,
        )

    def _confirm_halt(self) -> str:
        """Waits until the stopped arm is at rest; returns what is wrong, or nothing."""
        told = self._port.halted()
        # Where no stop was confirmed, an arm that creeps to its target must not seem to rest.
        looks, still = (2, STILL) if told else (UNTOLD_LOOKS, STILL_SLOW)
        try:
            self._last = None
            watch = WatchedTime(LONGEST_LOOK)
            seen = [self._read(watch.look)]
            for _ in range(round(REST_TIMEOUT / POLL)):
                time.sleep(POLL)
                seen = [*seen, self._read(watch.look)][-looks:]
                rests = float(np.ptp(seen, axis=0).max()) <= still
                if rests and len(seen) == looks:
                    return ''
                if not rests and watch.look() > 2 * REST_TIMEOUT:
                    break
            return 'it still moves'
        except RobotError as error:
            return error.message if told else f'the stop was not confirmed: {error.message}'

    def _check_ready(self) -> None:
        if self._closed:
            raise RobotError('the arm is closed: connect again')
        if self._fault is not None:
            message, code = self._fault
            raise RobotError(f'the arm holds after a fault ({message}): reset it first', code)
        if self._stopped.is_set():
            if unsure := self._confirm_halt():
                message = f'the arm was stopped, but may not hold: {unsure}: cut its power'
                self._fault = (message, ErrorCode.ARM_UNREACHABLE)
                raise RobotError(message, ErrorCode.ARM_UNREACHABLE)
            raise Canceled(
                'the arm was stopped and holds its position: reset the stop to go on',
                ErrorCode.EXECUTION_CANCELED,
            )

    def _fail(self, what: str, code: ErrorCode) -> None:
        self.stop()
        if unsure := self._confirm_halt():
            what = f'{what}; it may not hold: {unsure}: cut its power'
        self._fault = (what, code)
        raise RobotError(what, code)

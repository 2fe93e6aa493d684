# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The real myCobot 280 behind `Arm`, through the vendor's library, by serial port or TCP.

One thread owns the port (`owner`). A move is one absolute target, sent without waiting for its
acknowledgement, which says nothing. The arm has arrived when its measured joints say so; readings
that cannot be true stop it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from safegen_ros.errors import Canceled, ErrorCode, RobotError
from safegen_ros.robot.arm import Arm, ContactPair, Sample
from safegen_ros.robot.arms.model import JOINT_NAMES, Joints, check_speed
from safegen_ros.robot.arms.mycobot_280 import MYCOBOT_280, opening_of
from safegen_ros.robot.mycobot.effectors import Effector
from safegen_ros.robot.mycobot.owner import READ_TRIES, PortOwner, Robot
from safegen_ros.robot.mycobot.readings import (
    POLL,
    STILL,
    STILL_SLOW,
    ArmStatus,
    MotionProgress,
    MotionTracker,
    error_text,
    joints_of,
    jump,
    off_way,
)
from safegen_ros.sync import Closing, Deadline, boottime

#: A stopped arm must be seen at rest within this time [s]; a reading at a bad line takes seconds.
REST_TIMEOUT = 4.0
#: So many readings must agree within `STILL_SLOW` where it did not confirm that it holds: at 1 % of
#: its speed it turns by 0.75 deg meanwhile.
UNCONFIRMED_LOOKS = 6


class MyCobot(Closing, Arm):
    """A myCobot 280, which holds from its construction until `rearm` and `reset_stop`.

    Args:
        robot: from `open_serial` or `open_tcp`; this object closes it.
        effector: makes the device that takes hold from the way to ask the arm, such as
            `BasicOutputPump`.
        speed_limit: fraction of the highest joint speed that no move exceeds, in (0, 1].
        sample: called with every accepted reading, in the thread that asked for it.

    Attributes:
        stopped_at: when it was stopped last, in `time.monotonic` [s]; 0 for never.

    Raises:
        RobotError: the arm does not answer; the port is closed again.
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
            # An earlier program may have died without a stop.
            self.stop()
            self._require_answer()
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
        servos = ask('is_all_servo_enable') == 1
        return ArmStatus(
            version=float(version) if isinstance(version, int | float) and version > 0 else None,
            powered=powered == 1,
            servos=servos,
            error=error if isinstance(error, int) and error >= 0 else None,
            joints=joints,
            released=() if servos else self._released(),
        )

    def joint_positions(self) -> Joints:
        """Measured joint angles, shape (6,) [rad]."""
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
        goal = MYCOBOT_280.check_joints(target)
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
            # Perhaps of the receiver of the readings: the motion is not watched after this.
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
        """Allows motion again after a stop; powers nothing and clears nothing.

        Raises:
            RobotError: it holds after a fault, which only `rearm` ends, or is not fit to move; the
                stop stays.
            Canceled: it was stopped again meanwhile; so does that.
        """
        with self._lock:
            stops = self._stops
        self._check_fault()
        self._port.halted()
        self._last = None  # somebody may have moved the arm by hand
        self._require_fit()
        with self._lock:
            if self._stops != stops:
                raise Canceled('the arm was stopped again', ErrorCode.EXECUTION_CANCELED)
            self._stopped.clear()
            self._port.open_gate()

    def rearm(self) -> None:
        """Powers the servos and clears error codes and faults; see `Arm.rearm`."""
        self.stop()  # a target from before must not come back with the power
        if self._closed:
            raise RobotError('the arm is closed: connect again')
        self._port.halted()
        self._last = None
        self._require_answer()
        ask = self._port.ask_again
        if ask('is_power_on') != 1:
            self._port.ask('power_on')
        if ask('is_all_servo_enable') != 1:
            self._port.ask('focus_all_servos')
        if ask('get_error_information') not in (0, -1):
            self._port.ask('clear_error_information')
        # The newest target wins. Old firmware has only a queue, which does no harm: a target is
        # sent when the one before was reached, or again.
        self._port.ask('set_fresh_mode', 1)
        self._require_fit()
        self._fault = None

    def close(self) -> None:
        """Stops the arm and releases the port."""
        self.stop()
        self._closed = True
        self._port.close()

    # Inside

    def _require_answer(self) -> None:
        powered = self._port.ask_again('is_power_on')
        if powered not in (0, 1):
            raise RobotError(
                f'{self._port.name}: the arm does not answer (is_power_on: {powered}): look at '
                'cable, power, baud rate, and that the base shows Transponder',
                ErrorCode.ARM_UNREACHABLE,
            )

    def _require_fit(self) -> None:
        status = self.status()
        if status.trouble:
            raise RobotError(
                f'{self._port.name}: the arm is not ready: {status.trouble}',
                ErrorCode.ROBOT_FAULT if status.joints is not None else ErrorCode.ARM_UNREACHABLE,
            )

    def _released(self) -> tuple[str, ...]:
        """The joints whose servos say that they do not hold."""
        servos = enumerate(JOINT_NAMES, start=1)
        return tuple(name for n, name in servos if self._port.ask('is_servo_enable', n) == 0)

    def _move(self, goal: Joints, percent: int) -> None:
        start = self._read()
        degrees = [float(value) for value in np.round(np.degrees(goal), 2)]

        def send() -> float:
            self._port.ask('send_angles', degrees, percent, True)
            return boottime()

        tracker = MotionTracker(start, goal, percent, send())
        while True:
            if self._stopped.wait(POLL):
                raise Canceled('the arm is stopped', ErrorCode.EXECUTION_CANCELED)
            now = self._read()
            progress = tracker.look(now, boottime())
            if progress is MotionProgress.ARRIVED:
                return self._check_error()
            if progress is MotionProgress.ASTRAY:
                wrong = off_way(start, goal, now)
                raise RobotError(f'{wrong}: the arm went another way and was stopped')
            if progress is MotionProgress.STALLED and not self.status().trouble:
                tracker.resent(send())
            elif progress is not MotionProgress.MOVING:
                raise RobotError(self._why_not_there(goal, now))

    def _check_error(self) -> None:
        """A joint may have stopped at its limit, or a servo failed, that this move did not need."""
        error = self._port.ask_again('get_error_information')
        if error != 0:
            known = isinstance(error, int) and error > 0
            what = f'error {error} ({error_text(error)})' if known else 'it reports no error code'
            raise RobotError(f'{self._port.name}: after a motion the arm reports a fault: {what}')

    def _why_not_there(self, goal: Joints, now: Joints) -> str:
        self.stop()  # the questions can take long where the arm answers no more
        error = np.abs(goal - now)
        worst = int(np.argmax(error))
        short = f'{JOINT_NAMES[worst]} stays {np.degrees(error[worst]):.1f} deg from its target'
        if trouble := self.status().trouble:
            return f'{trouble} ({short})'
        return f'{short}: something blocks the arm, or its commands are lost'

    def _read(self) -> Joints:
        """A reading that can be believed, newer than the call."""
        problem: Joints | str = ''
        answer: Any = None
        for _ in range(READ_TRIES):
            answer, asked, began = self._port.ask_counted('get_angles')
            now = boottime()
            if asked > 1:
                # It may answer the first request: where the arm was, not where it is.
                self._port.wait_quiet()
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
        confirmed = self._port.halted()
        # Where no stop was confirmed, an arm that creeps to its target must not seem to rest.
        looks, still = (2, STILL) if confirmed else (UNCONFIRMED_LOOKS, STILL_SLOW)
        deadline = Deadline(REST_TIMEOUT)
        try:
            self._last = None
            seen = [self._read()]
            late = False
            while True:
                time.sleep(POLL)
                seen = [*seen, self._read()][-looks:]
                if len(seen) == looks and float(np.ptp(seen, axis=0).max()) <= still:
                    return ''
                if late:
                    return 'it still moves'
                late = deadline.over and len(seen) == looks
        except RobotError as error:
            return error.message if confirmed else f'the stop was not confirmed: {error.message}'

    def _check_fault(self) -> None:
        if self._closed:
            raise RobotError('the arm is closed: connect again')
        if self._fault is not None:
            message, code = self._fault
            raise RobotError(f'the arm holds after a fault until it is reset: {message}', code)

    def _check_ready(self) -> None:
        self._check_fault()
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

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The arm behind an SSH connection: this end of the agent's protocol, as an `Arm`.

What moves goes as data: a motion program is put beside the agent by SFTP, renamed when it is
complete, and named by its digest; the agent begins it only when it is that. Both ends send signs of
life; when they cease, the agent holds the arm and this end raises.
"""

from __future__ import annotations

import hashlib
import math
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from safegen_ros.closing import Closing
from safegen_ros.errors import Canceled, ErrorCode, RobotError
from safegen_ros.robot.agent import messages
from safegen_ros.robot.agent_link import AgentLink
from safegen_ros.robot.arm import ContactPair, Sample
from safegen_ros.robot.limits import JOINT_LIMITS, Joints, check_joints, check_speed
from safegen_ros.robot.program import Move, Program, ProgramArm, ProgramStep, Wait
from safegen_ros.robot.ssh_link import SshAddress

#: Time for the arm to be opened, or made ready again after a stop [s].
OPEN_TIMEOUT_S = 20.0
#: Time for an answer to anything that moves nothing [s].
ANSWER_TIMEOUT_S = 3.0
#: Time for the answer to a stop; without it the connection is cut, which stops too [s].
STOP_TIMEOUT_S = 0.5
#: Longest time of one step beside what it waits [s]; the arm's driver has shorter ones.
STEP_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class RemoteArm:
    """What the agent is to open.

    Attributes:
        arm: 'mycobot', or 'twin' to try the connection out where there is no arm.
        port: serial port there.
        baud: of that port [1/s].
        tool: 'gpio-pump' at the pins of a Pi, 'basic-pump' at those of an M5 base, or 'gripper'.
    """

    arm: str = 'mycobot'
    port: str = '/dev/ttyAMA0'
    baud: int = 1_000_000
    tool: str = 'gpio-pump'


class SshArm(Closing, ProgramArm):
    """An arm that is ready to move once it is made.

    Args:
        address: the computer of the arm.
        remote: what there is at it.
        speed_limit: fraction of the highest joint speed that no move exceeds, in (0, 1].
        sample: called with every reading that arrives, in a thread of this object.

    Raises:
        RobotError: `ARM_UNREACHABLE`, or what the arm itself has against being opened.
    """

    def __init__(
        self,
        address: SshAddress,
        remote: RemoteArm = RemoteArm(),
        *,
        speed_limit: float = 1.0,
        sample: Callable[[Sample], None] | None = None,
    ) -> None:
        self.address = address
        self.remote = remote
        self.sample = sample
        self._speed_limit = check_speed(speed_limit)
        self._stopped = threading.Event()
        self._closed = False
        self._link = AgentLink(address, self._on_sample)
        try:
            self._open()
        except BaseException:
            self._link.close()
            raise

    def joint_positions(self) -> Joints:
        """Measured joint angles, shape (6,) [rad], asked for now.

        Raises:
            RobotError: the link or the arm has failed.
        """
        return _joints(self._link.ask({'op': 'joints'}, ANSWER_TIMEOUT_S))

    def suction(self) -> bool:
        """Whether the tool is on, as the agent has switched it."""
        return self._link.ask({'op': 'suction'}, ANSWER_TIMEOUT_S) is True

    def move_joints(self, target: ArrayLike, speed: float) -> None:
        """Moves to an absolute target, as a program of one step; see `Arm.move_joints`."""
        joints = tuple(float(each) for each in check_joints(target))
        self.run_program(Program((Move(joints, check_speed(speed)),)))

    def set_suction(self, on: bool) -> None:
        """Switches the tool; see `Arm.set_suction`."""
        self._check_ready()
        self._link.ask({'op': 'pump', 'on': on}, ANSWER_TIMEOUT_S)

    def wait(self, seconds: float) -> None:
        """Lets time pass; see `Arm.wait`."""
        self._check_ready()
        end = time.monotonic() + seconds
        # In short pieces: a link that dies meanwhile must be noticed.
        while (left := end - time.monotonic()) > 0:
            self._stopped.wait(min(left, messages.BEAT_S))
            self._check_ready()

    def expect_contacts(self, *pairs: ContactPair) -> None:
        """Nothing: no arm behind this link feels contact."""

    def run_program(self, program: Program) -> None:
        """Has the agent carry a program out, and waits for its end.

        Raises:
            RobotError: it was refused as a whole, or a step failed and the arm holds; a link that
                is lost is `ARM_UNREACHABLE`.
            Canceled: the arm was stopped.
        """
        self._check_ready()
        steps = tuple(self._limited(step) for step in program.steps)
        data = Program(steps).to_json()
        name = f'{uuid.uuid4().hex}.json'
        self._link.put(name, data)
        self._check_ready()
        digest = hashlib.sha256(data).hexdigest()
        try:
            self._link.ask({'op': 'run', 'file': name, 'sha256': digest}, _longest(steps))
        except Canceled:
            if self._stopped.is_set():
                raise
            # Not by us: the agent is ending, or somebody at the arm has stopped it.
            self._link.lose('the arm was stopped at its own computer')
            raise self._link.unreachable(self._link.lost) from None

    def stop(self) -> None:
        """Holds the arm; see `Arm.stop`.

        When the agent does not confirm it at once, the link is cut, at which it holds too.
        """
        self._stopped.set()
        try:
            self._link.ask({'op': 'stop'}, STOP_TIMEOUT_S)
        except RobotError as error:
            self._link.lose(f'the stop was not confirmed: {error.message}')

    def reset_stop(self) -> None:
        """Allows motion again after a stop or a fault; connects anew when the link was lost.

        Raises:
            RobotError: the arm is not fit to move, or cannot be reached.
        """
        if self._closed:
            raise RobotError('the arm is closed: connect again')
        if self._link.lost:
            self._link.close()
            self._link = AgentLink(self.address, self._on_sample)
            self._open()
        else:
            self._link.ask({'op': 'reset'}, OPEN_TIMEOUT_S)
        self._stopped.clear()

    def close(self) -> None:
        """Says goodbye to the agent, which holds and releases the arm."""
        self._closed = True
        self._stopped.set()
        self._link.close()

    def _open(self) -> None:
        limits = np.asarray(self._link.hello.get('limits'))
        if limits.shape != JOINT_LIMITS.shape or not np.allclose(limits, JOINT_LIMITS):
            raise RobotError(
                f'{self.address}: its agent has other joint limits: install the same version there'
            )
        remote = self.remote
        self._link.ask(
            {
                'op': 'open',
                'arm': remote.arm,
                'port': remote.port,
                'baud': remote.baud,
                'tool': remote.tool,
            },
            OPEN_TIMEOUT_S,
        )

    def _limited(self, step: ProgramStep) -> ProgramStep:
        if isinstance(step, Move):
            return Move(step.target, min(step.speed, self._speed_limit))
        return step

    def _check_ready(self) -> None:
        if self._closed:
            raise RobotError('the arm is closed: connect again')
        if self._link.lost:
            raise self._link.unreachable(self._link.lost)
        if self._stopped.is_set():
            raise Canceled(
                'the arm was stopped and holds its position: reset the stop to go on',
                ErrorCode.EXECUTION_CANCELED,
            )

    def _on_sample(self, joints: Any, suction: Any) -> None:
        sample = Sample(time.time(), _joints(joints), {}, suction is True)
        if self.sample is not None:
            self.sample(sample)


def _joints(value: Any) -> Joints:
    """A reading, when it is one.

    Raises:
        RobotError: it is not six finite angles.
    """
    numbers = isinstance(value, list) and all(isinstance(each, int | float) for each in value)
    if not numbers or len(value) != 6 or not all(math.isfinite(each) for each in value):
        raise RobotError('the agent gives a reading that is not six angles: look at the arm')
    return np.array(value, dtype=np.float64)


def _longest(steps: Sequence[ProgramStep]) -> float:
    """The time that these steps can take at most [s]."""
    waits = sum(step.seconds for step in steps if isinstance(step, Wait))
    return waits + len(steps) * STEP_TIMEOUT_S

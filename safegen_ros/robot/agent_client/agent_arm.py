# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An arm behind an agent, on this computer or over SSH: this end of the protocol, as an `Arm`.

What moves goes as data: each action is one motion program, and the agent begins it only when it is
complete. Both ends send heartbeats; when they cease, the agent holds the arm and this end raises.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from safegen_ros.errors import Canceled, ErrorCode, RobotError
from safegen_ros.robot.agent import messages
from safegen_ros.robot.agent.messages import ArmPort
from safegen_ros.robot.agent_client.agent_link import READER, AgentLink
from safegen_ros.robot.agent_client.channel import AgentAddress, Channel
from safegen_ros.robot.arm import ContactPair, Sample
from safegen_ros.robot.arms.model import ArmModel, Joints, check_speed
from safegen_ros.robot.arms.mycobot_280 import MAX_OPENING, MYCOBOT_280
from safegen_ros.robot.mycobot.readings import LIMIT_MARGIN
from safegen_ros.robot.program import JointMove, Program, ProgramArm, ProgramStep, ToolSwitch, Wait
from safegen_ros.sync import Closing

#: Faults of the arm, after which it holds until `rearm`.
FAULTS = (ErrorCode.ROBOT_FAULT, ErrorCode.ARM_UNREACHABLE)

#: Time for the arm to be opened, or made ready again after a stop [s]: the agent waits 8 s for the
#: port and its library 1.5 s, and a bad line takes up to 5 s for each of several questions.
OPEN_TIMEOUT_S = 40.0
#: Time for an answer to anything that moves nothing [s]: the agent asks its arm up to five times,
#: and waits for a second of quiet in between.
ANSWER_TIMEOUT_S = 10.0
#: Time for the tool to take hold or to let go [s]: a gripper has to come to rest, too.
TOOL_TIMEOUT_S = 20.0
#: Time for the answer to a stop, or the link timeout of the agent where that is longer; without it
#: the connection is cut, which stops too [s].
STOP_TIMEOUT_S = 0.5
#: But never longer than this [s]: the caller of stop must hear in time whether the arm has
#: confirmed it, and the agent holds the arm once the link is dead.
LONGEST_STOP_S = 2.0
#: Fingers are measured this far beyond their way [m].
_SLACK_M = 0.005
#: Longest time of one step beside what it waits [s]; the arm's driver has shorter ones.
STEP_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class RemoteArm:
    """What the agent is to open.

    Attributes:
        at: its port, as the computer of the agent sees it.
        tool: 'gpio-pump' at the pins of a Pi, 'basic-pump' at those of an M5 base, or 'gripper'.
        twin: whether a twin answers in its place, to try the connection out where there is no arm.
    """

    at: ArmPort
    tool: str = 'basic-pump'
    model: ArmModel = MYCOBOT_280
    twin: bool = False


@dataclass(frozen=True, slots=True)
class _SampleEvent:
    event: str
    joints: tuple[float, ...]
    tool_on: bool
    opening: float | None


class AgentArm(Closing, ProgramArm):
    """An arm that holds from its construction until `rearm` and `reset_stop`.

    Args:
        speed_limit: fraction of the highest joint speed that no move exceeds, in (0, 1].
        sample: called with every reading that arrives, in a thread of this object.

    Raises:
        RobotError: `ARM_UNREACHABLE`, or what the arm itself has against being opened.
    """

    def __init__(
        self,
        address: AgentAddress,
        remote: RemoteArm,
        *,
        speed_limit: float = 1.0,
        sample: Callable[[Sample], None] | None = None,
    ) -> None:
        self.address = address
        self.remote = remote
        self.sample = sample
        self._speed_limit = check_speed(speed_limit)
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._stops = 0
        self._last_on = self._left_on = False
        self._closed = False
        self._fault: RobotError | None = None
        self._link = self._connected()

    @property
    def channel(self) -> Channel:
        """What leads to its agent now."""
        return self._link.channel

    def joint_positions(self) -> Joints:
        """Measured joint angles, shape (6,) [rad], asked for now."""
        answer = self._link.ask({'op': 'joints'}, ANSWER_TIMEOUT_S)
        return self._joints(READER.read(tuple[float, ...], answer, 'joints'))

    def tool_on(self) -> bool:
        """Whether the tool is on, as the agent has switched it, or one before it has left it."""
        return self._link.ask({'op': 'tool'}, ANSWER_TIMEOUT_S) is True or self._left_on

    def opening(self) -> float | None:
        """Measured distance between the fingers [m], asked for now; None without a gripper."""
        answer = self._link.ask({'op': 'opening'}, ANSWER_TIMEOUT_S)
        return None if answer is None else _opening(READER.read(float, answer, 'opening'))

    def move_joints(self, target: ArrayLike, speed: float) -> None:
        """Moves to an absolute target, as a program of one step; see `Arm.move_joints`."""
        joints = tuple(float(each) for each in self.remote.model.check_joints(target))
        self.run_program(Program((JointMove(joints, check_speed(speed)),), self.remote.model))

    def set_tool(self, on: bool) -> None:
        """Switches the tool; see `Arm.set_tool`."""
        self._check_ready()
        self._act({'op': 'switch', 'on': on}, TOOL_TIMEOUT_S)
        self._left_on = False

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
        data = Program(steps, self.remote.model).to_json()
        digest = hashlib.sha256(data).hexdigest()
        run = {'op': 'run', 'program': data.decode('ascii'), 'sha256': digest}
        try:
            self._act(run, _longest(steps))
        except Canceled:
            if self._stopped.is_set():
                raise
            # Not by us: the agent is ending, or somebody at the arm has stopped it.
            self._link.lose('the arm was stopped at its own computer')
            self._check_ready()
            raise
        if any(isinstance(step, ToolSwitch) for step in steps):
            self._left_on = False

    def stop(self) -> None:
        """Holds the arm; see `Arm.stop`.

        When the agent does not confirm it at once, the link is cut, at which it holds too.
        """
        with self._lock:
            self._stops += 1
            self._stopped.set()
        timeout_s = min(max(STOP_TIMEOUT_S, self.address.link_timeout_s), LONGEST_STOP_S)
        try:
            self._link.ask({'op': 'stop'}, timeout_s)
        except RobotError as error:
            self._link.lose(f'the stop was not confirmed: {error.message}')

    def reset_stop(self) -> None:
        """Allows motion again after a stop; see `Arm.reset_stop`.

        It connects again when the link was lost while nothing moved.

        Raises:
            RobotError: it holds after a fault, which only `rearm` ends, is not fit to move, or
                cannot be reached.
            Canceled: it was stopped again meanwhile; the stop stays.
        """
        stops = self._stops
        self._check_fault()
        self._prepared('reset')
        with self._lock:
            if self._stops != stops:
                raise Canceled('the arm was stopped again', ErrorCode.EXECUTION_CANCELED)
            self._stopped.clear()

    def rearm(self) -> None:
        """Connects again where that is needed, and makes the arm fit to move; see `Arm.rearm`."""
        if self._closed:
            raise RobotError('the arm is closed: connect again')
        with self._lock:
            self._stops += 1
            self._stopped.set()
        self._prepared('rearm')
        self._fault = None

    def close(self) -> None:
        """Says goodbye to the agent, which holds and releases the arm."""
        self._closed = True
        self._stopped.set()
        self._link.close()

    def _act(self, request: dict[str, Any], timeout_s: float) -> None:
        """Sends a command for the arm or its tool; a fault of the arm stays until `rearm`."""
        try:
            self._link.ask(request, timeout_s)
        except RobotError as error:
            if error.code in FAULTS:
                self._fault = error
            raise

    def _prepared(self, op: str) -> None:
        """Has the agent answer `reset` or `rearm`, by a new one where the link or port is gone."""
        if not self._link.lost:
            try:
                self._link.ask({'op': op}, OPEN_TIMEOUT_S)
                return
            except RobotError as error:
                if error.code is not ErrorCode.ARM_UNREACHABLE:
                    raise
        # The next agent does not know the tool, and a pump goes on whatever becomes of the link.
        self._left_on = self._left_on or self._last_on
        self._link.close()
        self._link = self._connected()
        self._link.ask({'op': op}, OPEN_TIMEOUT_S)

    def _connected(self) -> AgentLink:
        """A link to a new agent that has opened the arm."""
        link = AgentLink(self.address, self._on_sample)
        try:
            model, driver = (
                self.remote.model,
                'twin' if self.remote.twin else self.remote.model.driver,
            )
            limits = np.asarray(link.hello['limits'].get(driver))
            if limits.shape != model.bounds.shape or not np.allclose(limits, model.bounds):
                raise RobotError(
                    f'{self.address}: its agent has other joint limits: install the same version '
                    'there'
                )
            remote = self.remote
            request = {'op': 'open', 'arm': driver, 'tool': remote.tool, **asdict(remote.at)}
            link.ask(request, OPEN_TIMEOUT_S)
        except BaseException:
            link.close()
            raise
        return link

    def _limited(self, step: ProgramStep) -> ProgramStep:
        if isinstance(step, JointMove):
            return JointMove(step.move, min(step.speed, self._speed_limit))
        return step

    def _check_fault(self) -> None:
        if self._closed:
            raise RobotError('the arm is closed: connect again')
        if self._fault is not None:
            raise RobotError(
                f'the arm holds after a fault until the stop is reset: {self._fault.message}',
                self._fault.code,
            )

    def _check_ready(self) -> None:
        self._check_fault()
        if self._link.lost:
            self._fault = self._link.unreachable(self._link.lost)
            raise self._fault
        if self._stopped.is_set():
            raise Canceled(
                'the arm was stopped and holds its position: reset the stop to go on',
                ErrorCode.EXECUTION_CANCELED,
            )

    def _joints(self, read: tuple[float, ...]) -> Joints:
        """A reading of the joints, shape (6,) [rad]; raises `RobotError` for an impossible one."""
        bounds = self.remote.model.bounds
        farthest = float(np.abs(bounds).max()) + LIMIT_MARGIN
        possible = len(read) == len(bounds) and all(abs(each) <= farthest for each in read)
        READER.need(possible, 'joints', read, 'look at the arm')
        return np.array(read)

    def _on_sample(self, value: dict[str, Any]) -> None:
        event = READER.read(_SampleEvent, value)
        self._last_on = tool_on = event.tool_on or self._left_on
        sample = Sample(
            time.time(), self._joints(event.joints), {}, tool_on, _opening(event.opening)
        )
        if self.sample is not None:
            self.sample(sample)


def _opening(read: float | None) -> float | None:
    """A distance between the fingers [m]; raises `RobotError` for an impossible one."""
    possible = read is None or -_SLACK_M <= read <= MAX_OPENING + _SLACK_M
    READER.need(possible, 'opening', read, 'look at the gripper')
    return read


def _longest(steps: Sequence[ProgramStep]) -> float:
    """The time that these steps can take at most [s]."""
    waits = sum(step.wait for step in steps if isinstance(step, Wait))
    return waits + len(steps) * STEP_TIMEOUT_S

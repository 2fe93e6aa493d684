# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A motion program: the motion of an arm for one action, as data that another computer executes.

It is written by running a skill against `Recorder`, so that an action is known as a whole, and
every target of it checked, before its first part moves.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from safegen_ros.errors import RobotError
from safegen_ros.robot.arm import Arm, ContactPair
from safegen_ros.robot.arms.model import ArmModel, Joints, check_speed
from safegen_ros.schema import NotJsonError, SchemaReader, json_object
from safegen_ros.sync import Closing

VERSION = 1
#: Most steps of a program, and most bytes of its text, which fits into a line of the agent.
MAX_STEPS = 1000
MAX_BYTES = 250_000
#: Longest wait of one step [s].
MAX_WAIT = 60.0


@runtime_checkable
class ProgramArm(Arm, Protocol):
    """An arm that is better told an action as a whole than move by move."""

    def run_program(self, program: Program) -> None:
        """Carries a program out, and returns when it is done.

        Raises:
            RobotError: it was refused as a whole, or a step failed and the arm holds.
            Canceled: the arm was stopped.
        """


@dataclass(frozen=True, slots=True)
class JointMove:
    """To six joint angles [rad], at a fraction of the highest joint speed."""

    move: tuple[float, ...]
    speed: float


@dataclass(frozen=True, slots=True)
class ToolSwitch:
    """The tool takes hold, or lets go."""

    tool: bool


@dataclass(frozen=True, slots=True)
class Wait:
    """Time that passes [s]."""

    wait: float


ProgramStep = JointMove | ToolSwitch | Wait


@dataclass(frozen=True, slots=True)
class Program:
    """Steps in their order, every one within the limits of an arm.

    Raises:
        RobotError: a step is not; `LIMIT_VIOLATION` for a move.
    """

    steps: tuple[ProgramStep, ...]
    arm: ArmModel

    def __post_init__(self) -> None:
        if len(self.steps) > MAX_STEPS:
            raise RobotError(f'a program of {len(self.steps)} steps: at most {MAX_STEPS} are taken')
        for index, step in enumerate(self.steps):
            try:
                _check(step, self.arm)
            except RobotError as error:
                raise RobotError(f'step {index + 1}: {error.message}', error.code) from error

    def to_json(self) -> bytes:
        """The program as `parse_program` reads it."""
        steps = [asdict(step) for step in self.steps]
        return json.dumps({'version': VERSION, 'steps': steps}).encode('ascii')


def parse_program(data: bytes, arm: ArmModel) -> Program:
    """Reads a program for an arm.

    Raises:
        RobotError: it is not JSON as `Program.to_json` writes it, too long, or a step is outside
            the limits; the whole is refused.
    """
    if len(data) > MAX_BYTES:
        raise RobotError(f'a program of {len(data)} bytes: at most {MAX_BYTES} are taken')
    reader = SchemaReader('the program', lambda text: RobotError(f'{text}: nothing is executed'))
    try:
        value = json_object(data)
    except NotJsonError as error:
        raise reader.error(f'the program: {error}') from error
    reader.keys(value, '', ('version', 'steps'))
    reader.need(value['version'] == VERSION, 'version', value['version'], f'write {VERSION}')
    steps = reader.read(tuple[dict[str, Any], ...], value['steps'], 'steps')
    return Program(
        tuple(_parse_step(reader, each, f'steps[{at}]') for at, each in enumerate(steps)), arm
    )


def carry_out(program: Program, arm: Arm, done: Callable[[int], None] = lambda count: None) -> None:
    """Carries a program out; raises as the arm, and does nothing after a failed step."""
    for index, step in enumerate(program.steps):
        if isinstance(step, JointMove):
            arm.move_joints(step.move, step.speed)
        elif isinstance(step, ToolSwitch):
            arm.set_tool(step.tool)
        else:
            arm.wait(step.wait)
        done(index + 1)


class Recorder(Closing, Arm):
    """An arm that arrives at once and writes down its commands."""

    def __init__(self, joints: Joints, tool_on: bool, model: ArmModel) -> None:
        self._model = model
        self._joints = np.array(joints, dtype=np.float64)
        self._tool_on = tool_on
        self._steps: list[ProgramStep] = []

    @property
    def program(self) -> Program:
        """All commands so far."""
        return Program(tuple(self._steps), self._model)

    def joint_positions(self) -> Joints:
        """The last target, shape (6,) [rad]."""
        return self._joints.copy()

    def move_joints(self, target: ArrayLike, speed: float) -> None:
        """Writes a move down; see `Arm.move_joints`."""
        self._joints = self._model.check_joints(target)
        joints = tuple(float(each) for each in self._joints)
        self._steps.append(JointMove(joints, check_speed(speed)))

    def set_tool(self, on: bool) -> None:
        """Writes the switch down."""
        self._tool_on = on
        self._steps.append(ToolSwitch(on))

    def tool_on(self) -> bool:
        """The last switch."""
        return self._tool_on

    def opening(self) -> None:
        """Nothing is measured here."""

    def wait(self, seconds: float) -> None:
        """Writes the wait down."""
        self._steps.append(Wait(seconds))

    def expect_contacts(self, *pairs: ContactPair) -> None:
        """Nothing touches a recorder."""

    def stop(self) -> None:
        """Nothing moves here."""

    def reset_stop(self) -> None:
        """Nothing moves here."""

    def rearm(self) -> None:
        """Nothing moves here."""

    def close(self) -> None:
        """Nothing is held."""


def _check(step: ProgramStep, arm: ArmModel) -> None:
    if isinstance(step, JointMove):
        arm.check_joints(step.move)
        check_speed(step.speed)
    elif isinstance(step, Wait) and not (math.isfinite(step.wait) and 0.0 <= step.wait <= MAX_WAIT):
        raise RobotError(f'a wait of {step.wait} s is not from 0 to {MAX_WAIT:g} s')


def _parse_step(reader: SchemaReader, value: dict[str, Any], place: str) -> ProgramStep:
    # The limits are those of `Program`; here it only matters that these are numbers.
    kinds: dict[str, type[ProgramStep]] = {'move': JointMove, 'tool': ToolSwitch}
    kind = next((kind for name, kind in kinds.items() if name in value), Wait)
    return reader.read(kind, value, place)

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The knobs that make an emulated arm misbehave, each after a real complaint or a worn cable."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from dataclasses import dataclass, replace

from safegen_ros.errors import SafegenError
from safegen_ros.robot.mycobot.frames import Frame, FrameCommand


class FaultError(SafegenError):
    """A fault that does not exist, or a value outside its range."""


@dataclass(frozen=True, slots=True)
class Knob:
    """One kind of fault: its usual value, its range, and its effect."""

    default: float
    low: float
    high: float
    help: str


KNOBS: dict[str, Knob] = {
    'late_ack': Knob(0.7, 0.0, 10.0, 'answers to commands, not to questions, come so late [s]'),
    'late_answer': Knob(0.7, 0.0, 10.0, 'every answer comes so late [s]'),
    'lost_answer': Knob(0.2, 0.0, 1.0, 'share of answers that get lost'),
    'lost_command': Knob(0.2, 0.0, 1.0, 'share of frames to the arm that get lost'),
    'wrong_command': Knob(1.0, 0.0, 1.0, 'share of answers under the byte of another command'),
    'echo': Knob(1.0, 0.0, 1.0, 'share of frames that come back before they are answered'),
    'noise': Knob(0.3, 0.0, 1.0, 'share of answers with other bytes before them'),
    'short_answer': Knob(1.0, 0.0, 1.0, 'share of answers that lack their second half'),
    'flood_stall': Knob(30.0, 1.0, 1e4, 'frames in a second after which it is silent for 2 s'),
    'frozen': Knob(1.0, 0.0, 1.0, 'the angles that it reports stay as they were'),
    'constant': Knob(180.08, -327.0, 327.0, 'all joints report this angle [deg]'),
    'jump': Knob(0.1, 0.0, 1.0, 'share of angle readings of which one joint is far off'),
    'servo_error': Knob(2, 1, 6, 'the servo of this joint stops and reports an error'),
    'limit_stop': Knob(3, 1, 6, 'this joint stops as at a limit, with its error code'),
    'power_off': Knob(1.0, 1.0, 1.0, 'the servos lose power'),
    'silent': Knob(1.0, 1.0, 1.0, 'it stops and answers nothing'),
    'unplugged': Knob(1.0, 1.0, 1.0, 'the port is gone'),
}  # fmt: skip

#: Commands that only ask; an acknowledgement answers all others.
_QUESTIONS = frozenset(
    command for command in FrameCommand if command.name.startswith(('GET_', 'IS_', 'ARE_', 'READ_'))
)
_FLOOD_SILENCE = 2.0
_ANGLES = frozenset({FrameCommand.GET_ANGLES, FrameCommand.GET_ANGLES_COORDS})


@dataclass(frozen=True, slots=True)
class ArmFault:
    """One fault of an emulated arm.

    Attributes:
        name: one of `KNOBS`.
        value: as its knob says.
        after: time from the first motion command to its begin [s]; it stays from then on.
    """

    name: str
    value: float
    after: float = 0.0

    def __post_init__(self) -> None:
        knob = KNOBS.get(self.name)
        if knob is None:
            raise FaultError(f'fault {self.name!r} does not exist (faults: {" ".join(KNOBS)})')
        if not knob.low <= self.value <= knob.high:
            raise FaultError(
                f'fault {self.name}: {self.value:g} is outside {knob.low:g} to {knob.high:g}'
            )
        if not 0.0 <= self.after <= 1e6:
            raise FaultError(f'fault {self.name}: it cannot begin after {self.after:g} s')


def parse_fault(text: str) -> ArmFault:
    """Reads `name`, `name=value`, `name@seconds` or `name=value@seconds`."""
    rest, at, after = text.partition('@')
    name, equals, value = rest.partition('=')
    if name not in KNOBS:
        raise FaultError(f'fault {name!r} does not exist (faults: {" ".join(KNOBS)})')
    try:
        return ArmFault(
            name, float(value) if equals else KNOBS[name].default, float(after) if at else 0.0
        )
    except ValueError:
        raise FaultError(f'fault {text!r}: write name=value@seconds, with numbers') from None


class FaultyLine:
    """What the faults make of frames on their way to and from an arm."""

    def __init__(self, faults: Iterable[ArmFault], rng: random.Random) -> None:
        self._faults = {fault.name: fault for fault in faults}
        self._rng = rng
        self._began: float | None = None
        self._arrivals: list[float] = []
        self._silent_until = -math.inf
        self._frozen: bytes | None = None

    def began(self, now: float) -> None:
        """Notes that a motion command has come; the first one counts [s]."""
        if self._began is None:
            self._began = now

    def add(self, fault: ArmFault, now: float) -> None:
        """Adds a fault that begins now [s]."""
        self.began(now)
        assert self._began is not None  # noqa: S101 - for the type checker
        self._faults[fault.name] = replace(fault, after=max(0.0, now - self._began))

    def clear(self) -> None:
        """Ends all faults."""
        self._faults.clear()
        self._frozen = None
        self._silent_until = -math.inf

    def active(self, name: str, now: float) -> float | None:
        """The value of a fault that has begun; None for one that has not, or is not there."""
        fault = self._faults.get(name)
        if fault is None or self._began is None or now < self._began + fault.after:
            return None
        return fault.value

    def takes(self, now: float) -> bool:
        """Whether a frame reaches the arm."""
        if now < self._silent_until or self.active('silent', now):
            return False
        limit = self.active('flood_stall', now)
        self._arrivals = [t for t in self._arrivals if now - t < 1.0] + [now]
        if limit is not None and len(self._arrivals) > limit:
            self._silent_until = now + _FLOOD_SILENCE
            return False
        return not self._hit('lost_command', now)

    def echoes(self, now: float) -> bool:
        """Whether a frame comes back first."""
        return self._hit('echo', now)

    def answer(self, frame: Frame, now: float) -> tuple[float, bytes] | None:
        """The bytes of an answer with their delay [s]; None when it is lost."""
        if self._hit('lost_answer', now):
            return None
        frame = self._distorted(frame, now)
        delay = self.active('late_answer', now) or 0.0
        if frame.command not in _QUESTIONS:
            delay = max(delay, self.active('late_ack', now) or 0.0)
        data = frame.encode()
        if self._hit('noise', now):
            data = self._rng.randbytes(self._rng.randrange(1, 9)) + data
        return delay, data

    def _distorted(self, frame: Frame, now: float) -> Frame:
        command, payload = frame.command, frame.payload
        if command in _ANGLES:
            payload = self._angles(payload, now)
        if self._hit('short_answer', now):
            payload = payload[: (len(payload) + 1) // 2]
        if self._hit('wrong_command', now):
            command ^= 0x01
        return Frame(command, payload)

    def _angles(self, payload: bytes, now: float) -> bytes:
        """Angle readings, six numbers of two bytes first, as the faults want them."""
        if (constant := self.active('constant', now)) is not None:
            payload = round(constant * 100).to_bytes(2, 'big', signed=True) * 6 + payload[12:]
        if self._hit('frozen', now):
            self._frozen = self._frozen or payload
            payload = self._frozen
        if self._hit('jump', now):
            joint = 2 * self._rng.randrange(6)
            value = int.from_bytes(payload[joint : joint + 2], 'big', signed=True)
            far = value + (9000 if value < 0 else -9000)
            payload = payload[:joint] + far.to_bytes(2, 'big', signed=True) + payload[joint + 2 :]
        return payload

    def _hit(self, name: str, now: float) -> bool:
        share = self.active(name, now)
        return share is not None and self._rng.random() < share

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The frames of the myCobot's serial protocol: `FE FE LEN CMD payload FA`.

LEN counts the command, the payload and the footer. There is no checksum and no escaping, so a frame
is known only by its length and its footer (vendor's protocol document, and what its library sends).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

HEADER = b'\xfe\xfe'
FOOTER = 0xFA
#: The longest LEN that the vendor's library reads.
MAX_LENGTH = 30
MAX_PAYLOAD = MAX_LENGTH - 2


class FrameCommand(IntEnum):
    """The commands that this package sends or answers."""

    GET_SYSTEM_VERSION = 0x02
    CLEAR_QUEUE = 0x05
    CHECK_ASYNC_OR_SYNC = 0x06
    GET_ERROR = 0x07
    CLEAR_ERROR = 0x08
    POWER_ON = 0x10
    POWER_OFF = 0x11
    IS_POWER_ON = 0x12
    RELEASE_ALL_SERVOS = 0x13
    IS_CONTROLLER_CONNECTED = 0x14
    READ_NEXT_ERROR = 0x15
    SET_FRESH_MODE = 0x16
    GET_FRESH_MODE = 0x17
    SET_FREE_MODE = 0x1A
    IS_FREE_MODE = 0x1B
    GET_ANGLES = 0x20
    SEND_ANGLE = 0x21
    SEND_ANGLES = 0x22
    GET_COORDS = 0x23
    SEND_COORD = 0x24
    SEND_COORDS = 0x25
    PAUSE = 0x26
    IS_PAUSED = 0x27
    RESUME = 0x28
    STOP = 0x29
    IS_IN_POSITION = 0x2A
    IS_MOVING = 0x2B
    JOG_ANGLE = 0x30
    JOG_RPY = 0x31
    JOG_COORD = 0x32
    JOG_INCREMENT = 0x33
    JOG_INCREMENT_COORD = 0x34
    SET_ENCODER = 0x3A
    GET_ENCODER = 0x3B
    SET_ENCODERS = 0x3C
    GET_ENCODERS = 0x3D
    SET_ENCODERS_DRAG = 0x3E
    GET_JOINT_MIN = 0x4A
    GET_JOINT_MAX = 0x4B
    IS_SERVO_ENABLED = 0x50
    ARE_SERVOS_ENABLED = 0x51
    JOINT_BRAKE = 0x55
    RELEASE_SERVO = 0x56
    FOCUS_SERVO = 0x57
    SET_PIN_MODE = 0x60
    SET_DIGITAL_OUTPUT = 0x61
    GET_DIGITAL_INPUT = 0x62
    GET_GRIPPER_VALUE = 0x65
    SET_GRIPPER_STATE = 0x66
    SET_GRIPPER_VALUE = 0x67
    SET_GRIPPER_CALIBRATION = 0x68
    IS_GRIPPER_MOVING = 0x69
    SET_COLOR = 0x6A
    SET_BASIC_OUTPUT = 0xA0
    GET_BASIC_INPUT = 0xA1
    GET_ANGLES_COORDS = 0xD5
    GET_SERVO_SPEEDS = 0xE1
    GET_SERVO_VOLTAGES = 0xE3
    GET_SERVO_STATUS = 0xE4
    GET_SERVO_TEMPS = 0xE5


#: Every command after which a joint may move.
MOTION = frozenset(
    {
        FrameCommand.SEND_ANGLE,
        FrameCommand.SEND_ANGLES,
        FrameCommand.SEND_COORD,
        FrameCommand.SEND_COORDS,
        FrameCommand.RESUME,
        FrameCommand.JOG_ANGLE,
        FrameCommand.JOG_RPY,
        FrameCommand.JOG_COORD,
        FrameCommand.JOG_INCREMENT,
        FrameCommand.JOG_INCREMENT_COORD,
        FrameCommand.SET_ENCODER,
        FrameCommand.SET_ENCODERS,
        FrameCommand.SET_ENCODERS_DRAG,
    }
)


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame: the command byte, 0 to 255, and at most 28 bytes of payload."""

    command: int
    payload: bytes = b''

    def encode(self) -> bytes:
        """The bytes on the wire."""
        if not 0 <= self.command <= 0xFF or len(self.payload) > MAX_PAYLOAD:
            raise ValueError(f'no frame: command {self.command}, {len(self.payload)} bytes')
        body = bytes((len(self.payload) + 2, self.command)) + self.payload
        return HEADER + body + bytes((FOOTER,))


class FrameReader:
    """Finds frames in a stream of bytes, of any bytes; what belongs to no frame is passed over."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that are complete now, in their order."""
        self._buffer += data
        frames = []
        while (frame := self._next()) is not None:
            frames.append(frame)
        return frames

    def clear(self) -> None:
        """Forgets the beginning of a frame."""
        self._buffer.clear()

    def _next(self) -> Frame | None:
        """The first complete frame; None when more bytes are needed."""
        buffer = self._buffer
        while True:
            start = buffer.find(HEADER)
            if start < 0:
                # The last byte may be the first half of a header.
                del buffer[: len(buffer) - buffer.endswith(HEADER[:1])]
                return None
            del buffer[:start]
            if len(buffer) < 3:
                return None
            length = buffer[2]
            if 2 <= length <= MAX_LENGTH:
                if len(buffer) < length + 3:
                    return None
                if buffer[length + 2] == FOOTER:
                    frame = Frame(buffer[3], bytes(buffer[4 : length + 2]))
                    del buffer[: length + 3]
                    return frame
            del buffer[0]


def pack(values: Sequence[int]) -> bytes:
    """Signed 16-bit numbers, high byte first, as angles and coordinates are sent."""
    try:
        return struct.pack(f'>{len(values)}h', *values)
    except struct.error as error:
        raise ValueError(f'{list(values)} do not all fit into 16 bits') from error


def unpack(payload: bytes) -> list[int]:
    """The signed 16-bit numbers of a payload; an odd last byte is passed over."""
    count = len(payload) // 2
    return list(struct.unpack(f'>{count}h', payload[: 2 * count]))


STOP = Frame(FrameCommand.STOP).encode()
"""What makes the firmware hold the arm where it is."""

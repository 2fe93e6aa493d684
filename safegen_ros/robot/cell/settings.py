# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Settings of the cells, whose fields are parameters of the executor, and the names in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from safegen_ros.robot.agent.messages import HANG_TIMEOUT_S, LINK_TIMEOUT_S, TIMEOUT_RANGE_S, TOOLS

CELLS = ('twin', 'symbolic')
ARM_CELL = 'mycobot'
"""The cell of the real arm, which only its own profile starts."""
TRANSPORTS = ('serial', 'tcp', 'ssh')
ASSUMED, PERCEIVED = 'assumed', 'perceived'
ALL, ABOVE = 'all', 'above'
VIEWS = (ALL, ABOVE)
OBSTACLE, IGNORE, REFUSE = 'obstacle', 'ignore', 'refuse'
OTHER_OBJECTS = (OBSTACLE, IGNORE, REFUSE)
"""What becomes of objects that the task does not name."""

_SILENCE = 'silence of {} until the agent holds the arm [s]'


def _setting(default: object, description: str, *span: float, **more: Any) -> Any:
    """A field whose metadata are those of a `Parameter`."""
    low, high = span or (None, None)
    return field(
        default=default, metadata={'description': description, 'low': low, 'high': high, **more}
    )


def _argument(default: object, description: str, *span: float, **more: Any) -> Any:
    """A setting that is also an argument of the profile of the real arm."""
    return _setting(default, description, *span, argument='arm', **more)


@dataclass(frozen=True, slots=True)
class ArmSettings:
    """How the real arm is reached, how fast it may be, and who knows where the blocks are."""

    transport: str = _argument(
        TRANSPORTS[0],
        'transport to the real arm: serial (port, baud), tcp (host, tcp_port) or ssh (host, '
        'ssh_port, user, key_file, known_hosts, and port and baud there)',
        choices=TRANSPORTS,
    )
    port: str = _argument('/dev/ttyUSB0', 'serial port of the real arm')
    baud: int = _argument(
        115200,
        'speed of that port [1/s]: 115200 for the M5 base, 1000000 for the Pi',
        9600,
        4000000,
    )
    host: str = _argument('', 'name or address of the TCP or SSH server at the real arm')
    tcp_port: int = _argument(9000, 'port of the TCP server', 1, 65535)
    ssh_port: int = _argument(22, 'port of the SSH server', 1, 65535)
    user: str = _argument('', 'user of the SSH login')
    key_file: str = _argument('~/.ssh/id_ed25519', 'private key of that user, without a passphrase')
    known_hosts: str = _argument('~/.ssh/known_hosts', 'file with the key of the host')
    agent: str = _argument('safegen-agent', 'path of the agent at the other end of SSH')
    link_timeout: float = _setting(
        LINK_TIMEOUT_S, _SILENCE.format('the executor'), *TIMEOUT_RANGE_S
    )
    hang_timeout: float = _setting(HANG_TIMEOUT_S, _SILENCE.format('its mover'), *TIMEOUT_RANGE_S)
    tool: str = _argument(
        'basic-pump',
        'tool: basic-pump (at an M5 base), gpio-pump (at a Pi) or gripper',
        choices=TOOLS,
    )
    speed_limit: float = _argument(
        0.5, 'speed limit of the real arm, as share of its top speed; start low', 0.01, 1.0
    )
    world: str = _argument(
        ASSUMED,
        'source of the block poses of the real arm: assumed (from its motions) or perceived '
        '(on perception/world_state)',
        choices=(ASSUMED, PERCEIVED),
    )


@dataclass(frozen=True, slots=True)
class PerceptionSettings:
    """When a picture counts."""

    perception_timeout: float = _setting(5.0, 'timeout of new pictures [s]', 0.1, 60.0)
    perception_samples: int = _setting(7, 'number of pictures for the median', 1, 100)
    perception_clock_tolerance: float = _setting(
        0.1, 'maximum lead of the stamp of a picture [s]', 0.0, 10.0
    )
    height_tolerance: float = _setting(
        0.006, 'maximum distance of a perceived block from its level [m]', 0.0005, 0.014
    )
    tilt_tolerance: float = _setting(5.0, 'maximum tilt of a perceived block [deg]', 0.5, 30.0)
    other_objects: str = _setting(
        OBSTACLE,
        'treatment of perceived objects that the task does not name: obstacle, ignore or refuse',
        choices=OTHER_OBJECTS,
    )
    obstacle_size: float = _setting(0.1, 'edge of the box around such an object [m]', 0.01, 1.0)


_Settings = TypeVar('_Settings', ArmSettings, PerceptionSettings)


def settings_of(kind: type[_Settings], values: Mapping[str, Any]) -> _Settings:
    """The settings among the parameters of an executor; others have their defaults."""
    return kind(**{each.name: values[each.name] for each in fields(kind) if each.name in values})


REHEARSAL_S = 120.0
"""Longest rehearsal, by the wall clock [s]; a step takes a fraction of a second."""

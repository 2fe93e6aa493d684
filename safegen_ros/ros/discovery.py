# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How processes of a stack find each other, and which variables of the environment they get."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from safegen_ros.errors import BringupError
from safegen_ros.paths import share_dir

_TOO_OLD = ('foxy', 'galactic', 'humble', 'iron')


def check_distribution(environ: Mapping[str, str]) -> None:
    """Refuse a distribution of ROS 2 whose rclpy lacks what the nodes use.

    Raises:
        BringupError: it is one.
    """
    distribution = environ.get('ROS_DISTRO', '')
    if distribution in _TOO_OLD:
        raise BringupError(
            f'ROS 2 {distribution} is sourced in this shell, and its rclpy is too old: the nodes '
            'are tested with ROS 2 Kilted: source that, or run make setup in a fresh shell'
        )


_RANGE = 'ROS_AUTOMATIC_DISCOVERY_RANGE'
_PROFILES = 'FASTDDS_DEFAULT_PROFILES_FILE'
_PROFILES_2 = 'FASTRTPS_DEFAULT_PROFILES_FILE'  # as Fast DDS 2 calls it, which ROS 2 Jazzy has
# With one of them the caller has a separate discovery.
_OWN_DISCOVERY = (
    _PROFILES, _PROFILES_2, 'ROS_STATIC_PEERS', 'ROS_DISCOVERY_SERVER',
    'ROS_LOCALHOST_ONLY',
)  # fmt: skip
_RMW = 'RMW_IMPLEMENTATION'
_FAST_DDS = ('rmw_fastrtps_cpp', 'rmw_fastrtps_dynamic_cpp')

DISCOVERY = (_RANGE, *_OWN_DISCOVERY, _RMW)
"""Variables that decide how processes find each other, and how far away."""


def _discovery_defaults(environ: Mapping[str, str]) -> dict[str, str]:
    """Loopback without shared memory, which only a profile of Fast DDS can say; else loopback."""
    own = any(environ.get(name) for name in (_RANGE, *_OWN_DISCOVERY))
    rmw = environ.get(_RMW) or _FAST_DDS[0]
    if rmw in _FAST_DDS and not own:
        loopback = str(share_dir() / 'config' / 'fastdds_loopback.xml')
        # Jazzy reads the old name alone, and Kilted warns of it.
        profiles = _PROFILES_2 if environ.get('ROS_DISTRO') == 'jazzy' else _PROFILES
        # By name, as any other middleware would not read the profile, and be heard everywhere.
        return {_RANGE: 'SYSTEM_DEFAULT', profiles: loopback, _RMW: rmw}
    defaults = {_RANGE: 'LOCALHOST'}
    if not environ.get(_PROFILES_2):
        defaults[_PROFILES] = str(share_dir() / 'config' / 'fastdds.xml')
    return defaults


def environment_defaults(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Variables that every node gets unless the caller has set them.

    Loopback discovery, so that nothing leaves this machine unasked. A prefix for the ament index,
    which the ROS wheels leave out. Threads for half of the processors per library, as three nodes
    share them.

    Args:
        environ: the caller's environment; `os.environ` when None.
    """
    here = os.environ if environ is None else environ
    threads = str(max(1, (os.cpu_count() or 1) // 2))
    defaults = _discovery_defaults(here) | {
        'AMENT_PREFIX_PATH': sys.prefix,
        'PYTHONUNBUFFERED': '1',
        'RCUTILS_LOGGING_BUFFERED_STREAM': '0',
        'OMP_NUM_THREADS': threads,
        'OPENBLAS_NUM_THREADS': threads,
        'MKL_NUM_THREADS': threads,
        'TOKENIZERS_PARALLELISM': 'false',
    }
    return {name: value for name, value in defaults.items() if not here.get(name)}


def nobody_listens(domain: int) -> bool:
    """Whether no process can be found in a ROS domain; false where that is not certain.

    Over the loopback of a stack, a process finds only those of this machine, of any user. Each of
    them listens at a port that the standard keeps for the domain (DDSI-RTPS 2.5, section 9.6.2).
    """
    use_stack_discovery()
    ours = _discovery_defaults({n: os.environ.get(n, '') for n in (_RMW, 'ROS_DISTRO')})
    if ours[_RANGE] != 'SYSTEM_DEFAULT' or any(
        os.environ.get(name, '') != ours.get(name, '') for name in DISCOVERY
    ):
        return False
    try:
        tables = [Path('/proc/net/udp'), *Path('/proc/net').glob('udp6')]
        rows = [row for each in tables for row in each.read_text('ascii').splitlines()[1:]]
    except OSError:
        return False
    bound = {int(row.split()[1].rpartition(':')[2], 16) for row in rows}
    return bound.isdisjoint(range(7400 + 250 * domain, 7400 + 250 * (domain + 1)))


def use_stack_discovery() -> None:
    """Let this process find the nodes as they find each other; call it before `rclpy.init`."""
    for name, value in _discovery_defaults(os.environ).items():
        if not os.environ.get(name):
            os.environ[name] = value

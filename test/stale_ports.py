# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Removes what killed processes have left of the middleware's shared memory."""

from __future__ import annotations

import fcntl
from pathlib import Path

MEMORY = Path('/dev/shm')


def remove_stale_ports() -> None:
    """Removes the ports that no process holds any more; those from 7000 on are of all domains.

    A process that is killed in the wrong moment leaves the mutex of its port locked, and whoever
    gets that port after it is not seen by others.
    """
    for lock in MEMORY.glob('fastdds_port*_el'):
        name = lock.name.removesuffix('_el')
        try:
            with lock.open('rb') as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                for each in (name, f'sem.{name}_mutex', lock.name):
                    (MEMORY / each).unlink(missing_ok=True)
        except OSError:  # somebody holds it, or has just removed it
            continue

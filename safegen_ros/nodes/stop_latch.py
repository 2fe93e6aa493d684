# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whether the arm is stopped, and why: latched until an operator resets it, also on disk."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from safegen_ros.paths import state_dir

CURE = "look at the cell, then reset it with 'safegen reset' or the service reset"
"""What an operator has to do about a stop."""


@dataclass(frozen=True, slots=True)
class Stop:
    """A state of the latch.

    Attributes:
        stopped: whether nothing may move.
        reason: what stopped it; empty when it is not stopped.
        count: how often it was stopped up to now.
        time: when this state began, since the epoch [s].
    """

    stopped: bool
    reason: str
    count: int
    time: float


def stop_file(domain: int, namespace: str) -> Path:
    """The file that says that the stack of a ROS domain and namespace is stopped.

    Not in a folder that ends with a session: a file that is gone would read as a reset.

    Raises:
        DataNotFoundError: there is no place where a stop could be kept.
    """
    return state_dir() / f'stopped-{domain}{namespace.rstrip("/").replace("/", ".")}.json'


class StopLatch:
    """Stopped until it is reset, by whomever and however often it was stopped; for any thread.

    A file that is there while it is stopped makes a process that was killed meanwhile come back
    stopped.

    Args:
        file: see `stop_file`.
        halt: ends all motion; called at each stop, as soon as it is latched.
    """

    def __init__(self, file: Path, halt: Callable[[], None] = lambda: None) -> None:
        self._file = file
        self._halt = halt
        self._lock = threading.Lock()
        self._state = _read(file)

    @property
    def state(self) -> Stop:
        """How it stands now."""
        return self._state

    def stop(self, reason: str) -> bool:
        """Latches, halts, and only then writes it down; whether it was not stopped before.

        Raises:
            OSError: it could not be written down. It is stopped all the same.
        """
        with self._lock:
            first = not self._state.stopped
            if first:
                self._state = Stop(True, reason, self._state.count + 1, time.time())
            # Once more, too, if it was stopped already: that costs nothing.
            self._halt()
            if first:
                _write(self._file, self._state)
        return first

    def reset(self) -> bool:
        """Allows goals again, and moves nothing; whether it was stopped.

        Raises:
            OSError: the file cannot be removed; it stays stopped.
        """
        with self._lock:
            if not self._state.stopped:
                return False
            self._file.unlink(missing_ok=True)
            self._state = Stop(False, '', self._state.count, time.time())
        return True


def _read(file: Path) -> Stop:
    try:
        data = json.loads(file.read_text(encoding='utf-8'))
        return Stop(True, str(data['reason']), int(data['count']), float(data['time']))
    except FileNotFoundError:
        return Stop(False, '', 0, time.time())
    except (OSError, ValueError, TypeError, KeyError) as error:
        # It is there, and that alone says that somebody stopped.
        return Stop(True, f'{file} cannot be read ({error!r})', 1, time.time())


def _write(file: Path, state: Stop) -> None:
    scratch = file.with_suffix('.tmp')
    with scratch.open('w', encoding='utf-8') as out:
        json.dump(asdict(state), out)
        out.flush()
        os.fsync(out.fileno())
    scratch.replace(file)
    # Until the folder is written, too, a loss of power could take the name away.
    folder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)

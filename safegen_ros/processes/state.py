# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is known on disk about the stack of a ROS domain: a lock, and a file beside it.

The lock says whether a stack runs (the kernel drops it with its owner); the file says which.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from safegen_ros.bringup import BringupError
from safegen_ros.paths import runtime_dir

# Ports of a higher domain lie in the range that Linux hands out to anybody.
MAX_DOMAIN = 101


@dataclass(frozen=True, slots=True)
class StackState:
    """A running stack.

    Attributes:
        domain: ROS domain id.
        pid: process id of the supervisor.
        status: 'starting', 'ready' or 'stopping'.
        log: file with the output of all nodes.
        nodes: process id by full node name.
    """

    domain: int
    pid: int
    status: str
    log: str
    nodes: dict[str, int] = field(default_factory=dict)


def current_domain(environ: dict[str, str] | None = None) -> int:
    """The domain of ROS_DOMAIN_ID, 0 when unset.

    Raises:
        BringupError: it is not a number from 0 to `MAX_DOMAIN`.
    """
    text = (os.environ if environ is None else environ).get('ROS_DOMAIN_ID') or '0'
    if not text.isascii() or not text.isdecimal() or int(text) > MAX_DOMAIN:
        raise BringupError(f'ROS_DOMAIN_ID={text!r}: must be 0 to {MAX_DOMAIN}')
    return int(text)


def _lock_file(domain: int) -> Path:
    return runtime_dir() / f'domain-{domain}.lock'


def _state_file(domain: int) -> Path:
    return runtime_dir() / f'domain-{domain}.json'


class DomainLock:
    """Holds a domain for one stack; the kernel frees it when this process ends in any way."""

    def __init__(self, domain: int) -> None:
        """Take the domain.

        Raises:
            BringupError: another stack of this user holds it.
        """
        self.domain = domain
        self._file = _lock_file(domain).open('a')
        # Whoever asks for the state holds the lock for an instant, so one refusal proves nothing.
        for _ in range(10):
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError:
                time.sleep(0.02)
        self._file.close()
        state = read_state(domain)
        owner = f' (process {state.pid})' if state else ''
        raise BringupError(
            f'a stack runs in ROS domain {domain} already{owner}: '
            'stop it with `safegen down`, or choose another ROS_DOMAIN_ID'
        )

    def write(self, state: StackState) -> None:
        """Replace the state file in one step, so that no reader sees half of it."""
        target = _state_file(self.domain)
        scratch = target.with_suffix('.tmp')
        scratch.write_text(json.dumps(asdict(state)))
        scratch.replace(target)

    def release(self) -> None:
        """Give the domain back. The lock file stays: removing it would race with the next owner."""
        if not self._file.closed:
            _state_file(self.domain).unlink(missing_ok=True)
            self._file.close()


def _is_held(domain: int) -> bool:
    try:
        with _lock_file(domain).open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def read_state(domain: int) -> StackState | None:
    """The stack that runs in a domain; None when none does, whatever an old file says."""
    if not _is_held(domain):
        return None
    try:
        data: dict[str, Any] = json.loads(_state_file(domain).read_text())
    except FileNotFoundError:  # It has the lock and has not written yet, or is about to end.
        return None
    return StackState(**data)


def stop_running(domain: int, timeout_s: float = 15.0) -> bool:
    """Ask the supervisor of a domain to stop, and wait until it has.

    Args:
        domain: ROS domain id.
        timeout_s: how long to wait [s]; a supervisor takes up to 10 s when a node hangs.

    Returns:
        Whether a stack was stopped; False when none ran.

    Raises:
        BringupError: it still runs after that time.
    """
    state = read_state(domain)
    if state is None:
        return False
    with suppress(ProcessLookupError):  # it was about to end
        os.kill(state.pid, signal.SIGTERM)
    deadline = time.monotonic() + timeout_s
    while _is_held(domain):
        if time.monotonic() > deadline:
            raise BringupError(
                f'the stack of ROS domain {domain} (process {state.pid}) still runs after '
                f'{timeout_s:g} s: see {state.log}, then end it with `kill -KILL {state.pid}`'
            )
        time.sleep(0.02)
    return True

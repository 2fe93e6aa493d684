# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The processes of a stack: how they find each other, its state on disk, and what ends one.

A stack has one namespace of one ROS domain. Its lock says whether it runs (the kernel drops it with
its owner); the file beside it says which it is.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safegen_ros.errors import BringupError, ErrorCode, SafegenError
from safegen_ros.paths import runtime_dir, share_dir

if TYPE_CHECKING:
    from safegen_ros.ros.lifecycle import ManagedNode

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
        namespace: of its nodes, absolute.
    """

    domain: int
    pid: int
    status: str
    log: str
    nodes: dict[str, int] = field(default_factory=dict)
    namespace: str = '/'
    reason: str = ''


def current_domain(environ: dict[str, str] | None = None) -> int:
    """The domain of ROS_DOMAIN_ID, 0 when unset.

    Raises:
        BringupError: it is not a number from 0 to `MAX_DOMAIN`.
    """
    text = (os.environ if environ is None else environ).get('ROS_DOMAIN_ID') or '0'
    if not text.isascii() or not text.isdecimal() or int(text) > MAX_DOMAIN:
        raise BringupError(f'ROS_DOMAIN_ID={text!r}: must be 0 to {MAX_DOMAIN}')
    return int(text)


def absolute_namespace(text: str) -> str:
    """The namespace of the option; raises `SafegenError` where it is not a ROS name."""
    namespace = '/' + text.strip('/')
    # As `rclpy.validate_namespace` has it, which takes 0.1 s to import.
    if not re.fullmatch('/|(/[A-Za-z_][A-Za-z_0-9]*)+', namespace):
        raise SafegenError(f'--namespace {text!r} is not a ROS name: give one such as lab/arm1')
    return namespace


def _file(domain: int, namespace: str, kind: str) -> Path:
    # A name of ROS has no dot, so that no two namespaces share a file.
    place = '.'.join([str(domain), *namespace.strip('/').split('/')]).rstrip('.')
    return runtime_dir() / f'domain-{place}.{kind}'


class DomainLock:
    """Holds a namespace of a domain for one stack; the kernel frees it when this process ends."""

    def __init__(self, domain: int, namespace: str = '/') -> None:
        """Take the namespace.

        Raises:
            BringupError: another stack of this user holds it.
        """
        self.domain, self.namespace = domain, namespace
        self._file = _file(domain, namespace, 'lock').open('a')
        # A query of the state holds the lock for an instant, so one refusal proves nothing.
        for _ in range(10):
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError:
                time.sleep(0.02)
        self._file.close()
        state = read_state(domain, namespace)
        owner = f' (process {state.pid})' if state else ''
        raise BringupError(
            f'a stack runs in ROS domain {domain} already, in namespace {namespace}{owner}: stop '
            f'it with `{down_command(namespace)}`, or choose another namespace:=NAME or '
            'ROS_DOMAIN_ID'
        )

    def write(self, state: StackState) -> None:
        """Replace the state file in one step, so that no reader sees half of it."""
        target = _file(self.domain, self.namespace, 'json')
        scratch = target.with_name(f'{target.name}.tmp')
        scratch.write_text(json.dumps(asdict(state)))
        scratch.replace(target)

    def beat(self) -> None:
        """Show that its owner runs; see `last_beat`."""
        os.utime(self._file.fileno())

    def release(self) -> None:
        """Give the domain back. The lock file stays: removing it would race with the next owner."""
        if not self._file.closed:
            _file(self.domain, self.namespace, 'json').unlink(missing_ok=True)
            self._file.close()


def down_command(namespace: str) -> str:
    """What stops a stack, for messages."""
    return f'safegen down --namespace {namespace}' if namespace != '/' else 'safegen down'


def is_held(domain: int, namespace: str = '/') -> bool:
    """Whether a stack runs in a namespace; also where that cannot be found out."""
    try:
        with _file(domain, namespace, 'lock').open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def read_state(domain: int, namespace: str = '/') -> StackState | None:
    """The stack that runs in a namespace; None when none does, whatever an old file says."""
    if not is_held(domain, namespace):
        return None
    try:
        data: dict[str, Any] = json.loads(_file(domain, namespace, 'json').read_text())
        return StackState(**data)
    # It has the lock and has not written yet, or is about to end; or it is of another version.
    except (FileNotFoundError, ValueError, TypeError):
        return None


def no_stack(namespace: str) -> SafegenError:
    """The error where no node of a stack answers."""
    argument = '' if namespace == '/' else f' namespace:={namespace}'
    return SafegenError(
        f'no stack in namespace {namespace} of ROS_DOMAIN_ID {current_domain()}: '
        f"start it with 'safegen up sim{argument}'",
        ErrorCode.SERVER_LOST,
    )


def require_stack(namespace: str) -> None:
    """Raises `no_stack` at once where no process is there that could be one of its nodes."""
    domain = current_domain()
    if nobody_listens(domain) and not is_held(domain, namespace):
        raise no_stack(namespace)


def last_beat(domain: int, namespace: str) -> int:
    """A number that changes with each beat of the owner of a namespace; 0 where none was."""
    try:
        return _file(domain, namespace, 'lock').stat().st_mtime_ns
    except OSError:
        return 0


def running_stacks(domain: int) -> list[StackState]:
    """The stacks of this user in a domain, sorted by their namespace."""
    found = []
    for path in runtime_dir().glob(f'domain-{domain}.*lock'):
        _, *parts = path.name.removesuffix('.lock').split('.')
        state = read_state(domain, '/' + '/'.join(parts))
        found += [state] if state else []
    return sorted(found, key=lambda state: state.namespace)


def stop_running(domain: int, timeout_s: float = 15.0, namespace: str = '/') -> bool:
    """Ask the supervisor of a stack to stop, and wait until it has.

    Args:
        domain: ROS domain id.
        timeout_s: how long to wait [s]; a supervisor takes up to 10 s when a node hangs.
        namespace: of its nodes, absolute.

    Returns:
        Whether a stack was stopped; False when none ran.

    Raises:
        BringupError: it still runs after that time.
    """
    state = read_state(domain, namespace)
    if state is None:
        return False
    with suppress(ProcessLookupError):  # it was about to end
        os.kill(state.pid, signal.SIGTERM)
    deadline = time.monotonic() + timeout_s
    while is_held(domain, namespace):
        if time.monotonic() > deadline:
            raise BringupError(
                f'the stack of ROS domain {domain} (process {state.pid}) still runs after '
                f'{timeout_s:g} s: see {state.log}, then end it with `kill -KILL {state.pid}`'
            )
        time.sleep(0.02)
    return True


class Interruption:
    """Knows what ends this process, or deactivates its node."""

    def __init__(self, node: ManagedNode) -> None:
        self._node = node
        self._parent = os.getppid()

    def cause(self) -> str:
        """Its description; empty for no effect."""
        if os.getppid() != self._parent:
            return 'the supervisor of the stack has ended'
        if ending := self._taken_down():
            return f'the stack was taken down: {ending}'
        if self._node.inactive.is_set():
            return f'the {self._node.get_name()} was deactivated or ended'
        return ''

    @property
    def supervised(self) -> bool:
        """Whether a supervisor has started this process."""
        return self._stack() is not None

    def supervisor_beat(self) -> int:
        """A number that changes while the supervisor runs."""
        return last_beat(self._node.context.get_domain_id(), self._node.get_namespace())

    def _taken_down(self) -> str:
        """Why the supervisor of this process takes its stack down; empty where it does not."""
        stack = self._stack()
        if stack is None or stack.status != 'stopping':
            return ''
        return stack.reason or 'no reason is given'

    def _stack(self) -> StackState | None:
        """The stack that this process is one of; None where it is of none."""
        try:
            domain = self._node.context.get_domain_id()
            stack = read_state(domain, self._node.get_namespace())
        except (OSError, ValueError, TypeError, SafegenError):
            return None
        return stack if stack is not None and os.getpid() in stack.nodes.values() else None

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""One supervised node: its process group, output, interface and end; its events."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import IO, TYPE_CHECKING

from safegen_ros.bringup.profiles import NodeSpec
from safegen_ros.child_process import describe_exit
from safegen_ros.errors import BringupError, ErrorCode, SafegenError
from safegen_ros.ros.stack_state import use_stack_discovery
from safegen_ros.sync import Closing

if TYPE_CHECKING:
    from rclpy.context import Context
    from rclpy.node import Node


class ExitCode(IntEnum):
    """Exit status of `safegen up`."""

    CLEAN = 0
    NODE_DIED = 1
    USAGE = 2
    NOT_READY = 3
    KILLED = 4


class NodeDiedError(SafegenError):
    """A required node ended unexpectedly.

    Attributes:
        node: its full name.
        lines: the last lines that it wrote.
    """

    def __init__(self, node: str, code: int, lines: Sequence[str]) -> None:
        tail = ''.join(f'\n  {line}' for line in lines)
        super().__init__(f'{node} ended with {describe_exit(code)}{tail}', ErrorCode.SERVER_LOST)
        self.node = node
        self.lines = tuple(lines)


class NotReadyError(SafegenError):
    """A node did not offer its interface in time."""

    def __init__(self, spec: NodeSpec, lines: Sequence[str]) -> None:
        tail = ''.join(f'\n  {line}' for line in lines)
        what = f'serve its page at port {spec.page_port}'
        if spec.ready is not None:
            what = (
                f'offer the {spec.ready.kind} {spec.ready.name} within {spec.ready.timeout_s:g} s'
            )
        super().__init__(f'{spec.full_name} did not {what}{tail}', ErrorCode.SERVER_LOST)
        self.node = spec.full_name


@dataclass(frozen=True, slots=True)
class SupervisorEvent:
    """Something that a screen may want to show.

    Attributes:
        kind: 'started', 'ready', 'died', 'respawned', 'stopping' or 'killed'.
        node: full node name.
        text: the time since its start, how it ended, or the signal it gets.
    """

    kind: str
    node: str
    text: str


LAST_LINES = 20
# Time for the last lines of a node, which are there already: it passes only where a child of the
# node left its group, and holds on to its output [s].
OUTPUT_TIMEOUT_S = 5.0
MAX_LINE = 64 * 1024  # A node that never ends its line must not fill our memory.
_GUARD = '_ROS_WHEELS_BOOTSTRAP_COMPLETE'
_CONTROL = re.compile(r'[\x00-\x08\x0b-\x1f\x7f-\x9f]')


def child_environment(
    environ: Mapping[str, str], defaults: Mapping[str, str], extra: Mapping[str, str]
) -> dict[str, str]:
    """Environment of a node.

    The ROS wheels re-execute the interpreter once with the library folders of *its* prefix and mark
    that in a variable. Inherited by another prefix, the mark hides that the libraries are of the
    wrong one, and without LD_LIBRARY_PATH it hides that there are none. So the mark and the folders
    that belong to it go, and the child finds its own; every other library folder stays.

    Args:
        defaults: variables to add where they are missing.
        extra: variables that win.
    """
    result = {**defaults, **environ, **extra}
    if result.pop(_GUARD, None) is None:
        return result
    folders = [f for f in result.get('LD_LIBRARY_PATH', '').split(os.pathsep) if f]
    wheels = {f for f in folders if re.search(r'/site-packages/ros_[^/]*\.libs$', f)}
    wheels |= {f.split('/lib/python')[0] + '/lib' for f in wheels}
    kept = [f for f in folders if f not in wheels and f != f'{sys.prefix}/lib']
    result['LD_LIBRARY_PATH'] = os.pathsep.join(kept)
    if not kept:
        del result['LD_LIBRARY_PATH']
    return result


class ManagedProcess:
    """A node that runs in its own session until it ends or is signalled.

    The two threads of a node only read its pipe and wait for its end. They never signal, so the
    order of a shutdown stays with the supervisor.
    """

    def __init__(
        self,
        spec: NodeSpec,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        on_line: Callable[[str, str], None],
        on_exit: Callable[[ManagedProcess], None],
    ) -> None:
        self.spec = spec
        self.returncode: int | None = None
        self.lines: deque[str] = deque(maxlen=LAST_LINES)
        self.started = time.monotonic()
        self._on_line = on_line
        self._on_exit = on_exit
        self._ended = threading.Event()
        self._reaping = threading.Lock()
        wrapper = [sys.executable, '-m', 'safegen_ros.child_process', str(os.getpid())]
        self._process = subprocess.Popen(
            [*wrapper, spec.module, *arguments],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.pid = self._process.pid
        assert self._process.stdout is not None  # noqa: S101 (asked for above)
        self._pump = threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True)
        self._waiter = threading.Thread(target=self._wait, daemon=True)
        self._pump.start()
        self._waiter.start()

    @property
    def alive(self) -> bool:
        """Whether the process has not ended."""
        return not self._ended.is_set()

    def wait(self, timeout_s: float) -> bool:
        """Wait for the end; whether it came within `timeout_s` [s]."""
        return self._ended.wait(timeout_s)

    def signal_group(self, number: signal.Signals) -> None:
        """Signal the node and every process that it started; nothing when it has ended."""
        with self._reaping:
            # Not reaped yet, so its id cannot have gone to another process group.
            if self.returncode is None:
                os.killpg(self.pid, number)

    def _read(self, pipe: IO[bytes]) -> None:
        with pipe:
            while data := pipe.readline(MAX_LINE):
                # Text of a model may hold escape sequences; a terminal must not obey them.
                line = _CONTROL.sub('', data.decode('utf-8', 'replace').rstrip('\r\n'))
                self.lines.append(line)
                self._on_line(self.spec.name, line)

    def _wait(self) -> None:
        os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        with self._reaping:
            # What the node has left behind goes too, while its id is still reserved.
            os.killpg(self.pid, signal.SIGKILL)
            self.returncode = self._process.wait()
        self._pump.join(OUTPUT_TIMEOUT_S)
        self._ended.set()
        self._on_exit(self)


class GraphProbe(Closing):
    """A short-lived ROS participant of the supervisor that looks at the graph.

    It looks for the interface *of the named node*, by name and type. So a namesake of another stack
    does not count, and the interface package need not be importable here.
    """

    def __init__(self, domain: int) -> None:
        """Join the domain.

        Raises:
            BringupError: rclpy cannot be imported.
        """
        try:
            import rclpy
            from rclpy.signals import SignalHandlerOptions
        except ImportError as error:
            raise BringupError(f'rclpy cannot be imported ({error}): run safegen doctor') from error
        use_stack_discovery()
        self._context: Context = rclpy.Context()
        # The signals stay with the supervisor.
        rclpy.init(
            args=[],
            context=self._context,
            domain_id=domain,
            signal_handler_options=SignalHandlerOptions.NO,
        )
        self._node: Node = rclpy.create_node(
            'safegen_supervisor',
            context=self._context,
            use_global_arguments=False,
            enable_rosout=False,
            start_parameter_services=False,
        )

    def offers(self, spec: NodeSpec) -> bool:
        """Whether the node is in the graph with the interface that makes it ready."""
        from rclpy.node import NodeNameNonExistentError

        if spec.ready is None:
            return True
        name = f'{spec.namespace.rstrip("/")}/{spec.ready.name}'
        kind = spec.ready.type
        if spec.ready.kind == 'action':
            # An action is made of services. rclpy can also list actions, but a missing node looks
            # like a failure there.
            name, kind = f'{name}/_action/send_goal', f'{kind}_SendGoal'
        try:
            found = self._node.get_service_names_and_types_by_node(spec.name, spec.namespace)
        except NodeNameNonExistentError:
            return False
        return any(each == name and kind in kinds for each, kinds in found)

    def close(self) -> None:
        """Leave the domain."""
        if self._context.ok():
            self._node.destroy_node()
            self._context.shutdown()


def port_is_free(port: int) -> bool:
    """Whether no process listens on a port of 127.0.0.1."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(('127.0.0.1', port))
        except OSError:
            return False
    return True

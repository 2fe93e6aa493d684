# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Brings the nodes of a table up, watches them, and takes them down: the engine of `safegen up`.

As a command::

    sys.exit(up('sim', {'seed': 3}))

inside a program::

    with Supervisor(node_specs('sim'), log_dir=folder) as stack:
        stack.wait_ready()
        ...
        stack.check()    # raises NodeDiedError as soon as a required node has ended

It must live in the main thread: the kernel ties the nodes to the thread that started them.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import FrameType

from safegen_ros.bringup.process import (
    ExitCode,
    GraphProbe,
    ManagedProcess,
    NodeDiedError,
    NotReadyError,
    SupervisorEvent,
    child_environment,
    port_is_free,
)
from safegen_ros.bringup.profiles import NodeSpec
from safegen_ros.bringup.table import key_variables, node_arguments, node_specs, params_yaml
from safegen_ros.child_process import describe_exit
from safegen_ros.errors import BringupError, Canceled, SafegenError
from safegen_ros.paths import new_log_dir
from safegen_ros.ros.stack_state import DomainLock, StackState, current_domain, environment_defaults
from safegen_ros.sync import Closing

# The same steps as ros2 launch; each lasts until all nodes have ended or its time is over [s].
STOP_STEPS = ((signal.SIGINT, 5.0), (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PROBE_PERIOD_S = 0.05
PAGE_TIMEOUT_S = 60.0
RESPAWN_DELAY_S = 1.0  # doubles with each death of the same node
# A wrapper such as `make` or `uv run` may pass on the Ctrl-C that the terminal has sent already.
SAME_KEYSTROKE_S = 0.5

BEAT_S = 0.25
"""Time between two signs that the supervisor runs [s]."""

__all__ = ['ExitCode', 'NodeDiedError', 'NotReadyError', 'Supervisor', 'SupervisorEvent', 'up']


class Supervisor(Closing):
    """The nodes of one stack as one object."""

    def __init__(
        self,
        specs: Sequence[NodeSpec],
        *,
        log_dir: Path | None = None,
        screen: bool = False,
        environment: Mapping[str, str] | None = None,
        on_event: Callable[[SupervisorEvent], None] | None = None,
    ) -> None:
        """Prepare; nothing starts before `start` or `with`.

        Args:
            log_dir: folder for `stack.log`, the ROS logs and the parameter files; that of
                `new_log_dir` when None.
            screen: whether the output of the nodes is also printed.
            environment: variables that the nodes get on top of those of this process.
            on_event: called from any thread as things happen; must not block.
        """
        self._specs = tuple(specs)
        self._extra = dict(environment or {})
        self.domain = current_domain({**os.environ, **self._extra})
        self.namespace = self._specs[0].namespace if self._specs else '/'
        self.log_dir = Path(log_dir or new_log_dir()).absolute()
        self.log_file = self.log_dir / 'stack.log'
        self.killed = False
        self._screen = screen
        self._on_event = on_event or (lambda event: None)
        self._children: list[ManagedProcess] = []
        self._respawns: dict[str, int] = {}
        self._due: list[tuple[float, NodeSpec]] = []
        # A SimpleQueue may be fed from a signal handler; a Condition may not.
        self._news: queue.SimpleQueue[ManagedProcess | signal.Signals] = queue.SimpleQueue()
        self._output = threading.Lock()
        self._log_error = ''
        self._lock: DomainLock | None = None
        self._closed = threading.Event()
        self._status = 'starting'
        self._died: NodeDiedError | None = None
        self._stop_requested = False
        self._reason = 'its owner has closed it'

    # Start and readiness

    def start(self) -> None:
        """Take the namespace and start every node; they come up side by side.

        Raises:
            BringupError: the namespace or the port of a page is taken, or this is another thread.
            ModuleNotFoundError: rclpy is not installed.
        """
        if threading.current_thread() is not threading.main_thread():
            raise BringupError('the supervisor must run in the main thread')
        if find_spec('rclpy') is None:  # before nodes begin that cannot run either
            raise ModuleNotFoundError("No module named 'rclpy'", name='rclpy')
        for spec in self._specs:
            if spec.page_port and not port_is_free(spec.page_port):
                raise BringupError(
                    f'port {spec.page_port} of 127.0.0.1 is taken, perhaps by the page of another '
                    'stack: end that, or choose another port (console_port:=PORT)'
                )
        self._lock = DomainLock(self.domain, self.namespace)
        self._beats = threading.Thread(target=self._beat, args=(self._lock,), daemon=True)
        self._beats.start()
        try:
            self.log_dir.mkdir(parents=True, exist_ok=True)
            self.log_file.touch()
            for spec in self._specs:
                self._spawn(spec)
        except BaseException:
            self.stop()
            raise

    def _beat(self, lock: DomainLock) -> None:
        """Shows the nodes that this process runs, until it is closed."""
        while not self._closed.wait(BEAT_S):
            lock.beat()

    def _spawn(self, spec: NodeSpec) -> None:
        overrides = None
        if spec.params:
            file = self.log_dir / f'params{spec.full_name.replace("/", ".")}.yaml'
            file.write_text(params_yaml(spec), encoding='utf-8')
            overrides = str(file)
        hidden = () if spec.holds_keys else key_variables(self._specs)
        environ = {name: value for name, value in os.environ.items() if name not in hidden}
        environ.setdefault('ROS_LOG_DIR', str(self.log_dir / 'ros'))
        child = ManagedProcess(
            spec,
            node_arguments(spec, overrides),
            child_environment(environ, environment_defaults(environ), self._extra),
            self._write,
            self._news.put,
        )
        self._children.append(child)
        self._on_event(SupervisorEvent('started', spec.full_name, f'process {child.pid}'))
        self._write_state(self._status)

    def wait_ready(self) -> None:
        """Wait until every node offers its interface.

        Raises:
            NodeDiedError: a required node ended instead.
            NotReadyError: a required node let its time pass.
            Canceled: a signal asked to stop (only in `run`).
            BringupError: rclpy cannot be imported here.
        """
        done: set[ManagedProcess] = set()
        with contextlib.ExitStack() as scope:
            needed = any(child.spec.ready for child in self._children)
            probe = scope.enter_context(GraphProbe(self.domain)) if needed else None
            while probe and (waiting := [c for c in self._children if c not in done]):
                for child in waiting:
                    if probe.offers(child.spec):
                        done.add(child)
                        self._tell_ready(child)
                    elif self._is_late(child):
                        done.add(child)
                if len(done) < len(self._children):
                    self._take_news(PROBE_PERIOD_S)
                self.check()
                if self._stop_requested:
                    raise Canceled('asked to stop while the nodes were starting')
        self.check()
        self._write_state('ready')

    def _wait_pages(self) -> list[str]:
        """The addresses of the pages, once each of them is served; raises as `wait_ready`."""
        served = [spec for spec in self._specs if spec.page_port]
        end = time.monotonic() + PAGE_TIMEOUT_S
        while missing := [spec for spec in served if port_is_free(spec.page_port)]:
            spec, due = missing[0], [each for _, each in self._due]
            children = [child for child in self._children if child.spec is spec]
            if time.monotonic() > end or not (children or spec in due):
                raise NotReadyError(spec, [line for child in children for line in child.lines])
            self._take_news(PROBE_PERIOD_S)
            self.check()
            if self._stop_requested:
                raise Canceled('asked to stop while a page was starting')
        return [f'http://127.0.0.1:{spec.page_port}/' for spec in served]

    def _tell_ready(self, child: ManagedProcess) -> None:
        seconds = time.monotonic() - child.started
        self._on_event(SupervisorEvent('ready', child.spec.full_name, f'{seconds:.1f} s'))

    def _is_late(self, child: ManagedProcess) -> bool:
        """Whether its time is over, which is an error for a required node."""
        ready = child.spec.ready
        if ready is None or time.monotonic() - child.started < ready.timeout_s:
            return False
        if child.spec.required:
            raise NotReadyError(child.spec, tuple(child.lines))
        return True

    # Watching

    def poll(self) -> NodeDiedError | None:
        """The death of a required node, if there was one; also starts optional nodes again."""
        self._take_news(0.0)
        now = time.monotonic()
        for due in [entry for entry in self._due if entry[0] <= now]:
            self._due.remove(due)
            self._spawn(due[1])
            self._on_event(SupervisorEvent('respawned', due[1].full_name, ''))
        return self._died

    def why_gone(self) -> str | None:
        """Why the stack is no longer whole; None while it is."""
        died = self.poll()
        return None if died is None else died.message

    def check(self) -> None:
        """Raise `NodeDiedError` when a required node has ended."""
        if (died := self.poll()) is not None:
            raise died

    def _take_news(self, timeout_s: float) -> None:
        """Take in all that happened, waiting up to `timeout_s` [s] for the first piece."""
        with contextlib.suppress(queue.Empty):
            news = self._news.get(timeout=timeout_s) if timeout_s > 0 else self._news.get_nowait()
            while True:
                if isinstance(news, signal.Signals):
                    self._stop_requested = True
                    self._reason = f'it was asked to stop ({news.name})'
                else:
                    self._take_death(news)
                news = self._news.get_nowait()

    def _take_death(self, child: ManagedProcess) -> None:
        code = child.returncode
        if self._status == 'stopping' or code is None:
            return
        self._children.remove(child)
        spec = child.spec
        self._on_event(SupervisorEvent('died', spec.full_name, describe_exit(code)))
        if spec.required:
            if self._died is None:
                self._reason = f'{spec.full_name} ended with {describe_exit(code)}'
            self._died = self._died or NodeDiedError(spec.full_name, code, tuple(child.lines))
            return
        self._write(spec.name, f'ended with {describe_exit(code)}')
        count = self._respawns.get(spec.full_name, 0)
        if count < spec.max_respawns:
            self._respawns[spec.full_name] = count + 1
            self._due.append((time.monotonic() + RESPAWN_DELAY_S * 2**count, spec))

    # Stopping

    def stop(self) -> None:
        """End all nodes, the last started first, and give the domain back. Harmless when repeated.

        A SIGINT that arrives meanwhile (a second Ctrl-C) goes on to the next, harder step at once.
        """
        if self._lock is None:
            return
        self._due.clear()
        with _signals_to(self._news):
            with contextlib.suppress(OSError):  # a full disk must not keep the nodes running
                self._write_state('stopping')
            for number, seconds in STOP_STEPS:
                # A Ctrl-C after the signals is a new one, however late this thread gets to wait.
                signalled = time.monotonic()
                if not self._signal_all(number):
                    break
                self._wait_all(seconds, signalled)
        self._children.clear()
        self._closed.set()
        self._beats.join()
        self._lock.release()
        self._lock = None

    def _signal_all(self, number: signal.Signals) -> bool:
        alive = [child for child in reversed(self._children) if child.alive]
        for child in alive:
            kind = 'killed' if number is signal.SIGKILL else 'stopping'
            self.killed = self.killed or kind == 'killed'
            self._on_event(SupervisorEvent(kind, child.spec.full_name, number.name))
            child.signal_group(number)
        return bool(alive)

    def _wait_all(self, timeout_s: float, signalled: float) -> None:
        """Wait until all have ended, the time is over or the user is out of patience."""
        begun = time.monotonic()
        while any(child.alive for child in self._children):
            left = begun + timeout_s - time.monotonic()
            try:
                news = self._news.get(timeout=max(left, 0.0))
            except queue.Empty:
                return
            impatient = time.monotonic() - signalled > SAME_KEYSTROKE_S
            if isinstance(news, signal.Signals) and impatient:
                return

    # Output and state

    def _write(self, name: str, line: str) -> None:
        text = f'[{name}] {line}\n'
        with self._output:
            try:
                with self.log_file.open('a', encoding='utf-8') as log:
                    log.write(text)
                self._log_error = ''
            except OSError as error:
                # The nodes must not block for that, and the screen has it.
                if self._screen and not self._log_error:
                    why = error.strerror or str(error)
                    self._print(f'[safegen] {self.log_file} cannot be written: {why}\n')
                self._log_error = str(error)
            if self._screen:
                self._print(text)

    def _print(self, text: str) -> None:
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except (OSError, ValueError):
            # The reader is gone. The nodes must not block for that; the log has it all.
            self._screen = False

    def _write_state(self, status: str) -> None:
        self._status = status
        if self._lock is not None:
            nodes = {child.spec.full_name: child.pid for child in self._children}
            pid, log = os.getpid(), str(self.log_file)
            reason = self._reason if status == 'stopping' else ''
            self._lock.write(
                StackState(self.domain, pid, status, log, nodes, self.namespace, reason)
            )

    def __enter__(self) -> Supervisor:
        self.start()
        return self

    def close(self) -> None:
        """As `stop`."""
        self.stop()

    # As a command

    def run(self, say: Callable[[str], None] = print) -> ExitCode:
        """Start, say READY, and stay until a signal comes or a required node ends.

        Args:
            say: prints one line for the user.
        """
        with _signals_to(self._news):
            try:
                with self:
                    code = self._run_started(say)
            except (SafegenError, OSError) as error:
                say(str(error))
                return ExitCode.USAGE
        return ExitCode.KILLED if self.killed and code is ExitCode.CLEAN else code

    def _run_started(self, say: Callable[[str], None]) -> ExitCode:
        try:
            self.wait_ready()
            say('  '.join(['READY', *self._wait_pages()]))
            while not self._stop_requested:
                self._take_news(1.0)
                self.check()
        except Canceled:
            return ExitCode.CLEAN
        except NotReadyError as error:
            say(error.message)
            return ExitCode.NOT_READY
        except NodeDiedError as error:
            say(error.message)
            return ExitCode.NODE_DIED
        return ExitCode.CLEAN


@contextlib.contextmanager
def _signals_to(news: queue.SimpleQueue[ManagedProcess | signal.Signals]) -> Iterator[None]:
    """Turn the signals that ask to stop into news, and restore their handlers afterwards."""

    def note(number: int, frame: FrameType | None) -> None:
        news.put(signal.Signals(number))

    # SIGHUP that is ignored already means nohup: the user wants to outlive the terminal.
    caught = [n for n in STOP_SIGNALS if signal.getsignal(n) is not signal.SIG_IGN]
    if signal.SIGINT not in caught:  # A shell's background job ignores it; `run` does not.
        caught.append(signal.SIGINT)
    before = {number: signal.signal(number, note) for number in caught}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def up(
    profile: str,
    values: Mapping[str, object] | None = None,
    *,
    log_dir: Path | None = None,
    say: Callable[[str], None] = print,
    on_event: Callable[[SupervisorEvent], None] | None = None,
) -> ExitCode:
    """Run a profile of the table until it is stopped: `safegen up PROFILE`.

    Args:
        log_dir, on_event: see `Supervisor`.
        say: prints one line for the user.

    Returns:
        The exit status of the command.
    """
    try:
        specs = node_specs(profile, values)
        stack = Supervisor(specs, log_dir=log_dir, screen=True, on_event=on_event)
    except SafegenError as error:
        say(error.message)
        return ExitCode.USAGE
    return stack.run(say)

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen bench ros`: what the stack adds to a goal, what it costs when idle, how fast it starts.

The model is a server here that answers at once with a plan that is known to be right, so that all
the time that is left is the stack's. Like a real one it is a separate process.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from safegen_ros.benchmarks.measurement import Measurement, Notify, Report
from safegen_ros.bringup.profiles import Ready
from safegen_ros.bringup.supervisor import Supervisor
from safegen_ros.bringup.table import node_specs
from safegen_ros.client import Client, Options
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.ros.stack_state import read_state
from safegen_ros.tasks.pddl3.domains import kits

MOST_OVERHEAD_MS = 10.0
MOST_IDLE = 5.0
MOST_START_S = 2.0

_STARTS = 3  # of each node; the median counts
_WARM_GOALS = 3  # the first ones also import what later ones have
_FORK = multiprocessing.get_context('fork')  # what it serves is in memory already
_CHUNK = {'id': 'bench', 'object': 'chat.completion.chunk', 'created': 0, 'model': 'bench'}


class PlanServer(ThreadingHTTPServer):
    """A server of the chat protocol that answers every request with one text."""

    daemon_threads = True

    def __init__(self, answer: str) -> None:
        super().__init__(('127.0.0.1', 0), _Handler)
        self.answer = answer
        self._asked = _FORK.RawValue('d')

    @property
    def asked(self) -> float:
        """When the last request came, on the clock of `time.monotonic` [s]."""
        return float(self._asked.value)

    def hear(self) -> None:
        """Notes that a request came."""
        self._asked.value = time.monotonic()

    @property
    def model(self) -> str:
        """The name by which a planner finds it."""
        return f'http://127.0.0.1:{self.server_port}/v1#bench'

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Answers while the block runs, from a process that has no other work."""
        process = _FORK.Process(target=self.serve_forever, daemon=True)
        process.start()
        try:
            yield
        finally:
            process.terminate()
            process.join()
            self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    disable_nagle_algorithm = True
    server: PlanServer

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""

    def do_POST(self) -> None:
        """Answers with a stream of two events."""
        self.server.hear()
        self.rfile.read(int(self.headers['content-length']))
        usage = {'prompt_tokens': 1, 'completion_tokens': 1, 'total_tokens': 2}
        delta = {'index': 0, 'delta': {'content': self.server.answer}, 'finish_reason': None}
        end = {'index': 0, 'delta': {}, 'finish_reason': 'stop'}
        events = [
            json.dumps({**_CHUNK, 'choices': [delta]}),
            json.dumps({**_CHUNK, 'choices': [end], 'usage': usage}),
            '[DONE]',
        ]
        body = ''.join(f'data: {event}\n\n' for event in events).encode()
        self.send_response(200)
        self.send_header('content-type', 'text/event-stream')
        self.send_header('content-length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def measure(goals: int, idle_s: float, notify: Notify) -> Report:
    """Takes all figures, in the ROS domain of the environment.

    Raises:
        SafegenError: a stack is up in this domain already, it does not start, or a goal fails.
    """
    made = kits()['blocksworld'].problem(0)
    server = PlanServer(str(made.witness))
    with server.serving(), tempfile.TemporaryDirectory(prefix='safegen-bench-') as scratch:
        environment = {'SAFEGEN_RUNS_DIR': scratch, 'SAFEGEN_STATE_DIR': scratch}
        starts = _starts(server.model, environment, notify)
        specs = node_specs('sim', {'model': server.model})
        with Supervisor(specs, log_dir=Path(scratch), environment=environment) as stack:
            stack.wait_ready()
            notify('idle', 0, 1)
            idle = _idle(stack, idle_s)
            notify('idle', 1, 1)
            before = _used_s(stack)
            asked, told, whole = _goals(server, stack, made.text, goals, notify)
            used = sum(_used_s(stack).values()) - sum(before.values())
    idle_all = sum(idle.values())
    each = ', '.join(f'{name.strip("/")} {share:.2f}' for name, share in idle.items())
    return Report(
        'ros',
        {'goals': goals, 'idle_s': idle_s, 'processors': os.cpu_count()},
        (
            _overhead('goal sent to model asked', asked, 'with the HTTP request'),
            _overhead('verdict told to result', told, 'both as the client hears them'),
            Measurement(
                'goal sent to result, with a model that answers at once',
                statistics.median(whole), 'ms', note=f'median of {goals}; most {max(whole):.1f}',
            ),
            Measurement(
                'processor time of the nodes for a goal', 1e3 * used / (goals + _WARM_GOALS), 'ms',
            ),
            Measurement(
                'processor time of the idle stack', idle_all, '% of a core', MOST_IDLE,
                at_least=False, note=f'over {idle_s:g} s: {each}',
            ),
            *(_start_figure(name, times) for name, times in starts.items()),
        ),
        {'asked_ms': asked, 'told_ms': told, 'whole_ms': whole},
    )  # fmt: skip


def _overhead(name: str, times_ms: list[float], note: str) -> Measurement:
    median = statistics.median(times_ms)
    return Measurement(
        f'{name}, median', median, 'ms', MOST_OVERHEAD_MS, at_least=False,
        note=f'of {len(times_ms)}, {note}; {min(times_ms):.1f} to {max(times_ms):.1f}; '
        f'target / figure {MOST_OVERHEAD_MS / median:.1f}',
    )  # fmt: skip


def _starts(
    model: str, environment: Mapping[str, str], notify: Notify
) -> dict[str, list[tuple[float, float]]]:
    """How long each node takes, alone, until its services answer, and its processor time [s]."""
    found: dict[str, list[tuple[float, float]]] = {}
    specs = node_specs('sim', {'model': model, 'autostart': 'false'})
    for number in range(_STARTS):
        for index, spec in enumerate(specs):
            ready = Ready('service', f'{spec.name}/get_state', 'lifecycle_msgs/srv/GetState')
            begun = time.monotonic()
            with Supervisor([replace(spec, ready=ready)], environment=environment) as stack:
                stack.wait_ready()
                times = (time.monotonic() - begun, sum(_used_s(stack).values()))
            found.setdefault(spec.name, []).append(times)
            notify('starts', number * len(specs) + index + 1, _STARTS * len(specs))
    return found


def _start_figure(name: str, times: list[tuple[float, float]]) -> Measurement:
    waited, used = zip(*times, strict=True)
    return Measurement(
        f'start of the {name}, without a model', statistics.median(waited), 's',
        MOST_START_S, at_least=False,
        note=f'until it answers; median of {len(times)}, most {max(waited):.2f}; processor time '
        f'{statistics.median(used):.2f} s',
    )  # fmt: skip


def _idle(stack: Supervisor, seconds: float) -> dict[str, float]:
    """Share of a core that each node takes with nothing to do [%]."""
    before, begun = _used_s(stack), time.monotonic()
    time.sleep(seconds)
    passed, after = time.monotonic() - begun, _used_s(stack)
    return {name: 100 * (after[name] - before[name]) / passed for name in before}


def _used_s(stack: Supervisor) -> dict[str, float]:
    """Processor time that each node has taken up to now, with all of its threads [s]."""
    state = read_state(stack.domain)
    if state is None:
        raise SafegenError(f'the stack of ROS domain {stack.domain} has no state file')
    return {name: _processor_s(pid) for name, pid in state.nodes.items()}


def _processor_s(pid: int) -> float:
    fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def _goals(
    server: PlanServer, stack: Supervisor, problem: str, count: int, notify: Notify
) -> tuple[list[float], list[float], list[float]]:
    """The times of each goal to the model, from the verdict to the result, and in all [ms]."""
    asked, told, whole = [], [], []
    judged = 0.0

    def hear(feedback: object) -> None:
        nonlocal judged
        if feedback.progress.phase == 'judged':  # type: ignore[attr-defined]
            judged = time.monotonic()

    options = Options(time_budget_s=30.0, strategy='model', search_fallback=False, max_attempts=1)
    with Client(alive=stack.why_gone) as client:
        for number in range(_WARM_GOALS + count):
            sent = time.monotonic()
            result = client.plan(problem, options=options, on_feedback=hear)
            ended = time.monotonic()
            if result.error_code != ErrorCode.NONE:
                raise SafegenError(result.error_msg, ErrorCode(result.error_code))
            if number >= _WARM_GOALS:
                asked.append(1e3 * (server.asked - sent))
                told.append(1e3 * (ended - judged))
                whole.append(1e3 * (ended - sent))
                notify('goals', len(asked), count)
    return asked, told, whole

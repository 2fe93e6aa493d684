# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen bench console`: how far the page is behind the twin, how soon its stop works, its cost.

The stack, the page and a browser without a screen run on this computer. Times are those of one
clock: a sample has the time at which the executor sent it, and the browser says when it has painted
the frame with it.
"""

from __future__ import annotations

import asyncio
import math
import os
import shutil
import statistics
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import websockets.asyncio.client
from sensor_msgs.msg import JointState

from safegen_ros.benchmarks.measurement import Measurement, Notify, Report, resident_bytes
from safegen_ros.bringup.supervisor import Supervisor
from safegen_ros.bringup.table import node_specs
from safegen_ros.client import Client
from safegen_ros.console.console import OperatorConsole, Settings
from safegen_ros.errors import SafegenError
from safegen_ros.pddl.plan import Plan
from safegen_ros.ros import qos
from safegen_ros.tasks.pddl3.domains import kits

MOST_BEHIND_MS, MOST_STOP_MS, MOST_SLOWER, MOST_GROWTH_MB = 150.0, 200.0, 1.05, 10.0
"""The targets: of the picture, of a stop, of an execution with viewers, of memory an hour."""

VIEWERS = 8

_FLAGS = ('--no-sandbox', '--use-gl=swiftshader', '--enable-unsafe-swiftshader', '--no-first-run')
_STILL_RAD = 1e-4  # between two samples
_WAIT_S = 60.0
_KEPT = 250  # samples, of ten seconds
_FEWEST = 5  # points of a line
_WATCH = """() => {
  window.seen = [];
  let last = 0;
  const look = () => {
    const mark = document.querySelector('[data-sent]');
    const sent = mark ? Number(mark.dataset.sent) : 0;
    if (sent && sent !== last) {
      last = sent;
      requestAnimationFrame(() => window.seen.push([sent, Date.now() / 1000]));
    }
    requestAnimationFrame(look);
  };
  look();
}"""
"""Notes for each sample when the frame after the one with it begins: that one is painted then."""

_CLICK = """() => {
  const stop = [...document.querySelectorAll('button')].find(b => b.textContent.includes('STOP'));
  const at = Date.now() / 1000;
  stop.click();
  return at;
}"""


class _Samples:
    """When the arm was where, by the times at which the executor has sent it.

    Only the last ones are kept: this process is the one whose memory is watched.
    """

    def __init__(self, client: Client) -> None:
        self.at: deque[tuple[float, np.ndarray]] = deque(maxlen=_KEPT)
        self.count = 0
        client.node.create_subscription(JointState, 'joint_states', self._take, qos.SAMPLES)

    def _take(self, message: JointState, info: Any) -> None:
        self.count += 1
        self.at.append((info['source_timestamp'] * 1e-9, np.array(message.position)))

    def moving_until(self) -> float:
        """The time of the last sample that differs from the one before it."""
        samples = list(self.at)
        for (_, before), (at, here) in zip(samples[-2::-1], samples[:0:-1], strict=True):
            if float(np.abs(here - before).max()) > _STILL_RAD:
                return at
        raise SafegenError('the arm has not moved')


class _Bench:
    """A stack of validator and executor, the page, and one client that has plans executed."""

    def __init__(self, client: Client, console: OperatorConsole, text: str, plan: Plan) -> None:
        self.client, self.console = client, console
        self._text, self._plan = text, plan
        self.samples = _Samples(client)

    def execute(self) -> float:
        """Executes the plan once; returns how long it took [s]."""
        began = time.monotonic()
        result = self.client.execute(self._text, self._plan, time_budget_s=600.0)
        if result.error_code:
            raise SafegenError(f'an execution has failed: {result.error_msg}')
        return time.monotonic() - began

    @contextmanager
    def moving(self) -> Iterator[None]:
        """The arm moves while this is open, unless it is stopped."""
        goal = self.client.start_execute(self._text, self._plan, time_budget_s=600.0)
        count = self.samples.count
        _until(lambda: self.samples.count > count + 25, 'the arm to move')
        try:
            yield
        finally:
            with suppress(SafegenError):
                goal.cancel()


def measure(stops: int, executions: int, minutes: float, notify: Notify) -> Report:
    """Takes all figures, in the ROS domain of the environment.

    Raises:
        SafegenError: a stack is up in this domain already, there is no browser, or a goal fails.
    """
    made = kits()['blocksworld'].problem(0)
    with tempfile.TemporaryDirectory(prefix='safegen-bench-') as scratch:
        kept = ('SAFEGEN_RUNS_DIR', 'SAFEGEN_RUNTIME_DIR', 'SAFEGEN_STATE_DIR')
        environment = dict.fromkeys(kept, scratch)
        os.environ.update(environment)
        specs = [
            spec for spec in node_specs('sim', {'real_time_factor': 1.0}) if spec.name != 'planner'
        ]
        with Supervisor(specs, log_dir=Path(scratch), environment=environment) as stack:
            stack.wait_ready()
            with OperatorConsole(Settings(port=0, stamped=True)) as console, Client() as client:
                bench = _Bench(client, console, made.text, made.witness)
                behind, painted, sent, stopped = _in_browser(bench, stops, notify)
                alone = _executions(bench, executions, 'executions', notify)
                with _viewers(console):
                    beside = _executions(bench, executions, 'with viewers', notify)
                    growth = _memory(bench, minutes, notify)
    ratio = statistics.median(beside) / statistics.median(alone)
    figures = (
        Measurement(
            'picture behind the twin, 95 of 100 samples', 1e3 * float(np.quantile(behind, 0.95)),
            'ms', MOST_BEHIND_MS, at_least=False,
            note=f'median {1e3 * statistics.median(behind):.0f} ms, {len(behind)} samples',
        ),
        Measurement(
            'samples painted', painted, '1/s', 20.0, note=f'{sent:.1f} are sent each second'
        ),
        Measurement(
            'click on stop to arm still, longest', 1e3 * max(stopped), 'ms', MOST_STOP_MS,
            at_least=False,
            note=f'median {1e3 * statistics.median(stopped):.0f} ms of {len(stopped)}',
        ),
        Measurement(
            f'execution with {VIEWERS} viewers, against none', ratio, 'x', MOST_SLOWER,
            at_least=False, note=f'medians of {executions}',
        ),
        growth,
    )  # fmt: skip
    settings = {'stops': stops, 'executions': executions, 'minutes': minutes, 'seed': 0}
    return Report('console', settings, figures)


def _in_browser(
    bench: _Bench, stops: int, notify: Notify
) -> tuple[list[float], float, float, list[float]]:
    """Measurements of an execution, and of the stops.

    Returns:
        how far the painted samples are behind [s], how many are painted and how many are sent while
        the arm moves [1/s], and how long the stops take [s].

    Raises:
        SafegenError: there is no browser.
    """
    from playwright.sync_api import sync_playwright

    program = shutil.which('chromium')
    if program is None:
        raise SafegenError("there is no chromium here: 'apt-get install chromium'")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(_FLAGS))
        page = browser.new_page(viewport={'width': 1000, 'height': 700})
        page.goto(bench.console.url)
        page.get_by_role('button', name='STOP').wait_for()
        notify('behind the twin', 0, 1)
        page.evaluate(_WATCH)
        before = bench.samples.count
        bench.execute()
        sent = bench.samples.count - before
        seen: list[tuple[float, float]] = page.evaluate('() => window.seen')
        notify('behind the twin', 1, 1)
        stopped = [_stop(bench, page) for _ in _counted('stops', stops, notify)]
        browser.close()
    if len(seen) < 2:
        raise SafegenError('the page has shown no motion')
    lasted = seen[-1][0] - seen[0][0]
    return [at - stamp for stamp, at in seen], len(seen) / lasted, sent / lasted, stopped


def _stop(bench: _Bench, page: Any) -> float:
    """How long after a click on the page's button the arm moves [s]."""
    with bench.moving():
        clicked = float(page.evaluate(_CLICK))
        _until(lambda: bench.console.state.snapshot.stop.stopped, 'the stop')
        _until(lambda: time.time() - bench.samples.at[-1][0] > 0.5, 'the last sample')
    bench.console.reset()
    return max(0.0, bench.samples.moving_until() - clicked)


def _executions(bench: _Bench, count: int, what: str, notify: Notify) -> list[float]:
    return [bench.execute() for _ in _counted(what, count, notify)]


def _counted(what: str, count: int, notify: Notify) -> Iterator[int]:
    notify(what, 0, count)
    for index in range(count):
        yield index
        notify(what, index + 1, count)


@contextmanager
def _viewers(console: OperatorConsole) -> Iterator[None]:
    """Viewers that take in every message of the page and draw nothing, as from other computers."""
    import viser

    over = threading.Event()
    connected = threading.Semaphore(0)

    async def view() -> None:
        async with websockets.asyncio.client.connect(
            console.url.replace('http', 'ws', 1),
            subprotocols=[f'viser-v{viser.__version__}'],  # type: ignore[list-item]
            max_size=None,
        ) as connection:
            await connection.recv()
            connected.release()
            while not over.is_set():
                with suppress(TimeoutError):
                    await asyncio.wait_for(connection.recv(), 0.5)

    async def all_of_them() -> None:
        await asyncio.gather(*(view() for _ in range(VIEWERS)))

    thread = threading.Thread(target=lambda: asyncio.run(all_of_them()), daemon=True)
    thread.start()
    for _ in range(VIEWERS):
        if not connected.acquire(timeout=_WAIT_S):
            raise SafegenError('a viewer was sent nothing')
    try:
        yield
    finally:
        over.set()
        thread.join(_WAIT_S)


def _memory(bench: _Bench, minutes: float, notify: Notify) -> Measurement:
    """How fast this process, with the page in it, grows while plans are executed."""
    began, half = time.monotonic(), 30.0 * minutes
    taken: list[tuple[float, float]] = []
    while (at := time.monotonic() - began) < 2 * half:
        notify('memory', round(at), round(2 * half))
        bench.execute()
        taken.append(((time.monotonic() - began) / 3600, (resident_bytes() or 0) / 1e6))
    notify('memory', round(2 * half), round(2 * half))
    later = [each for each in taken if 3600 * each[0] >= half]
    over = f'over {len(later)} executions in the second half of {minutes:g} min'
    growth, give = slope(later)
    told = f'± {give:.1f}, {over}, at {taken[-1][1]:.0f} MB'
    if growth is None:
        told = f'{over} say nothing: watch for longer'
    return Measurement(
        'growth of memory', growth, 'MB/h', MOST_GROWTH_MB, at_least=False, note=told
    )


def slope(points: Sequence[tuple[float, float]]) -> tuple[float | None, float]:
    """The slope of the line through points, and two standard errors of it; None of too few."""
    if len(points) < _FEWEST:
        return None, math.inf
    at, sizes = np.array(points).T
    (found, _), spread = np.polyfit(at, sizes, 1, cov=True)
    return float(found), 2 * math.sqrt(spread[0, 0])


def _until(condition: Callable[[], bool], what: str) -> None:
    deadline, pause = time.monotonic() + _WAIT_S, threading.Event()
    while not condition():
        if time.monotonic() > deadline:
            raise SafegenError(f'waited {_WAIT_S:g} s for {what}')
        pause.wait(0.01)

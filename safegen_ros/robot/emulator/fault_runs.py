# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Random faults of an emulated arm under the real driver: does each end in a stop, or well?

One run picks a block up and stacks it, through the vendor's library, while one fault sets in at a
random moment; in every fourth run somebody also calls for a stop. It ends as it must when either
the twin shows the tower, or an error was raised and then: no motion command came after the stop,
the arm is at rest, and the driver refuses to move until it is reset.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass

import numpy as np

from safegen_ros.errors import SafegenError
from safegen_ros.robot.arm import Sample
from safegen_ros.robot.cell.grounding import Tool, ground
from safegen_ros.robot.cell.layout import initial_layout
from safegen_ros.robot.cell.real import MyCobotCell
from safegen_ros.robot.emulator.emulator import Emulator
from safegen_ros.robot.emulator.faults import KNOBS, Fault
from safegen_ros.robot.mycobot.driver import MyCobot
from safegen_ros.robot.mycobot.effectors import BasicOutputPump
from safegen_ros.robot.mycobot.link import open_serial, open_tcp
from safegen_ros.robot.scene import Scene
from safegen_ros.robot.twin.twin import MujocoTwin

#: A motion command may come so long after the stop [s]: bytes that were on their way.
STOP_LIMIT = 0.1
#: A healthy arm, stopped or at its last target, is at rest within this time [s].
REST_LIMIT = 4.0
_REST = float(np.radians(0.2))
#: A fault sets in within this time after the first motion [s], while a run takes about 8 s.
_LATEST = 6.0
_TOWER = ('on', 'a', 'b')
_INIT = frozenset(
    {('arm-empty',)} | {(word, name) for name in ('a', 'b') for word in ('on-table', 'clear')}
)


@dataclass(frozen=True, slots=True)
class FaultRun:
    """How one run ended.

    Attributes:
        seed: of everything random in it.
        fault: what went wrong.
        transport: 'serial' or 'tcp'.
        called: whether somebody called for a stop.
        ended: 'done', 'stopped', or 'wrong' for one that ended as it must not.
        message: the error that was raised, and what was wrong.
        last_motion: from the stop to the last motion command at the arm [s]; 0 when none came
            after it, None without a stop.
        stop_frame: from the stop to the first stop command at the arm [s]; None when none came.
    """

    seed: int
    fault: Fault
    transport: str
    called: bool
    ended: str
    message: str
    last_motion: float | None
    stop_frame: float | None


def run_all(
    scene: Scene,
    seeds: Iterable[int],
    jobs: int,
    notify: Callable[[FaultRun], None] = lambda run: None,
) -> list[FaultRun]:
    """Runs for these seeds, several at once: most of their time they wait for the arm."""
    with ThreadPoolExecutor(jobs) as pool:
        waiting = [pool.submit(run_fault, scene, seed) for seed in seeds]
        runs = []
        for future in as_completed(waiting):
            runs.append(future.result())
            notify(runs[-1])
    return sorted(runs, key=lambda run: run.seed)


def random_fault(rng: random.Random, name: str) -> Fault:
    """A fault with a value near its usual one, at a random moment."""
    knob = KNOBS[name]
    value = knob.default
    if name in ('servo_error', 'limit_stop'):
        value = rng.randint(1, 6)
    elif knob.high > knob.low:
        value = min(knob.high, max(knob.low, knob.default * rng.uniform(0.25, 1.5)))
    return Fault(name, value, rng.uniform(0.0, _LATEST))


def run_fault(scene: Scene, seed: int) -> FaultRun:
    """One run; every kind of fault comes once in as many seeds as there are kinds."""
    rng = random.Random(seed)  # noqa: S311 - faults, not secrets
    fault = random_fault(rng, list(KNOBS)[seed % len(KNOBS)])
    transport = rng.choice(('serial', 'tcp'))
    calls_after = rng.uniform(0.5, 8.0) if rng.random() < 0.25 else None
    poses = initial_layout(scene, ('a', 'b'), _INIT).poses
    with (
        MujocoTwin(scene, poses) as twin,
        Emulator(twin, tcp_port=0, faults=(fault,), seed=seed) as emulator,
    ):
        arms: list[MyCobot] = []

        def connect(sample: Callable[[Sample], None]) -> MyCobot:
            if transport == 'serial':
                robot = open_serial(emulator.serial_port, 115200)
            else:
                robot = open_tcp('127.0.0.1', emulator.tcp_port or 0)
            arms.append(MyCobot(robot, BasicOutputPump, sample=sample))
            return arms[-1]

        with MyCobotCell(scene, connect) as cell:
            cell.rearm()
            cell.reset_stop()
            emulator.first_stop = 0.0
            with _stop_after(cell, calls_after):
                message = _carry_out(cell)
                wrong = _judge(scene, twin, emulator, arms[0], message)
        stopped = arms[0].stopped_at if message else None
        return FaultRun(
            seed=seed,
            fault=fault,
            transport=transport,
            called=calls_after is not None,
            ended='wrong' if wrong else 'stopped' if message else 'done',
            message='; '.join(filter(None, (message, wrong))),
            last_motion=None if stopped is None else max(0.0, emulator.last_motion - stopped),
            stop_frame=_stop_frame(emulator, stopped),
        )


@contextlib.contextmanager
def _stop_after(cell: MyCobotCell, seconds: float | None) -> Iterator[None]:
    """Somebody calls for a stop after a time, in a thread of his own."""
    if seconds is None:
        yield
        return
    timer = threading.Timer(seconds, cell.stop)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def _carry_out(cell: MyCobotCell) -> str:
    """Builds the tower; returns the error that ended it, or nothing."""
    if cell.assumed is not None:
        cell.assumed.confirm()  # the emulated table is set up
    try:
        cell.prepare(('a', 'b'), _INIT)
        cell.execute('pickup', ('a',))
        cell.execute('stack', ('a', 'b'))
    except SafegenError as error:
        # As the executor does with every error.
        cell.stop()
        return error.message
    return ''


def _judge(scene: Scene, twin: MujocoTwin, emulator: Emulator, arm: MyCobot, message: str) -> str:
    """What is wrong with the way a run ended; nothing when it ended as it must."""
    if not message:
        tool = Tool((0.0, 0.0, 1.0), on=False)
        seen = ground(twin.block_poses(), tool, scene.block_size)
        return '' if _TOWER in seen else f'it is said to be done, but the twin shows {sorted(seen)}'
    if not _rests(twin):
        return f'the arm still moves after {REST_LIMIT:g} s'
    if emulator.last_motion - arm.stopped_at > STOP_LIMIT:
        return 'a motion command came after the stop'
    try:
        arm.move_joints(twin.joint_positions(), 0.1)
    except SafegenError:
        return ''
    return 'the stopped arm takes a motion'


def _rests(twin: MujocoTwin) -> bool:
    end = time.monotonic() + REST_LIMIT
    now = twin.joint_positions()
    while time.monotonic() < end:
        time.sleep(0.3)
        before, now = now, twin.joint_positions()
        if float(np.abs(now - before).max()) < _REST:
            return True
    return False


def _stop_frame(emulator: Emulator, stopped: float | None) -> float | None:
    if stopped is None or not emulator.first_stop:
        return None
    return max(0.0, emulator.first_stop - stopped)

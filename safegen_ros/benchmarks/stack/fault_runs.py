# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Random faults of an emulated arm, its cable and its agent, over serial, TCP and SSH.

One run picks a block up and stacks it, while one fault begins at a random moment; in every fourth
run an operator also stops the arm. The path is the one that ships: the cell, its agent, the
vendor's library. A run ends well when the twin shows the tower, or when the arm stopped safely.
Then no motion command came after the stop, no servo was powered and no error code cleared. The arm
is at rest, refuses to move, and moves again after the repair and an operator's reset.
"""

from __future__ import annotations

import contextlib
import os
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from safegen_ros.benchmarks.stack.emulated_site import LINK_FAULTS, OVER_SSH, EmulatedSite, has_sshd
from safegen_ros.errors import SafegenError
from safegen_ros.robot.agent_client.agent_arm import AgentArm, RemoteArm
from safegen_ros.robot.agent_client.channel import LocalChannel
from safegen_ros.robot.arm import Sample
from safegen_ros.robot.cell.grounding import Tool, ground, initial_layout
from safegen_ros.robot.cell.real import MyCobotCell
from safegen_ros.robot.emulator.faults import KNOBS, ArmFault
from safegen_ros.robot.scene import Scene
from safegen_ros.robot.twin.twin import MujocoTwin

#: A motion command may come so long after the stop [s]: bytes that were on their way. Later ones
#: count only where no stop command follows them: the emulator may have been held up, too.
STOP_LIMIT = 0.1
#: A person resets again where a reset is refused.
RESETS = 3
#: A healthy arm, stopped or at its last target, is at rest within this time [s].
REST_LIMIT = 4.0
#: Timeouts of the agent [s]: longer than the shipped ones, as several runs share this process.
LINK_TIMEOUT = 1.0
#: How long a stopped arm is watched before the reset [s].
WATCH = 1.5
FAULTS = (*KNOBS, *LINK_FAULTS)
_REST = float(np.radians(0.2))
#: A fault begins within this time after the first motion [s], while a run takes about 8 s.
_LATEST = 6.0
_LOOK = 0.01
_TOWER = ('on', 'a', 'b')
_INIT = frozenset(
    {('arm-empty',)} | {(word, name) for name in ('a', 'b') for word in ('on-table', 'clear')}
)


@dataclass(frozen=True, slots=True)
class FaultRun:
    """How one run ended.

    Attributes:
        fault: name of the fault, one of `FAULTS`.
        transport: serial, tcp or ssh.
        called: whether an operator stopped the arm, too.
        ended: 'done', 'stopped', or 'wrong' for one that ended as it must not.
        message: the error that was raised, and what was wrong.
        motions: motion commands at the arm after the stop, or motion of the arm at rest.
        resumes: servos that were powered, or error codes cleared, before the reset.
        stop_frame: from the stop to the first stop command at the arm [s]; None without one.
    """

    seed: int
    fault: str
    transport: str
    called: bool
    ended: str
    message: str = ''
    motions: int = 0
    resumes: int = 0
    stop_frame: float | None = None


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


def random_value(rng: random.Random, name: str) -> float:
    """A value near the usual one of a fault of the arm."""
    knob = KNOBS[name]
    if name in ('servo_error', 'limit_stop'):
        return rng.randint(1, 6)
    if knob.high > knob.low:
        return min(knob.high, max(knob.low, knob.default * rng.uniform(0.25, 1.5)))
    return knob.default


def run_fault(scene: Scene, seed: int) -> FaultRun:
    """One run; every kind of fault comes once in as many seeds as there are kinds."""
    rng = random.Random(seed)  # noqa: S311 - faults, not secrets
    name = FAULTS[seed % len(FAULTS)]
    transports = ('serial', 'tcp', 'ssh') if has_sshd() else ('serial', 'tcp')
    transport = 'ssh' if name in OVER_SSH and has_sshd() else rng.choice(transports)
    calls_after = rng.uniform(0.5, 8.0) if rng.random() < 0.25 else None
    poses = initial_layout(scene, ('a', 'b'), _INIT).poses
    with (
        tempfile.TemporaryDirectory(prefix='safegen-fault-') as folder,
        MujocoTwin(scene, poses) as twin,
        EmulatedSite(
            twin, transport, Path(folder), seed=seed,
            link_timeout_s=LINK_TIMEOUT, hang_timeout_s=LINK_TIMEOUT,
        ) as site,
    ):  # fmt: skip
        run = _Run(scene, twin, site)
        with run.cell:
            run.release()
            strikes = rng.uniform(0.0, _LATEST), name, rng
            with _after(calls_after, run.call_stop), run.struck(*strikes):
                message = run.carry_out()
            wrong = run.judge(message)
        return FaultRun(
            seed=seed,
            fault=name,
            transport=transport,
            called=calls_after is not None,
            ended='wrong' if wrong else 'stopped' if message else 'done',
            message='; '.join((*filter(None, (message,)), *wrong)),
            motions=run.motions,
            resumes=run.resumes,
            stop_frame=run.stop_frame,
        )


class _Run:
    """A cell of the real arm at an emulated one, and its view."""

    def __init__(self, scene: Scene, twin: MujocoTwin, site: EmulatedSite) -> None:
        self._scene, self._twin, self._site = scene, twin, site
        self._stopped_at = 0.0
        self.motions = self.resumes = 0
        self.stop_frame: float | None = None
        arms: list[AgentArm] = []

        def connect(sample: Callable[[Sample], None]) -> AgentArm:
            arms.append(AgentArm(site.address, RemoteArm(site.at), sample=sample))
            return arms[0]

        self.cell = MyCobotCell(scene, connect)
        self._arm = arms[0]

    def release(self) -> None:
        """What an operator's reset and the next goal do."""
        self.cell.rearm()
        self.cell.reset_stop()
        self._site.emulator.first_stop = 0.0
        self._site.emulator.motions_after_stop = 0

    def call_stop(self) -> None:
        """Stops the arm, as an operator does."""
        self.cell.stop()
        self._stopped_at = self._stopped_at or time.monotonic()

    @contextlib.contextmanager
    def struck(self, seconds: float, name: str, rng: random.Random) -> Iterator[None]:
        """Lets a fault begin so long after the first motion, in a separate thread."""
        value = random_value(rng, name) if name in KNOBS else 0.0
        ended = threading.Event()
        emulator, channel = self._site.emulator, self._arm.channel
        before = emulator.last_motion
        above = channel.pid if isinstance(channel, LocalChannel) else os.getpid()

        def strike() -> None:
            while emulator.last_motion == before:
                if ended.wait(_LOOK):
                    return
            if ended.wait(seconds):
                return
            with contextlib.suppress(SafegenError, ProcessLookupError):  # it has ended already
                if name in KNOBS:
                    emulator.strike(ArmFault(name, value))
                else:
                    self._site.strike(name, above)

        thread = threading.Thread(target=strike, name='fault')
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def carry_out(self) -> str:
        """Builds the tower; returns the error that ended it, or nothing."""
        if self.cell.assumed is not None:
            self.cell.assumed.confirm()  # the emulated table is set up
        try:
            self.cell.prepare(('a', 'b'), _INIT)
            self.cell.execute('pickup', ('a',))
            self.cell.execute('stack', ('a', 'b'))
        except SafegenError as error:
            self._stopped_at = self._stopped_at or time.monotonic()
            self.cell.stop()  # as the executor does with every error
            return error.message
        return ''

    def judge(self, message: str) -> list[str]:
        """What is wrong with the way a run ended; nothing when it ended as it must."""
        emulator = self._site.emulator
        if not message:
            tool = Tool((0.0, 0.0, 1.0), on=False)
            seen = ground(self._twin.block_poses(), tool, self._scene.block_size)
            return [] if _TOWER in seen else [f'done, but the twin shows {sorted(seen)}']
        wrong = []
        if not _rests(self._twin):
            self.motions += 1
            wrong.append(f'the arm still moves after {REST_LIMIT:g} s')
        try:
            self._arm.move_joints(self._twin.joint_positions(), 0.1)
            wrong.append('the stopped arm takes a motion')
        except SafegenError:
            pass
        here = self._twin.joint_positions()
        time.sleep(WATCH)
        if float(np.abs(self._twin.joint_positions() - here).max()) > _REST:
            self.motions += 1
            wrong.append('the arm at rest moves again')
        late = emulator.last_motion - self._stopped_at > STOP_LIMIT
        if emulator.motions_after_stop or (late and emulator.last_stop < emulator.last_motion):
            self.motions += 1
            wrong.append('a motion command came after the stop')
        if emulator.last_rearming > self._stopped_at:
            self.resumes += 1
            wrong.append('a servo was powered, or an error code cleared, before the reset')
        if emulator.first_stop >= self._stopped_at:
            self.stop_frame = emulator.first_stop - self._stopped_at
        return wrong + self._after_reset()

    def _after_reset(self) -> list[str]:
        """What is wrong after the repair and an operator's reset."""
        self._site.repair()
        refused = ''
        for _ in range(RESETS):
            try:
                self.release()
                target = self._twin.joint_positions()
                target[5] -= np.copysign(np.radians(10.0), target[5])
                self._arm.move_joints(target, 0.5)
            except SafegenError as error:
                refused = error.message
            else:
                return []
        return [f'after {RESETS} resets: {refused}']


@contextlib.contextmanager
def _after(seconds: float | None, call: Callable[[], None]) -> Iterator[None]:
    """Calls after a time, in a separate thread."""
    if seconds is None:
        yield
        return
    timer = threading.Timer(seconds, call)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def _rests(twin: MujocoTwin) -> bool:
    end = time.monotonic() + REST_LIMIT
    now = twin.joint_positions()
    while time.monotonic() < end:
        time.sleep(0.3)
        before, now = now, twin.joint_positions()
        if float(np.abs(now - before).max()) < _REST:
            return True
    return False

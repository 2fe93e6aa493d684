# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A whole stack, on the twin or an emulated arm, whose joints are watched where they are."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from safegen_ros.benchmarks.stack.emulated_site import EmulatedSite, has_sshd
from safegen_ros.client import Client
from safegen_ros.nodes.approval import Approver
from safegen_ros.robot.cell.grounding import initial_layout
from safegen_ros.robot.scene import load_scene
from safegen_ros.robot.twin.twin import MujocoTwin
from safegen_ros.sync import Closing
from safegen_ros.tasks.pddl3.task import load_task
from support.model_server import MODEL, ModelServer
from support.single_nodes import SingleNodes
from support.stopping import Operator
from support.supervised import SupervisedNodes
from support.waiting import patient_arm_file, patient_file, wait_until
from support.watched_executor import LOOK, VARIABLE

TWIN, SERIAL, TCP, SSH = TRANSPORTS = ('twin', 'serial', 'tcp', 'ssh')
SUPERVISED_TWIN = 'supervised_twin'
"""The twin with a supervisor in a process of its own, as `safegen up` is."""
SCENE = load_scene()
TOWER = """
(define (problem tower) (:domain blocksworld) (:objects a b c)
  (:init (arm-empty) (on-table a) (on-table b) (on-table c) (clear a) (clear b) (clear c))
  (:goal (and (on a b) (on c a))))
"""
"""Four steps, so that the arm still moves when a watchdog's time is over."""
PICK = TOWER.replace('(and (on a b) (on c a))', '(holding a)')

#: Longest silence of a node, of the agent's client and of the agent's mover [s]; longer than a busy
#: machine holds up what lives.
HEARTBEAT_S, LINK_S = 3.0, 1.5
LOOK_S = 0.01
#: An arm that is nearer than this to where it rests in the end has stopped [rad].
REST = float(np.radians(0.5))


class Motion(NamedTuple):
    """What one process, or one arm, has done: times (n,) [s] and joints (n, 6) [rad]."""

    times: np.ndarray
    joints: np.ndarray

    def ended(self, since: float) -> float:
        """Time from a moment to the last look at which it was not yet where it is now [s]."""
        away = np.abs(self.joints - self.joints[-1]).max(axis=1) > REST
        return max(0.0, float(self.times[away].max(initial=since)) - since)


class Watch(Closing):
    """Looks at the joints of an emulated arm, or reads what `watched_executor` has seen.

    Attributes:
        held_up_s: longest time for which this process was held up since `begin` [s].
    """

    def __init__(self, arm: MujocoTwin | None, folder: Path) -> None:
        self._arm, self._folder = arm, folder
        self._looks: list[tuple[float, ...]] = []
        self._ended = threading.Event()
        self._began = 0.0
        self.held_up_s = 0.0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        last = time.monotonic()
        while not self._ended.wait(LOOK_S):
            now = time.monotonic()
            self.held_up_s, last = max(self.held_up_s, now - last), now
            if self._arm is not None:
                self._looks.append((now, *self._arm.joint_positions(), self._arm.tool_on()))

    def begin(self) -> None:
        """Forgets what was before."""
        self._began, self.held_up_s = time.monotonic(), 0.0
        self._looks = self._looks[-1:]

    def _all(self) -> list[list[tuple[float, ...]]]:
        if self._arm is not None:
            return [list(self._looks)]
        found = []
        for file in self._folder.glob('*.looks'):
            data = file.read_bytes()
            whole = data[: len(data) // LOOK.size * LOOK.size]
            looks = [look for look in LOOK.iter_unpack(whole) if look[0] >= self._began]
            if looks:
                found.append(looks)
        return sorted(found)

    def motions(self) -> list[Motion]:
        """Of the arm, or of each process with a twin, oldest first."""
        arrays = map(np.array, self._all())
        return [Motion(looks[:, 0], looks[:, 1:7]) for looks in arrays]

    def tool_on(self) -> bool:
        """Whether the tool was on at the last look at the first process that was there."""
        return bool(self._all()[0][-1][7])

    def travelled(self) -> float:
        """How far a joint has been from where it was at `begin` [rad]."""
        return max((float(np.ptp(each.joints, axis=0).max()) for each in self.motions()), default=0)

    def close(self) -> None:
        self._ended.set()
        self._thread.join()


class Stack:
    """A stack with an operator and a client; `site` is None for the twin."""

    def __init__(
        self,
        transport: str,
        nodes: SingleNodes,
        client: Client,
        watch: Watch,
        site: EmulatedSite | None,
        folder: Path,
    ) -> None:
        self.transport, self.nodes, self.client = transport, nodes, client
        self.watch, self.site, self.folder = watch, site, folder
        self.operator = Operator(client, planner=False)
        self.approver = Approver(client.node)

    def set_up(self) -> None:
        """Puts the blocks where the problems have them, as a person does at a real arm."""
        if self.site is None:
            return
        answer = self.operator.call('release')
        assert answer.success, answer.message
        for name, pose in _poses().items():
            self.site.emulator.firmware.twin.disturb(name, pose)
        answer = self.operator.call('blocks_set_up')
        assert answer.success, answer.message

    def restart(self, *names: str) -> None:
        """Ends nodes at once and starts them again."""
        for name in names:
            self.nodes.kill(name)
        self.nodes.mend(self.client)


def _poses():
    problem = load_task(TOWER).problem
    return initial_layout(SCENE, tuple(problem.objects), problem.init).poses


def _values(site: EmulatedSite, folder: Path) -> dict[str, object]:
    """Arguments of the profile `mycobot` that lead to an emulated arm."""
    port = {'port': site.serial_port, 'speed_limit': 1.0}
    if site.ssh is not None:
        at = site.ssh.address
        return {
            **port, 'arm_file': patient_arm_file(folder, 'config/mycobot_ssh.yaml', LINK_S),
            'baud': 115200,
            'host': at.host, 'ssh_port': at.port, 'user': at.user, 'key_file': at.key_file,
            'known_hosts': at.known_hosts, 'agent': at.command, 'tool': 'basic-pump',
        }  # fmt: skip
    port['arm_file'] = patient_arm_file(folder, 'config/mycobot.yaml', LINK_S)
    if site.transport == TCP:
        port |= {'transport': TCP, 'host': '127.0.0.1', 'tcp_port': site.emulator.tcp_port}
    return port


@contextmanager
def fault_stack(transport: str, domain: int, folder: Path) -> Iterator[Stack]:
    """Such a stack, released by its operator."""
    kind = SupervisedNodes if transport == SUPERVISED_TWIN else SingleNodes
    if transport == SSH and not has_sshd():
        pytest.skip('FAULTS OVER SSH ARE NOT TESTED HERE: apt-get install openssh-server')
    late = {'validator_timeout': 2 * HEARTBEAT_S}
    parameters = patient_file(folder, HEARTBEAT_S, planner=late)
    with ModelServer() as server, MujocoTwin(SCENE, _poses()) as arm:
        values = {'params_file': parameters, 'model': f'{server.url}#{MODEL}'}
        if transport in (TWIN, SUPERVISED_TWIN):
            values['real_time_factor'] = 2.0
            started = kind(
                domain, folder, values, executor='support.watched_executor',
                variables={VARIABLE: str(folder)},
            )  # fmt: skip
            with started as nodes, Watch(None, folder) as watch, Client() as client:
                yield _ready(Stack(transport, nodes, client, watch, None, folder))
            return
        with EmulatedSite(arm, transport, folder) as site:
            values |= _values(site, folder)
            with (
                kind(domain, folder, values, profile='mycobot') as nodes,
                Watch(arm, folder) as watch,
                Client() as client,
            ):
                yield _ready(Stack(transport, nodes, client, watch, site, folder))


def _ready(stack: Stack) -> Stack:
    stack.nodes.mend(stack.client)
    if stack.site is not None:  # a real arm is stopped until its first reset
        wait_until(lambda: bool(stack.operator.listener.reason), 'the stop of the first start')
    stack.operator.reset()
    return stack

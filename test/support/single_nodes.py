# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The nodes of a stack, each of which can be killed, paused and started again by itself."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from safegen_ros.bringup.process import ManagedProcess, child_environment
from safegen_ros.bringup.profiles import NodeSpec
from safegen_ros.bringup.table import node_arguments, node_specs, params_yaml
from safegen_ros.client import Client
from safegen_ros.ros.stack_state import environment_defaults
from safegen_ros.sync import Closing, boottime
from support.goals import WAIT_S
from support.waiting import wait_until

NODES = ('validator', 'executor', 'planner')


class SingleNodes(Closing):
    """The nodes of a profile, without a supervisor.

    Args:
        domain: ROS domain id.
        folder: for logs, parameters and what is kept.
        values: arguments of the profile.
        profile: its name.
        executor: module of the tests that runs in place of that node.
        variables: of the environment, in addition.
        names: of the nodes.
    """

    def __init__(
        self,
        domain: int,
        folder: Path,
        values: Mapping[str, object],
        *,
        profile: str = 'sim',
        executor: str = '',
        variables: Mapping[str, str] = MappingProxyType({}),
        names: tuple[str, ...] = NODES,
    ) -> None:
        self._folder, self._names = folder, names
        self._specs: dict[str, NodeSpec] = {s.name: s for s in node_specs(profile, dict(values))}
        if executor:
            self._specs['executor'] = replace(self._specs['executor'], module=executor)
            variables = {**variables, 'PYTHONPATH': str(Path(__file__).parents[1])}
        self._environment = {
            'ROS_DOMAIN_ID': str(domain),
            'SAFEGEN_RUNS_DIR': str(self.runs),
            'SAFEGEN_RUNTIME_DIR': str(folder),
            'SAFEGEN_STATE_DIR': str(folder),
            **variables,
        }
        self._running: dict[str, ManagedProcess] = {}
        self._paused: set[str] = set()
        self._writing = threading.Lock()
        self.start(*names)

    @property
    def runs(self) -> Path:
        """The folder of all runs."""
        return self._folder / 'runs'

    @property
    def paused(self) -> frozenset[str]:
        """The nodes that are kept from doing anything."""
        return frozenset(self._paused)

    def pid(self, name: str) -> int:
        """The process above that of a node."""
        return self._running[name].pid

    def start(self, *names: str) -> None:
        """Starts nodes that are not there."""
        environment = child_environment(
            os.environ, environment_defaults(os.environ), self._environment
        )
        for name in names:
            spec = self._specs[name]
            overrides = None
            if spec.params:
                overrides = self._folder / f'{name}.yaml'
                overrides.write_text(params_yaml(spec), encoding='utf-8')
            arguments = node_arguments(spec, overrides and str(overrides))
            self._running[name] = ManagedProcess(
                spec, arguments, environment, self._write, lambda child: None
            )

    def _write(self, node: str, line: str) -> None:
        with self._writing, (self._folder / 'log').open('a', encoding='utf-8') as log:
            log.write(f'{node} {line}\n')

    def kill(self, name: str, by: signal.Signals = signal.SIGKILL) -> None:
        """Ends a node, and waits for its end; with SIGINT it takes leave of the others first.

        The others know one that was killed until its lease ends.
        """
        process = self._running.pop(name)
        process.signal_group(by)
        assert process.wait(WAIT_S)
        self._paused.discard(name)

    def pause(self, name: str) -> None:
        """Keeps a node from doing anything."""
        self._paused.add(name)
        self._running[name].signal_group(signal.SIGSTOP)

    def resume(self) -> None:
        """Lets all that are paused go on."""
        for name in self._paused:
            self._running[name].signal_group(signal.SIGCONT)
        self._paused.clear()

    def mend(self, client: Client) -> None:
        """Brings all nodes back that are paused or gone, and waits until they are active."""
        self.resume()
        since = boottime()
        self.start(*(name for name in self._names if name not in self._running))

        def active(name: str) -> bool:
            alive = [each for each in client.heartbeats.instances(name) if each.at > since]
            return [each.state for each in alive] == ['active']

        for name in self._names:
            wait_until(lambda name=name: active(name), f'an active {name}')

    def close(self) -> None:
        """Ends all nodes."""
        for name in list(self._running):
            self.kill(name)

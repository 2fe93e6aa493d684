# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A supervisor in a process of its own, with the nodes of a stack.

As a program, `python -m support.supervised FOLDER PROFILE EXECUTOR VALUES`, it is that process.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from safegen_ros.bringup.supervisor import Supervisor
from safegen_ros.bringup.table import node_specs
from safegen_ros.ros.stack_state import read_state
from support.goals import WAIT_S
from support.node_programs import wait_gone
from support.single_nodes import NODES, SingleNodes


class SupervisedNodes(SingleNodes):
    """As `SingleNodes`; but whichever of them is killed, it is their supervisor."""

    def __init__(
        self,
        domain: int,
        folder: Path,
        values: Mapping[str, object],
        *,
        profile: str = 'sim',
        executor: str = '',
        **more: Any,
    ) -> None:
        texts = {name: str(value) for name, value in values.items()}
        self._domain = domain
        self._supervisor: subprocess.Popen[bytes] | None = None
        self._command = [str(folder), profile, executor, json.dumps(texts)]
        super().__init__(domain, folder, values, profile=profile, executor=executor, **more)

    def start(self, *names: str) -> None:
        """Starts a supervisor, and so all of them."""
        if names and self._supervisor is None:
            self._supervisor = subprocess.Popen(
                [sys.executable, '-m', 'support.supervised', *self._command],
                env=os.environ | self._environment | {'PYTHONPATH': str(Path(__file__).parents[1])},
            )
            self._running = dict.fromkeys(NODES)

    def pid(self, name: str) -> int:
        """The process of a node."""
        state = read_state(self._domain)
        assert state is not None
        return state.nodes[f'/{name}']

    def kill(self, name: str) -> None:
        """Kills the supervisor, and waits until all nodes have ended."""
        nodes = [os.pidfd_open(self.pid(each)) for each in NODES]
        assert self._supervisor is not None
        self._supervisor.kill()
        self._supervisor.wait(WAIT_S)
        self._supervisor, self._running = None, {}
        wait_gone(nodes)
        self._paused.clear()

    def close(self) -> None:
        """Ends all of them."""
        if self._running:
            self.kill('')

    def pause(self, name: str) -> None:
        """Keeps the supervisor from doing anything."""
        assert self._supervisor is not None
        self._paused.add(name)
        self._supervisor.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Lets it go on."""
        if self._paused and self._supervisor is not None:
            self._supervisor.send_signal(signal.SIGCONT)
        self._paused.clear()


def main() -> None:
    """Runs the stack until this process is killed."""
    folder, profile, executor, values = sys.argv[1:]
    specs = node_specs(profile, json.loads(values))
    if executor:
        specs = tuple(
            replace(spec, module=executor) if spec.name == 'executor' else spec for spec in specs
        )
    with Supervisor(specs, log_dir=Path(folder)):
        signal.pause()


if __name__ == '__main__':
    main()

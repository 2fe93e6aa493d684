# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A stack in the process of the test, whose model is at a server that can misbehave."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
import rclpy
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from safegen_ros.client import Client, Goal
from safegen_ros.nodes.executor import ExecutorNode
from safegen_ros.nodes.planner import PlannerNode
from safegen_ros.nodes.validator import ValidatorNode
from safegen_ros.record.node_journal import load_goals
from safegen_ros.record.run_log import KeptRun
from support.goals import WAIT_S
from support.model_server import MODEL, ModelServer, Script
from support.stopping import Operator
from support.waiting import patient_file, wait_until


@dataclass(frozen=True)
class Stack:
    """The three nodes in this process, with a client and a model at a server."""

    client: Client
    server: ModelServer
    operator: Operator
    validator: ValidatorNode
    executor: ExecutorNode
    planner: PlannerNode

    def answer(self, *texts: str) -> None:
        """Has the server answer one text after the other, and the last one again and again."""
        self.server.script = Script(list(texts))

    def kept(self, goal: Goal) -> KeptRun:
        """What the nodes have written down about a goal."""
        return load_goals(Path(self.planner.values['journal'])).runs[goal.id][1]

    def reset(self) -> None:
        """Ends a stop, and waits until the planner has heard of it."""
        self.operator.reset()
        heard, state = self.planner._stop, self.executor._stop.state
        wait_until(lambda: (heard.stops, heard.reason) == (state.count, ''), 'the planner to hear')


@contextmanager
def one_process_stack(folder: Path, namespace: str = '/', **planner: object) -> Iterator[Stack]:
    """Such a stack with a symbolic cell, whose parameters and journals are in a folder.

    Args:
        folder: for both.
        namespace: of all nodes.
        planner: further parameters of that node.
    """
    executor, journal = None, str(folder)
    with (
        ModelServer() as server,
        Client(namespace) as client,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv('SAFEGEN_RUNTIME_DIR', str(folder))
        patch.setenv('SAFEGEN_STATE_DIR', str(folder))
        planner |= {'model': f'{server.url}#{MODEL}', 'server_tries': 1, 'journal': journal}
        cell = {'cell': 'symbolic', 'real_time_factor': 4.0, 'journal': journal}
        file = patient_file(folder, planner=planner, executor=cell)
        rclpy.init(
            args=['--ros-args', '-r', f'__ns:={namespace}', '--params-file', str(file)],
            signal_handler_options=SignalHandlerOptions.NO,
        )
        try:
            nodes = ValidatorNode(), ExecutorNode(), PlannerNode()
            executor = MultiThreadedExecutor(num_threads=64)
            for node in nodes:
                executor.add_node(node)

            def spin() -> None:
                with suppress(ExternalShutdownException):
                    executor.spin()

            spinning = threading.Thread(target=spin)
            spinning.start()
            try:
                for node in nodes:
                    node.bring_up(threading.Event())
                yield Stack(client, server, Operator(client), *nodes)
            finally:
                for node in reversed(nodes):
                    node.end()
                executor.shutdown(timeout_sec=WAIT_S)
                spinning.join(WAIT_S)
                for node in nodes:
                    node.destroy_node()
        finally:
            rclpy.try_shutdown()

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What nodes leave behind: nothing in their process, and nothing in the graph."""

from __future__ import annotations

import gc
import os
import threading
from collections import Counter
from pathlib import Path

import pytest
from rclpy.task import Future, Task
from support.blocks_small import THREE_TEXT
from support.leading import STEPS, Manager
from support.one_process import one_process_stack
from support.waiting import wait_until

from safegen_ros.client import Client, Options
from safegen_ros.errors import ErrorCode
from safegen_ros.ros.liveness import NodeInstance

pytestmark = pytest.mark.nightly

NAMESPACE = '/leaving'
WARM_UP, LIVES = 2, 5


def _held() -> Counter[str]:
    """Objects of rclpy and of ours, threads of our own, and open files of this process."""
    gc.collect()
    ours = ('rclpy', 'safegen_ros', 'mujoco')
    held = Counter(
        f'{kind.__module__}.{kind.__qualname__}'
        for kind in map(type, gc.get_objects())
        # In flight, or alive: both come and go with the load of the machine.
        if str(kind.__module__).startswith(ours) and kind not in (Task, Future, NodeInstance)
    )
    # The pool grows until each callback finds a thread that is free.
    own = (each for each in threading.enumerate() if 'ThreadPool' not in each.name)
    return held + Counter(threads=sum(1 for _ in own), files=len(os.listdir('/proc/self/fd')))


def test_lives_of_a_node_leave_nothing_in_its_process(ros_domain: int, tmp_path: Path) -> None:
    with one_process_stack(tmp_path, namespace=NAMESPACE) as stack:
        for name in ('planner', 'executor', 'validator'):
            manager = Manager(stack.client, name)
            manager.lead('deactivate', 'cleanup')
            if name == 'executor':
                assert manager.set('cell', 'twin') == ''
            for _ in range(WARM_UP):
                manager.lead(*STEPS)
            before = _held()
            for _ in range(LIVES):
                manager.lead(*STEPS)
            grown = {what: more for what, more in (_held() - before).items() if more >= LIVES}
            assert not grown, name


def test_nodes_and_clients_leave_with_their_end(ros_domain: int, tmp_path: Path) -> None:
    def left() -> set[str]:
        found = watcher.node.get_node_names_and_namespaces()
        return {name for name, namespace in found if namespace == NAMESPACE}

    # With the garbage they would leave, too, whenever that is.
    gc.disable()
    try:
        with Client() as watcher:
            with one_process_stack(tmp_path, namespace=NAMESPACE) as stack:
                done = stack.client.run(THREE_TEXT, options=Options(strategy='search'))
                assert ErrorCode(done.error_code) is ErrorCode.NONE, done.error_msg
                ours = {'validator', 'executor', 'planner', stack.client.node.get_name()}
                wait_until(lambda: left() == ours, 'the nodes')
            wait_until(lambda: not left(), 'a graph without them')
    finally:
        gc.enable()

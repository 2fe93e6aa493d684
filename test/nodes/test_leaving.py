# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Nodes that have ended leave the graph, where others of their names are taken for them."""

from __future__ import annotations

import gc
from pathlib import Path

from support.blocks_small import THREE_TEXT
from support.one_process import one_process_stack
from support.waiting import wait_until

from safegen_ros.client import Client, Options
from safegen_ros.errors import ErrorCode

NAMESPACE = '/leaving'


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

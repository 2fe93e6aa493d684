# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Nodes that have ended leave the graph, where others of their names are taken for them."""

from __future__ import annotations

import gc
from pathlib import Path

from blocks_small import THREE_TEXT
from one_process import one_process_stack
from waiting import wait_until

from safegen_ros.client import Client, Options
from safegen_ros.errors import ErrorCode

OURS = {'validator', 'executor', 'planner'}


def test_nodes_and_clients_leave_with_their_end(ros_domain: int, tmp_path: Path) -> None:
    # With the garbage they would leave, too, whenever that is.
    gc.disable()
    try:
        with Client() as watcher:
            with one_process_stack(tmp_path) as stack:
                done = stack.client.run(THREE_TEXT, options=Options(strategy='search'))
                assert ErrorCode(done.error_code) is ErrorCode.NONE, done.error_msg
                wait_until(lambda: set(watcher.node.get_node_names()) >= OURS, 'the nodes')
            alone = [watcher.node.get_name()]
            wait_until(lambda: watcher.node.get_node_names() == alone, 'an empty graph')
    finally:
        gc.enable()

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The console, as a stack starts it, has the interfaces of the table, and so fits its enclave."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

from support.graph import interfaces_of
from support.waiting import wait_until

from safegen_ros.bringup.supervisor import Supervisor
from safegen_ros.bringup.table import node_specs
from safegen_ros.client import Client
from safegen_ros.ros.interfaces import CONSOLE, Kind, of_node

_OF_EXECUTE = '/execute_plan/_action/'


def test_the_console_has_the_interfaces_of_the_table(ros_domain: int, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        port = free.getsockname()[1]
    specs = node_specs('sim', {'console': 'true', 'console_port': port})
    page = [spec for spec in specs if spec.name == CONSOLE]
    table = {(i.kind, i.full_name('/', CONSOLE), i.type) for i in of_node(CONSOLE) if not i.when}
    parts = {each for each in table if each[1].startswith(_OF_EXECUTE)}
    table -= parts  # of an action, of which the graph tells by its node alone
    environment = {'ROS_DOMAIN_ID': str(ros_domain)}
    with (
        Supervisor(page, log_dir=tmp_path, environment=environment) as stack,
        Client() as watcher,
    ):
        seen: set[Any] = set()

        def complete() -> bool:
            assert stack.poll() is None
            seen.clear()
            seen.update(interfaces_of(watcher.node, CONSOLE))
            return seen == table

        try:
            wait_until(complete, 'the interfaces of the table')
        except AssertionError:
            assert sorted(map(str, seen ^ table)) == [], 'either the table or the graph lacks these'
            raise
        node = watcher.node
        of_action = {
            (kind, name, type)
            for kind, told in (
                (Kind.CLIENT, node.get_client_names_and_types_by_node(CONSOLE, '/')),
                (Kind.SUBSCRIPTION, node.get_subscriber_names_and_types_by_node(CONSOLE, '/')),
            )
            for name, types in told
            if name.startswith(_OF_EXECUTE)
            for type in types
        }
        assert of_action == parts

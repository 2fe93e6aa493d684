# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The console, as a stack starts it, has the interfaces of the table, and so fits its enclave."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from typing import Any

import pytest
from support.graph import interfaces_of
from support.waiting import wait_until

from safegen_ros.bringup.supervisor import Supervisor
from safegen_ros.bringup.table import node_specs, params_yaml
from safegen_ros.client import Client
from safegen_ros.console.node import read_settings
from safegen_ros.errors import BringupError, SafegenError
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
    with Supervisor(page, log_dir=tmp_path, environment=environment) as stack, Client() as watcher:
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


@pytest.mark.parametrize('profile', ['sim', 'mycobot'])
def test_the_stack_has_a_page_where_it_is_asked_for(profile: str) -> None:
    names = [spec.name for spec in node_specs(profile)]
    values = {'console': 'true', 'console_port': '9000', 'namespace': 'lab'}
    *nodes, page = node_specs(profile, values)
    assert [spec.name for spec in nodes] == names
    assert (page.name, page.full_name, page.required) == ('console', '/lab/console', False)
    assert 'port: 9000' in params_yaml(page)
    with pytest.raises(BringupError, match='console_port'):
        node_specs(profile, {'console': 'true', 'console_port': '0'})


def test_the_parameters_are_those_of_the_command(
    ros_domain: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    token = tmp_path / 'token'
    token.write_text('a-token-of-24-characters')
    token.chmod(0o600)
    given = ['host:=0.0.0.0', 'port:=9000', 'read_only:=true', f'token_file:={token}']
    words = [word for each in given for word in ('-p', each)]
    monkeypatch.setattr(sys, 'argv', ['console', '--ros-args', '-r', '__ns:=/lab', *words])
    settings = read_settings()
    assert (settings.host, settings.port, settings.read_only) == ('0.0.0.0', 9000, True)
    assert (settings.token, settings.namespace) == ('a-token-of-24-characters', '/lab')
    token.chmod(0o644)
    with pytest.raises(SafegenError, match='chmod 600'):
        read_settings()

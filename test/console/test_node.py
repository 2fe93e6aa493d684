# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The console in the one table of what is started, and its parameters."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from safegen_ros.bringup.table import node_specs, params_yaml
from safegen_ros.console.node import read_settings
from safegen_ros.errors import BringupError, SafegenError


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

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A parameter file that rcl would refuse is refused before, with its line."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rclpy.parameter import Parameter as RosParameter
from support.node_programs import node_command

from safegen_ros.bringup.table import node_specs
from safegen_ros.errors import BringupError, SafegenError
from safegen_ros.node_parameters import Parameter
from safegen_ros.paths import share_dir
from safegen_ros.ros.parameter_files import ParameterFileError, check_parameter_file
from safegen_ros.ros.parameters import declare

BROKEN = {
    'a tab': ('/**/executor:\n  ros__parameters:\n\tcell: symbolic\n', 3, 'is not YAML'),
    'no ros__parameters': ('/**/executor:\n  cell: symbolic\n', 2, 'ros__parameters is missing'),
    'no value': ('/**/executor:\n  ros__parameters:\n    cell:\n', 3, 'cell has no value'),
    'no parameter': ('/**/executor:\n  ros__parameters:\n', 2, 'there is no parameter below'),
    'a text': ('cell\n', 1, 'ros__parameters is missing'),
    'a list': ('- cell\n', 1, 'ros__parameters is missing'),
    'an open bracket': ('/**: {ros__parameters: {cell: [1}\n', 1, 'is not YAML'),
}


@pytest.mark.parametrize(('text', 'line', 'problem'), BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_named_with_its_line(
    tmp_path: Path, text: str, line: int, problem: str
) -> None:
    path = tmp_path / 'p.yaml'
    path.write_text(text)
    with pytest.raises(ParameterFileError) as caught:
        check_parameter_file(path)
    assert caught.value.message.startswith(f'{path}:{line}: ')
    assert problem in caught.value.message
    assert '\n' not in caught.value.message
    with pytest.raises(BringupError, match='argument params_file: '):
        node_specs('sim', {'params_file': path})


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    for harm in (b'/**: \xff', b'/**: \x00', b'[' * 100_000):
        (tmp_path / 'p.yaml').write_bytes(harm)
        with pytest.raises(ParameterFileError, match=r'p\.yaml'):
            check_parameter_file(tmp_path / 'p.yaml')
    with pytest.raises(ParameterFileError, match='cannot be read'):
        check_parameter_file(tmp_path)


@pytest.mark.parametrize('name', ['mycobot.yaml', 'mycobot_ssh.yaml'])
def test_the_shipped_files_are_whole(name: str) -> None:
    check_parameter_file(share_dir() / 'config' / name)


def run(folder: Path, domain: int, text: str, node: str = 'executor') -> list[str]:
    """What a node says that is started with a parameter file, and then told to end."""
    path = folder / 'p.yaml'
    path.write_text(text)
    kept = {'SAFEGEN_RUNS_DIR': str(folder), 'SAFEGEN_STATE_DIR': str(folder)}
    process = subprocess.Popen(
        node_command(f'safegen_ros.nodes.{node}', '--ros-args', '--params-file', str(path)),
        env={**os.environ, **kept, 'ROS_DOMAIN_ID': str(domain)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process:
        said = []
        for line in process.stdout or ():
            said.append(line.rstrip())
            if 'journal: ' in line or 'autostart is off' in line:
                process.terminate()
    return said


def _of(values: str) -> str:
    return '/**:\n  ros__parameters:\n    cell: symbolic\n' + ''.join(
        f'    {line}\n' for line in values.split('\n')
    )


@pytest.mark.nightly
def test_a_mistyped_parameter_is_named_with_its_like_and_nothing_else(
    tmp_path: Path, ros_domain: int
) -> None:
    mistyped = 'real_time_facto: 2.0\nrehearze: always'
    of_others = 'temperature: 0.5\nsecond_opinion: true\nuse_sim_time: false\nqos_overrides./x.y: 1'
    whole = 'real_time_factor: 2\nheartbeat_timeout: 5'  # of parameters that are any number
    said = run(tmp_path, ros_domain, _of(f'{mistyped}\n{of_others}\n{whole}'))
    (warning,) = (line for line in said if 'no node has these parameters: ' in line)
    assert '[WARN]' in warning
    assert warning.endswith(
        "real_time_facto (did you mean 'real_time_factor'?), rehearze (did you mean 'rehearse'?)"
    )
    assert any('journal: ' in line for line in said)  # it was configured


@pytest.mark.parametrize(
    ('default', 'value', 'words'),
    [
        ('all', True, "true is not a text: put it in quotes, such as 'all'"),
        ('', 5, '5 is not a text: put it in quotes'),
        (1.0, '2', "'2' is not a number: write it without quotes"),
        (1, 2.5, '2.5 is not a whole number: write it without quotes'),
    ],
)
def test_a_value_of_another_type_is_refused_with_its_cure(
    default: object, value: object, words: str
) -> None:
    given = {'p': RosParameter('p', value=value)}
    node: Any = SimpleNamespace(_parameter_overrides=given)
    with pytest.raises(SafegenError, match=re.escape(f'parameter p: {words}')):
        declare(node, (Parameter('p', default, ''),))


MISTYPED = "no node has these parameters: speed_limt (did you mean 'speed_limit'?): "


@pytest.mark.parametrize(
    ('node', 'text', 'words'),
    [
        ('executor', _of('speed_limt: 0.1\ncell: mycobot').replace('cell: symbolic', ''), MISTYPED),
        ('validator', _of('speed_limt: 0.1\nrefuse_unknown_parameters: true'), MISTYPED),
        ('executor', _of('rehearse: never'), "parameter rehearse: 'never' is not one of: real, "),
        ('executor', _of('scene_file: "a\\e[2J"'), 'parameter scene_file: holds the character U'),
        ('executor', BROKEN['a tab'][0], '{path}:3: is not YAML'),
    ],
    ids=['arm', 'validator', 'choice', 'character', 'tab'],
)  # fmt: skip
def test_a_file_with_a_fault_keeps_a_node_from_starting(
    tmp_path: Path, ros_domain: int, node: str, text: str, words: str
) -> None:
    *_, last = run(tmp_path, ros_domain, text, node)
    assert f'cannot start: {words.format(path=tmp_path / "p.yaml")}' in last


def test_the_stack_of_the_real_arm_refuses_unknown_parameters() -> None:
    assert all(dict(spec.params)['refuse_unknown_parameters'] for spec in node_specs('mycobot'))

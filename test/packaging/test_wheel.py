# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The wheel of safegen_ros holds what the installed package needs."""

from __future__ import annotations

import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path
from zipfile import ZipFile

import pytest

BUILD = 'from setuptools import build_meta; build_meta.build_wheel("dist")'
DATA = 'safegen_ros-0.2.0.data/data/share'


@pytest.fixture(scope='module')
def wheel(copy: Path) -> ZipFile:
    subprocess.run([sys.executable, '-c', BUILD], cwd=copy, check=True, capture_output=True)
    (path,) = (copy / 'dist').glob('*.whl')
    return ZipFile(path)


def test_it_is_pure_python(wheel: ZipFile) -> None:
    assert wheel.filename is not None
    assert wheel.filename.endswith('safegen_ros-0.2.0-py3-none-any.whl')


def test_every_source_file_is_in_it(wheel: ZipFile, copy: Path) -> None:
    sources = {
        path.relative_to(copy).as_posix()
        for pattern in ('*.py', '*.pddl')
        for path in (copy / 'safegen_ros').rglob(pattern)
    }
    assert 'safegen_ros/tasks/pddl3/domains/blocksworld/domain.pddl' in sources
    assert sources <= set(wheel.namelist())


def test_the_ros_share_directory_is_in_it(wheel: ZipFile, copy: Path) -> None:
    names = set(wheel.namelist())
    assert f'{DATA}/ament_index/resource_index/packages/safegen_ros' in names
    assert f'{DATA}/safegen_ros/package.xml' in names
    assert f'{DATA}/safegen_ros/launch/sim.launch.py' in names
    for tree in ('launch', 'config', 'models', 'urdf', 'examples', 'data'):
        for path in (copy / tree).rglob('*'):
            if path.is_file():
                assert f'{DATA}/safegen_ros/{path.relative_to(copy).as_posix()}' in names


def test_no_test_or_build_output_is_in_it(wheel: ZipFile) -> None:
    tops = {name.split('/')[0] for name in wheel.namelist()}
    assert tops == {'safegen_ros', 'safegen_ros-0.2.0.data', 'safegen_ros-0.2.0.dist-info'}
    assert not [name for name in wheel.namelist() if '__pycache__' in name]


def test_commands_point_at_modules_that_exist(wheel: ZipFile) -> None:
    text = wheel.read('safegen_ros-0.2.0.dist-info/entry_points.txt').decode()
    parser = ConfigParser()
    parser.read_string(text)
    commands = dict(parser['console_scripts'])
    nodes = {'planner', 'validator', 'executor', 'console'}
    assert set(commands) == {'safegen', 'safegen-agent', *nodes}
    for target in commands.values():
        module, function = target.split(':')
        path = module.replace('.', '/') + '.py'
        assert path in wheel.namelist()
        assert f'def {function}(' in wheel.read(path).decode()

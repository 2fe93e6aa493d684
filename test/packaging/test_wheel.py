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
UNSAFE = '(unstack b2 b1) (putdown b2) (unstack b5 b3)'
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
    for tree in ('launch', 'config', 'urdf', 'examples', 'data'):
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
        base = module.replace('.', '/')
        path = next(p for p in (f'{base}.py', f'{base}/__init__.py') if p in wheel.namelist())
        assert f'def {function}(' in wheel.read(path).decode()


@pytest.mark.nightly
def test_the_weights_are_a_wheel_of_their_own(wheel: ZipFile, copy: Path) -> None:
    assert wheel.filename is not None
    assert Path(wheel.filename).stat().st_size < 10_000_000
    assert not [name for name in wheel.namelist() if name.endswith('.safetensors')]
    subprocess.run([sys.executable, '-c', BUILD], cwd=copy / 'models', check=True)
    (path,) = (copy / 'models' / 'dist').glob('*.whl')
    data = 'safegen_ros_models-0.2.0.data/data/share/safegen_ros/models'
    names = set(ZipFile(path).namelist())
    files = (path for path in (copy / 'models').glob('safegen-*/**/*') if path.is_file())
    assert {f'{data}/{path.relative_to(copy / "models").as_posix()}' for path in files} <= names


@pytest.mark.nightly
def test_a_plan_is_proved_in_an_environment_that_has_nothing_else(
    wheel: ZipFile, copy: Path, tmp_path: Path
) -> None:
    python = tmp_path / 'bin' / 'python'
    for command in (
        [sys.executable, '-m', 'venv', tmp_path],
        [python, '-m', 'pip', 'install', '--quiet', wheel.filename],
    ):
        subprocess.run(list(map(str, command)), check=True, cwd=copy)

    def safegen(*words: str, stdin: str = '') -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(tmp_path / 'bin' / 'safegen'), *words],
            input=stdin, capture_output=True, text=True, check=False, cwd=copy / 'examples',
            env={'PATH': '', 'HOME': str(tmp_path)},
        )  # fmt: skip

    solved = safegen('solve', 'tower_order.pddl')
    assert solved.returncode == 0, solved.stderr
    plan = '\n'.join(line for line in solved.stdout.splitlines() if line.startswith('('))
    assert safegen('verify', 'tower_order.pddl', '-', stdin=plan).returncode == 0
    broken = safegen('verify', 'tower_order.pddl', '-', stdin=UNSAFE)
    assert (broken.returncode, broken.stdout.split(':')[0]) == (1, 'SAFETY_VIOLATION')
    rule = safegen('rules', 'b5 must never be on the table', '--problem', 'tower_order.pddl')
    assert '(always (not (on-table b5)))' in rule.stdout, rule.stderr
    stepped = safegen('step', 'tower_order.pddl', '--strategy', 'search', '--cell', 'symbolic')
    assert stepped.returncode == 0, stepped.stderr
    demo = safegen('demo', 'tower_order.pddl')
    assert demo.returncode == 1
    assert 'make setup' in demo.stderr
    scored = safegen('bench', 'planetarium', 'score', 'rows.jsonl')
    assert "networkx is not installed: run pip install 'safegen_ros[planetarium]'" in scored.stderr

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`make setup` on machines that lack something: it says what, and never fetches CUDA unasked."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BASICS = ('bash', 'cat', 'cut', 'dirname', 'env', 'head', 'mkdir', 'sha256sum', 'tail', 'flock')


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A directory for PATH with no compiler, no CMake and no Python in it."""
    folder = tmp_path / 'bin'
    folder.mkdir()
    for name in BASICS:
        found = shutil.which(name)
        assert found is not None
        (folder / name).symlink_to(found)
    return folder


def bash(script: str, tools: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {'PATH': str(tools), 'HOME': str(tools.parent), **settings}
    return subprocess.run(
        ['bash', '-c', f'set -euo pipefail; {script}'], cwd=ROOT, env=environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def fake(tools: Path, name: str, text: str) -> None:
    path = tools / name
    path.write_text(f'#!{shutil.which("bash")}\n{text}\n', encoding='utf-8')
    path.chmod(0o755)


def test_no_python_names_the_packages(tools: Path) -> None:
    result = bash('source scripts/tools.sh; find_python', tools)
    assert result.returncode == 1
    assert 'apt-get install python3 python3-venv python3-dev' in result.stderr


def test_a_python_that_is_too_old_is_passed_over(tools: Path) -> None:
    fake(tools, 'python3', 'exit 1')
    (tools / 'python3.12').symlink_to(sys.executable)
    result = bash('source scripts/tools.sh; find_python', tools)
    assert result.returncode == 0, result.stderr
    assert Path(result.stdout.strip()).samefile(sys.executable)


def test_missing_compiler_and_cmake_are_named(tools: Path) -> None:
    result = bash(f'source scripts/tools.sh; check_tools {sys.executable}', tools)
    assert result.returncode == 1
    assert 'apt-get install gcc g++ cmake' in result.stderr


def test_nothing_missing_is_silent(tools: Path) -> None:
    for name in ('cc', 'c++', 'cmake'):
        fake(tools, name, 'exit 0')
    result = bash(f'source scripts/tools.sh; check_tools {sys.executable}', tools)
    assert (result.returncode, result.stderr) == (0, '')


@pytest.mark.parametrize('links', ['', '/no/such/folder'])
def test_torch_comes_from_the_cpu_index_when_no_folder_has_it(tools: Path, links: str) -> None:
    # This uv finds nothing in a folder of wheels, as on a machine with another Python's wheel.
    fake(tools, 'uv', 'echo "$*" >> "$LOG"; [[ "$*" != *--no-index* ]]')
    fake(tools, 'python3', 'exit 1')
    log = tools.parent / 'log'
    script = 'source scripts/setup.sh; uv=uv; install_torch python3'
    result = bash(script, tools, LOG=str(log), PIP_FIND_LINKS=links)
    assert result.returncode == 0, result.stderr
    calls = log.read_text(encoding='utf-8').splitlines()
    assert len(calls) == (2 if links else 1)
    assert '--no-deps --torch-backend cpu' in calls[-1]
    assert all('--no-index' in call or '--torch-backend cpu' in call for call in calls)


@pytest.mark.parametrize(
    ('asked', 'wanted'),
    [
        ({}, '--no-deps --no-index --find-links /some/wheels'),
        ({'TORCH_BACKEND': 'cu130'}, '--torch-backend cu130'),
    ],
)
def test_torch_comes_from_the_folder_that_pip_has_unless_another_build_is_asked_for(
    tools: Path, asked: dict[str, str], wanted: str
) -> None:
    fake(tools, 'uv', 'echo "$*" >> "$LOG"')
    fake(tools, 'python3', '[[ "$*" == *"config get global.find-links"* ]] && echo /some/wheels')
    log = tools.parent / 'log'
    script = 'source scripts/setup.sh; uv=uv; install_torch python3'
    result = bash(script, tools, LOG=str(log), **asked)
    assert result.returncode == 0, result.stderr
    (call,) = log.read_text(encoding='utf-8').splitlines()
    assert wanted in call
    assert ('--no-deps' in call) == (not asked)

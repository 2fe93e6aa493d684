# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Where data is found, and where records are kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from safegen_ros import paths
from safegen_ros.paths import DataNotFoundError, data_path, runs_dir, share_dir


def test_the_folder_of_the_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('SAFEGEN_RUNS_DIR', 'there')
    assert runs_dir() == tmp_path / 'there'
    monkeypatch.delenv('SAFEGEN_RUNS_DIR')
    assert runs_dir() == tmp_path / 'runs'
    (tmp_path / 'runs').mkdir()
    assert runs_dir() == tmp_path / 'runs'

    # Whoever runs the tests may be allowed to write everywhere.
    monkeypatch.setattr(os, 'access', lambda path, mode: path != tmp_path / 'runs')
    monkeypatch.setenv('XDG_STATE_HOME', str(tmp_path / 'state'))
    assert runs_dir() == tmp_path / 'state' / 'safegen' / 'runs'
    monkeypatch.delenv('XDG_STATE_HOME')
    assert runs_dir() == Path.home() / '.local' / 'state' / 'safegen' / 'runs'


def test_data_is_found_beside_the_running_source() -> None:
    assert data_path('config/sim.yaml') == share_dir() / 'config' / 'sim.yaml'
    with pytest.raises(DataNotFoundError, match='looked at'):
        data_path('config/none.yaml')


def test_a_file_of_the_working_directory_goes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / 'config').mkdir()
    mine = tmp_path / 'config' / 'sim.yaml'
    mine.write_text('{}')
    monkeypatch.chdir(tmp_path)
    assert data_path('config/sim.yaml') == mine


def test_share_dir_of_an_installed_copy_comes_from_the_index_or_the_prefix(
    tmp_path: Path,
) -> None:
    """A copy of the package without a checkout round it, as a wheel or colcon would install it."""
    site = tmp_path / 'site' / 'safegen_ros'
    site.mkdir(parents=True)
    for name in ('__init__.py', 'errors.py', 'paths.py'):
        (site / name).write_text((Path(paths.__file__).parent / name).read_text())
    index = tmp_path / 'ws' / 'share' / 'ament_index' / 'resource_index' / 'packages'
    index.mkdir(parents=True)
    (index / 'safegen_ros').touch()
    (tmp_path / 'ws' / 'share' / 'safegen_ros').mkdir()
    program = (
        'import sys; from safegen_ros.paths import share_dir\n'
        f'import os; os.environ["AMENT_PREFIX_PATH"] = {str(tmp_path / "ws")!r}\n'
        'print(share_dir())\n'
        f'os.environ["AMENT_PREFIX_PATH"] = ""; sys.prefix = {str(tmp_path / "ws")!r}\n'
        'print(share_dir())\n'
        'sys.prefix = "/nonexistent"\n'
        'share_dir()\n'
    )
    env = os.environ | {'PYTHONPATH': str(tmp_path / 'site')}
    command = [sys.executable, '-c', program]
    done = subprocess.run(
        command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.splitlines() == [str(tmp_path / 'ws/share/safegen_ros')] * 2
    assert 'DataNotFoundError' in done.stderr
    assert 'install it again' in done.stderr

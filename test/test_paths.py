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
    assert data_path('config/scene.yaml') == share_dir() / 'config' / 'scene.yaml'
    with pytest.raises(DataNotFoundError, match='looked at'):
        data_path('config/none.yaml')


def test_a_file_of_the_working_directory_goes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / 'config').mkdir()
    mine = tmp_path / 'config' / 'scene.yaml'
    mine.write_text('{}')
    monkeypatch.chdir(tmp_path)
    assert data_path('config/scene.yaml') == mine


OWN = """
import os
from safegen_ros.paths import share_dir
for index in ('', {index!r}):
    os.environ['AMENT_PREFIX_PATH'] = index
    try:
        print(share_dir())
    except Exception as error:
        print(type(error).__name__, error)
"""


def _installed(prefix: Path, site: str) -> Path:
    """A copy of the module that looks, as a wheel or colcon would install it."""
    package = prefix / site / 'safegen_ros'
    package.mkdir(parents=True)
    for name in ('__init__.py', 'errors.py', 'paths.py'):
        (package / name).write_text((Path(paths.__file__).parent / name).read_text())
    return package.parent


def _indexed(prefix: Path) -> Path:
    """The data of an installation, and its mark in the ament index."""
    index = prefix / 'share/ament_index/resource_index/packages'
    index.mkdir(parents=True)
    (index / 'safegen_ros').touch()
    share = prefix / 'share/safegen_ros'
    (share / 'config').mkdir(parents=True)
    return share


def _told(site: Path, index: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, '-c', OWN.format(index=str(index))],
        env=os.environ | {'PYTHONPATH': str(site)},
        cwd=site.parent,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    'site', ['lib/python3.11/site-packages', 'local/lib/python3/dist-packages']
)
def test_an_installed_copy_takes_the_data_of_its_own_prefix(tmp_path: Path, site: str) -> None:
    """Another installation may be in the index, and in the prefix of the interpreter."""
    code = _installed(tmp_path / 'own', site)
    own, other = _indexed(tmp_path / 'own'), tmp_path / 'other'
    _indexed(other)
    assert _told(code, other) == [str(own)] * 2


def test_code_without_data_of_its_own_takes_those_of_the_index_alone(tmp_path: Path) -> None:
    code = _installed(tmp_path / 'site', '')
    share = _indexed(tmp_path / 'ws')
    nowhere, indexed = _told(code, tmp_path / 'ws')
    assert nowhere.startswith('DataNotFoundError ')
    assert nowhere.endswith('install it again')
    assert indexed == str(share)


def test_logs_of_a_stack_have_a_folder_of_their_own_and_old_ones_make_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('SAFEGEN_STATE_DIR', str(tmp_path))
    monkeypatch.setattr(paths, 'LOG_DIRS', 3)
    (tmp_path / 'safegen').mkdir(mode=0o700)
    (tmp_path / 'safegen' / 'logs').mkdir()
    for name in ('20260101T000000Z-a', '20260102T000000Z-b', '20260103T000000Z-c'):
        (tmp_path / 'safegen' / 'logs' / name).mkdir()
    made = paths.new_log_dir()
    assert made.stat().st_mode & 0o777 == 0o700
    kept = sorted(each.name for each in made.parent.iterdir())
    assert kept == ['20260102T000000Z-b', '20260103T000000Z-c', made.name]
    monkeypatch.setenv('SAFEGEN_STATE_DIR', '/dev/null')
    elsewhere = paths.new_log_dir()
    assert elsewhere.name.startswith('safegen-')
    elsewhere.rmdir()

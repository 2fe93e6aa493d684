# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The latch of a stop: it halts first, is written down, and only a reset ends it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from safegen_ros.nodes.stop_latch import StopLatch, stop_file
from safegen_ros.paths import DataNotFoundError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / 'stopped.json'


def test_it_halts_before_it_is_written_down(file: Path) -> None:
    seen: list[tuple[bool, bool]] = []
    latch = StopLatch(file, lambda: seen.append((latch.state.stopped, file.exists())))
    assert latch.stop('a test')
    assert seen == [(True, False)]
    assert file.exists()


def test_a_second_stop_halts_again_and_keeps_the_first_reason(file: Path) -> None:
    halts: list[int] = []
    latch = StopLatch(file, lambda: halts.append(1))
    assert latch.stop('first')
    assert not latch.stop('second')
    assert (latch.state.reason, latch.state.count, len(halts)) == ('first', 1, 2)


def test_a_new_process_comes_back_stopped_until_it_is_reset(file: Path) -> None:
    StopLatch(file).stop('a test')
    again = StopLatch(file)
    assert again.state.stopped
    assert (again.state.reason, again.state.count) == ('a test', 1)
    assert again.reset()
    assert not again.reset()
    assert not again.state.stopped
    assert not StopLatch(file).state.stopped


@pytest.mark.parametrize('text', ['', '{', '[]', '{"reason": "x"}', '{"reason": 1, "count": "x"}'])
def test_a_file_that_cannot_be_read_means_stopped(file: Path, text: str) -> None:
    file.write_text(text)
    latch = StopLatch(file)
    assert latch.state.stopped
    assert str(file) in latch.state.reason
    assert latch.reset()
    assert not StopLatch(file).state.stopped


def test_what_cannot_be_written_down_is_stopped_all_the_same(tmp_path: Path) -> None:
    halts: list[int] = []
    latch = StopLatch(tmp_path / 'none' / 'stopped.json', lambda: halts.append(1))
    with pytest.raises(OSError, match='none'):
        latch.stop('a test')
    assert latch.state.stopped
    assert halts


def test_each_domain_and_namespace_has_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('SAFEGEN_STATE_DIR', str(tmp_path))
    places = [(0, '/'), (1, '/'), (1, '/lab'), (1, '/lab/arm1')]
    assert len({stop_file(*place) for place in places}) == len(places)
    assert stop_file(1, '/lab/arm1').name == 'stopped-1.lab.arm1.json'


def test_it_outlives_the_session_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ('SAFEGEN_STATE_DIR', 'SAFEGEN_RUNTIME_DIR'):
        monkeypatch.delenv(name)
    monkeypatch.setenv('XDG_STATE_HOME', str(tmp_path / 'state'))
    monkeypatch.setenv('XDG_RUNTIME_DIR', str(tmp_path / 'run'))
    StopLatch(stop_file(1, '/')).stop('a test')
    # As systemd does at the last logout, and a reboot does with /tmp.
    assert not (tmp_path / 'run').exists()
    assert stop_file(1, '/').parent == tmp_path / 'state' / 'safegen'
    assert StopLatch(stop_file(1, '/')).state.reason == 'a test'


def test_the_folder_is_on_disk_before_a_stop_is_acknowledged(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    monkeypatch.setattr(os, 'fsync', lambda fd: synced.append(os.readlink(f'/proc/self/fd/{fd}')))
    StopLatch(file).stop('a test')
    assert synced == [str(file.with_suffix('.tmp')), str(file.parent)]


def test_without_a_place_to_keep_a_stop_nothing_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / 'taken').write_text('a file')
    monkeypatch.setenv('SAFEGEN_STATE_DIR', str(tmp_path / 'taken'))
    with pytest.raises(DataNotFoundError, match=r'taken.* cannot be made .*set SAFEGEN_STATE_DIR'):
        stop_file(1, '/')
    monkeypatch.setenv('SAFEGEN_STATE_DIR', str(tmp_path))
    # Whoever runs the tests may be allowed to write everywhere.
    monkeypatch.setattr(os, 'access', lambda path, mode: False)
    with pytest.raises(DataNotFoundError, match='cannot be written: set SAFEGEN_STATE_DIR'):
        stop_file(1, '/')
    monkeypatch.setattr(os, 'getuid', lambda: -2)
    with pytest.raises(DataNotFoundError, match='belongs to another user'):
        stop_file(1, '/')


def test_an_executor_that_could_not_keep_a_stop_does_not_start(
    tmp_path: Path, ros_domain: int
) -> None:
    (tmp_path / 'taken').write_text('a file')
    ended = subprocess.run(
        [sys.executable, '-m', 'safegen_ros.nodes.executor'],
        env={**os.environ, 'SAFEGEN_STATE_DIR': str(tmp_path / 'taken')},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 1
    assert f'cannot start: {tmp_path}/taken/safegen cannot be made' in ended.stderr
    assert 'set SAFEGEN_STATE_DIR' in ended.stderr
    assert 'Traceback' not in ended.stderr

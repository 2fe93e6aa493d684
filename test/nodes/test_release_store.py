# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The stored release: whatever is missing, damaged or left of a motion means stopped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from safegen_ros.nodes import release_store
from safegen_ros.nodes.release_store import NEW, RELEASED, STOPPED, ReleaseStore, Stored


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReleaseStore:
    monkeypatch.setenv('SAFEGEN_STATE_DIR', str(tmp_path))
    return ReleaseStore(7, '/lab')


@pytest.fixture
def released(store: ReleaseStore) -> ReleaseStore:
    assert store.own()
    assert store.first_release()
    return store


def test_only_the_first_start_releases_itself(store: ReleaseStore) -> None:
    assert store.read().state == NEW
    assert store.own()
    assert store.read().state == NEW
    assert store.first_release()
    assert store.read().state == RELEASED
    (store.folder / 'state.json').unlink()
    assert not store.first_release()
    assert (store.read().state, store.read().reason) == (STOPPED, 'no release is stored')


def test_a_stop_outweighs_a_release_until_it_is_reset(released: ReleaseStore) -> None:
    released.add_stop('a test', 1)
    stopped = released.read()
    assert (stopped.state, stopped.reason, stopped.count) == (STOPPED, 'a test', 1)
    # Written by an executor that did not know of the stop.
    released.write(Stored(RELEASED))
    assert released.read().state == STOPPED
    known = released.stops()
    released.add_stop('while it was reset', 2)
    assert released.release(known, arm=False, count=1).reason == 'while it was reset'
    assert released.release(released.stops(), arm=True, count=2).state == RELEASED
    assert (released.read().arm, released.read().count) == (True, 2)


GOOD = {'state': 'released', 'reason': '', 'arm': False, 'count': 0, 'time': 1.0}
DAMAGED = {
    'empty': b'',
    'half': json.dumps(GOOD)[:20].encode(),
    'binary': bytes(range(256)),
    'no object': b'["released"]',
    'a word': b'"released"',
    'huge': b' ' * 70_000 + json.dumps(GOOD).encode(),
    'deep': b'[' * 60_000,
    'another state': json.dumps({**GOOD, 'state': 'Released'}).encode(),
    'a list as state': json.dumps({**GOOD, 'state': ['released']}).encode(),
    'arm as a number': json.dumps({**GOOD, 'arm': 1}).encode(),
    'endless count': json.dumps(GOOD).replace('"count": 0', '"count": 1e400').encode(),
    'long count': json.dumps(GOOD).replace('"count": 0', f'"count": {"9" * 5000}').encode(),
    'no count': json.dumps({**GOOD, 'count': None}).encode(),
    'count below zero': json.dumps({**GOOD, 'count': -1}).encode(),
    'count as a boolean': json.dumps({**GOOD, 'count': True}).encode(),
    'no time': json.dumps({**GOOD, 'time': float('nan')}).encode(),
    'time as text': json.dumps({**GOOD, 'time': 'nan'}).encode(),
    'reason as a number': json.dumps({**GOOD, 'reason': 1}).encode(),
    'nothing but the state': b'{"state": "released"}',
}


@pytest.mark.parametrize('content', DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_release_means_stopped(released: ReleaseStore, content: bytes) -> None:
    (released.folder / 'state.json').write_bytes(content)
    assert released.read().state == STOPPED
    assert 'cannot be read' in released.read().reason
    assert released.release(released.stops(), arm=False, count=0).state == RELEASED


@pytest.mark.parametrize('content', DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_stop_is_a_stop(released: ReleaseStore, content: bytes) -> None:
    (released.folder / 'stopped-1.json').write_bytes(content)
    assert released.read().state == STOPPED
    assert released.release(released.stops(), arm=False, count=0).state == RELEASED


def _pipe(file: Path) -> None:
    os.mkfifo(file)


def _link(file: Path) -> None:
    good = file.with_name('good')
    good.write_text(json.dumps(GOOD))
    file.symlink_to(good)


@pytest.mark.parametrize('make', [Path.mkdir, _pipe, _link])
def test_what_is_no_file_is_no_release(
    released: ReleaseStore, make: Callable[[Path], None]
) -> None:
    file = released.folder / 'state.json'
    file.unlink()
    make(file)
    assert released.read().state == STOPPED


def test_a_folder_that_cannot_be_read_means_stopped(
    released: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(folder: object) -> list[str]:
        raise PermissionError(13, 'Permission denied', str(folder))

    monkeypatch.setattr(os, 'listdir', refuse)
    assert released.read().state == STOPPED
    assert 'Permission denied' in released.read().reason


@pytest.mark.parametrize('text', ['', '{"reason": "x", "count": 1e400}', '{"stopped": false}'])
def test_a_stop_of_the_former_format_counts(store: ReleaseStore, tmp_path: Path, text: str) -> None:
    former = tmp_path / 'safegen' / 'stopped-7.lab.json'
    former.write_text(text)
    assert store.read().state == STOPPED
    assert not store.first_release()
    assert store.own()
    assert store.release(store.stops(), arm=False, count=1).state == RELEASED
    assert not former.exists()


def test_a_full_disk_leaves_no_release(
    released: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr(release_store.os, 'fsync', full)
    with pytest.raises(OSError, match=r'No space left.*release is withdrawn'):
        released.add_stop('a test', 1)
    assert released.read().state == STOPPED
    assert [file.name for file in released.folder.iterdir()] == []


def test_a_release_that_cannot_be_withdrawn_is_named(
    released: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(*arguments: object, **keywords: object) -> None:
        raise OSError(30, 'Read-only file system')

    monkeypatch.setattr(Path, 'unlink', read_only)
    monkeypatch.setattr(release_store, '_write', read_only)
    with pytest.raises(OSError, match=r'the release stays stored.*a restart would move again'):
        released.add_stop('a test', 1)


def test_a_reason_reaches_neither_wire_nor_terminal_raw(released: ReleaseStore) -> None:
    released.add_stop('a\0b\ud800c\x1b[2Jd\n' + 'x' * 5000, 1)
    reason = released.read().reason
    assert reason.startswith('a b c [2Jd x')
    assert len(reason) <= release_store.MAX_REASON


def test_one_executor_has_a_store(released: ReleaseStore) -> None:
    code = (
        'from safegen_ros.nodes.release_store import ReleaseStore\n'
        's = ReleaseStore(7, "/lab")\nprint(s.own(), s.owner(), ReleaseStore(7, "/").own())'
    )

    def other() -> str:
        ended = subprocess.run(
            [sys.executable, '-c', code], capture_output=True, text=True, check=True
        )
        return ended.stdout.strip()

    assert other() == f'False process {os.getpid()} True'
    released.close()
    assert other().startswith('True ')


def test_each_domain_and_namespace_has_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('SAFEGEN_STATE_DIR', str(tmp_path))
    places = [(0, '/'), (1, '/'), (1, '/lab'), (1, '/lab/arm1')]
    folders = {ReleaseStore(*place).folder for place in places}
    assert len(folders) == len(places)
    assert all(folder.parent == tmp_path / 'safegen' / 'executors' for folder in folders)
    assert ReleaseStore(1, '/lab/arm1').own()
    assert ReleaseStore(1, '/lab').read().state == NEW

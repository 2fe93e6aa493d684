# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The latch of a stop: it halts first, is stored, and only a reset ends it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any
from unittest.mock import Mock

import pytest

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.nodes import release_store
from safegen_ros.nodes.release_store import MOVING, RELEASED, STOPPED, ReleaseStore
from safegen_ros.nodes.stop_latch import ANOTHER_EXECUTOR, ARM_NOT_RELEASED, StopLatch
from safegen_ros.nodes.stop_server import ProtectiveStop, StopServer
from safegen_ros.nodes.stop_socket import StopSocket, stop_at
from safegen_ros.paths import DataNotFoundError
from safegen_ros.robot.cell.execution import ExecutionOutcome
from safegen_ros.verdict import Category, Verdict


class Process:
    """What an executor keeps about its stop, from its start to its end."""

    def __init__(self, halt: Callable[[], None] = lambda: None, *, arm: bool = False) -> None:
        self.store = ReleaseStore(1, '/')
        self.latch = StopLatch(self.store, halt)
        self.first = self.latch.commission(arm)

    def killed(self) -> None:
        self.store.close()  # as the kernel does


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('SAFEGEN_STATE_DIR', str(tmp_path))


def test_it_halts_before_it_is_stored() -> None:
    seen: list[tuple[bool, str]] = []
    process = Process(
        lambda: seen.append((process.latch.state.stopped, process.store.read().state))
    )
    assert process.latch.stop('a test')
    assert seen == [(True, RELEASED)]
    assert process.store.read().state == STOPPED


def test_a_halt_that_fails_is_stored_all_the_same() -> None:
    def fail() -> None:
        raise RuntimeError('no arm')

    process = Process(fail)
    with pytest.raises(RuntimeError, match='no arm'):
        process.latch.stop('a test')
    assert process.store.read().reason == 'a test'


def test_a_second_stop_halts_again_and_keeps_the_first_reason() -> None:
    halts: list[int] = []
    latch = Process(lambda: halts.append(1)).latch
    assert latch.stop('first')
    assert not latch.stop('second')
    assert (latch.state.reason, latch.state.count, len(halts)) == ('first', 1, 2)


def test_a_new_process_comes_back_stopped_until_it_is_reset() -> None:
    first = Process()
    assert first.first
    first.latch.stop('a test')
    first.killed()
    again = Process()
    assert not again.first
    assert (again.latch.state.reason, again.latch.state.count) == ('a test', 1)
    assert again.latch.reset()
    assert not again.latch.reset()
    again.killed()
    assert not Process().latch.state.stopped


def test_a_process_that_was_killed_in_a_motion_comes_back_stopped() -> None:
    process = Process()
    process.latch.begin_motion('goal 1')
    assert process.store.read().state == MOVING
    process.killed()
    again = Process()
    assert again.latch.state.stopped
    assert again.latch.state.reason == 'the executor ended while it executed goal 1'
    assert again.store.read().state == STOPPED


def test_a_motion_that_ends_well_leaves_the_release() -> None:
    process = Process()
    process.latch.begin_motion('goal 1')
    process.latch.end_motion()
    process.killed()
    assert not Process().latch.state.stopped


def test_a_stop_in_a_motion_stays_when_the_motion_ends() -> None:
    process = Process()
    process.latch.begin_motion('goal 1')
    process.latch.stop('a test')
    process.latch.end_motion()
    assert process.store.read().reason == 'a test'
    with pytest.raises(SafegenError, match='a test') as caught:
        process.latch.begin_motion('goal 2')
    assert caught.value.code is ErrorCode.EXECUTION_STOPPED


@pytest.mark.parametrize('moving', [False, True])
def test_a_stop_that_somebody_else_stored_stops(moving: bool) -> None:
    halts: list[int] = []
    process = Process(lambda: halts.append(1))
    if moving:
        process.latch.begin_motion('goal 1')
    process.latch.look()
    assert not process.latch.state.stopped
    ReleaseStore(1, '/').add_stop('safegen stop', 1)
    process.latch.look()
    assert (process.latch.state.reason, len(halts)) == ('safegen stop', 1)


@pytest.mark.parametrize('damage', [Path.unlink, Path.touch, lambda file: file.write_text('{}')])
def test_a_release_that_is_lost_while_it_runs_stops(damage: Callable[[Path], object]) -> None:
    process = Process()
    file = process.store.folder / 'state.json'
    damage(file)
    process.latch.look()
    assert process.latch.state.stopped is (damage is not Path.touch)
    shutil.rmtree(process.store.folder)
    process.latch.look()
    assert process.latch.state.stopped


def test_nothing_moves_where_that_cannot_be_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    process = Process()
    monkeypatch.setattr(release_store, '_write', _full)
    with pytest.raises(OSError, match='No space'):
        process.latch.begin_motion('goal 1')


def test_a_stop_that_could_not_be_stored_is_a_stop_and_is_stored_by_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    halts: list[int] = []
    process = Process(lambda: halts.append(1))
    with monkeypatch.context() as full:
        full.setattr(release_store, '_write', _full)
        for _ in range(2):
            with pytest.raises(OSError, match='No space'):
                process.latch.stop('a test')
        assert process.latch.state.stopped
        assert len(halts) == 2
        with pytest.raises(OSError, match='No space'):
            process.latch.reset()
        assert process.latch.state.stopped
    assert process.store.read().state == STOPPED
    process.latch.stop('again')
    assert process.store.read().reason == 'a test'


def _full(*arguments: object) -> None:
    raise OSError(28, 'No space left on device')


def test_a_stop_during_a_reset_is_not_lost() -> None:
    latch = Process().latch
    latch.stop('first')
    asked = latch.calls
    latch.stop('while it was reset')
    with pytest.raises(SafegenError, match='stopped again meanwhile'):
        latch.reset(asked)
    assert latch.state.stopped
    assert latch.reset(latch.calls)


@pytest.mark.parametrize('code', [ErrorCode.EXECUTION_CANCELED, ErrorCode.ROBOT_FAULT])
def test_the_end_of_a_stopped_goal_is_a_second_stop_only_with_a_fault_of_its_own(
    code: ErrorCode,
) -> None:
    latch = Process().latch
    stopped: Any = latch
    protect = ProtectiveStop(Mock(interruption=Mock(cause=lambda: '')), stopped)

    def run() -> ExecutionOutcome:
        latch.begin_motion('goal 1')
        latch.stop('first')
        return ExecutionOutcome(Verdict(Category.SUCCESS), 0, None, code, 'its end', 1.0)

    asked = latch.calls + 1  # right behind the stop
    protect.carry_out(run, replan=False, cancelled=lambda: False)
    assert latch.state.reason == 'first'
    if code is ErrorCode.EXECUTION_CANCELED:
        assert latch.reset(asked)
    else:
        with pytest.raises(SafegenError, match='stopped again meanwhile'):
            latch.reset(asked)


def test_a_stop_during_a_look_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Mock(context=Mock(get_domain_id=lambda: 1), get_namespace=lambda: '/')
    with StopServer(node, Mock(), Mock()) as server:
        server.commission(False)
        read = ReleaseStore.read

        def stopped_meanwhile(store: ReleaseStore) -> release_store.Stored:
            server.stop('a test')
            return read(store)

        monkeypatch.setattr(ReleaseStore, 'read', stopped_meanwhile)
        server.look()
        node.journal.stop.assert_called_once()


def test_a_stop_that_a_motion_finds_as_it_begins_is_told() -> None:
    node = Mock(context=Mock(get_domain_id=lambda: 1), get_namespace=lambda: '/')
    with StopServer(node, Mock(), Mock()) as server:
        server.commission(False)
        ReleaseStore(1, '/').add_stop('by another', 1)
        with pytest.raises(SafegenError, match='by another'):
            server.begin_motion('a plan')
        node.journal.stop.assert_called_once()


def test_only_an_operator_releases_the_real_arm() -> None:
    arm = Process(arm=True)
    assert not arm.first
    assert (arm.latch.state.stopped, arm.latch.state.reason) == (True, ARM_NOT_RELEASED)
    arm.killed()
    twin = Process()
    assert twin.first
    twin.latch.stop('a test')
    twin.latch.reset()
    twin.killed()
    # What was released was a simulated cell.
    arm = Process(arm=True)
    assert arm.latch.state.reason == ARM_NOT_RELEASED
    assert arm.latch.reset()
    arm.latch.begin_motion('goal 1')
    arm.latch.end_motion()
    arm.killed()
    assert not Process(arm=True).latch.state.stopped


def test_a_second_executor_is_stopped_and_takes_nothing() -> None:
    first = Process()
    first.latch.begin_motion('goal 1')
    second = Process()
    assert ANOTHER_EXECUTOR in second.latch.state.reason
    with pytest.raises(SafegenError, match=ANOTHER_EXECUTOR):
        second.latch.reset()
    assert first.store.read().state == MOVING
    first.latch.end_motion()
    first.killed()
    assert second.latch.open()
    assert not second.latch.state.stopped


def test_it_outlives_the_session_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ('SAFEGEN_STATE_DIR', 'SAFEGEN_RUNTIME_DIR'):
        monkeypatch.delenv(name)
    monkeypatch.setenv('XDG_STATE_HOME', str(tmp_path / 'state'))
    monkeypatch.setenv('XDG_RUNTIME_DIR', str(tmp_path / 'run'))
    process = Process()
    process.latch.stop('a test')
    process.killed()
    # As systemd does at the last logout, and a reboot does with /tmp.
    assert not (tmp_path / 'run').exists()
    assert process.store.folder == tmp_path / 'state' / 'safegen' / 'executors' / '1'
    assert Process().latch.state.reason == 'a test'


def test_the_folder_is_on_disk_before_a_stop_is_acknowledged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    process = Process()
    synced: list[str] = []
    monkeypatch.setattr(os, 'fsync', lambda fd: synced.append(os.readlink(f'/proc/self/fd/{fd}')))
    process.latch.stop('a test')
    assert [Path(name).suffix for name in synced] == ['.tmp', '']
    assert synced[1] == str(process.store.folder)


def test_without_a_place_to_keep_a_stop_nothing_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / 'taken').write_text('a file')
    monkeypatch.setenv('SAFEGEN_STATE_DIR', str(tmp_path / 'taken'))
    with pytest.raises(DataNotFoundError, match=r'taken.* cannot be made .*set SAFEGEN_STATE_DIR'):
        ReleaseStore(1, '/')
    monkeypatch.setenv('SAFEGEN_STATE_DIR', str(tmp_path))
    # Root may write everywhere.
    monkeypatch.setattr(os, 'access', lambda path, mode: False)
    with pytest.raises(DataNotFoundError, match='cannot be written: set SAFEGEN_STATE_DIR'):
        ReleaseStore(1, '/')
    monkeypatch.setattr(os, 'getuid', lambda: -2)
    with pytest.raises(DataNotFoundError, match='belongs to another user'):
        ReleaseStore(1, '/')


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


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Longer than the kernel takes a name of a socket."""
    folder = tmp_path / ('long' * 30)
    folder.mkdir()
    return folder / '0.sock'


def test_each_connection_stops_and_hears_what_happened(path: Path) -> None:
    answers = [(False, 'was stopped already'), (True, 'stopped')]
    path.touch()  # as an executor that was killed leaves it
    with StopSocket(path, answers.pop) as opened:
        assert stop_at(path, 5.0) == (True, 'stopped')
        assert stop_at(path, 5.0) == (False, 'was stopped already')
        opened.close()
    assert (path.exists(), stop_at(path, 5.0)) == (False, None)


def test_an_executor_that_does_not_answer_is_told_from_none(path: Path) -> None:
    thawed = Event()
    with StopSocket(path, lambda: (thawed.wait(60), 'late')):
        with pytest.raises(TimeoutError):
            stop_at(path, 0.1)
        thawed.set()

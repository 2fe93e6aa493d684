# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The socket of an executor for `safegen stop`."""

from __future__ import annotations

from pathlib import Path
from threading import Event

import pytest

from safegen_ros.nodes.stop_socket import StopSocket, stop_at


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Longer than the kernel takes a name of a socket."""
    folder = tmp_path / ('long' * 30)
    folder.mkdir()
    return folder / '0.sock'


def test_each_connection_stops_and_hears_what_happened(path: Path) -> None:
    calls = []

    def stop() -> tuple[bool, str]:
        calls.append(len(calls))
        return len(calls) == 1, f'stopped {len(calls)}'

    path.touch()  # as an executor that was killed leaves it
    opened = StopSocket(path, stop)
    assert stop_at(path, 5.0) == (True, 'stopped 1')
    assert stop_at(path, 5.0) == (False, 'stopped 2')
    opened.close()
    opened.close()
    assert not path.exists()
    assert stop_at(path, 5.0) is None
    assert len(calls) == 2


def test_an_executor_that_does_not_answer_is_told_from_none(path: Path) -> None:
    thawed = Event()
    with StopSocket(path, lambda: (thawed.wait(60), 'late')):
        with pytest.raises(TimeoutError):
            stop_at(path, 0.1)
        thawed.set()


def test_what_is_no_answer_is_none(path: Path) -> None:
    def fail() -> tuple[bool, str]:
        raise SystemExit  # which ends the thread alone

    with StopSocket(path, fail):
        assert stop_at(path, 5.0) is None

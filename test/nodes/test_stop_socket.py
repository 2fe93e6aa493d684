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

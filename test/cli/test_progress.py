# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a long command says of itself where there is no terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from safegen_ros.cli import progress


def test_a_log_gets_a_line_for_each_stage_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(progress.time, 'monotonic', lambda: now)
    written = io.StringIO()
    with progress.stages(Console(file=written, force_terminal=False)) as notify:
        for done in range(1, 101):
            notify('goals', done, 100)
            notify('answers', done, 200)
            now += 1.0
    lines = written.getvalue().splitlines()
    assert [line for line in lines if line.startswith('goals')] == [
        f'goals: {done} of 100' for done in (31, 61, 91)
    ]
    assert len(lines) == 6


def test_a_terminal_gets_bars_that_leave_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('TERM', 'xterm')
    written = io.StringIO()
    with progress.stages(Console(file=written, force_terminal=True, width=80)) as notify:
        notify('goals', 1, 2)
        notify('goals', 2, 2)
    assert '2/2' in written.getvalue()
    assert not written.getvalue().endswith('2/2')

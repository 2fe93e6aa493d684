# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The table of past runs: it lists what is searched for, and opens the run of a row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.kept_runs import keep_run, kept_folder

from safegen_ros.console.access import Gate
from safegen_ros.console.history_tab import ANY, DONE, NOT_DONE, HistoryTab
from safegen_ros.console.serving import serve
from safegen_ros.console.state import ConsoleState
from safegen_ros.console.widgets import Parts

GOOD, SHORT, BROKEN = '20260131T142500Z-000a', '20260131T142600Z-000b', '20260131T142700Z-000c'


def test_runs_are_searched_and_opened_by_their_row(tmp_path: Path) -> None:
    keep_run(kept_folder(tmp_path, GOOD))
    keep_run(kept_folder(tmp_path, SHORT), facts=('(on-table a)',), reached=False)
    (kept_folder(tmp_path, BROKEN) / 'journal.db').write_bytes(b'no journal')
    server: Any = serve(Gate('127.0.0.1'), 0)
    try:
        parts: Any = Parts(
            server.gui, ConsoleState(), None, None, lambda line, bad: pytest.fail(line), 'me', False
        )  # type: ignore[arg-type]
        tab = HistoryTab(parts, Any, tmp_path)  # type: ignore[arg-type]
        by_label = {each.label: each for each in server.gui._gui_input_handle_from_uuid.values()}
        tab.look()
        for text, which, expected in (
            ('', ANY, [BROKEN, SHORT, GOOD]),  # the newest first
            ('', DONE, [GOOD]),
            ('', NOT_DONE, [BROKEN, SHORT]),
            ('Goal_Not_Reached', ANY, [SHORT]),
            ('two', ANY, [SHORT, GOOD]),
            ('nothing like it', ANY, []),
        ):
            by_label['Search'].value, by_label['Show'].value = text, which
            assert [each.name for each in tab._shown] == expected
            pick = by_label['Open run']
            assert pick.visible is bool(expected)
            assert len(pick.options) == max(1, len(expected))
        assert 'No run fits the search.' in str(tab._table._handle.content)
        by_label['Search'].value = GOOD
        told = str(tab._table._handle.content)
        assert '✓ SUCCESS' in told
        assert '<svg' in told  # its goal
        pick.value = '1'
        for callback in pick._impl.update_cb:
            callback(type('Event', (), {'client': None}))
        assert tab._open is not None
        assert tab._open.kept.record.run_id == GOOD
    finally:
        server.stop()

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The journal: nothing that was acknowledged is lost, whatever happens to the process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safegen_ros.record.journal import Journal, load_journal
from safegen_ros.record.run import RecordError

DATA = st.dictionaries(
    st.sampled_from(['text', 'step', 'ok']),
    st.text() | st.integers() | st.booleans() | st.none() | st.lists(st.text(), max_size=2),
)


@given(st.lists(st.tuples(st.text(), DATA), max_size=5))
@settings(max_examples=30)
def test_what_was_appended_is_read_back_in_order(tmp_path_factory, events):
    path = tmp_path_factory.mktemp('j') / 'journal.jsonl'
    with Journal(path) as journal:
        written = [journal.append(kind, **data) for kind, data in events]
    assert load_journal(path) == tuple(written)
    assert [(entry.kind, entry.data) for entry in written] == events
    assert [entry.number for entry in written] == list(range(len(events)))


@given(st.data())
@settings(max_examples=30)
def test_a_journal_cut_anywhere_keeps_its_whole_lines_and_can_be_continued(tmp_path_factory, data):
    path = tmp_path_factory.mktemp('j') / 'journal.jsonl'
    with Journal(path) as journal:
        written = [journal.append('step', text=text) for text in ('a', 'ü\u2028\n', 'c')]
    content = path.read_bytes()
    cut = data.draw(st.integers(0, len(content)))
    path.write_bytes(content[:cut])
    whole = content[:cut].count(b'\n')
    assert load_journal(path) == tuple(written[:whole])
    with Journal(path) as journal:
        more = journal.append('end')
    assert load_journal(path) == (*written[:whole], more)


def test_every_event_is_in_the_file_before_append_returns(tmp_path):
    path = tmp_path / 'journal.jsonl'
    with Journal(path) as journal:
        for index in range(3):
            entry = journal.append('step', index=index)
            assert load_journal(path)[-1] == entry


def test_a_killed_process_loses_no_acknowledged_event(tmp_path):
    path = tmp_path / 'journal.jsonl'
    program = (
        'import sys; from pathlib import Path\n'
        'from safegen_ros.record.journal import Journal\n'
        'journal = Journal(Path(sys.argv[1]))\n'
        'while True: print(journal.append("step", text="x" * 999).number, flush=True)\n'
    )
    with subprocess.Popen(
        [sys.executable, '-c', program, str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        for _ in range(20):
            acknowledged = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
    assert len(load_journal(path)) > acknowledged


def test_a_damaged_line_is_refused_with_its_number(tmp_path):
    path = tmp_path / 'journal.jsonl'
    with Journal(path) as journal:
        for _ in range(3):
            journal.append('step')
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b'{"number": 1}\n' + lines[2])
    with pytest.raises(RecordError, match=r'journal\.jsonl:2: '):
        load_journal(path)
    path.write_bytes(lines[0] + lines[2])
    with pytest.raises(RecordError, match=r'journal\.jsonl:2: .* lines lost'):
        Journal(path)


def test_a_disk_that_refuses_leaves_no_half_line(tmp_path, monkeypatch):
    path = tmp_path / 'journal.jsonl'
    real = os.write
    with Journal(path) as journal:
        first = journal.append('step')

        def full(descriptor, data):
            if len(data) < 40:
                raise OSError(28, 'No space left on device')
            return real(descriptor, data[:30])

        monkeypatch.setattr(os, 'write', full)
        with pytest.raises(OSError, match='No space'):
            journal.append('step', text='lost')
        monkeypatch.setattr(os, 'write', real)
        second = journal.append('step', text='kept')
    assert load_journal(path) == (first, second)


def test_a_value_that_json_cannot_hold_writes_nothing(tmp_path):
    path = tmp_path / 'journal.jsonl'
    with Journal(path) as journal:
        with pytest.raises(ValueError, match='JSON'):
            journal.append('step', seconds=float('nan'))
        entry = journal.append('step', seconds=1.0)
    assert load_journal(path) == (entry,)

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The journal: nothing that was acknowledged is lost, whatever happens to the process."""

from __future__ import annotations

import fcntl
import itertools
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safegen_ros.errors import RecordError
from safegen_ros.paths import new_run_dir
from safegen_ros.record.journal import Journal, is_written, load_journal
from safegen_ros.record.signatures import ChainLink, ChainWriter

DATA = st.dictionaries(
    st.sampled_from(['text', 'step', 'ok']),
    st.text() | st.integers() | st.booleans() | st.none() | st.lists(st.text(), max_size=2),
)
WRITER = """
import sys
from pathlib import Path
from safegen_ros.record.journal import Journal
journal = Journal(Path(sys.argv[1]))
while True:
    print(journal.append('step', text='x' * 999).number, flush=True)
"""


def _killed_writer(path, count=20):
    """The last number that a process acknowledged before it was killed."""
    with subprocess.Popen(
        [sys.executable, '-c', WRITER, str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        for _ in range(count):
            acknowledged = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read().split()
    return max([acknowledged, *map(int, rest)])


@given(st.lists(st.tuples(st.text(), DATA), max_size=5))
@settings(max_examples=20)
def test_what_was_appended_is_read_back_in_order(tmp_path_factory, events):
    path = tmp_path_factory.mktemp('j') / 'journal.db'
    with Journal(path) as journal:
        written = [journal.append(kind, **data) for kind, data in events]
    assert load_journal(path) == tuple(written)
    assert [(entry.kind, entry.data) for entry in written] == events
    assert [entry.number for entry in written] == list(range(len(events)))


def test_every_event_is_in_the_file_before_append_returns_and_outlives_a_power_cut(tmp_path):
    path, copy = tmp_path / 'journal.db', tmp_path / 'copy' / 'journal.db'
    copy.parent.mkdir()
    with Journal(path) as journal:
        assert journal._database.execute('PRAGMA journal_mode').fetchone() == ('wal',)
        assert journal._database.execute('PRAGMA synchronous').fetchone() == (2,)  # FULL
        for index in range(3):
            entry = journal.append('step', index=index)
            assert load_journal(path)[-1] == entry
            # What a new start of the machine finds: the file and its log, and no shared memory.
            for name in ('journal.db', 'journal.db-wal'):
                shutil.copy(tmp_path / name, copy.parent / name)
            assert load_journal(copy)[-1] == entry


def test_a_killed_process_loses_no_acknowledged_event(tmp_path):
    path = tmp_path / 'journal.db'
    acknowledged = _killed_writer(path)
    entries = load_journal(path)
    assert len(entries) > acknowledged
    assert not is_written(path)
    with Journal(path) as journal:
        more = journal.append('end')
    assert load_journal(path) == (*entries, more)


def test_a_journal_that_is_over_is_one_file_also_after_it_was_read(tmp_path):
    path = tmp_path / 'journal.db'
    with Journal(path) as journal:
        entry = journal.append('step')
    assert load_journal(path) == (entry,)
    assert [each.name for each in tmp_path.iterdir()] == ['journal.db']


def _reader(path):
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute('BEGIN')
    assert reader.execute('SELECT count(*) FROM entry').fetchone() == (1,)
    return reader


def test_a_journal_that_is_read_as_it_ends_becomes_one_file_after_that(tmp_path, monkeypatch):
    path = tmp_path / 'journal.db'
    with Journal(path) as journal:
        entry = journal.append('step')
        reader = _reader(path)
        monkeypatch.setattr(time, 'sleep', lambda seconds: reader.close())
    monkeypatch.undo()
    assert load_journal(path) == (entry,)
    assert [each.name for each in tmp_path.iterdir()] == ['journal.db']


def test_who_reads_on_does_not_keep_a_journal_from_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr('safegen_ros.record.journal.LOCK_TIMEOUT_S', 0.05)
    path = tmp_path / 'journal.db'
    journal = Journal(path)
    entry = journal.append('step')
    with closing(_reader(path)):
        journal.close()
        assert not is_written(path)
        assert load_journal(path) == (entry,)
    assert load_journal(path) == (entry,)


def test_one_process_at_a_time_writes(tmp_path):
    path = tmp_path / 'journal.db'
    with Journal(path) as journal:
        assert is_written(path)
        with pytest.raises(RecordError, match='another process writes this journal'):
            Journal(path)
        journal.append('step')
    assert not is_written(path)
    with pytest.raises(RecordError, match='the journal is closed'):
        journal.append('step')


def test_a_journal_that_was_looked_at_is_asked_for_again_however_long_that_took(
    tmp_path, monkeypatch
):
    folder = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_SH)  # as `is_written` does
    held_up = itertools.count(step=100.0)
    clock = SimpleNamespace(monotonic=lambda: next(held_up), sleep=lambda _: os.close(folder))
    with monkeypatch.context() as patch:
        patch.setattr('safegen_ros.record.journal.time', clock)
        journal = Journal(tmp_path / 'journal.db')
    with journal:
        assert is_written(tmp_path / 'journal.db')


def test_threads_lose_nothing_and_leave_no_gap(tmp_path):
    path = tmp_path / 'journal.db'

    def write(name):
        for index in range(20):
            journal.append(name, index=index)

    with Journal(path) as journal:
        threads = [threading.Thread(target=write, args=(name,)) for name in 'abc']
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    entries = load_journal(path)
    assert len(entries) == 60
    for name in 'abc':
        assert [e.data['index'] for e in entries if e.kind == name] == list(range(20))


@pytest.mark.parametrize('change', ["UPDATE entry SET time = '2000'", 'DELETE FROM entry'])
def test_a_journal_only_grows(tmp_path, change):
    path = tmp_path / 'journal.db'
    with Journal(path) as journal:
        journal.append('step')
    with (
        closing(sqlite3.connect(path)) as database,
        pytest.raises(sqlite3.IntegrityError, match='a journal only grows'),
    ):
        database.execute(change)


def _rewrite(path, column, value, kept=True):
    """Another value in entry 1; where it is `kept`, as a faulty process of ours would write it."""
    with closing(sqlite3.connect(path)) as database:
        database.execute('DROP TRIGGER entry_is_not_changed')
        database.execute(f'UPDATE entry SET {column} = ? WHERE number = 1', (value,))
        rows = database.execute('SELECT * FROM entry ORDER BY number').fetchall()
        chain, links = ChainWriter(path), [ChainLink()]
        for row in rows if kept else ():
            link = chain.link(links[-1].digest_of(2, *row[:4]))
            database.execute(
                'UPDATE entry SET digest = ?, key = ?, signature = ? WHERE number = ?',
                (link.digest, link.key, link.signature, row[0]),
            )
            links.append(link)
        database.commit()
    if kept:
        chain.keep_head(links[1].digest, len(rows) - 1, links[-1].digest)


@pytest.mark.parametrize(
    ('column', 'value', 'kept'),
    [
        ('data', b'{"index": 1}', False),
        ('kind', b'step', False),
        ('time', b'2026', False),
        ('time', 7, False),
        ('digest', b'0', False),
        ('number', 9, False),
        ('data', '{"index": ', True),
        ('data', '[1]', True),
        ('data', '[' * 100_000, True),
        ('data', '{"index": ' + '9' * 9999 + '}', True),
        ('time', 'now', True),
        ('time', '2026-01-31T14:25:00.000000', True),
        ('time', '0001-01-01T00:00:00.000000+23:59', True),
    ],
)
def test_a_value_of_another_type_or_form_is_damage(tmp_path, column, value, kept):
    path = tmp_path / 'journal.db'
    with Journal(path) as journal:
        for index in range(3):
            journal.append('step', index=index)
    _rewrite(path, column, value, kept)
    for use in (load_journal, Journal):
        with pytest.raises(RecordError, match=r'journal\.db: (REWRITTEN at )?entry \d'):
            use(path)


def test_what_is_no_file_is_no_journal(tmp_path):
    path = tmp_path / 'journal.db'
    os.mkfifo(path)
    with pytest.raises(RecordError, match='is not a file'):
        load_journal(path)


def _replace(path):
    path.rename(path.with_name('old.db'))
    shutil.copy(path.with_name('old.db'), path)


@pytest.mark.parametrize(
    'harm',
    [
        lambda path: shutil.rmtree(path.parent),
        lambda path: path.parent.rename(path.parent.with_name('moved')),
        lambda path: path.unlink(),
        lambda path: path.with_name('journal.db-wal').unlink(),
        _replace,
    ],
    ids=['folder deleted', 'folder moved', 'file deleted', 'log deleted', 'file replaced'],
)
def test_what_nobody_would_find_is_not_acknowledged(tmp_path, harm):
    path = tmp_path / 'run' / 'journal.db'
    path.parent.mkdir()
    with suppress(RecordError), Journal(path) as journal:
        journal.append('step')
        harm(path)
        for _ in range(2):
            with pytest.raises(RecordError, match='was deleted, moved or replaced'):
                journal.append('step')


def test_a_folder_that_is_moved_back_is_written_on(tmp_path):
    path = tmp_path / 'run' / 'journal.db'
    path.parent.mkdir()
    with Journal(path) as journal:
        path.parent.rename(tmp_path / 'moved')
        with pytest.raises(RecordError):
            journal.append('step', index=0)
        (tmp_path / 'moved').rename(path.parent)
        entry = journal.append('step', index=1)
    assert load_journal(path)[-1] == entry


def test_only_its_owner_reads_a_journal(tmp_path):
    before = os.umask(0)
    try:
        path = new_run_dir(tmp_path / 'runs') / 'journal.db'
        with Journal(path) as journal:
            journal.append('step')
            modes = {each.name: each.stat().st_mode & 0o777 for each in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(('journal.db', 'journal.db-wal', 'journal.db-shm'), 0o600)
    assert path.parent.stat().st_mode & 0o777 == 0o700


@given(st.data())
@settings(max_examples=40)
def test_damage_anywhere_is_found_or_changes_nothing(tmp_path_factory, data):
    path = tmp_path_factory.mktemp('j') / 'journal.db'
    with Journal(path) as journal:
        written = tuple(journal.append('step', text='ü' * 40) for _ in range(3))
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    try:
        found = load_journal(path)
    except RecordError:
        return
    assert found == written


def test_damage_that_cannot_be_quoted_is_named(tmp_path):
    path = tmp_path / 'journal.db'
    with Journal(path) as journal:
        journal.append('step')
    content = bytearray(path.read_bytes())
    content[content.index(b'CREATE VIEW') + 2] ^= 128  # SQLite quotes what it cannot read
    path.write_bytes(content)
    with pytest.raises(RecordError, match='or is damaged'):
        load_journal(path)


@pytest.mark.parametrize(
    ('content', 'words'),
    [
        (b'', 'is empty: its process ended before it wrote anything'),
        (b'no database at all, but long enough to be looked at ' * 20, 'is not a journal'),
    ],
)
def test_another_file_is_no_journal(tmp_path, content, words):
    path = tmp_path / 'journal.db'
    path.write_bytes(content)
    with pytest.raises(RecordError, match=words):
        load_journal(path)


def test_another_database_is_no_journal(tmp_path):
    path = tmp_path / 'journal.db'
    with closing(sqlite3.connect(path)) as database:
        database.execute('CREATE TABLE entry (number)')
    for use in (load_journal, Journal):
        with pytest.raises(RecordError, match='is not a journal of a run'):
            use(path)
    with pytest.raises(FileNotFoundError):
        load_journal(tmp_path / 'none.db')


def test_a_disk_that_refuses_leaves_what_was_acknowledged(tmp_path):
    """A real limit of the system on the size of files takes the place of a full disk."""
    path = tmp_path / 'journal.db'
    program = (
        'import resource, signal, sys; from pathlib import Path\n'
        'from safegen_ros.record.journal import Journal\n'
        'signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n'
        'journal = Journal(Path(sys.argv[1]))\n'
        'resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))\n'
        'try:\n'
        '    while True: print(journal.append("step", text="x" * 9999).number, flush=True)\n'
        'except Exception as error: print(type(error).__name__, error)\n'
    )
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    done = subprocess.run(
        [sys.executable, '-c', program, str(path)], capture_output=True, text=True, check=False
    )
    *numbers, end = done.stdout.splitlines()
    assert end.startswith(f'RecordError {path}: the journal cannot be used: '), done
    assert len(load_journal(path)) == len(numbers) > 5


def test_a_value_that_json_cannot_hold_writes_nothing(tmp_path):
    path = tmp_path / 'journal.db'
    with Journal(path) as journal:
        with pytest.raises(ValueError, match='JSON'):
            journal.append('step', seconds=float('nan'))
        entry = journal.append('step', seconds=1.0, text='\ud800')
    assert load_journal(path) == (entry,)


def test_other_programs_read_tables_of_tasks_attempts_verdicts_and_steps(tmp_path):
    path = tmp_path / 'journal.db'
    task = {'name': 'two', 'domain_name': 'blocksworld', 'format': 'pddl', 'problem': '(define)'}
    verdict = {'category': 'SUCCESS', 'failing_step': -1, 'reason': 'proved'}
    with Journal(path) as journal:
        journal.append('task', task=task)
        journal.append('attempt', number=1, source='model', seconds=0.5, text='x', verdict=verdict)
        journal.append('step', index=0, step='(pickup a)', at=0.25)
        journal.append('observed', done=1, at=1.0)
        journal.append('step', index=1, step='(stack a b)', at=1.0)
    with closing(sqlite3.connect(path)) as database:

        def rows(columns, table):
            return database.execute(f'SELECT {columns} FROM {table}').fetchall()

        assert rows('name, domain, format', 'task') == [('two', 'blocksworld', 'pddl')]
        assert rows('number, source, seconds', 'attempt') == [(1, 'model', 0.5)]
        assert rows('attempt, category, reason', 'verdict') == [(1, 'SUCCESS', 'proved')]
        expected = [(0, '(pickup a)', 0.25, 0.75), (1, '(stack a b)', 1.0, None)]
        assert rows('step, action, begun_s, seconds', 'step') == expected
    assert os.path.getsize(path) < 65536

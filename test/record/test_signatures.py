# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The signed chain of a journal: a rewritten record is found and named, whoever rewrote it."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from contextlib import closing, suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safegen_ros.errors import RecordError
from safegen_ros.keys.key_pair import installation_key
from safegen_ros.paths import state_dir
from safegen_ros.record.journal import Journal, load_journal, load_signed
from safegen_ros.record.signatures import (
    KNOWN_KEYS,
    ChainLink,
    ChainWriter,
    RewrittenError,
    signature_words,
)

COLUMNS = ('number', 'time', 'kind', 'data', 'digest', 'key', 'signature')


@pytest.fixture
def path(tmp_path):
    """A journal of five entries; the second names who approved."""
    path = tmp_path / 'run' / 'journal.db'
    path.parent.mkdir()
    with Journal(path) as journal:
        journal.append('task', name='two')
        journal.append('approval', by='alice')
        for index in range(3):
            journal.append('step', index=index)
    return path


def _rows(path):
    with closing(sqlite3.connect(path)) as database:
        return database.execute('SELECT * FROM entry ORDER BY number').fetchall()


def _put(path, rows, version=2):
    """Other rows in a journal, as whoever can write the file puts them there."""
    with closing(sqlite3.connect(path)) as database:
        for name in ('changed', 'removed'):
            database.execute(f'DROP TRIGGER IF EXISTS entry_is_not_{name}')
        database.execute('DELETE FROM entry')
        database.executemany('INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?)', rows)
        database.execute(f'PRAGMA user_version = {version}')
        database.commit()


def _chained(rows, version=2, key=None):
    """The rows with digests that belong to them, signed by another key where there is one."""
    link, done = ChainLink(), []
    for number, (_, *texts, _, old_key, signature) in enumerate(rows):
        digest = link.digest_of(version, number, *texts)
        link = key.link(digest) if key else ChainLink(digest, old_key, signature)
        done.append((number, *texts, link.digest, link.key, link.signature))
    return done


@pytest.fixture
def other_key(tmp_path, monkeypatch):
    """A key of another installation, in no place where it could be found."""
    with monkeypatch.context() as there:
        there.setenv('SAFEGEN_STATE_DIR', str(tmp_path / 'other'))
        (tmp_path / 'other').mkdir()
        return ChainWriter(tmp_path / 'journal.db')


def _mallory(rows):
    return [(*row[:3], row[3].replace('alice', 'mallory'), *row[4:]) for row in rows]


def _other_task(rows):
    return [(*rows[0][:3], '{"name": "three"}', *rows[0][4:]), *rows[1:]]


CHANGES = {
    'who approved': (_mallory, 1),
    'who approved, with new digests': (lambda rows: _chained(_mallory(rows)), 1),
    'an entry deleted': (lambda rows: [*rows[:1], *rows[2:]], 1),
    'an entry deleted, with new numbers and digests': (
        lambda rows: _chained([*rows[:1], *rows[2:]]),
        1,
    ),
    'reordered': (lambda rows: _chained([*rows[:3], rows[4], rows[3]]), 3),
    'the tail cut': (lambda rows: rows[:3], 3),
    'everything cut': (lambda rows: [], 0),
    'signatures swapped': (
        lambda rows: [*rows[:2], (*rows[2][:6], rows[3][6]), (*rows[3][:6], rows[2][6]), rows[4]],
        3,
    ),
    'the last signature of another entry': (
        lambda rows: [*rows[:4], (*rows[4][:6], rows[3][6])],
        4,
    ),
    'no signature': (lambda rows: [*rows[:4], (*rows[4][:5], '', '')], 4),
    'no signatures': (lambda rows: _chained([(*row[:5], '', '') for row in rows]), 0),
    'an entry added': (lambda rows: _chained([*rows, (5, *rows[4][1:])]), 5),
}


@pytest.mark.parametrize('change', CHANGES)
@pytest.mark.parametrize('moved', [False, True], ids=['in place', 'moved'])
def test_a_rewritten_journal_is_refused_with_its_entry(path, tmp_path, change, moved):
    rewrite, entry = CHANGES[change]
    _put(path, rewrite(_rows(path)))
    if moved and change != 'everything cut':  # which is another journal, where nobody knows it
        path.parent.rename(tmp_path / 'moved')
        path = tmp_path / 'moved' / 'journal.db'
    for use in (load_journal, Journal):
        with pytest.raises(RewrittenError, match=rf'journal\.db: REWRITTEN at entry {entry}: '):
            use(path)


def test_who_rewrites_with_another_key_is_found_in_its_place_and_not_trusted_elsewhere(
    path, tmp_path, other_key
):
    for rows, entry in ((_mallory(_rows(path)), 4), (_other_task(_mallory(_rows(path))), 0)):
        _put(path, _chained(rows, key=other_key))
        with pytest.raises(RewrittenError, match=f'REWRITTEN at entry {entry}: '):
            load_journal(path)
    elsewhere = tmp_path / 'elsewhere.db'
    shutil.copy(path, elsewhere)
    entries, signer = load_signed(elsewhere)
    assert entries[1].data == {'by': 'mallory'}
    assert not signer.known
    good, words = signature_words([signer])
    assert not good
    assert f'signed by {signer.key}, NOT a key of this installation' in words


def test_another_key_from_some_entry_on_is_found(path, other_key):
    rows = _rows(path)
    more = _chained(rows, key=other_key)
    link = ChainLink(*rows[2][4:])
    digest = link.digest_of(2, 3, *more[3][1:4])
    _put(path, [*rows[:3], (*more[3][:4], *_texts(other_key.link(digest)))])
    with pytest.raises(RewrittenError, match='entry 3: its key is not that of the entries before'):
        load_journal(path)


def _texts(link):
    return link.digest, link.key, link.signature


def test_a_journal_of_a_known_installation_is_whole(path, tmp_path, other_key):
    _put(path, _chained(_other_task(_rows(path)), key=other_key))
    elsewhere = tmp_path / 'elsewhere.db'
    shutil.copy(path, elsewhere)
    known = state_dir() / KNOWN_KEYS
    known.write_text(f'# the arm upstairs\ninstallation node {_rows(path)[0][5]} upstairs\n')
    try:
        signer = load_signed(elsewhere)[1]
    finally:
        known.unlink()
    assert signature_words([signer]) == (True, f'signed by {signer.key}, whole')


def test_a_signed_journal_is_whole_and_names_the_key_of_the_installation(path, tmp_path):
    for where in (path, tmp_path / 'copy.db'):
        if where != path:
            shutil.copy(path, where)
        entries, signer = load_signed(where)
        assert [entry.number for entry in entries] == list(range(5))
        assert signer.key == installation_key().public.fingerprint
        assert signature_words([signer]) == (True, f'signed by {signer.key}, whole')


def test_a_journal_that_takes_the_place_of_another_one_is_found(path, tmp_path):
    other = tmp_path / 'other' / 'journal.db'
    other.parent.mkdir()
    with Journal(other) as journal:
        for _ in range(9):
            journal.append('step')
    shutil.copy(other, path)
    with pytest.raises(RewrittenError, match='entry 0: another journal was written at this place'):
        load_journal(path)


def _old(path, texts):
    """A journal as format 1 was written."""
    digest, rows = '', []
    for number, (kind, data) in enumerate(texts):
        row = (number, '2026-01-31T14:25:00.000000+00:00', kind, json.dumps(data))
        digest = hashlib.sha256(json.dumps([digest, *row]).encode()).hexdigest()
        rows.append((*row, digest))
    with closing(sqlite3.connect(path)) as database:
        database.execute(
            'CREATE TABLE entry (number INTEGER PRIMARY KEY, time TEXT NOT NULL, '
            'kind TEXT NOT NULL, data TEXT NOT NULL, digest TEXT NOT NULL)'
        )
        database.executemany('INSERT INTO entry VALUES (?, ?, ?, ?, ?)', rows)
        database.execute(f'PRAGMA application_id = {0x53474A31}')
        database.execute('PRAGMA user_version = 1')
        database.commit()


def test_a_journal_of_format_1_is_read_and_called_unsigned(tmp_path):
    old = tmp_path / 'journal.db'
    _old(old, [('task', {'name': 'two'}), ('step', {'index': 0})])
    entries, signer = load_signed(old)
    assert [entry.kind for entry in entries] == ['task', 'step']
    assert signature_words([signer]) == (True, 'unsigned')
    with pytest.raises(RecordError, match='format 1, which is only read'):
        Journal(old)
    with closing(sqlite3.connect(old)) as database:
        database.execute("UPDATE entry SET kind = 'stop' WHERE number = 1")
        database.commit()
    with pytest.raises(RewrittenError, match='REWRITTEN at entry 1'):
        load_journal(old)


def test_a_signed_journal_is_not_made_an_unsigned_one(path):
    path.unlink()
    _old(path, [('task', {'name': 'two'}), ('approval', {'by': 'mallory'})])
    with pytest.raises(RewrittenError, match='entry 0: another journal was written at this place'):
        load_journal(path)


def test_a_key_that_cannot_be_made_leaves_no_unsigned_journal(tmp_path, monkeypatch):
    (tmp_path / 'file').touch()
    monkeypatch.setenv('SAFEGEN_STATE_DIR', str(tmp_path / 'file'))
    with pytest.raises(RecordError, match='the journal cannot be signed'):
        Journal(tmp_path / 'journal.db')


def test_a_head_that_a_power_cut_has_emptied_hides_no_record_and_a_damaged_one_is_named(path):
    head = state_dir() / 'journals' / _rows(path)[0][4]
    head.write_text('')
    assert len(load_journal(path)) == 5
    head.write_text('{')
    with pytest.raises(RecordError, match='is damaged'):
        load_journal(path)


@given(st.data())
@settings(max_examples=60)
def test_no_edit_of_the_rows_goes_unnoticed(tmp_path_factory, data):
    path = tmp_path_factory.mktemp('j') / 'journal.db'
    with Journal(path) as journal:
        for index in range(4):
            journal.append('step', index=index, by='alice')
    before, rows = _rows(path), _rows(path)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(rows) - 1))
        match data.draw(st.sampled_from(['delete', 'copy', 'swap', 'value'])):
            case 'delete' if len(rows) > 1:
                del rows[at]
            case 'copy':
                rows.insert(at, rows[data.draw(st.integers(0, len(rows) - 1))])
            case 'swap':
                column = data.draw(st.integers(1, 6))
                other = data.draw(st.integers(0, len(rows) - 1))
                one, two = list(rows[at]), list(rows[other])
                one[column], two[column] = two[column], one[column]
                rows[at], rows[other] = tuple(one), tuple(two)
            case _:
                column = data.draw(st.integers(1, 6))
                value = data.draw(st.text('abcdef0123456789{}":, ', max_size=9))
                rows[at] = (*rows[at][:column], value, *rows[at][column + 1 :])
    rows = [(number, *row[1:]) for number, row in enumerate(rows)]
    if data.draw(st.booleans()):
        rows = _chained(rows)
    version = data.draw(st.sampled_from([2, 2, 1]))
    _put(path, rows, version)
    if rows == before and version == 2:
        assert len(load_journal(path)) == 4
        return
    with suppress(RewrittenError):
        assert not load_journal(path), 'the edit went unnoticed'

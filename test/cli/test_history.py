# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen runs`: what was kept, for a person and for a program."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from support.command_line import CommandLine
from support.kept_runs import PLAN, TASK, keep_run, kept_folder

from safegen_ros.cli.kept_runs import complete_run
from safegen_ros.keys.authority import Command, sign
from safegen_ros.keys.key_pair import installation_key, new_key
from safegen_ros.record.events import PlanEvent
from safegen_ros.record.journal import JOURNAL
from safegen_ros.record.run_log import RunLog, task_record
from safegen_ros.record.signatures import (
    ApprovalRecord,
    doubts_and_request,
    looked_at,
    shown_request,
)

END = ('(arm-empty)', '(clear a)', '(on a b)', '(on-table b)')
FIRST, SECOND, THIRD = (f'2026010{n}T000000Z-000{n}' for n in (1, 2, 3))


@pytest.fixture(scope='module')
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs: a success, a world that is not the goal, and one that was cut off."""
    folder = tmp_path_factory.mktemp('three')
    keep_run(kept_folder(folder, FIRST), END)
    keep_run(kept_folder(folder, SECOND), END, reached=False)
    (folder / THIRD).mkdir()
    command = [sys.executable, '-c', _CUT_OFF, str(folder / THIRD)]
    environment = {**os.environ, 'PYTHONPATH': str(Path(__file__).parents[1])}
    killed = subprocess.run(command, env=environment, check=False)
    assert killed.returncode == -9
    return folder


@pytest.fixture
def runs(three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, for one test."""
    folder = tmp_path / 'runs'
    shutil.copytree(three, folder)
    monkeypatch.setenv('SAFEGEN_RUNS_DIR', str(folder))
    monkeypatch.setenv('COLUMNS', '200')
    return folder


_CUT_OFF = """
import os, signal, sys
from pathlib import Path
from support.kept_runs import TASK
from safegen_ros.record.run_log import task_record
from safegen_ros.record.events import StepEvent
from safegen_ros.record.run_log import RunLog
log = RunLog(Path(sys.argv[1]), task_record(TASK, 'two.pddl', ''), 'twin')
log.note(StepEvent(0, '(pickup a)', 0.0))
os.kill(os.getpid(), signal.SIGKILL)
"""


def _lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def test_runs_are_listed_newest_first_with_what_matters(safegen: CommandLine, runs: Path) -> None:
    status, out, error = safegen('runs', 'list')
    assert (status, error) == (0, '')
    head, *rows = [' '.join(line.split()) for line in out.splitlines()]
    assert head == 'run result took tries record'
    assert max(map(len, out.splitlines())) <= 80
    assert [row.split()[0] for row in rows[::2]] == [THIRD, SECOND, FIRST]
    assert rows[5].endswith('blocksworld search (on a b)')
    assert rows[4].endswith('SUCCESS 3.0 s 3 signed')
    assert 'GOAL_NOT_REACHED' in rows[2]
    assert 'CUT_OFF' in rows[0]

    status, out, _ = safegen('runs', 'list', '--json')
    values = _lines(out)
    assert status == 0
    assert [each['run'] for each in values] == [THIRD, SECOND, FIRST]
    assert values[2]['goal'] == '(on a b)'
    assert (values[2]['attempts'], values[2]['steps'], values[2]['seconds']) == (3, [2, 2], 3.0)
    assert values[0]['result'] == 'CUT_OFF'


@pytest.mark.parametrize(
    ('options', 'found'),
    [
        (('--limit', '1'), [THIRD]),
        (('--limit', '0'), [THIRD, SECOND, FIRST]),
        (('--result', 'success'), [FIRST]),
        (('--result', 'failed'), [THIRD, SECOND]),
        (('--result', 'cut_off'), [THIRD]),
        (('--result', 'unsolvable'), []),
        (('--level', 'sea'), [SECOND, FIRST]),
        (('--domain', 'blocksworld', '--result', 'failed', '--limit', '1'), [THIRD]),
        (('--domain', 'ferry'), []),
        (('--since', '2999-01-01'), []),
        (('--since', '2026-01-01'), [THIRD, SECOND, FIRST]),
    ],
)
def test_filters_leave_what_was_asked_for(
    safegen: CommandLine, runs: Path, options: tuple[str, ...], found: list[str]
) -> None:
    status, out, _ = safegen('runs', 'list', '--json', *options)
    assert (status, [each['run'] for each in _lines(out)]) == (0, found)


@pytest.mark.parametrize(
    ('result', 'hint'),
    [('nosuch', ''), ('unsolveable', "did you mean 'unsolvable'? "), ('x' * 1000, '')],
)
def test_a_result_that_no_run_can_have_is_refused(
    safegen: CommandLine, runs: Path, result: str, hint: str
) -> None:
    status, out, error = safegen('runs', 'list', '--result', result)
    told = ' '.join(error.replace('│', ' ').split())
    assert (status, out) == (2, '')
    assert 'is not an end of a run' in told
    assert f'{hint}use success, failed, goal_not_reached, running' in told


def test_no_run_at_all_is_said(
    safegen: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('SAFEGEN_RUNS_DIR', str(tmp_path))
    for options, told in (
        ((), "no runs yet; 'safegen demo' makes one"),
        (('--planner', 'beam'), 'no such run'),
    ):
        assert safegen('runs', 'list', *options)[:2] == (0, f'{told} (in {tmp_path})\n')


def test_show_tells_everything_of_a_run(safegen: CommandLine, runs: Path) -> None:
    status, out, error = safegen('runs', 'show', FIRST[-4:])
    assert (status, error) == (0, '')
    assert '{"' not in out  # events are told in words
    for words in (
        f'run {FIRST}  SUCCESS  (ended)',
        'Model            models/tiny, temperature 0.6, top-p 0.9, seed 3',
        'Cell             symbolic',
        'Task             two from two.pddl, in the format pddl',
        'Not bound        always-clear: the task has no object table',
        'Goal             (on a b)',
        'Constraint       At all times, block b is not on block "a".',
        '(always (not (on b a)))',
        'Attempt 1 by model: not a plan (FORMAT_ERROR), 0 steps, 0.25 s.',
        'Sure! (pickup a)  (as the model wrote it)',
        'FORMAT_ERROR: ',
        '  > 2  (stack b a)',
        'Steps executed   2 of 2',
        'plan by search',
        '(pickup a)  at 0.50 s, took 0.50 s',
        '(stack a b)  at 1.00 s, took 1.00 s',
        'The symbolic world satisfies the goal.',
        '    ✓ holds (on a b)',
        'file             journal.db',
    ):
        assert words in out
    assert [line.split()[2] for line in out.split('events\n')[1].splitlines()] == [
        'task', 'goal', 'unbound', 'stack', 'attempt', 'attempt', 'attempt', 'phase', 'step',
        'observed', 'step', 'observed', 'result', 'end', 'measured', 'files',
    ]  # fmt: skip
    assert 'events' not in safegen('runs', 'show', FIRST, '--no-events')[1]


def test_show_gives_a_program_all_of_it(safegen: CommandLine, runs: Path) -> None:
    values = json.loads(safegen('runs', 'show', FIRST, '--json')[1])
    assert (values['run'], values['state'], values['result']) == (FIRST, 'ENDED', 'SUCCESS')
    assert values['record']['plan'] == list(PLAN)
    assert values['record']['attempts'][1]['verdict']['category'] == 'SAFETY_VIOLATION'
    assert len(values['events']) == 16


def test_a_run_that_was_cut_off_shows_what_had_begun(safegen: CommandLine, runs: Path) -> None:
    status, out, _ = safegen('runs', 'show', 'last')
    assert status == 0
    assert 'CUT_OFF  (cut off: its process ended without a result)' in out
    assert '1  (pickup a)  at 0.00 s, not finished' in out


@pytest.mark.parametrize('verb', ['show', 'replay'])
def test_a_run_that_is_none_or_broken_is_an_error_in_a_line(
    safegen: CommandLine, runs: Path, verb: str
) -> None:
    (runs / SECOND / JOURNAL).write_bytes(b'')
    (runs / THIRD / JOURNAL).unlink()
    for name, words in (
        ('moon', f"there is no run 'moon' in {runs}: the newest are {THIRD}"),
        ('2026', 'is a part of 3 runs: name one of'),
        (SECOND, 'is empty: its process ended before it wrote anything'),
        (THIRD, 'there is no journal in this folder'),
    ):
        status, out, error = safegen('runs', verb, name)
        assert (status, out) == (2, '')
        assert words in error
        assert error.count('\n') == 1


def test_replay_finds_the_same_again(safegen: CommandLine, runs: Path) -> None:
    status, out, error = safegen('runs', 'replay', FIRST)
    assert (status, error) == (0, ''), out
    record, *lines = out.splitlines()
    assert record == f'record: signed by {installation_key().public.fingerprint}, whole'
    assert lines == [
        'same  attempt 1 (model): FORMAT_ERROR',
        'same  attempt 2 (model): SAFETY_VIOLATION',
        'same  attempt 3 (search): SUCCESS',
        'same  the plan: SUCCESS',
        'same  execution on symbols: 2 steps',
        'all is as it was recorded',
    ]
    values = json.loads(safegen('runs', 'replay', FIRST, '--json', '--no-execute')[1])
    assert (values['same'], len(values['verdicts'])) == (True, 4)
    assert values['execution'] == {'skipped': '--no-execute was given'}


def test_a_record_of_another_installation_is_shown_and_not_trusted(
    safegen: CommandLine, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / 'here').mkdir()
    monkeypatch.setenv('SAFEGEN_STATE_DIR', str(tmp_path / 'here'))
    status, out, _ = safegen('runs', 'show', FIRST)
    assert status == 1
    assert 'NOT a key of this installation' in out
    assert json.loads(safegen('runs', 'show', FIRST, '--json')[1])['signature']['good'] is False
    status, out, _ = safegen('runs', 'replay', FIRST, '--no-execute')
    assert (status, 'all is as it was recorded' in out) == (1, True)
    status, out, _ = safegen('runs', 'list', '--json')
    assert (status, {each['record'] for each in _lines(out)}) == (0, {'NOT_TRUSTED'})


def test_a_record_that_was_rewritten_is_named_by_its_entry(
    safegen: CommandLine, runs: Path
) -> None:
    journal = runs / FIRST / 'journal.db'
    journal.write_bytes(journal.read_bytes().replace(b'(pickup a)', b'(pickup b)'))
    for command in ('show', 'replay'):
        status, _, error = safegen('runs', command, str(runs / FIRST))
        assert status == 2
        assert 'REWRITTEN at entry ' in error
    values = _lines(safegen('runs', 'list', '--json')[1])
    assert [each['record'] for each in values] == ['signed', 'signed', 'REWRITTEN']


def test_an_approval_is_shown_with_its_signature(
    safegen: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('SAFEGEN_RUNS_DIR', str(tmp_path))
    alice = new_key(tmp_path / 'alice.key')
    about = looked_at('', TASK.problem_text, '', [['pickup', 'a']], '', '')
    digest = sha256(about.encode()).hexdigest()
    signature = sign(alice, Command('0/', 'approve', digest, 'fine'), '1-nonce')
    answer = ApprovalRecord(
        *(True, digest, 'alice', 'fine', '0/', alice.public.text, '1-nonce'),
        *(signature.time, signature.value.hex(), about),
    )
    forged = replace(answer, by='bob')
    other_task = replace(answer, about=about.replace('two', 'three'))
    about = looked_at('', TASK.problem_text, '', [['pickup', 'b']], '', '')
    other_plan = replace(answer, about=about, digest=sha256(about.encode()).hexdigest())
    other_plan = replace(other_plan, signature='')
    plans = (('(pickup a)',),)
    cases = ((answer, 0), (forged, 1), (other_task, 1), (other_plan, 1))
    for number, (each, status) in enumerate(cases):
        folder = f'2027010{number + 1}T000000Z-ffff'
        with RunLog(kept_folder(tmp_path, folder), task_record(TASK, 'two.pddl', '')) as log:
            log.note(PlanEvent(('(pickup a)',), 'search'))
            log.note(each)
        shown = safegen('runs', 'show', folder, '--no-events')
        assert shown[0] == status, shown
        assert each.in_words(plans) in shown[1]
        assert safegen('runs', 'replay', folder, '--no-execute')[0] == status
    assert answer.in_words(plans) == f'approved by alice, signed by {alice.public.fingerprint}'
    assert forged.in_words(plans) == 'approved by bob, but the SIGNATURE IS WRONG'
    for each in (other_task, other_plan):
        assert 'DIGEST IS NOT THAT OF A RECORDED PLAN' in each.in_words(plans)


def test_replay_names_what_differs_and_fails(safegen: CommandLine, runs: Path) -> None:
    """A world that no execution of the plan leads to; the digests of the journal are right."""
    keep_run(kept_folder(runs, '20270101T000000Z-ffff'), ('(on a b)',))
    status, out, _ = safegen('runs', 'replay', 'last')
    assert status == 1
    assert 'differs  execution on symbols: 2 steps' in out
    assert '(arm-empty) holds now, and did not then' in out
    assert out.endswith('NOT AS RECORDED\n')
    values = json.loads(safegen('runs', 'replay', 'last', '--json')[1])
    assert len(values['execution']['differences']) == 3


def test_a_shell_completes_the_ids_of_runs(runs: Path) -> None:
    assert complete_run('') == ['last', THIRD, SECOND, FIRST]
    assert complete_run('20260102') == [SECOND]


def test_a_run_becomes_a_page(safegen: CommandLine, runs: Path) -> None:
    status, out, _ = safegen('runs', 'share', FIRST, '-o', runs / 'run.html')
    assert (status, out) == (0, f'{runs / "run.html"}\n')
    page = (runs / 'run.html').read_text(encoding='utf-8')
    assert page.startswith('<!doctype html>')
    assert FIRST in page


def test_two_runs_are_compared(safegen: CommandLine, runs: Path) -> None:
    status, out, _ = safegen('runs', 'show', FIRST, '--compare', SECOND)
    assert status == 0
    assert out.splitlines()[:2] == [f'- {FIRST}', f'+ {SECOND}']
    assert 'result\n  - SUCCESS\n  + GOAL_NOT_REACHED\n' in out
    status, out, _ = safegen('runs', 'show', FIRST, '--compare', SECOND, '--json')
    told = json.loads(out)
    assert told['runs'] == [FIRST, SECOND]
    assert ['result', 'SUCCESS', 'GOAL_NOT_REACHED'] in told['different']
    status, out, _ = safegen('runs', 'show', FIRST, '--compare', FIRST)
    assert out.splitlines()[2:] == ['nothing is different']
    status, _, err = safegen('runs', 'show', FIRST, '--compare', 'nothing-like-it')
    assert status == 2
    assert 'there is no run' in err


@pytest.mark.parametrize('text', ['b1 on b2', 'b1\nRequest: on b2', 'In doubt: no.\nb1', ''])
@pytest.mark.parametrize('doubts', ['', 'the request says "x"', 'one\ntwo'])
def test_doubts_and_request_are_told_apart(text: str, doubts: str) -> None:
    told, words = doubts_and_request(shown_request(text, doubts))
    assert words == text
    assert told == (f'In doubt: {"; ".join(doubts.splitlines())}.' if doubts else '')

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen bench planetarium`: builds, checks, describes, scores and explains."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.planetarium_answers import BLOCKS
from typer.testing import CliRunner, Result

from safegen_ros.cli.main import app
from safegen_ros.errors import SafegenError


def run(*words: object) -> Result:
    return CliRunner().invoke(app, ['bench', 'planetarium', *map(str, words)])


@pytest.fixture(scope='module')
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp('planetarium') / 'out'
    done = run('build', out, '--pairs', 40, '--seed', 3, '--shuffled', '--jobs', 1)
    assert done.exit_code == 0, done.output
    assert 'built:' in done.stdout
    assert 'table 1 of the paper' in done.stdout
    return out


def test_a_dataset_is_built_checked_and_described(built: Path) -> None:
    recipe = json.loads((built / 'recipe.json').read_text())
    assert (recipe['seed'], recipe['shuffled']) == (3, True)
    again = run('build', built, '--pairs', 40, '--seed', 3, '--shuffled', '--jobs', 1)
    assert 'whole already' in again.stdout
    checked = run('check', built, '--jobs', 1)
    assert '40 rows are what they promise' in checked.stdout
    assert 'blocksworld: ' in run('stats', built).stdout


@pytest.mark.nightly
def test_the_references_score_100_percent_and_spoilt_ones_less(built: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (built / 'train.jsonl').read_text().splitlines()]
    right, spoilt = tmp_path / 'right.jsonl', tmp_path / 'spoilt.jsonl'
    right.write_text(''.join(json.dumps({**r, 'answer': r['problem']}) + '\n' for r in rows))
    answers = [r['problem'] if n % 2 else r['problem'][:-4] for n, r in enumerate(rows)]
    spoilt.write_text(
        ''.join(json.dumps({**r, 'answer': a}) + '\n' for r, a in zip(rows, answers, strict=True))
    )
    figures, wrong = tmp_path / 'figures.json', tmp_path / 'details.jsonl'
    done = run('score', right, '--json', figures, '--plots', tmp_path)
    assert done.exit_code == 0, done.output
    assert 'GPT-4o, zero-shot' in done.stdout
    assert (tmp_path / 'planetarium.png').stat().st_size > 10_000
    everything = json.loads(figures.read_text())['groups']['all']['all rows']
    assert {side['percent'] for side in everything['enforced'].values()} == {100.0}
    done = run('score', spoilt, '--json', figures, '--details', wrong)
    assert done.exit_code == 0, done.output
    share = json.loads(figures.read_text())['groups']['all']['all rows']['enforced']['correct']
    assert 0 < share['percent'] < 60
    findings = [json.loads(line)['finding'] for line in wrong.read_text().splitlines()]
    assert findings == ['correct' if n % 2 else 'not finished' for n in range(len(rows))]


def test_an_answer_is_explained(tmp_path: Path) -> None:
    wanted, answer = tmp_path / 'wanted.pddl', tmp_path / 'answer.txt'
    wanted.write_text(BLOCKS)
    answer.write_text(f'Here: {BLOCKS}')
    done = run('explain', wanted, answer)
    assert (done.exit_code, done.stdout.split(':')[0]) == (0, 'correct')
    answer.write_text(BLOCKS.replace('(on a b)', '(on-table b)').replace('a b)', 'a b - block)', 1))
    done = run('explain', wanted, answer)
    assert done.exit_code == 1
    assert 'types in a domain without types' in done.stdout
    assert 'with types tolerated: another problem' in done.stdout
    assert 'the goal' in done.stdout.splitlines()[-1]


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    for words in (
        ('stats', tmp_path / 'none'),
        ('check', tmp_path / 'none'),
        ('score', tmp_path / 'none.jsonl'),
        ('build', tmp_path / 'out', '--recipe', tmp_path / 'none.json'),
    ):
        done = run(*words)
        assert done.exit_code == 1
        assert isinstance(done.exception, SafegenError)

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen bench`: what is measured is shown and written down, and a run goes on where it was."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import llm_small
from support.planetarium_small import BLOCKS
from typer.testing import CliRunner, Result

from safegen_ros.benchmarks.measurement import Measurement, Notify, Report
from safegen_ros.benchmarks.speed import concurrency, planner, validator
from safegen_ros.benchmarks.speed import shield as bench_shield
from safegen_ros.benchmarks.speed.planner import Regime
from safegen_ros.cli.main import app
from safegen_ros.llm.backend import Backend
from safegen_ros.llm.batching_backend import BatchingBackend
from safegen_ros.llm.transformers_backend import TransformersBackend
from safegen_ros.tasks.pddl3.prompts.styles import WordStyle

RUN = ['bench', 'planner', '--figure3', '--route', 'in-process', '--per-bin', '2']


def test_a_planner_run_shows_and_writes_its_figures_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    regime = Regime('blocksworld', 'blocks', (4, 5), {}, {'OPTIC': 45.8})
    monkeypatch.setattr(planner, 'REGIMES', (regime,))
    out = tmp_path / 'out'
    done = CliRunner().invoke(app, [*RUN, '--out', str(out)])
    assert done.exit_code == 0, done.output
    assert 'blocksworld, in-process: solved within 60 s' in done.stdout
    assert {path.name for path in out.iterdir()} == {
        'figure3.csv', 'figure3.json', 'figure3-blocksworld.png', 'outcomes.csv', 'outcomes.jsonl'
    }  # fmt: skip
    (ours, *paper) = json.loads((out / 'figure3.json').read_text())['measurements']
    assert (ours['value'], len(paper)) == (100, 1)
    journal = (out / 'outcomes.jsonl').read_text()
    assert len(journal.splitlines()) == 4
    again = CliRunner().invoke(app, [*RUN, '--out', str(out)])
    assert again.exit_code == 0
    assert (out / 'outcomes.jsonl').read_text() == journal
    rows = list(csv.DictReader((out / 'outcomes.csv').open()))
    assert {row['status'] for row in rows} == {'solved'}


def test_a_validator_run_has_a_folder_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, int, int]] = []

    def measure(problems: int, plans: int, seed: int, notify: Notify) -> Report:
        asked.append((problems, plans, seed))
        notify('a stage', 1, 2)
        return Report('validator', {'seed': seed}, (Measurement('speed', 2.0, 'x', 1.0),))

    def costs(problems: int, seed: int, notify: Notify) -> Iterator[Measurement]:
        yield Measurement(f'shield, {problems} problems, seed {seed}', 60.0, 'us')

    monkeypatch.setattr(validator, 'measure', measure)
    monkeypatch.setattr(bench_shield, 'token_costs', costs)
    monkeypatch.setenv('SAFEGEN_RUNS_DIR', str(tmp_path))
    done = CliRunner().invoke(app, ['bench', 'validator', '--seed', '5', '--problems', '2'])
    assert done.exit_code == 0, done.output
    assert asked == [(2, 60, 5)]
    (folder,) = tmp_path.iterdir()
    assert folder.name.startswith('bench-')
    assert {path.name for path in folder.iterdir()} == {'validator.csv', 'validator.json'}
    assert f'figures: {folder}' in done.stdout
    assert '>= 1 x' in done.stdout
    assert done.stdout.endswith('next: safegen bench planner\n')
    rows = list(csv.DictReader((folder / 'validator.csv').open()))
    assert [row['name'] for row in rows] == ['speed', 'shield, 2 problems, seed 5']


@pytest.mark.nightly
def test_a_model_is_measured_beside_plain_generate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[object, ...]] = []

    def measure(plain: Backend, shared: Backend, style: object, *rest: Any) -> Report:
        *settings, notify, _ = rest
        asked.append((*settings, type(plain), type(shared), type(style)))
        notify('a stage', 1, 2)
        return Report('concurrency', {}, (Measurement('4 at once', 3.0, 'x'),))

    monkeypatch.setattr(concurrency, 'measure', measure)
    model = str(llm_small.word_model(tmp_path / 'model'))
    out = tmp_path / 'out'
    command = ['bench', 'planner', '--model', model, '--problems', '3', '--out', str(out)]
    done = CliRunner().invoke(app, [*command, '--strategy', 'shield, search'])
    assert done.exit_code == 0, done.output
    assert asked == [(3, 'shield, search', 0, TransformersBackend, BatchingBackend, WordStyle)]
    assert {path.name for path in out.iterdir()} == {'concurrency.csv', 'concurrency.json'}
    assert '4 at once' in done.stdout


def planetarium(*words: object) -> Result:
    return CliRunner().invoke(app, ['bench', 'planetarium', *map(str, words)])


@pytest.fixture(scope='module')
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp('planetarium') / 'out'
    done = planetarium('build', out, '--pairs', 40, '--seed', 3, '--shuffled', '--jobs', 1)
    assert done.exit_code == 0, done.output
    assert 'built:' in done.stdout
    assert 'table 1 of the paper' in done.stdout
    return out


def test_a_dataset_is_built_checked_and_described(built: Path) -> None:
    recipe = json.loads((built / 'recipe.json').read_text())
    assert (recipe['seed'], recipe['shuffled']) == (3, True)
    again = planetarium('build', built, '--pairs', 40, '--seed', 3, '--shuffled', '--jobs', 1)
    assert 'whole already' in again.stdout
    checked = planetarium('check', built, '--jobs', 1)
    assert '40 rows are what they promise' in checked.stdout
    assert 'blocksworld: ' in planetarium('stats', built).stdout


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
    done = planetarium('score', right, '--json', figures, '--plots', tmp_path)
    assert done.exit_code == 0, done.output
    assert 'GPT-4o, zero-shot' in done.stdout
    assert (tmp_path / 'planetarium.png').stat().st_size > 10_000
    everything = json.loads(figures.read_text())['groups']['all']['all rows']
    assert {side['percent'] for side in everything['enforced'].values()} == {100.0}
    done = planetarium('score', spoilt, '--json', figures, '--details', wrong)
    assert done.exit_code == 0, done.output
    share = json.loads(figures.read_text())['groups']['all']['all rows']['enforced']['correct']
    assert 0 < share['percent'] < 60
    findings = [json.loads(line)['finding'] for line in wrong.read_text().splitlines()]
    assert findings == ['correct' if n % 2 else 'not finished' for n in range(len(rows))]


def test_an_answer_is_explained(tmp_path: Path) -> None:
    wanted, answer = tmp_path / 'wanted.pddl', tmp_path / 'answer.txt'
    wanted.write_text(BLOCKS)
    answer.write_text(f'Here: {BLOCKS}')
    done = planetarium('explain', wanted, answer)
    assert (done.exit_code, done.stdout.split(':')[0]) == (0, 'correct')
    answer.write_text(BLOCKS.replace('(on a b)', '(on-table b)').replace('a b)', 'a b - block)', 1))
    done = planetarium('explain', wanted, answer)
    assert done.exit_code == 1
    assert 'types in a domain without types' in done.stdout
    assert 'with types tolerated: another problem' in done.stdout
    assert 'the goal' in done.stdout.splitlines()[-1]

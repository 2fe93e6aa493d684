# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Scores of answers that are known to be right, wrong, typed or cut off."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.model_server import ModelServer
from support.planetarium_small import BLOCKS
from typer.testing import CliRunner

from safegen_ros.benchmarks.planetarium.model import answer_rows, choose
from safegen_ros.benchmarks.planetarium.score import (
    GROUPS,
    METRICS,
    Answer,
    comparison,
    details,
    read_scored,
    read_wanted,
    score,
)
from safegen_ros.cli.main import app
from safegen_ros.datasets.planetarium.layouts import tasks_of
from safegen_ros.datasets.planetarium.pairs import Pair, kits, make_pairs, read_pairs
from safegen_ros.errors import BackendError, SafegenError
from safegen_ros.llm.backend import Completion, Sampling
from safegen_ros.tasks.planetarium.assess import assess


def written(path: Path, *rows: dict[str, object]) -> Path:
    path.write_text(''.join(json.dumps(row) + '\n' for row in rows))
    return path


def rows_of_every_domain() -> Iterator[dict[str, object]]:
    """Explicit and abstract rows of one task of each domain; two descriptions of each at least."""
    for kit in kits().values():
        task = next(task for task in tasks_of(kit) if len(task.abstractions) == 4)
        for pair in make_pairs(task, 4, 4, False, 0):
            yield json.loads(pair.to_line())


def test_references_are_right_and_what_is_spoilt_is_not(tmp_path: Path) -> None:
    rows = list(rows_of_every_domain())
    right = [{**row, 'answer': f'```\n{row["problem"]}```'} for row in rows]
    found = score(read_scored(written(tmp_path / 'right.jsonl', *right)), 'right')
    assert found.rows == 12
    for shares in (s for cases in found.groups.values() for s in cases.values() if s.trials):
        for side in (shares.enforced, shares.tolerant):
            assert {metric: side[metric] for metric in METRICS} == dict.fromkeys(
                METRICS, shares.trials
            )
    cut = [{**row, 'answer': str(row['problem'])[:-4]} for row in rows[:4]]
    typed = [
        {**row, 'answer': str(row['problem']).replace(')\n  (:init', ' - thing)\n  (:init')}
        for row in rows[4:8]
    ]
    less = [{**row, 'answer': str(row['problem']).replace('(painted tile1 color1) ', '')}
            for row in rows[8:]]  # fmt: skip
    found = score(read_scored(written(tmp_path / 'x.jsonl', *cut, *typed, *less)), 'x')
    domains = found.groups['domain']
    assert [domains['blocksworld'].enforced[metric] for metric in METRICS] == [0, 0, 0]
    assert [domains['gripper'].enforced[metric] for metric in METRICS] == [4, 4, 0]
    assert [domains['gripper'].tolerant[metric] for metric in METRICS] == [4, 4, 4]
    assert [domains['floor-tile'].enforced[metric] for metric in METRICS] == [4, 4, 0]
    assert found.mean('tolerant', 'correct') == pytest.approx(100 / 3)
    assert found.findings == {
        'not finished': 4,
        'types in a domain without types': 4,
        'another problem': 4,
    }
    for name, cases in found.groups.items():
        assert sum(shares.trials for shares in cases.values()) == 12
        assert set(cases) == set(GROUPS[name])


def test_figures_for_programs_have_intervals_and_the_paper_beside(tmp_path: Path) -> None:
    rows = [{'problem': BLOCKS, 'answer': BLOCKS}, {'problem': BLOCKS, 'answer': 'no'}]
    found = score(read_scored(written(tmp_path / 'x.jsonl', *rows)), 'x').as_dict()
    share = found['groups']['all']['all rows']['enforced']['correct']
    assert share == {'percent': 50.0, 'interval': [9.5, 90.5]}
    assert found['paper']['GPT-4o, zero-shot']['correct'] == 24.8
    assert list(found['groups']['domain']) == ['blocksworld']
    assert found['groups']['abstractness'] == {}
    json.dumps(found)


def test_lines_of_the_plot_have_the_paper_beside_ours(tmp_path: Path) -> None:
    rows = list(rows_of_every_domain())
    answered = [{**row, 'answer': row['problem']} for row in rows]
    found = comparison(score(read_scored(written(tmp_path / 'x.jsonl', *answered)), 'x'))
    correct = [line for line in found.lines if line.case == 'correct']
    assert {line.whose: line.figures.success for line in correct} == {
        'types enforced': 100.0,
        'types tolerated': 100.0,
        'GPT-4o, zero-shot': 24.8,
        'Gemma 2 27B IT, fine-tuned': 34.2,
    }


def test_details_say_what_to_change() -> None:
    wanted = read_wanted(BLOCKS, 'p')
    answer = BLOCKS.replace('(on a b)', '(on-table b)')
    told = details(Answer('1', wanted, answer, False, ''), assess(wanted, answer))
    assert told['finding'] == 'another problem'
    assert any('(on a b)' in line for line in told['explanation'])
    answer = BLOCKS.replace('(on a b)', '(on a b') + ')'
    assert (
        details(Answer('1', wanted, answer, False, ''), assess(wanted, answer))['explanation'] == []
    )


@pytest.mark.parametrize(
    ('line', 'said'),
    [
        ('{', 'is not JSON'),
        ('{"problem": "(define"}', "field 'answer' is missing"),
        ('{"problem": "(define", "answer": ""}', 'never closed'),
        (json.dumps({'problem': BLOCKS.replace('blocksworld', 'rover'), 'answer': ''}), 'rover'),
        (json.dumps({'problem': BLOCKS.replace('(and (on', '(or (on'), 'answer': ''}),
         'no conjunction'),
        (json.dumps({'problem': BLOCKS, 'answer': '', 'abstraction': 'x'}), "abstraction: is 'x'"),
    ],
)  # fmt: skip
def test_a_bad_row_is_refused_with_its_place(line: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / 'rows.jsonl'
    path.write_text(f'{json.dumps({"problem": BLOCKS, "answer": BLOCKS})}\n{line}\n')
    with pytest.raises(SafegenError, match=r'rows\.jsonl:2:') as caught:
        list(read_scored(path))
    assert said in caught.value.message


def test_a_file_without_rows_or_without_a_file_is_refused(tmp_path: Path) -> None:
    empty = tmp_path / 'empty.jsonl'
    empty.write_text('\n')
    with pytest.raises(SafegenError, match='holds no row'):
        score(read_scored(empty), 'empty')
    with pytest.raises(SafegenError, match='cannot be read'):
        list(read_scored(tmp_path / 'none.jsonl'))


GREEDY = Sampling(temperature=0.0)


@pytest.fixture(scope='module')
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp('planetarium') / 'data'
    done = CliRunner().invoke(
        app, ['bench', 'planetarium', 'build', str(out), '--pairs', '60', '--jobs', '1']
    )
    assert done.exit_code == 0, done.output
    return out


class Translator:
    """Knows the right problem of each description; fails after so many rows."""

    def __init__(self, pairs: list[Pair], most: int = 10_000) -> None:
        self.of = {pair.text: pair.problem for pair in pairs}
        self.left = most
        self.asked = 0

    def generate_batch(self, conversations, sampling, cancelled=None):
        self.asked += len(conversations)
        self.left -= len(conversations)
        if self.left < 0:
            raise BackendError('the model is gone')
        texts = [messages[-1]['content'].split('Request:\n')[1] for messages in conversations]
        return [Completion(self.of[text], 1, 1, 0.1, 'stop') for text in texts]


def test_answers_that_are_there_are_not_asked_for_again(dataset: Path, tmp_path: Path) -> None:
    pairs = list(read_pairs(dataset / 'train.jsonl'))[:20]
    broken = Translator(pairs, most=8)
    with pytest.raises(BackendError):
        answer_rows(pairs, broken, GREEDY, tmp_path, batch=4)
    answers = tmp_path / 'answers.jsonl'
    kept = answers.read_text()
    assert kept.count('\n') == 8
    answers.write_text(kept[:-20])  # a kill in the middle of a line
    whole = Translator(pairs)
    path = answer_rows(pairs, whole, GREEDY, tmp_path, batch=4)
    assert whole.asked == 13
    rows = list(read_scored(path))
    assert [row.id for row in rows] == [pair.id for pair in pairs]
    assert score(rows, 'all').mean('enforced', 'correct') == 100.0
    with pytest.raises(SafegenError, match='of another model or other options'):
        answer_rows(pairs, whole, Sampling(temperature=0.5), tmp_path, batch=4)
    with pytest.raises(SafegenError, match='of another model or other options'):
        answer_rows(pairs, whole, GREEDY, tmp_path, model='another', batch=4)


def test_rows_are_chosen_by_chance_and_kept_in_order(dataset: Path) -> None:
    rows = dataset / 'train.jsonl'
    everything = [pair.id for pair in read_pairs(rows)]
    assert [pair.id for pair in choose(rows, 0, 0)] == everything
    some, others = ([pair.id for pair in choose(rows, 9, seed)] for seed in (1, 2))
    assert some == [pair.id for pair in choose(rows, 9, 1)] != others
    assert some == [name for name in everything if name in some]
    assert len(some) == 9


def test_the_verb_asks_a_server_and_prints_the_score(dataset: Path, tmp_path: Path) -> None:
    with ModelServer() as server:
        done = CliRunner().invoke(
            app,
            [
                *('bench', 'planetarium', 'eval', str(dataset), '--model', f'{server.url}#planner'),
                *('--out', str(tmp_path / 'out'), '--rows', '3', '--max-new-tokens', '64'),
            ],
        )
        asked = len(server.requests)
    assert done.exit_code == 0, done.output
    assert asked == 3
    assert 'GPT-4o, zero-shot' in done.stdout
    figures = json.loads((tmp_path / 'out' / 'figures.json').read_text())
    assert figures['groups']['all']['all rows']['enforced']['parseable']['percent'] == 0.0
    assert figures['findings'] == {'no problem in it': 3}

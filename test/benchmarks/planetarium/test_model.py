# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A model translates the rows of a dataset; what it wrote is kept, and scored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.model_server import ModelServer
from typer.testing import CliRunner

from safegen_ros.benchmarks.planetarium.model import answer_rows, choose
from safegen_ros.benchmarks.planetarium.score import read_scored, score
from safegen_ros.cli.main import app
from safegen_ros.datasets.planetarium.pairs import Pair, read_pairs
from safegen_ros.errors import BackendError, SafegenError
from safegen_ros.llm.backend import Completion, Sampling

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

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Datasets: what is learned from them, and which ones are refused."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from hashlib import sha256
from pathlib import Path

import pytest
from support.training_small import SHORT, drawn, renamed, write_recipe, write_rows

from safegen_ros.datasets.pddl3.rows import row_problem
from safegen_ros.errors import SafegenError
from safegen_ros.llm.special_tokens import ATTEMPT, PLAN, VERDICT
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.tasks.pddl3.mistakes import failed_attempt
from safegen_ros.tasks.pddl3.prompts.styles import WordStyle
from safegen_ros.tasks.pddl3.prompts.words import vocabulary
from safegen_ros.training.config import ConfigError, TrainConfig, load_config
from safegen_ros.training.corpus import load_corpus, training_rows
from safegen_ros.training.encoding import IGNORE, WORD_ID
from safegen_ros.training.examples import example
from safegen_ros.verify.validator import Validator


def config(tmp_path: Path, folder: Path, **changes: object) -> TrainConfig:
    return load_config(
        write_recipe(tmp_path / 'recipe.yaml', SHORT, data__folder=str(folder), **changes)
    )


def test_every_problem_is_learned_in_every_format(dataset: Path, tmp_path: Path) -> None:
    formats = {'pddl': 2.0, 'json': 1.0, 'english': 1.0}
    corpus = load_corpus(config(tmp_path, dataset, data__formats=formats))
    plain = [item for item in corpus.items if WORD_ID[ATTEMPT] not in item['input_ids']]
    repaired = [item for item in corpus.items if WORD_ID[ATTEMPT] in item['input_ids']]
    assert len(plain) == 3 * 4 * 24
    assert len(repaired) > 0.9 * len(plain)
    share = sum(item['weight'] for item in repaired) / sum(i['weight'] for i in corpus.items)
    assert share == pytest.approx(0.2, abs=0.02)
    assert Counter(corpus.examples[item['number']].domain for item in plain).most_common()[-1][1]
    assert all(WORD_ID[ATTEMPT] not in item['input_ids'] for item in corpus.validation)
    validated = {corpus.examples[item['number']].domain for item in corpus.validation}
    assert len(validated) == 4
    for item in corpus.items:
        asked = item['input_ids'].index(WORD_ID[PLAN])
        assert item['labels'][: asked + 1] == [IGNORE] * (asked + 1)
        assert item['labels'][asked + 1 :] == item['input_ids'][asked + 1 :]


def test_problems_of_rare_sizes_are_taken_more_often(dataset: Path, tmp_path: Path) -> None:
    corpus = load_corpus(config(tmp_path, dataset, data__rare=1, data__repair_share=0))
    totals: Counter[tuple[str, int]] = Counter()
    for item in corpus.items:
        asked = corpus.examples[item['number']]
        totals[asked.domain, len(asked.objects)] += item['weight']
    assert len(totals) > 4
    assert [*totals.values()] == pytest.approx([1] * len(totals))


def test_what_is_learned_is_what_the_planner_asks(dataset: Path) -> None:
    """The words of an example are those that the prompt style writes, attempt included."""
    style, words = WordStyle(), vocabulary()
    for domain in ('blocksworld', 'ferry', 'grippers', 'spanner'):
        for row in drawn(domain, 'train', 3):
            problem, found = row_problem(row), example(row, repair=True)
            assert found.trace.atoms
            assert len(found.trace.atoms) == row.reference_length + 1
            for form, told in found.prompts.items():
                (message,) = style.messages(problem, [], form)
                assert message['content'].split() == list(told)
            assert style.answer(parse_plan(row.plan), problem).split() == list(found.plan)
            assert found.attempt[0] == ATTEMPT
            assert found.attempt[-2] == VERDICT
            assert set(found.attempt) <= set(words)


def test_attempts_fail_and_are_the_same_each_time() -> None:
    for row in drawn('blocksworld', 'train', 10):
        problem, right = row_problem(row), parse_plan(row.plan)
        for unsafe in (Plan(), parse_plan(row.unconstrained_plan)):
            found = failed_attempt(problem, right, unsafe, row.id)
            assert found == failed_attempt(problem, right, unsafe, row.id)
            assert found is not None
            text, verdict = found
            assert not verdict.ok
            assert Validator(problem).verify(text) == verdict


def test_problems_of_test_classes_are_refused(tmp_path: Path) -> None:
    rows = list(drawn('ferry', 'train', 4))
    write_rows(tmp_path / 'train.jsonl', [*rows, renamed(rows[0], 'f0')])
    assert int('f0', 16) % 8 == 0
    with pytest.raises(ConfigError, match='of a class that is kept for tests'):
        training_rows(config(tmp_path, tmp_path))
    write_rows(tmp_path / 'train.jsonl', rows)
    assert training_rows(config(tmp_path, tmp_path)) == rows


def test_a_dataset_that_is_not_what_its_manifest_says(dataset: Path, tmp_path: Path) -> None:
    folder = tmp_path / 'data'
    shutil.copytree(dataset, folder)
    digest = sha256((folder / 'train.jsonl').read_bytes()).hexdigest()
    manifest = {'recipe': '', 'files': {'train.jsonl': digest}, 'folders': {}}
    (folder / 'manifest.json').write_text(json.dumps(manifest))
    assert training_rows(config(tmp_path, folder))
    with (folder / 'train.jsonl').open('a') as file:
        file.write((folder / 'train.jsonl').read_text().splitlines()[0] + '\n')
    with pytest.raises(ConfigError, match='is not what the manifest says'):
        training_rows(config(tmp_path, folder))


@pytest.mark.parametrize(
    ('text', 'message'),
    [(None, 'there is no such file'), ('', 'holds no rows'), ('{}\n', 'is not a row')],
)
def test_what_is_no_dataset(tmp_path: Path, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / 'train.jsonl').write_text(text)
    with pytest.raises(SafegenError, match=message):
        training_rows(config(tmp_path, tmp_path))


@pytest.mark.nightly
def test_examples_that_are_too_long(dataset: Path, tmp_path: Path) -> None:
    corpus = load_corpus(config(tmp_path, dataset, budget__max_length=110))
    whole = load_corpus(config(tmp_path, dataset))
    assert 0 < len(corpus.items) < len(whole.items)
    assert max(len(item['input_ids']) for item in corpus.items) <= 110
    with pytest.raises(ConfigError, match='no example has at most 20 tokens'):
        load_corpus(config(tmp_path, dataset, budget__max_length=20))

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a model is trained on is what a served model is asked, and Hugging Face can load it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from safegen_ros.datasets.pddl3.rows import SPLITS, read_rows
from safegen_ros.tasks.pddl3.formats import FORMATS
from safegen_ros.tasks.pddl3.prompts.styles import InstructStyle
from safegen_ros.tasks.pddl3.task import load_task


def _pairs(folder: Path, form: str, split: str) -> list[dict[str, object]]:
    lines = (folder / 'pairs' / form / f'{split}.jsonl').read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize('split', SPLITS)
def test_a_served_model_is_asked_the_same(small: Path, split: str) -> None:
    rows = list(read_rows(small / f'{split}.jsonl'))
    pairs = _pairs(small, 'pddl', split)
    assert len(rows) == len(pairs) > 0
    for row, pair in zip(rows, pairs, strict=True):
        assert pair['prompt'] == InstructStyle().messages(load_task(row.problem).problem, ())
        assert pair['completion'] == [{'role': 'assistant', 'content': row.plan}]


@pytest.mark.parametrize('form', ['json', 'english'])
def test_the_other_formats_say_what_they_are(small: Path, form: str) -> None:
    rows = list(read_rows(small / 'test.jsonl'))
    name = {'json': 'JSON', 'english': 'English'}[form]
    for row, pair in zip(rows, _pairs(small, form, 'test'), strict=True):
        ((message,)) = pair['prompt']  # type: ignore[misc]
        text = message['content']  # type: ignore[index]
        assert f'a planning domain in PDDL3 and a problem in {name}.' in text
        assert text.endswith(f'Problem:\n{row.json if form == "json" else row.english}')


def test_hugging_face_loads_every_configuration(small: Path, tmp_path: Path) -> None:
    from datasets import load_dataset

    for form in (None, *FORMATS):  # the default configuration has the rows
        loaded = load_dataset(str(small), form, cache_dir=str(tmp_path))
        assert {split: len(rows) for split, rows in loaded.items()} == {
            'train': 16, 'test': 4, 'test_family': 4, 'test_renamed': 4
        }  # fmt: skip
        ids = [row['id'] for row in loaded['test']]
        assert ids == [row.id for row in read_rows(small / 'test.jsonl')]

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Rows of a dataset as what a chat model is to imitate: prompts, thoughts and answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from safegen_ros.datasets.boxnet.recipe import load_recipe
from safegen_ros.datasets.boxnet.rows import BoxNetRow, read_rows
from safegen_ros.datasets.builder import RECIPE
from safegen_ros.datasets.failures import DatasetError, writing
from safegen_ros.tasks.boxnet.answers import REFUSAL
from safegen_ros.tasks.boxnet.astar import certificate
from safegen_ros.tasks.boxnet.prompts import answer_text, full_prompt, step_prompt
from safegen_ros.tasks.boxnet.reward import question
from safegen_ros.tasks.boxnet.traces import plan_thoughts, refusal_thoughts, step_thoughts
from safegen_ros.tasks.boxnet.verifier import judge
from safegen_ros.tasks.boxnet.words import NEXT_STEP, WHOLE

TRACES = 'traces'
"""Folder of the traces in that of a dataset."""


@dataclass(frozen=True, slots=True)
class Traces:
    """What was written for a mode and split.

    Attributes:
        name: of the file, in the folder of the dataset.
        words: of an answer, mean.
    """

    name: str
    count: int
    words: float


def write_traces(folder: Path) -> list[Traces]:
    """Writes the traces of a dataset, for each mode a folder that `safegen train` reads.

    The splits for training are in `train.jsonl`, those unsolvable among them; `test` is in
    `test.jsonl`, for the validation loss.

    Raises:
        DatasetError: a split is unreadable, or a file cannot be written.
    """
    names = [split.name for split in load_recipe(folder / RECIPE).splits]
    found = []
    for mode in (WHOLE, NEXT_STEP):
        for name, splits in (('train', ('train', 'train_unsolvable')), ('test', ('test',))):
            rows = (
                row
                for split in splits
                if split in names
                for row in read_rows(folder / f'{split}.jsonl')
            )
            path = Path(TRACES) / mode / f'{name}.jsonl'
            lengths = list(_write(folder / path, rows, mode))
            mean = fmean(lengths) if lengths else 0.0
            found.append(Traces(str(path), len(lengths), mean))
    return found


def _write(path: Path, rows: Iterable[BoxNetRow], mode: str) -> Iterator[int]:
    """Writes a line for each trace, and tells how many words its answer has."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open('w', encoding='utf-8') as file:
            for row in rows:
                for prompt, answer, asked in _pairs(row, mode):
                    values = {
                        'prompt': prompt,
                        'completion': answer,
                        'group': 'solvable' if row.plan is not None else 'unsolvable',
                        'task': asked,
                    }
                    file.write(json.dumps(values) + '\n')
                    yield len(answer.split())


def _pairs(row: BoxNetRow, mode: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Prompts and answers of a row, each with what its reward is measured by."""
    task, plan = row.task, row.plan
    prompt = full_prompt if mode == WHOLE else step_prompt
    if plan is None:
        proof = certificate(task)
        if proof is None:
            raise DatasetError(f'{task.id}: has a plan, and none is given: build it again')
        answer = f'<think> {refusal_thoughts(proof)} </think>\n{REFUSAL}'
        yield prompt(task), answer, question(task, task.start, None, mode)
        return
    if mode == WHOLE:
        thoughts = plan_thoughts(task, task.start, plan)
        answer = answer_text(thoughts, plan, whole=True)
        yield prompt(task), answer, question(task, task.start, plan, mode)
        return
    for at, state in enumerate(judge(task, plan).states[:-1]):
        thoughts = step_thoughts(task, state, plan[at:])
        answer = answer_text(thoughts, plan[at : at + 1], whole=False)
        here = replace(task, start=state)
        yield prompt(here), answer, question(task, state, plan[at:], mode)

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A backend that answers from a script, so that counts are known, and a tiny real model."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from safegen_ros.benchmarks.subjects import Subject
from safegen_ros.datasets.pddl3.rows import Row, read_rows, row_problem
from safegen_ros.llm.backend import Cancelled, Completion, Message, Sampling, never
from safegen_ros.paths import data_path
from safegen_ros.tasks.pddl3.formats import FORMATS
from safegen_ros.tasks.pddl3.prompts.styles import InstructStyle
from support.scripted_answers import ScriptedAnswers

BENCH = data_path('data/safegen-bench')

Script = Callable[[Row, int], str]
"""What is answered on a problem when it is asked for the n-th time, n from 0."""


def right(row: Row, time: int) -> str:
    return row.plan


def unsafe(row: Row, time: int) -> str:
    return row.unconstrained_plan


def inapplicable(row: Row, time: int) -> str:
    return f'{row.plan.splitlines()[-1]}\n{row.plan}'


def idle(row: Row, time: int) -> str:
    return ''


def chatty(row: Row, time: int) -> str:
    return f'Sure! {row.plan}'


@cache
def _rows(splits: tuple[str, ...]) -> dict[str, Row]:
    """The rows of splits by what is asked about them, in every format."""
    style = InstructStyle()
    return {
        style.messages(row_problem(row), [], form)[0]['content']: row
        for split in splits
        for row in read_rows(BENCH / f'{split}.jsonl')
        for form in FORMATS
    }


class ScriptedBackend(ScriptedAnswers):
    """Knows the problems of splits of the shipped dataset in every format.

    Attributes:
        batches: the conversations of every batch, with their sampling.
    """

    def __init__(self, script: Script, splits: Sequence[str] = ('test',)) -> None:
        super().__init__(script=lambda messages, sampling: self._answer(messages[0]['content']))
        self.batches: list[tuple[list[Sequence[Message]], Sampling]] = []
        self._of_row = script
        self._times: dict[str, int] = {}
        self._rows = _rows(tuple(splits))

    def generate_batch(
        self,
        conversations: Sequence[Sequence[Message]],
        sampling: Sampling,
        cancelled: Cancelled = never,
    ) -> list[Completion]:
        self.batches.append((list(conversations), sampling))
        return super().generate_batch(conversations, sampling, cancelled)

    def _answer(self, text: str) -> str:
        time = self._times.get(text, 0)
        self._times[text] = time + 1
        return self._of_row(self._rows[text], time)


def scripted(script: Script, name: str = 'scripted', **more: Sequence[str]) -> Subject:
    """A model that answers from a script."""
    return Subject(name, 'f' * 64, 7, InstructStyle(), ScriptedBackend(script, **more))


def tiny_model(folder: Path) -> Path:
    """Writes an untrained network of the kind that is shipped, small enough for a test."""
    from transformers import GenerationConfig

    from safegen_ros.llm.tokenizers import word_tokenizer
    from safegen_ros.tasks.pddl3.prompts.words import vocabulary
    from safegen_ros.training.config import NetworkConfig
    from safegen_ros.training.network import new_decoder

    network = NetworkConfig(width=16, layers=1, heads=2, mlp=32)
    model, tokenizer = new_decoder(network, 5), word_tokenizer(vocabulary(), network.context)
    model.generation_config = GenerationConfig(
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    (folder / 'safegen.json').write_text(json.dumps({'prompt_style': 'words'}))
    return folder

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Pairs of texts as something to train on: any world that writes prompts and right completions.

A folder has `train.jsonl` and, for validation, `test.jsonl`; a line is an object with

    prompt      what the model reads: a text or, for a model from a folder, chat messages
    completion  what it should write
    group       optional: the recipe gives groups shares, and GRPO takes them in turn
    bucket      optional: easy, medium or hard, for the curriculum of GRPO
    task        optional: any JSON that the reward function needs to judge a completion

The tokens of a new network are the words between blanks of the training rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from transformers import PreTrainedTokenizerBase

from safegen_ros.datasets.files import read_lines
from safegen_ros.errors import SafegenError
from safegen_ros.llm.special_tokens import BOS, EOS, PLAN
from safegen_ros.llm.tokenizers import blank_tokenizer
from safegen_ros.training.config import ConfigError, NetworkConfig, TrainConfig
from safegen_ros.training.encoding import IGNORE, padded
from safegen_ros.training.samplers import BUCKETS
from safegen_ros.training.world import (
    Material,
    Message,
    Prompts,
    asking_that_fit,
    longest,
    that_fit,
    token_count,
)

Reward = Callable[[Any, str], float]
"""What a completion is worth for a `task`: a finite number, the greater the better."""

_TEXTS = ('completion', 'group', 'bucket')


@dataclass(frozen=True, slots=True)
class TextRow:
    """A line of a file, see above."""

    prompt: str | list[Message]
    completion: str
    group: str = ''
    bucket: str = 'medium'
    task: Any = None


def read_text_rows(path: Path) -> Iterator[TextRow]:
    """The rows of a file.

    Raises:
        ConfigError: a line is not a row.
        DatasetError: the file cannot be read.
    """
    for values, place in read_lines(path):
        known = TextRow.__dataclass_fields__
        if (
            not isinstance(values, dict)
            or not {'prompt', 'completion'} <= values.keys() <= known.keys()
            or not all(isinstance(values.get(name, ''), str) for name in _TEXTS)
            or not isinstance(values['prompt'], (str, list))
        ):
            raise ConfigError(
                f'{place}: is not a row: write an object with the texts prompt and completion and, '
                'where they are wanted, group, bucket and task'
            )
        row = TextRow(**values)
        if row.bucket not in BUCKETS:
            raise ConfigError(f'{place}: bucket is {row.bucket!r}: use {" ".join(BUCKETS)}')
        yield row


class TextWorld:
    """See `World`.

    Args:
        config: the recipe.

    Raises:
        ConfigError: there is no file to train on, or it holds no rows.
    """

    def __init__(self, config: TrainConfig) -> None:
        self.prompt_style = config.data.style
        self._config = config
        self._folder = Path(config.data.folder)

    @cached_property
    def _rows(self) -> list[TextRow]:
        path = self._folder / 'train.jsonl'
        if not path.is_file():
            raise ConfigError(f'{path}: there is no such file: give its folder as data.folder')
        rows = list(read_text_rows(path))
        if not rows:
            raise ConfigError(f'{path}: holds no rows: build the dataset again')
        return rows

    def _validation(self) -> list[TextRow]:
        """Rows of the test split, from all over the file."""
        wanted = self._config.data.validation
        if not wanted:
            return []
        rows = list(read_text_rows(self._folder / 'test.jsonl'))
        return rows[:: max(1, len(rows) // wanted)][:wanted]

    def tokenizer(self) -> PreTrainedTokenizerBase:
        """See `World`; its words are those of the rows to train on."""
        network = self._config.model.network or NetworkConfig()
        texts = (text for row in self._rows for text in (_text(row), row.completion))
        return blank_tokenizer(texts, network.context)

    def material(self) -> Material:
        """See `World`."""
        tokenizer, most = self.tokenizer(), longest(self._config)
        items = _items(self._rows, tokenizer)
        kept = that_fit([len(item['input_ids']) for item in items], most)
        others = _items(self._validation(), tokenizer)
        return Material(
            [items[place] for place in kept],
            [item for item in others if len(item['input_ids']) <= most],
            [self._rows[place].group for place in kept],
            tokenizer,
            padded,
        )

    def pairs(
        self, tokenizer: PreTrainedTokenizerBase
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """See `World`."""
        train = [_pair(row, tokenizer) for row in self._rows]
        kept = that_fit([pair['tokens'] for pair in train], longest(self._config))
        others = [_pair(row, tokenizer) for row in self._validation()]
        most = longest(self._config)
        return [train[place] for place in kept], [p for p in others if p['tokens'] <= most]

    def prompts(self, tokenizer: PreTrainedTokenizerBase, asked: int) -> Prompts:
        """See `World`; all rows are asked, since nothing has to be worked out for them."""
        found = asking_that_fit(
            [{'prompt': _asked(row), 'number': n} for n, row in enumerate(self._rows)],
            tokenizer,
            self._config,
        )
        rows = [self._rows[each['number']] for each in found]
        return Prompts(
            found,
            [row.group for row in rows],
            [row.bucket for row in rows],
            [1.0] * len(rows),
            text_reward(self._rows, named_reward(self._config.data.reward)),
        )


def named_reward(name: str) -> Reward:
    """The function that a recipe names, `MODULE:FUNCTION`.

    Raises:
        ConfigError: it names none.
    """
    module, _, function = name.partition(':')
    try:
        found: Reward = getattr(import_module(module), function)
    except (ImportError, ValueError, AttributeError) as error:
        raise ConfigError(
            f'data.reward is {name!r}: name a function of a task and a completion, as in '
            f'safegen_ros.tasks.planetarium.training:reward ({error})'
        ) from error
    return found


def text_reward(rows: Sequence[TextRow], reward: Reward) -> Callable[..., list[float]]:
    """The reward function of a TRL trainer, which reports the mean of each group.

    Args:
        rows: the rows; a prompt names its own by `number`.
        reward: what one completion is worth.
    """

    def judge(
        completions: Sequence[Sequence[Message]],
        number: Sequence[int],
        log_metric: Callable[[str, float], None] | None = None,
        **_: Any,
    ) -> list[float]:
        found = []
        for messages, n in zip(completions, number, strict=True):
            worth = float(reward(rows[n].task, messages[-1]['content']))
            if not math.isfinite(worth):
                raise SafegenError(f'data.reward gave {worth} for row {n}: it must be finite')
            found.append(worth)
        if log_metric is not None:
            groups = [rows[n].group for n in number]
            for group in sorted(set(groups)):
                own = [w for w, of in zip(found, groups, strict=True) if of == group]
                log_metric(f'reward_{group}', sum(own) / len(own))
        return found

    return judge


def _items(rows: Sequence[TextRow], tokenizer: PreTrainedTokenizerBase) -> list[dict[str, Any]]:
    """The tokens of rows, in which only those of the completion have labels."""
    if not rows:
        return []
    begin, ask, end = tokenizer.convert_tokens_to_ids([BOS, PLAN, EOS])
    prompts, completions = (
        tokenizer(texts, add_special_tokens=False, split_special_tokens=True)['input_ids']
        for texts in ([_text(row) for row in rows], [row.completion for row in rows])
    )
    return [
        {
            'input_ids': [begin, *prompt, ask, *completion, end],
            'labels': [IGNORE] * (len(prompt) + 2) + [*completion, end],
            'number': number,
            'weight': 1.0,
        }
        for number, (prompt, completion) in enumerate(zip(prompts, completions, strict=True))
    ]


def _text(row: TextRow) -> str:
    if isinstance(row.prompt, str):
        return row.prompt
    raise ConfigError('the rows hold chat messages, which only a base reads: give model.base')


def _asked(row: TextRow) -> list[Message]:
    if isinstance(row.prompt, str):
        return [{'role': 'user', 'content': row.prompt}]
    return row.prompt


def _pair(row: TextRow, tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
    completion = [{'role': 'assistant', 'content': row.completion}]
    return {
        'prompt': _asked(row),
        'completion': completion,
        'group': row.group,
        'weight': 1.0,
        'tokens': token_count(tokenizer, _asked(row) + completion),
    }

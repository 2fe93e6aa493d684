# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Planning problems with their plans, as something to train on; the validator is the reward."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from transformers import PreTrainedTokenizerBase

from safegen_ros.datasets.files import MANIFEST, faults, load_manifest
from safegen_ros.datasets.pddl3.rows import Row, is_test_class, read_rows
from safegen_ros.llm.tokenizers import word_tokenizer
from safegen_ros.pddl.model import Atom
from safegen_ros.tasks.pddl3.prompts.styles import load_style
from safegen_ros.tasks.pddl3.prompts.words import vocabulary
from safegen_ros.training.config import ConfigError, GrpoConfig, NetworkConfig, TrainConfig
from safegen_ros.training.encoding import Collator, encoded
from safegen_ros.training.examples import (
    Example,
    TrainingPair,
    changing_atoms,
    example,
    for_all_rows,
    instruction_pairs,
)
from safegen_ros.training.reward import Intervals, plan_reward
from safegen_ros.training.world import (
    Material,
    Prompts,
    asking_that_fit,
    longest,
    that_fit,
    token_count,
)


@dataclass(frozen=True)
class Corpus:
    """Examples and their training targets.

    Attributes:
        items: for each problem and format one or, with `data.repair_share`, two: `input_ids`,
            `labels`, the `number` of its example and its `weight`.
        validation: likewise of problems that are not trained on, without attempts.
        atoms: the numbers of the atoms of the state heads.
    """

    examples: tuple[Example, ...]
    items: list[dict[str, Any]]
    validation: list[dict[str, Any]]
    atoms: Mapping[tuple[str, Atom], int]


def training_rows(config: TrainConfig) -> list[Row]:
    """The rows to train on.

    Raises:
        ConfigError: there are none, or one is of a class that is kept for tests.
        DatasetError: a file is not what the manifest of the dataset says, or is unreadable.
    """
    folder = Path(config.data.folder)
    path = folder / 'train.jsonl'
    if not path.is_file():
        raise ConfigError(
            f'{path}: there is no such file: build the dataset (safegen data build), or give '
            'its folder as data.folder'
        )
    if (folder / MANIFEST).exists():
        for fault in faults(folder, load_manifest(folder), partial=True):
            raise ConfigError(fault)
    rows = list(read_rows(path))
    if not rows:
        raise ConfigError(f'{path}: holds no rows: build the dataset again')
    for row in rows:
        if is_test_class(row.key):
            raise ConfigError(
                f'{path}: row {row.id} is of a class that is kept for tests: build the dataset '
                'again'
            )
    return rows


def _validation_rows(config: TrainConfig) -> list[Row]:
    """Rows of the test split, from all over the file, since it is in the order of the domains."""
    wanted = config.data.validation
    if not wanted:
        return []
    rows = list(read_rows(Path(config.data.folder) / 'test.jsonl'))
    return rows[:: max(1, len(rows) // wanted)][:wanted]


def load_corpus(config: TrainConfig) -> Corpus:
    """Reads a dataset and puts its rows into words, on all cores.

    Raises:
        ConfigError: the dataset cannot be trained on, see `training_rows`, or no example is short
            enough.
        SafegenError: a row cannot be read or put into words.
    """
    train = for_all_rows(
        partial(example, repair=config.data.repair_share > 0), training_rows(config)
    )
    held_out = for_all_rows(example, _validation_rows(config))
    most = longest(config)
    items = list(_items(train, 0, config, _rarity(train, config.data.rare)))
    kept = that_fit([len(item['input_ids']) for item in items], most)
    others = _items(held_out, len(train), config, lambda _: 1.0)
    return Corpus(
        (*train, *held_out),
        [items[place] for place in kept],
        [item for item in others if len(item['input_ids']) <= most],
        changing_atoms(train),
    )


def _rarity(examples: Sequence[Example], power: float) -> Callable[[Example], float]:
    """The weight of an example: the less, the more of its domain have as many objects."""
    counts = Counter((each.domain, len(each.objects)) for each in examples)
    return lambda each: float(counts[each.domain, len(each.objects)] ** -power)


def _items(
    examples: Sequence[Example],
    first: int,
    config: TrainConfig,
    rarity: Callable[[Example], float],
) -> Iterator[dict[str, Any]]:
    for number, each in enumerate(examples, first):
        share = config.data.repair_share if each.attempt else 0.0
        for form, weight in config.data.formats.items():
            for repair, part in ((False, 1 - share), (True, share)):
                if part > 0:
                    item = encoded(each, form, repair=repair)
                    share_of_all = weight * part * rarity(each)
                    yield {**item, 'number': number, 'weight': share_of_all}


def load_pairs(
    config: TrainConfig, tokenizer: PreTrainedTokenizerBase
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Instruction pairs for a model from a folder, to train on and to validate with.

    Each has `prompt` and `completion` as chat messages in the model's own prompt style, `group`,
    `weight` and its `tokens`. Pairs that are longer than `budget.max_length` are left out, since
    cut plans teach the model to stop early.

    Raises:
        ConfigError: the dataset cannot be trained on, see `training_rows`, or no pair is short
            enough.
        BackendError: the model's `safegen.json` cannot be used.
    """
    style, formats = load_style(config.model.base), config.data.formats
    found = []
    for rows, share in (
        (training_rows(config), config.data.repair_share),
        (_validation_rows(config), 0.0),
    ):
        make = partial(instruction_pairs, style=style, formats=formats, repair_share=share)
        items = [_item(pair, tokenizer) for pairs in for_all_rows(make, rows) for pair in pairs]
        found.append(items)
    most = longest(config)
    kept = that_fit([item['tokens'] for item in found[0]], most)
    return [found[0][n] for n in kept], [item for item in found[1] if item['tokens'] <= most]


def _item(pair: TrainingPair, tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
    completion = [{'role': 'assistant', 'content': pair.answer}]
    return {
        'prompt': pair.prompt,
        'completion': completion,
        'group': pair.domain,
        'weight': pair.weight,
        'tokens': token_count(tokenizer, pair.prompt + completion),
    }


class Pddl3World:
    """See `World`."""

    prompt_style = 'words'

    def __init__(self, config: TrainConfig) -> None:
        self._config = config

    def tokenizer(self) -> PreTrainedTokenizerBase:
        """See `World`; it follows from the domains and formats, not from the dataset."""
        network = self._config.model.network or NetworkConfig()
        return word_tokenizer(vocabulary(), network.context)

    def material(self) -> Material:
        """See `World`."""
        network = self._config.model.network or NetworkConfig()
        corpus = load_corpus(self._config)
        atoms = corpus.atoms if network.state_weight > 0 else {}
        return Material(
            corpus.items,
            corpus.validation,
            [corpus.examples[item['number']].domain for item in corpus.items],
            self.tokenizer(),
            Collator(corpus.examples, atoms),
            len(atoms),
        )

    def pairs(
        self, tokenizer: PreTrainedTokenizerBase
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """See `World`."""
        return load_pairs(self._config, tokenizer)

    def prompts(self, tokenizer: PreTrainedTokenizerBase, asked: int) -> Prompts:
        """See `World`."""
        config = self._config
        style = load_style(Path(config.model.base))
        rows = enough_rows(training_rows(config), asked, config.seed)
        share = config.data.repair_share
        make = partial(
            instruction_pairs, style=style, formats=config.data.formats, repair_share=share
        )
        found: list[dict[str, Any]] = [
            {'prompt': pair.prompt, 'number': number, 'weight': pair.weight}
            for number, pairs in enumerate(for_all_rows(make, rows))
            for pair in pairs
        ]
        found = asking_that_fit(found, tokenizer, config)
        return Prompts(
            [{'prompt': each['prompt'], 'number': each['number']} for each in found],
            [rows[each['number']].domain for each in found],
            [rows[each['number']].bucket for each in found],
            [each['weight'] for each in found],
            plan_reward(rows, style, Intervals((config.grpo or GrpoConfig()).rewards)),
        )


def enough_rows(rows: Sequence[Row], asked: int, seed: int) -> list[Row]:
    """Some rows of each domain, twice as many as are asked for, so that buckets can be chosen.

    To make the prompts of all rows of a large dataset takes longer than to train on a few.

    Args:
        asked: how many prompts the whole run reads.

    Returns:
        The rows in their order; those of a domain are all there when there are few.
    """
    domains = sorted({row.domain for row in rows})
    most = -(-2 * asked // len(domains))
    chosen: list[int] = []
    for place, domain in enumerate(domains):
        own = [number for number, row in enumerate(rows) if row.domain == domain]
        rng = np.random.default_rng([seed, place])
        chosen += own if len(own) <= most else rng.choice(own, most, replace=False).tolist()
    return [rows[number] for number in sorted(chosen)]

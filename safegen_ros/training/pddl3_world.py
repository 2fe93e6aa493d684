# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Planning problems with their plans, as something to train on; the validator is the reward."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from transformers import PreTrainedTokenizerBase

from safegen_ros.datasets.pddl3.rows import Row
from safegen_ros.llm.tokenizers import word_tokenizer
from safegen_ros.tasks.pddl3.prompts.styles import load_style
from safegen_ros.tasks.pddl3.prompts.words import vocabulary
from safegen_ros.training.config import GrpoConfig, NetworkConfig, TrainConfig
from safegen_ros.training.corpus import load_corpus, load_pairs, training_rows
from safegen_ros.training.encoding import Collator
from safegen_ros.training.examples import for_all_rows, instruction_pairs
from safegen_ros.training.reward import Intervals, plan_reward
from safegen_ros.training.world import Material, Prompts, asking_that_fit


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
        grpo = config.grpo or GrpoConfig()
        style = load_style(Path(config.model.base))
        rows = enough_rows(training_rows(config), asked, config.seed)
        make = partial(instruction_pairs, style=style, formats=config.data.formats)
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
            plan_reward(rows, style, Intervals(grpo.rewards)),
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

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a world gives to training: things to imitate, things to ask, and what an answer is worth.

Everything else (trainers, samplers, checkpoints, export) is the same for all worlds. There are two
implementations: `pddl3_world`, problems with their plans, and `text_world`, pairs of texts in a
file, for any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from transformers import PreTrainedTokenizerBase

from safegen_ros.training.config import TrainConfig

Message = dict[str, str]


@dataclass(frozen=True)
class Material:
    """What a new network learns from.

    Attributes:
        items: each with `input_ids` and `labels`, the `number` by which `collate` knows it, and its
            `weight` beside others of its group.
        validation: likewise, not trained on.
        groups: the group of every item, such as its domain; a recipe gives them shares.
        tokenizer: of the network; its pad, begin and end marks are the first three tokens.
        collate: makes a batch of items: `input_ids` and `labels` of shape (B, L), and `states`
            where there are `atoms`.
        atoms: how many atoms the state heads speak of; 0 for no heads.
    """

    items: list[dict[str, Any]]
    validation: list[dict[str, Any]]
    groups: Sequence[str]
    tokenizer: PreTrainedTokenizerBase
    collate: Callable[[Sequence[Mapping[str, Any]]], dict[str, Any]]
    atoms: int = 0


@dataclass(frozen=True)
class Prompts:
    """What GRPO asks.

    Attributes:
        asked: each with `prompt`, the messages, and `number`, by which `reward` knows it.
        groups: the group of every prompt; they take turns.
        buckets: easy, medium or hard, of every prompt.
        weights: how often each is taken, beside others of its group and bucket.
        reward: a reward function of TRL, of completions and their `number`.
    """

    asked: list[dict[str, Any]]
    groups: Sequence[str]
    buckets: Sequence[str]
    weights: Sequence[float]
    reward: Callable[..., list[float]]


class World(Protocol):
    """What is trained on."""

    prompt_style: str
    """What `safegen.json` says of a new network that learned from it."""

    def tokenizer(self) -> PreTrainedTokenizerBase:
        """The tokenizer of a new network.

        Raises:
            SafegenError: the dataset is no good.
        """
        ...

    def material(self) -> Material:
        """What a new network learns from.

        Raises:
            ConfigError: the dataset cannot be trained on, or no example is short enough.
            SafegenError: a row cannot be read or put into words.
        """
        ...

    def pairs(
        self, tokenizer: PreTrainedTokenizerBase
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """What a model from a folder learns from, and what it is validated with.

        Each has `prompt` and `completion` as chat messages, its `group`, `weight` and `tokens`.

        Raises:
            SafegenError: as `material`.
        """
        ...

    def prompts(self, tokenizer: PreTrainedTokenizerBase, asked: int) -> Prompts:
        """What GRPO asks, of which there is twice as much as it reads, where there is.

        Args:
            tokenizer: of the model.
            asked: prompts that the whole run reads.

        Raises:
            ConfigError: no prompt leaves room for a completion, or the recipe names no reward.
            SafegenError: as `material`.
        """
        ...


def world_of(config: TrainConfig) -> World:
    """The world of a recipe."""
    if config.data.world == 'text':
        from safegen_ros.training.text_world import TextWorld

        return TextWorld(config)
    from safegen_ros.training.pddl3_world import Pddl3World

    return Pddl3World(config)

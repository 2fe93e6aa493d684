# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a world gives to training: examples, prompts with a reward, and how long both may be.

Everything else (trainers, samplers, checkpoints, export) is the same for all worlds. There are two
implementations: `pddl3_world`, problems with their plans, and `text_world`, pairs of texts in a
file, for any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from transformers import PreTrainedTokenizerBase

from safegen_ros.training.config import ConfigError, GrpoConfig, TrainConfig

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
        atoms: number of atoms of the state heads; 0 for no heads.
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


class TrainingWorld(Protocol):
    """The training data."""

    prompt_style: str
    """The `safegen.json` of a new network that learned from it."""

    def tokenizer(self) -> PreTrainedTokenizerBase:
        """The tokenizer of a new network.

        Raises:
            SafegenError: the dataset cannot be used.
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
        """The training rows of a model from a folder, and those for its validation.

        Each has `prompt` and `completion` as chat messages, its `group`, `weight` and `tokens`.

        Raises:
            SafegenError: as `material`.
        """
        ...

    def prompts(self, tokenizer: PreTrainedTokenizerBase, asked: int) -> Prompts:
        """What GRPO asks, of which there is twice as much as it reads, where there is.

        Args:
            asked: prompts that the whole run reads.

        Raises:
            ConfigError: no prompt leaves room for a completion, or the recipe names no reward.
            SafegenError: as `material`.
        """
        ...


def token_count(
    tokenizer: PreTrainedTokenizerBase,
    messages: Sequence[Mapping[str, str]],
    *,
    asking: bool = False,
) -> int:
    """Tokens of a conversation; `asking` counts those that ask for an answer, too."""
    text = tokenizer.apply_chat_template(
        list(messages), tokenize=False, add_generation_prompt=asking
    )
    return len(tokenizer(text, add_special_tokens=False)['input_ids'])


def longest(config: TrainConfig) -> int:
    """The longest sequence that a recipe reads [tokens]."""
    network, most = config.model.network, config.budget.max_length
    return min(most, network.context) if network else most


def that_fit(lengths: Sequence[int], most: int) -> list[int]:
    """The places of the examples that are short enough, by their lengths.

    Others are left out and not cut, since a cut answer teaches a model to stop early.

    Raises:
        ConfigError: there is none.
    """
    found = [place for place, length in enumerate(lengths) if length <= most]
    if not found:
        raise ConfigError(f'no example has at most {most} tokens: raise budget.max_length')
    return found


def asking_that_fit(
    prompts: Sequence[dict[str, Any]], tokenizer: PreTrainedTokenizerBase, config: TrainConfig
) -> list[dict[str, Any]]:
    """The prompts that leave room for a completion.

    Raises:
        ConfigError: none does.
    """
    grpo = config.grpo or GrpoConfig()
    room = config.budget.max_length - grpo.max_completion
    found = [p for p in prompts if token_count(tokenizer, p['prompt'], asking=True) <= room]
    if not found:
        raise ConfigError(
            f'no prompt has at most {room} tokens, which is budget.max_length less '
            'grpo.max_completion: raise the one or lower the other'
        )
    return found

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How long conversations are, and which of them there is room for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from transformers import PreTrainedTokenizerBase

from safegen_ros.training.config import ConfigError, GrpoConfig, TrainConfig


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

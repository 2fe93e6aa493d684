# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Supervised fine-tuning of adapters at a cost that a CPU can bear.

Most of a prompt, the instruction and the domain, is the same for all problems of a domain. A batch
holds examples of one group, and what their prompts have in common is read once; gradients flow
through it from all of them. Logits are made for the answers only: those of whole prompts would take
gigabytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from peft.helpers import disable_input_dtype_casting
from torch import Tensor
from torch.utils.data import Sampler
from transformers import (
    AttentionInterface,
    DynamicCache,
)

from safegen_ros.errors import SafegenError
from safegen_ros.training.arguments import adapted_model, shared_arguments, validation_arguments
from safegen_ros.training.base import base_tokenizer, check_base
from safegen_ros.training.config import TrainConfig
from safegen_ros.training.encoding import IGNORE, padded, tokens_of
from safegen_ros.training.network import Losses, word_losses
from safegen_ros.training.sft import LossesTrainer
from safegen_ros.training.world import TrainingWorld

_OTHER_KINDS = ('sliding_window', 'softcap', 's_aux')


def causal_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: None,
    scaling: float,
    **kinds: Any,
) -> tuple[Tensor, None]:
    """Attention of the last R of N tokens by products of matrices, one for each head of the keys.

    On a CPU it takes half the time of torch's own.

    Args:
        query: shape (B, H, R, D).
        key: shape (B, K, N, D), where K divides H.
        value: likewise.
        attention_mask: not needed, as padding is on the right.
        scaling: of the products.
        kinds: what the model wants of its attention besides.

    Raises:
        SafegenError: the model wants another kind of attention.
    """
    others = [name for name in _OTHER_KINDS if kinds.get(name) is not None]
    if others:
        raise SafegenError(f'model.lora.shared_prefix: not for a model with {", ".join(others)}')
    batch, heads, rows, width = query.shape
    groups, columns = key.shape[1:3]
    later = torch.full((rows, columns), -torch.inf, dtype=query.dtype, device=query.device)
    grouped = (batch, groups, heads // groups * rows)
    scores = (query * scaling).reshape(*grouped, width) @ key.mT
    scores = scores.view(batch, groups, -1, rows, columns)
    scores += later.triu(columns - rows + 1)
    weights = scores.softmax(-1).view(*grouped, columns)
    return (weights @ value).view(query.shape).transpose(1, 2), None


AttentionInterface.register(causal_attention.__name__, causal_attention)


def shared_length(input_ids: Tensor, labels: Tensor) -> int:
    """Tokens with which all rows of a batch begin; never one of an answer.

    Args:
        input_ids: shape (B, L).
        labels: likewise, `IGNORE` before the answers.
    """
    same = ((input_ids == input_ids[:1]) & (labels == IGNORE)).all(dim=0)
    # One token less: the last one before an answer has to be read with its row.
    return max(0, int(same.long().cumprod(dim=0).sum()) - 1)


def answer_losses(model: Any, input_ids: Tensor, labels: Tensor) -> Losses:
    """The losses of the answers of a batch, padded on the right.

    Args:
        model: a decoder of `transformers` with a language head.
        input_ids: shape (B, L).
        labels: likewise, `IGNORE` before and behind the answers.
    """
    shared = shared_length(input_ids, labels)
    cache = DynamicCache(config=model.config)
    if shared:
        model.model(input_ids=input_ids[:1, :shared], past_key_values=cache, use_cache=True)
        cache.batch_repeat_interleave(len(input_ids))
    rest = input_ids[:, shared:]
    hidden = model.model(input_ids=rest, past_key_values=cache, use_cache=True).last_hidden_state
    labels = labels[:, shared + 1 :]
    wanted = labels != IGNORE
    return word_losses(model.lm_head(hidden[:, :-1][wanted]), labels[wanted], wanted)


class SharedPrefixSampler(Sampler[int]):
    """Takes the examples so that each batch is of one group and holds little padding.

    A batch that a group cannot fill is filled with examples of the same group once more.

    Args:
        groups: the group of every example.
        lengths: its tokens.
        batch: examples of a batch.
        seed: of the order, which is another one in each epoch.
    """

    def __init__(
        self, groups: Sequence[str], lengths: Sequence[int], batch: int, seed: int
    ) -> None:
        of = np.array(groups)
        self._groups = [np.flatnonzero(of == name) for name in sorted(set(groups))]
        self._lengths = np.array(lengths)
        self._batch, self._seed, self._epoch = batch, seed, 0

    def __len__(self) -> int:
        return sum(-(-len(group) // self._batch) for group in self._groups) * self._batch

    def set_epoch(self, epoch: int) -> None:
        """Chooses the order; the trainer calls it before each pass."""
        self._epoch = epoch

    def __iter__(self) -> Iterator[int]:
        rng = np.random.default_rng([self._seed, self._epoch])
        batches: list[np.ndarray] = []
        for group in self._groups:
            order = rng.permutation(group)
            filled = np.resize(order, -(-len(order) // self._batch) * self._batch)
            filled = filled[np.argsort(self._lengths[filled], kind='stable')]
            batches += list(filled.reshape(-1, self._batch))
        for number in rng.permutation(len(batches)):
            yield from batches[number].tolist()


class SharedPrefixTrainer(LossesTrainer):
    """Trains the adapters of a recipe on pairs of prompts and answers.

    Args:
        config: the recipe.
        world: what it learns from.
        out: the folder of the run.

    Raises:
        SafegenError: the dataset or the model cannot be used.
    """

    def __init__(self, config: TrainConfig, world: TrainingWorld, out: Path) -> None:
        base = Path(config.model.base)
        check_base(base, config.budget.max_length)
        tokenizer = base_tokenizer(base)
        pairs = world.pairs(tokenizer)
        train, validation = ([tokens_of(pair, tokenizer) for pair in part] for part in pairs)
        super().__init__(
            lambda _: SharedPrefixSampler(
                [pair['group'] for pair in pairs[0]],
                [len(item['input_ids']) for item in train],
                config.optimizer.batch,
                config.seed,
            ),
            (train, validation),
            {**shared_arguments(config, out), 'bf16': False},  # the weights are, as they are
            validation_arguments(config, validation),
            model=adapted_model(config, attn_implementation=causal_attention.__name__),
            data_collator=padded,
            processing_class=tokenizer,
        )

    def losses(self, model: Any, inputs: dict[str, Any]) -> Losses:
        """See `answer_losses`."""
        inner = self.accelerator.unwrap_model(model).get_base_model()
        ids, labels = inputs['input_ids'], inputs['labels']
        shared = shared_length(ids, labels)
        mode = 'train' if model.training else 'eval'
        self._metrics[mode]['tokens'].append(shared + ids[:, shared:].numel())
        low = inner.dtype is torch.bfloat16
        # The adapters are kept in single precision; peft would compute in it, too.
        with (
            torch.autocast(ids.device.type, dtype=torch.bfloat16, enabled=low),
            disable_input_dtype_casting(model, active=low),
        ):
            return answer_losses(inner, ids, labels)

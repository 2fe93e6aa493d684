# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Supervised fine-tuning of adapters at a cost that a CPU can bear.

Most of a prompt, the instruction and the domain, is the same for all problems of a domain. A batch
holds examples of one group, and what their prompts have in common is read once; gradients flow
through it from all of them. Logits are made for the answers only: those of whole prompts would take
gigabytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from peft.helpers import disable_input_dtype_casting
from torch import Tensor
from torch.nn import functional
from torch.utils.data import Sampler
from transformers import (
    AttentionInterface,
    DynamicCache,
)

from safegen_ros.errors import SafegenError
from safegen_ros.llm.decoding.preallocated_cache import PreallocatedLayer
from safegen_ros.training.arguments import adapted_model, shared_arguments, validation_arguments
from safegen_ros.training.base import base_tokenizer, check_base
from safegen_ros.training.config import TrainConfig
from safegen_ros.training.encoding import IGNORE, padded, tokens_of
from safegen_ros.training.network import Losses, word_losses
from safegen_ros.training.sft import LossesTrainer
from safegen_ros.training.world import TrainingWorld

_OTHER_KINDS = ('sliding_window', 'softcap', 's_aux')


class KeyParts(NamedTuple):
    """Keys or values of groups of rows, equally large. The rows of a group begin alike.

    Attributes:
        shared: of the common tokens of each group, shape (G, K, S, D), padded on the left.
        outside: a mask for their scores, shape (G, 1, 1, S): minus infinity where padded, else 0.
        own: of the tokens that follow in each row, shape (B, K, N, D).
    """

    shared: Tensor
    outside: Tensor
    own: Tensor


class SharedLayer(PreallocatedLayer):
    """The cache of a layer that holds once what all rows of a group begin with.

    Only `causal_attention` can read what `update` returns.

    Args:
        keys: see `KeyParts.shared`.
        values: likewise.
        outside: see `KeyParts`.
    """

    def __init__(self, keys: Tensor, values: Tensor, outside: Tensor) -> None:
        super().__init__()
        self._shared = keys, values, outside

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[KeyParts, KeyParts]:
        """Adds tokens; returns the keys and values of all."""
        if self.is_initialized:
            super().update(key_states, value_states)
        else:  # not copied, as training reads all tokens at once
            self.lazy_initialization(key_states, value_states)
            self.keys, self.values = key_states, value_states
        keys, values, outside = self._shared
        return KeyParts(keys, outside, self.keys), KeyParts(values, outside, self.values)

    def get_seq_length(self) -> int:
        """Tokens of a row, with the padding."""
        return int(self._shared[0].shape[-2]) + int(super().get_seq_length())


def shared_cache(model: Any, starts: Sequence[Tensor]) -> DynamicCache:
    """Reads what the rows of each group begin with once; gradients flow through it.

    Args:
        model: a decoder of `transformers` with a language head.
        starts: the tokens of each group, shapes (S,); an empty one alone gives an empty cache.
    """
    caches = [DynamicCache(config=model.config) for _ in starts]
    longest = max(map(len, starts))
    if not longest:
        return caches[0]
    for start, cache in zip(starts, caches, strict=True):
        model.model(input_ids=start[None], past_key_values=cache, use_cache=True)
    missing = [longest - len(start) for start in starts]
    outside = torch.zeros((len(starts), 1, 1, longest), device=starts[0].device)
    for group, count in zip(outside, missing, strict=True):
        group[..., :count] = -torch.inf

    def padded_left(tensors: Iterable[Tensor]) -> Tensor:
        pairs = zip(tensors, missing, strict=True)
        return torch.cat([functional.pad(each, (0, 0, count, 0)) for each, count in pairs])

    whole = DynamicCache(config=model.config)
    whole.layers = [
        SharedLayer(
            padded_left(each.keys for each in layers),
            padded_left(each.values for each in layers),
            outside,
        )
        for layers in zip(*(cache.layers for cache in caches), strict=True)
    ]
    return whole


def causal_attention(
    module: Any,
    query: Tensor,
    key: Tensor | KeyParts,
    value: Tensor | KeyParts,
    attention_mask: None,
    scaling: float,
    **kinds: Any,
) -> tuple[Tensor, None]:
    """Attention of the last R of N tokens by products of matrices, one for each head of the keys.

    On a CPU it takes half the time of torch's own, and less where rows begin alike.

    Args:
        query: shape (B, H, R, D).
        key: shape (B, K, N, D), where K divides H, or parts of it.
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
    keys, values = (each.own if isinstance(each, KeyParts) else each for each in (key, value))
    groups, columns = keys.shape[1:3]
    later = torch.full((rows, columns), -torch.inf, dtype=query.dtype, device=query.device)
    queries = (query * scaling).reshape(batch, groups, heads // groups * rows, width)
    scores = (queries @ keys.mT).view(batch, groups, -1, rows, columns)
    scores = scores + later.triu(columns - rows + 1)
    scores = scores.view(batch, groups, -1, columns)
    if not isinstance(key, KeyParts) or not isinstance(value, KeyParts):
        found = scores.softmax(-1) @ values
    else:
        before = key.shared.shape[2]
        outside = key.outside.to(query.dtype).repeat_interleave(batch // len(key.outside), 0)
        weights = torch.cat([_for_all(queries, key.shared.mT) + outside, scores], dim=-1).softmax(
            -1
        )
        found = _for_all(weights[..., :before], value.shared) + weights[..., before:] @ values
    return found.reshape(query.shape).transpose(1, 2), None


def _for_all(rows: Tensor, matrices: Tensor) -> Tensor:
    """Products with matrices that are the same for the rows of a group: one for each head.

    Args:
        rows: shape (B, K, M, D), where B is a multiple of G.
        matrices: shape (G, K, D, N).

    Returns:
        Shape (B, K, M, N).
    """
    grouped = rows.unflatten(0, (len(matrices), -1)).transpose(1, 2)
    found = grouped.flatten(2, 3) @ matrices
    return found.unflatten(2, grouped.shape[2:4]).transpose(1, 2).flatten(0, 1)


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
    cache = shared_cache(model, [input_ids[0, :shared]])
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

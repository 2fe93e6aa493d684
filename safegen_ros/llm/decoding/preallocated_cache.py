# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A key-value cache that is not copied for every token.

The cache of `generate` appends each token's keys and values by copying all of them, which for many
rows on a CPU takes longer than the attention. A static cache does not, but looks at its whole
length at every token, and adds up in another order. Here there is some room behind the filled part;
the model sees only the filled part, so it computes the same numbers.

Importing this imports torch and transformers.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

_LEAST = 64
"""Least room for tokens when more is made; else a quarter of the known ones. So copying costs
little per token, and idle memory is bounded.
"""


def preallocated_cache(model: Any) -> DynamicCache | None:
    """An empty cache for one call of `generate`.

    Layers that look back for a part of the text only, as those with a sliding window, keep the
    cache that `transformers` has for them.

    Returns:
        None where no layer attends to everything, or the model has its own kind of cache.
    """
    supported = getattr(model, '_supports_default_dynamic_cache', None)
    if supported is None or not supported():
        return None
    cache = DynamicCache(config=model.config)
    cache.layers = [
        PreallocatedLayer() if type(each) is DynamicLayer else each for each in cache.layers
    ]
    return cache if any(isinstance(each, PreallocatedLayer) for each in cache.layers) else None


class PreallocatedLayer(DynamicLayer):
    """The cache of a layer that looks back at everything.

    Its tensors are views of longer ones; one that was put in their place, as
    reordering does, is copied once.
    """

    keys: torch.Tensor
    values: torch.Tensor

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self._keys, self._values = _Room(), _Room()

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Adds tokens; returns the keys and values of all."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        self.keys = self._keys.appended(self.keys, key_states)
        self.values = self._values.appended(self.values, value_states)
        return self.keys, self.values


class _Room:
    """The longer tensor behind the one that the model sees."""

    def __init__(self) -> None:
        self._all: torch.Tensor | None = None
        self._seen: torch.Tensor | None = None

    def appended(self, known: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
        """The known values, with more behind them along the last dimension but one.

        Args:
            known: what `appended` returned last, or something else in its place; empty at first.
        """
        start = known.shape[-2] if known.numel() else 0
        end = start + new.shape[-2]
        room = self._all
        if room is None or known is not self._seen or end > room.shape[-2]:
            length = end + max(_LEAST, end // 4)
            room = self._all = new.new_empty((*new.shape[:-2], length, new.shape[-1]))
            if start:
                room[..., :start, :] = known
        room[..., start:end, :] = new
        self._seen = room[..., :end, :]
        return self._seen

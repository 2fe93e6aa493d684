# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The decoder that is trained from scratch, and the heads that teach it to follow the world."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import LlamaConfig, LlamaForCausalLM

from safegen_ros.llm.special_tokens import BOS, EOS, PAD, SPECIAL_TOKENS
from safegen_ros.training.base import shapes, start_weights
from safegen_ros.training.config import NetworkConfig
from safegen_ros.training.encoding import IGNORE, MOST_LEFT, WORD_ID, StateTargets
from safegen_ros.training.examples import MOST_MONITORS, MOST_STANDING

_HEADS, _LAYERS = 'state_heads.', 'model.layers.'
_SHORT = 512  # longest context [tokens] for which attention is written out when compiled


@dataclass(frozen=True, slots=True)
class Losses:
    """What the words of the plans of a batch cost.

    Attributes:
        words: the negative log-likelihood of the words, summed.
        states: the losses of the state heads, summed over the words; 0 without heads.
        count: number of words.
        right: words that are the most likely ones.
        whole: plans all of whose words are.
    """

    words: Tensor
    states: Tensor
    count: int
    right: int
    whole: int


def word_losses(
    logits: Tensor, targets: Tensor, wanted: Tensor, states: Tensor | None = None
) -> Losses:
    """What logits cost.

    Args:
        logits: shape (N, words).
        targets: shape (N,), the right words.
        wanted: shape (B, L), where in the batch they stand.
        states: the losses of the state heads.
    """
    words = functional.cross_entropy(logits.float(), targets, reduction='sum')
    with torch.no_grad():
        right = logits.argmax(dim=-1) == targets
        every = torch.ones_like(wanted)
        every[wanted] = right
    whole = int(every.all(dim=1).sum())
    heard = words.new_zeros(()) if states is None else states
    return Losses(words, heard, len(targets), int(right.sum()), whole)


def decoder_config(config: NetworkConfig, words: int = len(WORD_ID)) -> LlamaConfig:
    """The configuration of the network.

    Args:
        words: tokens that it knows; the marks are the first ones.
    """
    return LlamaConfig(
        vocab_size=words,
        hidden_size=config.width,
        intermediate_size=config.mlp,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        num_key_value_heads=config.heads,
        max_position_embeddings=config.context,
        tie_word_embeddings=True,
        attention_bias=False,
        pad_token_id=SPECIAL_TOKENS.index(PAD),
        bos_token_id=SPECIAL_TOKENS.index(BOS),
        eos_token_id=SPECIAL_TOKENS.index(EOS),
        attn_implementation='sdpa',
    )


def new_decoder(config: NetworkConfig, seed: int, words: int = len(WORD_ID)) -> LlamaForCausalLM:
    """A freshly initialised Llama decoder; over the words of `prompts.words` by default."""
    torch.manual_seed(seed)
    return LlamaForCausalLM(decoder_config(config, words))


class TaughtDecoder(LlamaForCausalLM):
    """The network while it is trained: with state heads, and a forward pass that gives losses.

    Args:
        atoms: number of atoms of the state heads; 0 for no heads.
        compiled: whether the layers are compiled, which takes half a minute at the first step.
    """

    def __init__(self, config: LlamaConfig, atoms: int, *, compiled: bool = False) -> None:
        super().__init__(config)
        self.state_heads = StateHeads(config.hidden_size, atoms) if atoms else None
        if compiled:
            # Written out, attention is fused by the compiler, which is faster for short sequences
            # on a CPU; what it keeps for the backward pass grows with the square of their length.
            if config.max_position_embeddings <= _SHORT:
                self.config._attn_implementation = 'eager'
            for layer in self.model.layers:
                layer.compile(dynamic=True)

    def forward(
        self, input_ids: Tensor, labels: Tensor, states: StateTargets | None = None, **_: Any
    ) -> Losses:
        """The losses of a batch; only words with a label count."""
        hidden = self.model(input_ids=input_ids, use_cache=False).last_hidden_state
        labels = labels[:, 1:]
        wanted = labels != IGNORE
        chosen, targets = hidden[:, :-1][wanted], labels[wanted]
        heard = None
        if self.state_heads is not None and states is not None:
            heard = self.state_heads.loss(chosen, states)
        return word_losses(self.lm_head(chosen), targets, wanted, heard)

    def start_from(self, folder: Path) -> None:
        """Takes the weights of a model folder; the state heads, which it lacks, stay as they are.

        Layers above those of the model pass on what they read until they have learned.

        Raises:
            ConfigError: it is not a whole model of the same width.
        """
        there = {name.split('.')[2] for name in shapes(folder) if name.startswith(_LAYERS)}
        for layer in self.model.layers[len(there) :]:
            nn.init.zeros_(layer.self_attn.o_proj.weight)
            nn.init.zeros_(layer.mlp.down_proj.weight)
        new = tuple(f'{_LAYERS}{n}.' for n in range(len(there), len(self.model.layers)))
        # The embedding is stored once, and is the head as well.
        own = {
            name: weight
            for name, weight in self.state_dict().items()
            if name != 'lm_head.weight' and not name.startswith((_HEADS, *new))
        }
        self.load_state_dict(start_weights(folder, own), strict=False)

    def plain(self, weights: dict[str, Tensor]) -> LlamaForCausalLM:
        """The decoder without its heads, as any program loads it; `weights` are of both."""
        plain = LlamaForCausalLM(self.config)
        plain.load_state_dict({n: w for n, w in weights.items() if not n.startswith(_HEADS)})
        return plain


class StateHeads(nn.Module):
    """Reads the world off the last hidden layer; used while training and left out of the model.

    Before each word of the plan it says which atoms are true, how many steps are left, and where
    the automaton of each constraint stands. That costs little and teaches the decoder to keep
    track of the world.
    """

    def __init__(self, width: int, atoms: int) -> None:
        super().__init__()
        self._sizes = (atoms, MOST_LEFT, MOST_MONITORS * MOST_STANDING)
        self.read = nn.Linear(width, sum(self._sizes))

    def loss(self, hidden: Tensor, targets: StateTargets) -> Tensor:
        """The losses of the three heads, summed over all words; `hidden` has shape (N, width)."""
        atoms, left, standings = self.read(hidden).float().split(self._sizes, dim=1)
        each = functional.binary_cross_entropy_with_logits(
            atoms, targets.atoms.to(atoms.dtype), reduction='none'
        )
        # The sum over an example's atoms, a few of which change at each step, beside one word.
        total = (each * targets.known).sum()
        total = total + 0.3 * functional.cross_entropy(left, targets.left, reduction='sum')
        errors = functional.cross_entropy(
            standings.reshape(-1, MOST_STANDING),
            targets.standings.reshape(-1),
            ignore_index=IGNORE,
            reduction='none',
        ).reshape(targets.standings.shape)
        watched = (targets.standings != IGNORE).sum(dim=1).clamp(min=1)
        return total + (errors.sum(dim=1) / watched).sum()

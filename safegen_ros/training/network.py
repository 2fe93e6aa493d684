# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The decoder and the auxiliary heads that are dropped when it is exported."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import LlamaConfig, LlamaForCausalLM

from safegen_ros.llm.vocabulary import BOS, EOS, MAX_BLOCKS, PAD, WORD_ID, WORDS
from safegen_ros.training.config import ModelConfig
from safegen_ros.training.encoding import (
    IGNORE,
    MAX_LEFT,
    MONITOR_STATES,
    MONITORS,
    SUPPORTS,
    Batch,
)

_SUPPORT_END = MAX_BLOCKS * SUPPORTS
_LEFT_END = _SUPPORT_END + MAX_LEFT
STATE_OUTPUTS = _LEFT_END + MONITORS * MONITOR_STATES


def build_decoder(config: ModelConfig, seed: int) -> LlamaForCausalLM:
    """A freshly initialised Llama decoder over the words of `vocabulary`."""
    torch.manual_seed(seed)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(WORDS),
            hidden_size=config.width,
            intermediate_size=config.mlp,
            num_hidden_layers=config.layers,
            num_attention_heads=config.heads,
            num_key_value_heads=config.heads,
            max_position_embeddings=config.context,
            tie_word_embeddings=True,
            attention_bias=False,
            pad_token_id=WORD_ID[PAD],
            bos_token_id=WORD_ID[BOS],
            eos_token_id=WORD_ID[EOS],
            attn_implementation='sdpa',
        )
    )


class TrainedDecoder(nn.Module):
    """The decoder with a linear head that reads the world state off the last hidden layer.

    The head predicts, before each plan token, what every block stands on, how many steps are
    left and the state of each constraint's automaton. It costs almost nothing and teaches the
    decoder to keep track of the world.
    """

    def __init__(self, config: ModelConfig, seed: int) -> None:
        super().__init__()
        self.decoder = build_decoder(config, seed)
        self.state_head = nn.Linear(config.width, STATE_OUTPUTS)

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Losses over the plan tokens of a batch.

        Returns:
            the mean token loss, the mean loss of the state head, the share of tokens whose most
            likely word is right, and for each sequence whether all of them are.
        """
        ids = torch.from_numpy(batch.ids)
        hidden = self.decoder.model(input_ids=ids, use_cache=False).last_hidden_state
        labels = torch.from_numpy(batch.labels)
        wanted = labels != IGNORE
        chosen, targets = hidden[wanted], labels[wanted]
        logits = self.decoder.lm_head(chosen)
        token_loss = functional.cross_entropy(logits, targets)
        state_loss = self._state_loss(chosen, torch.from_numpy(batch.states)[wanted])
        with torch.no_grad():
            right = logits.argmax(dim=-1) == targets
            table = torch.ones_like(labels, dtype=torch.bool)
            table[wanted] = right
        return token_loss, state_loss, right.float().mean(), table.all(dim=1)

    def _state_loss(self, hidden: Tensor, states: Tensor) -> Tensor:
        outputs = self.state_head(hidden)
        support = outputs[:, :_SUPPORT_END].reshape(-1, SUPPORTS)
        left = outputs[:, _SUPPORT_END:_LEFT_END]
        monitors = outputs[:, _LEFT_END:].reshape(-1, MONITOR_STATES)
        total = functional.cross_entropy(
            support, states[:, :MAX_BLOCKS].reshape(-1), ignore_index=IGNORE
        )
        total = total + 0.3 * functional.cross_entropy(left, states[:, MAX_BLOCKS])
        watched = states[:, MAX_BLOCKS + 1 :].reshape(-1)
        if (watched != IGNORE).any():
            total = total + functional.cross_entropy(monitors, watched, ignore_index=IGNORE)
        return total

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What every model server offers: chat messages in, text out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

Message = dict[str, str]


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a completion is drawn (defaults: SafeGen-LLM table IX).

    Attributes:
        temperature: 0 takes the most likely token each time.
        top_p: share of the probability that is kept at each token, in (0, 1].
        max_new_tokens: longest completion; the context of the model may set a shorter limit.
        seed: the same seed, model and messages give the same completion.
        time_limit_s: longest time for one completion, 0 for no limit [s].
    """

    temperature: float = 0.6
    top_p: float = 0.9
    max_new_tokens: int = 1024
    seed: int = 0
    time_limit_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered.

    Attributes:
        text: the answer without special tokens.
        prompt_tokens: length of the prompt.
        completion_tokens: length of the answer, its end mark included.
        seconds: wall-clock time of the answer [s]; of a whole batch for batched answers.
        finish_reason: `stop` (the model ended it) or `length` (the limit did).
    """

    text: str
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    finish_reason: str


class Backend(Protocol):
    """A model that answers chat messages."""

    def generate(
        self,
        messages: Sequence[Message],
        sampling: Sampling,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Completion:
        """Answers one conversation.

        Args:
            messages: `{'role': ..., 'content': ...}`, the last one from the user.
            sampling: how to draw the answer.
            cancelled: asked at least once per token.

        Raises:
            BackendError: the model cannot answer.
            Canceled: soon after `cancelled()` turned true.
        """
        ...

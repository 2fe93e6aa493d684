# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A model that says given texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from safegen_ros.errors import BackendError, Canceled
from safegen_ros.llm.backend import Completion, Message, Sampling


class ScriptedAnswers:
    """Answers one text after the other, and fails behind the last one.

    Attributes:
        asked: the conversation of each call, with its sampling.
    """

    def __init__(self, *answers: str, reason: str = 'stop') -> None:
        self.asked: list[tuple[list[Message], Sampling]] = []
        self._answers = list(answers)
        self._reason = reason

    def generate(
        self,
        messages: Sequence[Message],
        sampling: Sampling,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Completion:
        self.asked.append((list(messages), sampling))
        if cancelled():
            raise Canceled('stopped')
        if not self._answers:
            raise BackendError('the server is gone')
        return Completion(self._answers.pop(0), 0, 0, 0.0, self._reason)

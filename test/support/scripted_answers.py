# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A model that says given texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from safegen_ros.errors import BackendError, Canceled
from safegen_ros.llm.backend import Cancelled, Completion, Message, Sampling, never

Script = Callable[[Sequence[Message], Sampling], str]


class ScriptedAnswers:
    """Answers one text after the other and fails behind the last one, or answers by a script.

    Args:
        sure: how likely it finds each text; it does not tell where there is none.

    Attributes:
        asked: the conversation of each call, with its sampling.
    """

    def __init__(
        self,
        *answers: str,
        script: Script | None = None,
        reason: str = 'stop',
        sure: Sequence[float] = (),
    ) -> None:
        self.asked: list[tuple[list[Message], Sampling]] = []
        self.answers = list(answers)
        self.script = script or self._next
        self._reason = reason
        self._sure = iter(sure)

    def generate(
        self,
        messages: Sequence[Message],
        sampling: Sampling,
        cancelled: Cancelled = never,
        on_text: Callable[[str], None] | None = None,
    ) -> Completion:
        self.asked.append((list(messages), sampling))
        if cancelled():
            raise Canceled('stopped')
        text, sure = self.script(messages, sampling), next(self._sure, None)
        return Completion(text, 1, 1, 0.0, self._reason, probability=sure)

    def generate_batch(
        self,
        conversations: Sequence[Sequence[Message]],
        sampling: Sampling,
        cancelled: Cancelled = never,
    ) -> list[Completion]:
        return [self.generate(each, sampling, cancelled) for each in conversations]

    def samples(
        self,
        messages: Sequence[Message],
        count: int,
        sampling: Sampling,
        cancelled: Cancelled = never,
    ) -> Iterator[Completion]:
        for _ in range(count):
            yield self.generate(messages, sampling, cancelled)

    def close(self) -> None:
        """Holds nothing."""

    def _next(self, messages: Sequence[Message], sampling: Sampling) -> str:
        if not self.answers:
            raise BackendError('the server is gone')
        return self.answers.pop(0)

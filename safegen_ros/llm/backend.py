# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What every model server offers: chat messages in, text out."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from safegen_ros.errors import BackendError, Canceled, ErrorCode
from safegen_ros.untrusted import visible

Message = dict[str, str]


@dataclass(frozen=True, slots=True)
class Refused:
    """A text that was refused, so that no answer has it again.

    Attributes:
        text: the text; a name at its end is a whole name.
        whole: whether it was refused as a whole answer, or at its end already, so that no answer
            may begin with it.
    """

    text: str
    whole: bool


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a completion is drawn (defaults: SafeGen-LLM table IX).

    Attributes:
        temperature: 0 takes the most likely token each time.
        top_p: share of the probability that is kept at each token, in (0, 1].
        max_new_tokens: longest completion; the context of the model may set a shorter limit.
        seed: the same seed, model and messages give the same completion.
        time_limit_s: longest time for one call, waiting and retries included; 0 for no limit [s].
        stop: the answer ends before the first of the strings; no string is empty.
        refused: what a model in this process does not write; servers are not told.

    Raises:
        ValueError: a stop string is empty, and would end every answer before its first word.
    """

    temperature: float = 0.6
    top_p: float = 0.9
    max_new_tokens: int = 1024
    seed: int = 0
    time_limit_s: float = 0.0
    stop: tuple[str, ...] = ()
    refused: tuple[Refused, ...] = ()

    def __post_init__(self) -> None:
        if '' in self.stop:
            raise ValueError('a stop string is empty: leave it out')


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered.

    Attributes:
        text: the answer without special tokens and without the stop string that ended it, as
            `visible` shows it.
        prompt_tokens: length of the prompt; 0 where a server does not report it.
        completion_tokens: length of the answer, its end mark included; where a server does not
            report it, the number of pieces.
        seconds: wall-clock time of the answer [s]; for answers in process, that of the whole batch.
        finish_reason: `stop` (the model or a stop string ended it) or `length` (the limit did).
        first_token_s: from the call to the first token of the answer [s].
        probability: of this answer by the model alone, at temperature 1; None where it is not told,
            or a stop string ended it.
    """

    text: str
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    finish_reason: str
    first_token_s: float = 0.0
    probability: float | None = None

    def __post_init__(self) -> None:
        # One text is judged, sent, recorded and shown, and each of them can carry it.
        object.__setattr__(self, 'text', visible(self.text.replace('\r\n', '\n')))

    @property
    def tokens_per_s(self) -> float:
        """Tokens of this answer per second after its first one [1/s]; 0 for a single token."""
        seconds = self.seconds - self.first_token_s
        return (self.completion_tokens - 1) / seconds if seconds > 0 else 0.0


Cancelled = Callable[[], bool]
"""Asked again and again while a model answers; true ends the call."""


def never() -> bool:
    """The answer of a caller who does not cancel."""
    return False


CHECK_S = 10.0
"""Longest wait for the first token of a server before it counts as mute [s]."""


class Backend:
    """A model that answers chat messages; one kind of it has to write `_answers`.

    Several threads may call it at once. Every method raises `BackendError` when the model cannot
    answer, or not within the time limit, and `Canceled` soon after `cancelled()` turned true.

    Attributes:
        last: the answer that was finished last; None before the first one.
    """

    last: Completion | None = None

    def check(self, limit_s: float, cancelled: Cancelled = never) -> None:
        """Has a server write a token within a limit [s]; a model in this process is there."""

    def generate(
        self,
        messages: Sequence[Message],
        sampling: Sampling,
        cancelled: Cancelled = never,
        on_text: Callable[[str], None] | None = None,
    ) -> Completion:
        """Answers one conversation.

        Args:
            messages: `{'role': ..., 'content': ...}`, the last one from the user.
            cancelled: asked at least once per token that arrives, and while none does.
            on_text: told each piece of the text as it comes, in the thread of the caller; the
                pieces together are the text of the completion.
        """
        return self._all([messages], sampling, cancelled, on_text)[0]

    def generate_batch(
        self,
        conversations: Sequence[Sequence[Message]],
        sampling: Sampling,
        cancelled: Cancelled = never,
    ) -> list[Completion]:
        """Answers several conversations together, in their order."""
        return self._all(conversations, sampling, cancelled)

    def samples(
        self,
        messages: Sequence[Message],
        count: int,
        sampling: Sampling,
        cancelled: Cancelled = never,
    ) -> Generator[Completion, None, None]:
        """Draws several answers to one conversation.

        A seed gives the same answers again. Where they are drawn one by one, they take the seed
        and those after it: let the next call begin `count` higher.

        Returns:
            The answers as they are finished; closing the iterator ends those that are not.
        """
        with closing(self._answers([messages] * count, sampling, cancelled)) as answers:
            for _, completion in answers:
                yield completion

    def close(self) -> None:
        """Lets go of the model, or of the connections to it; no call may be open."""

    def _answers(
        self,
        conversations: Sequence[Sequence[Message]],
        sampling: Sampling,
        cancelled: Cancelled,
        on_text: Callable[[str], None] | None = None,
    ) -> Generator[tuple[int, Completion], None, None]:
        """The answers with their places, as they are finished; closing it ends the others.

        `on_text` gets the text of the first one.
        """
        raise NotImplementedError

    def _all(
        self,
        conversations: Sequence[Sequence[Message]],
        sampling: Sampling,
        cancelled: Cancelled,
        on_text: Callable[[str], None] | None = None,
    ) -> list[Completion]:
        with closing(self._answers(conversations, sampling, cancelled, on_text)) as found:
            answers = dict(found)
        return [answers[place] for place in range(len(conversations))]


class ChoiceBackend(Backend):
    """A backend that can be made to answer with one of given texts, by its own decoding."""

    def choose(
        self,
        messages: Sequence[Message],
        choices: Sequence[str],
        sampling: Sampling,
        cancelled: Cancelled = never,
    ) -> Completion:
        """Answers with one of the choices, drawn as the model would.

        Args:
            messages: as of `Backend.generate`.
            choices: different texts, none of them empty.
            sampling: how to draw; its limit of tokens and its stop strings play no part.
            cancelled: as of `Backend.generate`.

        Raises:
            ChoiceUnsupported: this server cannot; it is not asked again.
            BackendError: the model cannot answer.
            Canceled: soon after `cancelled()` turned true.
            ValueError: there is no choice, two are equal, or one is empty.
        """
        raise NotImplementedError


class Unsupported(BackendError):
    """This backend cannot do that; another form of the request may work."""


class ChoiceUnsupported(Unsupported):
    """The server cannot be held to given texts: sample from it plainly, and verify."""


def choosing(choices: Sequence[str], sampling: Sampling) -> Sampling:
    """How to draw an answer that is one of the choices; raises as `ChoiceBackend.choose`."""
    if not choices or '' in choices or len(set(choices)) < len(choices):
        raise ValueError('choices: expected different texts, at least one, none of them empty')
    longest = max(len(choice.encode()) for choice in choices) + 8  # at least a byte a token
    return replace(sampling, max_new_tokens=longest, stop=())


class CallClock:
    """Knows when a call must end.

    Args:
        place: whose call it is, for messages.
        sampling: holds the limit.
    """

    def __init__(self, place: str, sampling: Sampling, cancelled: Cancelled) -> None:
        self.start = time.monotonic()
        self._place = place
        self._limit_s = sampling.time_limit_s
        self._cancelled = cancelled

    @property
    def seconds(self) -> float:
        """Since the call began [s]."""
        return time.monotonic() - self.start

    @property
    def left(self) -> float:
        """Until it must end [s]; infinite without a limit."""
        return self._limit_s - self.seconds if self._limit_s > 0 else float('inf')

    def check(self) -> None:
        """Raises `Canceled` or `BackendError` when the call must end."""
        if self._cancelled():
            raise Canceled('the generation was cancelled', ErrorCode.PLANNING_CANCELED)
        if self.left < 0:
            raise BackendError(
                f'{self._place}: the model did not finish within {self._limit_s:g} s: give it '
                'more time'
            )


class StopCut:
    """Cuts a text that comes in pieces before the string that is whole first of some.

    Args:
        stop: the strings, none of them empty.

    Attributes:
        stopped: whether one of them came.
    """

    def __init__(self, stop: Sequence[str]) -> None:
        self.stopped = False
        self._stop = tuple(stop)
        self._held = ''
        self._given: list[str] = []

    @property
    def text(self) -> str:
        """All that was handed on so far."""
        return ''.join(self._given)

    def feed(self, piece: str) -> str:
        """Takes a piece; returns what cannot be part of a stop string."""
        if self.stopped:
            return ''
        held = self._held + piece
        starts = [(held.index(stop), stop) for stop in self._stop if stop in held]
        if starts:
            self.stopped = True
            _, start = min((start + len(stop), start) for start, stop in starts)
            return self._give(held, start, '')
        begun = (
            size
            for stop in self._stop
            for size in range(1, min(len(stop), len(held) + 1))
            if held.endswith(stop[:size])
        )
        cut = len(held) - max(begun, default=0)
        return self._give(held, cut, held[cut:])

    def finish(self) -> str:
        """Returns the held-back text, at the end of the answer."""
        return self._give(self._held, len(self._held), '')

    def _give(self, text: str, cut: int, held: str) -> str:
        self._held = held
        self._given.append(text[:cut])
        return text[:cut]

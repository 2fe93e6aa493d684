# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reads the answers in a stream of the OpenAI protocol, and trusts none of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from safegen_ros.errors import BackendError
from safegen_ros.llm.backend import CallClock, Completion, Message, Sampling, StopCut
from safegen_ros.llm.openai_errors import ErrorFormatter

BYTES_PER_TOKEN = 2048
"""Far more than one token needs in a stream, its JSON around it included."""

BYTES_BESIDES = 65536

FINISHED = ('stop', 'length')


@dataclass
class ChatRequest:
    """One request.

    Attributes:
        messages: the conversation.
        sampling: how to draw.
        number: of the first answer among those of the call.
        count: how many answers are asked for.
        choices: what the answer must be one of; anything when empty.
        fields: of the request, beside those that every one has.
        response: the HTTP response, once it began.
    """

    messages: Sequence[Message]
    sampling: Sampling
    number: int = 0
    count: int = 1
    choices: Sequence[str] = ()
    fields: tuple[str, ...] = ()
    response: Any = field(default=None, repr=False)

    @property
    def too_long(self) -> bool:
        """Whether more bytes came than so many tokens can need."""
        most = BYTES_BESIDES + self.count * self.sampling.max_new_tokens * BYTES_PER_TOKEN
        return self.response is not None and self.response.num_bytes_downloaded > most


class AnswerReader:
    """Puts the answers to one request together."""

    def __init__(self, ask: ChatRequest, clock: CallClock, errors: ErrorFormatter) -> None:
        self._ask = ask
        self._clock = clock
        self._errors = errors
        self._choices: dict[int, _Choice] = {}
        self._taken: set[int] = set()
        self._usage: tuple[int, int] | None = None

    def feed(self, chunk: Any) -> list[str]:
        """Takes a chunk of the stream.

        Returns:
            Its pieces of text, of whichever answer.

        Raises:
            BackendError: this is no chunk of the protocol.
        """
        choices = getattr(chunk, 'choices', None)
        if not isinstance(choices, list):
            raise self._strange(f'a chunk has no choices: {str(chunk)[:100]}')
        self._count(getattr(chunk, 'usage', None))
        return [self._feed_choice(choice) for choice in choices]

    @property
    def begun(self) -> bool:
        """Whether a piece of text came."""
        return any(choice.pieces for choice in self._choices.values())

    @property
    def whole(self) -> bool:
        """Whether all came, the numbers of tokens too."""
        return self._usage is not None and self._all(lambda choice: bool(choice.finish))

    @property
    def overrun(self) -> bool:
        """Whether all that comes is behind stop strings."""
        return self._all(lambda choice: choice.overrun)

    def finished(self) -> list[tuple[int, Completion]]:
        """Of several answers those that have ended since this was asked before."""
        if self._ask.count == 1:
            return []
        return self._take(i for i, choice in sorted(self._choices.items()) if choice.ended)

    def rest(self) -> str:
        """The end of the first answer, which was held back as the start of a stop string."""
        first = self._choices.get(0)
        return first.cut.finish() if first is not None else ''

    def completions(self) -> list[tuple[int, Completion]]:
        """The answers that were not taken yet, with their numbers, once the stream has ended.

        Raises:
            BackendError: an answer broke off, was empty, or ended for another reason.
        """
        if not self._choices or not all(c.ended for c in self._choices.values()):
            raise self._errors.error(
                'the stream ended in the middle of the answer',
                'look whether the server stopped or ran out of memory',
            )
        return self._take(sorted(self._choices))

    def _all(self, is_so: Callable[[_Choice], bool]) -> bool:
        found = self._choices.values()
        return len(found) == self._ask.count and all(is_so(choice) for choice in found)

    def _take(self, indices: Iterable[int]) -> list[tuple[int, Completion]]:
        new = [index for index in indices if index not in self._taken]
        self._taken.update(new)
        return [(self._ask.number + i, self._completion(self._choices[i])) for i in new]

    def _feed_choice(self, choice: Any) -> str:
        index, delta = getattr(choice, 'index', None), getattr(choice, 'delta', None)
        text, finish = getattr(delta, 'content', None), getattr(choice, 'finish_reason', None)
        if not isinstance(index, int) or not 0 <= index < self._ask.count or delta is None:
            raise self._strange(f'a choice has the index {index!r}, or no delta')
        if not isinstance(text, str | None) or not isinstance(finish, str | None):
            raise self._strange('content and finish_reason of a choice are no texts')
        known = self._choices.setdefault(index, _Choice(StopCut(self._ask.sampling.stop)))
        if finish:
            known.finish, known.seconds = finish, self._clock.seconds
        if not text:
            return ''
        known.first = known.first or self._clock.seconds
        known.overrun = known.cut.stopped
        known.pieces += not known.overrun
        return known.cut.feed(text)

    def _count(self, usage: Any) -> None:
        if usage is None:
            return
        prompt = getattr(usage, 'prompt_tokens', None)
        answer = getattr(usage, 'completion_tokens', None)
        if not isinstance(prompt, int) or not isinstance(answer, int) or min(prompt, answer) < 0:
            raise self._strange('the numbers of tokens are no numbers')
        self._usage = (prompt, answer)

    def _completion(self, choice: _Choice) -> Completion:
        choice.cut.finish()
        prompt, answer = self._usage or (0, 0)
        told = self._usage is not None and self._ask.count == 1 and not choice.overrun
        finish = 'stop' if choice.cut.stopped else choice.finish
        text, tokens = choice.cut.text, answer if told else choice.pieces
        if finish not in FINISHED:
            raise self._errors.error(
                f'the answer ended for another reason ({self._errors.clean(finish)})',
                'ask a model that answers in plain text',
            )
        # A model that says nothing but its end mark has answered; one that is cut off has not.
        # Of several answers the tokens of each are not told.
        at_once = self._ask.count > 1 or (told and tokens <= 1)
        silent = not text and not choice.cut.stopped
        if silent and not (finish == 'stop' and at_once):
            raise self._errors.error(
                'the answer is empty',
                'allow more tokens where the model thinks first, or look into the log of the '
                'server',
            )
        seconds = choice.seconds or self._clock.seconds
        return Completion(text, prompt, tokens, seconds, finish, choice.first or seconds)

    def _strange(self, what: str) -> BackendError:
        return self._errors.error(
            f'the answer is not in the protocol of OpenAI ({self._errors.clean(what)})',
            'give the address of a server for it',
        )


@dataclass
class _Choice:
    """One answer as far as it came; `overrun` says that it goes on after a stop string."""

    cut: StopCut
    finish: str = ''
    first: float = 0.0
    seconds: float = 0.0
    pieces: int = 0
    overrun: bool = False

    @property
    def ended(self) -> bool:
        return bool(self.finish) or self.cut.stopped

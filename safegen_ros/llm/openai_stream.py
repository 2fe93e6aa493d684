# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Answers and errors in the protocol of OpenAI, none of them trusted, and the loop that waits."""

from __future__ import annotations

import asyncio
import math
import random
import threading
import weakref
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from safegen_ros.errors import BackendError
from safegen_ros.llm.backend import CallClock, Completion, Message, Sampling, StopCut
from safegen_ros.llm.model_names import KEY_ENV

END_S = 2.0
"""Longest time for a connection to be closed."""


class LoopThread:
    """An event loop in a daemon thread, which ends with its owner."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name='model-server', daemon=True
        )
        self._thread.start()
        self._stop = weakref.finalize(self, self._loop.call_soon_threadsafe, self._loop.stop)

    def start(self, work: Coroutine[Any, Any, None]) -> Future[None]:
        """Begins something; cancelling the returned object cancels it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self, last: Coroutine[Any, Any, None]) -> None:
        """Ends what is open, does something last, and ends; a second time it does nothing."""
        if not self._stop.alive:
            last.close()
            return
        self.start(_end(last)).result()
        self._stop()
        self._thread.join()
        self._loop.close()


async def _end(last: Coroutine[Any, Any, None]) -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=END_S)
    with suppress(asyncio.TimeoutError):
        await asyncio.wait_for(last, END_S)


BYTES_PER_TOKEN = 2048
"""Far more than one token needs in a stream, its JSON around it included."""

BYTES_BESIDES = 65536

FINISHED = ('stop', 'length')


@dataclass
class ChatRequest:
    """One request.

    Attributes:
        number: of the first answer among those of the call.
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
            BackendError: this is not a chunk of the protocol.
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
                'check whether the server stopped or ran out of memory',
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
            raise self._strange('content and finish_reason of a choice are not texts')
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
            raise self._strange('the numbers of tokens are not numbers')
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
                'use a model that answers in plain text',
            )
        # A model that says nothing but its end mark has answered; one that is cut off has not.
        # Of several answers the tokens of each are not told.
        at_once = self._ask.count > 1 or (told and tokens <= 1)
        silent = not text and not choice.cut.stopped
        if silent and not (finish == 'stop' and at_once):
            raise EmptyAnswer(
                f'{self._errors.url}: the answer is empty: allow more tokens where the model '
                'thinks first, or look into the log of the server'
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


RETRIED = frozenset({429, 500, 502, 503, 504})
"""A server that answers these may be well again in a moment."""

LONGEST_PAUSE_S = 8.0
SHOWN = 300
"""So many characters of a server's message are repeated."""

_CURES = {
    400: 'change what its message names',
    401: 'set {key} to a key that it accepts',
    403: 'set {key} to a key that may use this model',
    404: 'name a model that it serves, and end the address in /v1 where it asks for that',
    422: 'change what its message names',
    429: 'send fewer goals at once, or raise its limits',
}


class RequestRefused(BackendError):
    """The server understood the request and does not accept it (400 or 422).

    Attributes:
        said: what it said, in lower case.
    """

    def __init__(self, message: str, said: str) -> None:
        super().__init__(message)
        self.said = said.lower()


class EmptyAnswer(BackendError):
    """The model wrote no text within its tokens."""


class ServerFailed(BackendError):
    """The server reported an error in the middle of an answer."""


class ErrorFormatter:
    """Puts the errors of one server into words."""

    def __init__(self, url: str, model: str, key_env: str, secret: str) -> None:
        self.url = url
        self._model = model
        self._key_env = key_env
        self._secret = secret

    def error(self, what: str, cure: str) -> BackendError:
        """An error at this server."""
        return BackendError(f'{self.url}: {what}: {cure}')

    def named(self, error: Any, tries: int) -> BackendError:
        """The error of the client library in our words."""
        cause = error.__cause__
        if isinstance(cause, BackendError):
            return cause
        status = getattr(error, 'status_code', None)
        often = f', asked {tries} times' if tries > 1 else ''
        if isinstance(status, int):
            return self._status(status, error, often)
        if 'Timeout' in type(error).__name__:
            what = f'the server is silent ({_words(cause)})'
            return self.error(what, 'look whether it is overloaded, or give it more time')
        what = f'the server cannot be reached ({self.clean(_words(cause or error))}{often})'
        return self.error(what, 'start it, or fix its address')

    def _status(self, status: int, error: Any, often: str) -> BackendError:
        said = self.clean(_message(error))
        what = f'the server answered {status} to a request for {self._model!r}{often}: {said}'
        if 300 <= status < 400:
            target = self.clean(str(error.response.headers.get('location', 'elsewhere')))
            return self.error(f'{what}: redirected to {target}', 'give the address that it means')
        cure = _CURES.get(status, 'look into its log')
        message = f'{self.url}: {what}: {cure.format(key=self._key_env)}'
        return RequestRefused(message, said) if status in (400, 422) else BackendError(message)

    def clean(self, text: str) -> str:
        """What a server said, on one line, short, and without the key."""
        if self._secret:
            text = text.replace(self._secret, '***')
        line = ' '.join(''.join(c if c.isprintable() else ' ' for c in text).split())
        return line if len(line) <= SHOWN else f'{line[:SHOWN]}...'


def pause(error: Any, tries: int, base_s: float) -> float | None:
    """How long to wait before the server is asked again.

    Args:
        error: an `openai.OpenAIError`, raised before the answer began.
        base_s: the pause after the first time, which doubles from then on [s].

    Returns:
        The pause [s], with jitter so that many clients do not come back together, or what the
        server asks for; None when it makes no sense to ask again.
    """
    if isinstance(error.__cause__, BackendError) or 'Timeout' in type(error).__name__:
        return None
    status = getattr(error, 'status_code', None)
    if isinstance(status, int) and status not in RETRIED:
        return None
    grown: float = min(base_s * 2 ** (tries - 1), LONGEST_PAUSE_S) * random.uniform(0.5, 1.0)  # noqa: S311
    return max(grown, _asked_for(error))


def _asked_for(error: Any) -> float:
    """The `Retry-After` of an answer [s]; 0 without one, or with a date instead of seconds."""
    response = getattr(error, 'response', None)
    try:
        seconds = float(response.headers['retry-after']) if response is not None else 0.0
    except (KeyError, ValueError):
        return 0.0
    return seconds if math.isfinite(seconds) else 0.0


def _message(error: Any) -> str:
    """What the server says in the body of an error, in the several forms that there are."""
    body = error.body
    if isinstance(body, dict):
        found = body.get('message') or body.get('detail') or body.get('error')
        return found if isinstance(found, str) else str(found or body)
    return str(body) if body else 'no reason given'


def _words(error: BaseException | None) -> str:
    if error is None:
        return 'the connection failed'
    return str(error) or type(error).__name__


def host_of(url: str) -> str:
    """The host of an address; raises BackendError when the host is not allowed."""
    try:
        parts = urlsplit(url)
        host, user, _ = parts.hostname, parts.username, parts.port
    except ValueError as error:
        raise BackendError(f'the address of the model server is wrong: {error}') from error
    if user is not None:
        raise BackendError(
            'the address of the model server holds a name or a password: put the key into an '
            f'environment variable ({KEY_ENV})'
        )
    if parts.scheme not in ('http', 'https') or not host:
        raise BackendError(
            f'{url}: no address of a model server: expected http://HOST:PORT/v1 or https://...'
        )
    return host

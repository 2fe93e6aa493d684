# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Asks any server that speaks the chat protocol of OpenAI: vLLM, transformers, hosted models.

The requests run on an event loop in a separate thread, so that a caller can end a request at any
time. Even if the server hangs, the caller checks the clock and `cancelled` every `POLL_S`. Ending a
request closes its connection, which is how these servers learn of it.
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from safegen_ros.errors import BackendError
from safegen_ros.llm.backend import (
    CallClock,
    Cancelled,
    ChoiceBackend,
    ChoiceUnsupported,
    Completion,
    Message,
    Sampling,
    choosing,
    never,
)
from safegen_ros.llm.model_names import KEY_ENV
from safegen_ros.llm.openai_stream import (
    AnswerReader,
    ChatRequest,
    EmptyAnswer,
    ErrorFormatter,
    LoopThread,
    RequestRefused,
    ServerFailed,
    host_of,
    pause,
)
from safegen_ros.paths import install

POLL_S = 0.02
LAST_S = 0.2
"""Longest wait for the end of a stream whose answer is whole, so that its connection stays."""

PROBE = 'Say yes.'
"""The message that asks for one token."""

_LOOPBACK = ('localhost', '127.0.0.1', '::1')

_ASK: ContextVar[ChatRequest] = ContextVar('ask')
"""The request that is being sent; it gets its response."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long to put up with a server.

    Attributes:
        connect_s: longest wait for a connection [s].
        silence_s: longest wait for the first byte, and from one to the next [s].
        tries: how often a request is sent while the server is down, busy or failing.
        pause_s: before the second time; it doubles from then on [s].
        parallel: requests that are open at once, those of all callers together.
    """

    connect_s: float = 5.0
    silence_s: float = 60.0
    tries: int = 5
    pause_s: float = 0.25
    parallel: int = 16


class OpenAIBackend(ChoiceBackend):
    """A model behind a chat completions endpoint.

    Args:
        url: base address, such as `http://127.0.0.1:8000/v1`.
        model: the name of the model at that server.
        key_env: environment variable with the API key; without one, none is sent.
        retry: limits beside those of each call.

    Raises:
        BackendError: the address is invalid, or the `openai` package is not installed.
    """

    def __init__(
        self, url: str, model: str, key_env: str = KEY_ENV, retry: RetryPolicy | None = None
    ) -> None:
        host = host_of(url)
        try:
            import openai
        except ImportError as error:
            raise BackendError(
                f'a model server needs the openai package ({error}): run {install("llm")}'
            ) from error
        self.url, self.model = url.rstrip('/'), model
        self._retry = retry or RetryPolicy()
        secret = os.environ.get(key_env, '')
        self._errors = ErrorFormatter(self.url, model, key_env, secret)
        self._openai = openai
        # It would take what is missing here from the settings of another service.
        left_out = ['OpenAI-Organization', 'OpenAI-Project'] + ['Authorization'] * (not secret)
        self._headers = {'Accept-Encoding': 'identity', **dict.fromkeys(left_out, openai.omit)}
        self._client = openai.AsyncOpenAI(
            base_url=self.url,
            api_key=secret or 'none',
            # Not its own retries: they ask a silent server again, and come back before it says.
            max_retries=0,
            timeout=openai.Timeout(self._retry.silence_s, connect=self._retry.connect_s),
            http_client=openai.DefaultAsyncHttpxClient(
                follow_redirects=False,
                trust_env=host not in _LOOPBACK,
                event_hooks={'response': [self._note_response]},
            ),
        )
        self._thread = LoopThread()
        self._places = asyncio.Semaphore(self._retry.parallel)  # first come, first served
        self._no_usage = self._no_stop = self._one_each = self._no_choice = False

    def samples(
        self,
        messages: Sequence[Message],
        count: int,
        sampling: Sampling,
        cancelled: Cancelled = never,
    ) -> Generator[Completion, None, None]:
        """Draws several answers, with one request where the server does that; see `Backend`."""
        clock = CallClock(self.url, sampling, cancelled)
        missing = set(range(count))
        if count > 1 and not self._one_each:
            try:
                with closing(
                    self._run([ChatRequest(messages, sampling, count=count)], clock)
                ) as found:
                    for number, completion in found:
                        missing.discard(number)
                        yield completion
            except RequestRefused:
                pass  # the single requests report any other refusal again
            self._one_each = bool(missing)
        asks = [
            ChatRequest(messages, replace(sampling, seed=sampling.seed + i), i)
            for i in sorted(missing)
        ]
        with closing(self._run(asks, clock)) as found:
            for _, completion in found:
                yield completion

    def choose(
        self,
        messages: Sequence[Message],
        choices: Sequence[str],
        sampling: Sampling,
        cancelled: Cancelled = never,
    ) -> Completion:
        """Answers with one of the choices; see `ChoiceBackend.choose`."""
        held = choosing(choices, sampling)
        unsupported = ChoiceUnsupported(
            f'{self.url}: the server knows neither structured_outputs.choice nor grammar: sample '
            'plainly, or use vLLM or llama.cpp'
        )
        if self._no_choice:
            raise unsupported
        clock = CallClock(self.url, sampling, cancelled)

        try:
            completion = dict(self._run([ChatRequest(messages, held, choices=choices)], clock))[0]
        except RequestRefused as error:
            if 'structured' not in error.said and 'grammar' not in error.said:
                raise
            self._no_choice = True
            raise unsupported from error
        if completion.text not in choices:
            self._no_choice = True
            raise unsupported
        return completion

    def check(self, limit_s: float, cancelled: Cancelled = never) -> None:
        """Asks for one token; a model that thinks first has answered without a text, too."""
        sampling = Sampling(max_new_tokens=1, time_limit_s=limit_s)
        with suppress(EmptyAnswer):
            self.generate([{'role': 'user', 'content': PROBE}], sampling, cancelled)

    def close(self) -> None:
        """Closes the connections and ends the thread; no call may be open."""
        self._thread.close(self._client.close())

    async def _note_response(self, response: Any) -> None:
        # Before the body comes, so that its length can be looked at.
        _ASK.get().response = response
        packed = response.headers.get('content-encoding', 'identity')
        if packed != 'identity':
            raise self._errors.error(
                f'the answer is packed ({self._errors.clean(packed)}), which was not requested',
                'switch compression off',
            )

    def _answers(
        self,
        conversations: Sequence[Sequence[Message]],
        sampling: Sampling,
        cancelled: Cancelled,
        on_text: Callable[[str], None] | None = None,
    ) -> Generator[tuple[int, Completion], None, None]:
        asks = [
            ChatRequest(messages, replace(sampling, seed=sampling.seed + place), place)
            for place, messages in enumerate(conversations)
        ]
        with closing(self._run(asks, CallClock(self.url, sampling, cancelled), on_text)) as found:
            yield from found

    def _run(
        self,
        asks: list[ChatRequest],
        clock: CallClock,
        on_text: Callable[[str], None] | None = None,
    ) -> Generator[tuple[int, Completion], None, None]:
        """Yields the answers as they are finished; closing the iterator ends the others."""
        clock.check()
        events: queue.SimpleQueue[Any] = queue.SimpleQueue()
        work = self._thread.start(self._answer_all(asks, clock, events.put))
        work.add_done_callback(events.put)
        try:
            while True:
                event = _next(events)
                clock.check()
                if any(ask.too_long for ask in asks):
                    raise self._errors.error('the answer has no end', 'read the log of the server')
                if event and isinstance(event, str) and on_text is not None:
                    on_text(event)
                elif isinstance(event, tuple):
                    self.last = event[1]
                    yield event
                elif event is work:
                    work.result()
                    return
        finally:
            work.cancel()

    async def _answer_all(
        self, asks: list[ChatRequest], clock: CallClock, put: Callable[[Any], None]
    ) -> None:
        async def one(ask: ChatRequest) -> None:
            async with self._places:
                for found in await self._answer(ask, clock, put):
                    put(found)

        tasks = [asyncio.ensure_future(one(ask)) for ask in asks]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()

    async def _answer(
        self, ask: ChatRequest, clock: CallClock, put: Callable[[Any], None]
    ) -> list[tuple[int, Completion]]:
        while True:
            reader = AnswerReader(ask, clock, self._errors)
            try:
                async with await self._connect(ask, clock) as stream:
                    return await self._read(stream, reader, put)
            except ServerFailed:
                # transformers cannot stop at strings with every tokenizer; here they are cut off
                # in any case.
                if reader.begun or 'stop' not in ask.fields:
                    raise
                self._no_stop = True

    async def _connect(self, ask: ChatRequest, clock: CallClock) -> Any:
        """The stream of a request, which is sent again while the server is down or busy."""
        tries = 0
        while True:
            tries += 1
            try:
                return await self._request(ask)
            except self._openai.OpenAIError as error:
                named = self._errors.named(error, tries)
                if self._refuses_usage(ask, named):
                    continue
                wait = pause(error, tries, self._retry.pause_s)
                if wait is None or tries >= self._retry.tries:
                    raise named from error
                if wait > min(clock.left, self._retry.silence_s):
                    cure = f'the next try is due in {wait:.1f} s, which is too late'
                    raise BackendError(f'{named.message} ({cure})') from error
                await asyncio.sleep(wait)

    async def _request(self, ask: ChatRequest) -> Any:
        sampling = ask.sampling
        _ASK.set(ask)
        more: dict[str, Any] = {}
        if sampling.stop and not self._no_stop:
            more['stop'] = list(sampling.stop)
        if ask.count > 1:
            more['n'] = ask.count
        if ask.choices:
            # The first is vLLM's, the second llama.cpp's; each reads over that of the other.
            more['extra_body'] = {
                'structured_outputs': {'choice': list(ask.choices)},
                'grammar': 'root ::= ' + ' | '.join(map(json.dumps, ask.choices)),
            }
        if not self._no_usage:
            more['stream_options'] = {'include_usage': True}
        ask.fields = tuple(more)
        return await self._client.chat.completions.create(
            model=self.model,
            messages=list(ask.messages),
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            max_completion_tokens=sampling.max_new_tokens,
            seed=sampling.seed,
            stream=True,
            extra_headers=self._headers,
            **more,
        )

    async def _read(
        self, stream: Any, reader: AnswerReader, put: Callable[[Any], None]
    ) -> list[tuple[int, Completion]]:
        kind = stream.response.headers.get('content-type', '')
        if not kind.startswith('text/event-stream'):
            raise self._errors.error(
                f'the answer is {self._errors.clean(kind) or "of no kind"}, not text/event-stream',
                'give the address of a server for chat completions',
            )
        try:
            async for chunk in stream:
                for piece in reader.feed(chunk):
                    put(piece)
                for finished in reader.finished():
                    put(finished)
                if reader.whole:
                    with suppress(asyncio.TimeoutError):
                        await asyncio.wait_for(_rest(stream), LAST_S)
                if reader.whole or reader.overrun:
                    break
        except self._openai.OpenAIError as error:
            raise self._broken(error) from error
        except (ValueError, RecursionError) as error:
            said = self._errors.clean(str(error))
            raise self._errors.error(
                f'the answer is not JSON ({said})', 'check for a proxy in between'
            ) from error
        put(reader.rest())
        return reader.completions()

    def _broken(self, error: Any) -> BackendError:
        """The error of a stream that had begun; nothing of it is asked for again."""
        if isinstance(error, self._openai.APITimeoutError):
            return self._errors.named(error, 1)
        if isinstance(error, self._openai.APIConnectionError):
            why = self._errors.clean(str(error.__cause__))
            return self._errors.error(
                f'the connection broke in the middle of the answer ({why})',
                'look whether the server still runs',
            )
        said = error.body if isinstance(error.body, str) else str(error)
        return ServerFailed(
            f'{self.url}: the server failed in the middle of the answer: '
            f'{self._errors.clean(said)}: look into its log'
        )

    def _refuses_usage(self, ask: ChatRequest, error: BackendError) -> bool:
        """Whether a request was refused for `stream_options`, which is left out from then on."""
        refused = isinstance(error, RequestRefused) and 'stream_options' in error.said
        self._no_usage = self._no_usage or refused
        return refused and 'stream_options' in ask.fields


async def _rest(stream: Any) -> None:
    async for _ in stream:
        pass


def _next(events: queue.SimpleQueue[Any]) -> Any:
    try:
        return events.get(timeout=POLL_S)
    except queue.Empty:
        return None

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A strict server of OpenAI's chat protocol with vLLM's additions, which can also misbehave.

It checks every request against the types that the `openai` package is generated with, and draws
words from a seed instead of asking a model. What it does wrong is told by the name of a fault.
"""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from pydantic import TypeAdapter, ValidationError

from safegen_ros.llm.openai_backend import PROBE

MODEL = 'planner'
KEY = 'k-3f9a'
WORDS = ('pick', 'place', 'red', 'green', 'blue', 'block', 'on', 'the', 'table', 'now')
MOST_WORDS = 40
ENDED = {'prompt_tokens': 3, 'completion_tokens': 1, 'total_tokens': 4}

_SCHEMA = TypeAdapter(CompletionCreateParamsStreaming)
_FIELDS = set(CompletionCreateParamsStreaming.__annotations__)


@dataclass
class Script:
    """What the model answers, one text after the other, and the last one again and again."""

    answers: list[str] = field(default_factory=lambda: ['I do not know.'])

    def __call__(self, messages: list[dict[str, str]]) -> str:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class BadRequest(Exception):
    """The request is not in the protocol."""


def words(messages: Sequence[dict[str, str]], temperature: float, seed: int) -> list[str]:
    """The answer to a conversation: the same for the same seed, and for any when it is greedy."""
    drawn = random.Random(f'{json.dumps(list(messages))} {seed if temperature else "greedy"}')
    return drawn.choices(WORDS, k=drawn.randrange(8, MOST_WORDS))


class ModelServer(ThreadingHTTPServer):
    """Listens on a free port of the loopback interface while it is a context.

    Args:
        key: the API key that it asks for, if any.
        refuse: fields of a request that it does not know, as servers other than vLLM.
        ignore: fields that it reads over.

    Attributes:
        fault: what it does wrong, '' for nothing; see `do_POST` and `misbehave` of `_Handler`.
        faults: how many more requests get the fault; None for all.
        fault_of: what it does wrong for the messages with a certain last text; of `PROBE`, which is
            no part of `requests` and `script`, only that.
        script: what it answers to messages in place of drawn words; None where it draws them.
        retry_after: the header of that name, in answers with a status.
        requests: what was asked for.
        waiting: how many requests have reached the point where their fault makes them wait.
        closed: how many connections the client has closed during such a wait.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(
        self, key: str = '', refuse: Sequence[str] = (), ignore: Sequence[str] = ()
    ) -> None:
        super().__init__(('127.0.0.1', 0), _Handler)
        self.key, self.refuse, self.ignore = key, set(refuse), set(ignore)
        self.fault, self.retry_after = '', ''
        self.faults: int | None = None
        self.fault_of: dict[str, str] = {}
        self.script: Callable[[list[dict[str, str]]], str | None] = lambda messages: None
        self.requests: list[dict[str, Any]] = []
        self.changed = threading.Condition()
        self.waiting = self.closed = self.connections = 0
        self.over = threading.Event()

    @property
    def url(self) -> str:
        return f'http://127.0.0.1:{self.server_port}/v1'

    def __enter__(self) -> ModelServer:
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stops listening and lets go of every request that waits."""
        self.over.set()
        self.shutdown()
        self.server_close()
        self._thread.join()

    def add(self, name: str) -> None:
        """Counts one more of something, and wakes up who waits for that."""
        with self.changed:
            setattr(self, name, getattr(self, name) + 1)
            self.changed.notify_all()

    def wait(self, name: str, count: int, seconds: float = 10.0) -> None:
        """Waits until there are so many of something."""
        with self.changed:
            assert self.changed.wait_for(lambda: getattr(self, name) >= count, seconds), name

    def next_fault(self, text: str) -> str:
        """The fault of the next request, whose last message is this."""
        if text in self.fault_of or text == PROBE:
            return self.fault_of.get(text, '')
        with self.changed:
            if self.faults is None:
                return self.fault
            self.faults -= 1
            return self.fault if self.faults >= 0 else ''


class _Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    disable_nagle_algorithm = True
    server: ModelServer

    def setup(self) -> None:
        super().setup()
        self.server.add('connections')

    def log_message(self, *_: Any) -> None:
        """Says nothing."""

    def do_POST(self) -> None:
        size = int(self.headers['content-length'])
        body = json.loads(self.rfile.read(size))
        asked = body['messages'][-1]['content']
        self.server.requests += [body] * (asked != PROBE)
        fault = self.server.next_fault(asked)
        try:
            if fault.startswith('status-'):
                self.refuse(int(fault[7:]), f'{fault} for key {self.server.key}')
            elif fault == 'endless-error':
                self.start('application/json', 500)
                self.flood('endless')
            elif fault in ('silent', 'html', 'packed', 'redirect'):
                getattr(self, fault)()
            else:
                self.answer(body, fault)
        except BadRequest as error:
            self.refuse(400, str(error))
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def answer(self, body: dict[str, Any], fault: str) -> None:
        if self.path != '/v1/chat/completions':
            return self.refuse(404, f'no {self.path} here')
        if self.server.key and self.headers.get('authorization') != f'Bearer {self.server.key}':
            return self.refuse(401, 'wrong key')
        if not self.server.key and 'authorization' in self.headers:
            raise BadRequest('a key that nobody asked for')
        choice = self.check(body)
        if body['model'] != MODEL:
            return self.refuse(404, f'The model `{body["model"]}` does not exist.')
        self.start('text/event-stream')
        if fault:
            return self.misbehave(fault, body)
        for event in self.events(body, choice):
            self.send(event)
        self.chunk(b'data: [DONE]\n\n')
        self.chunk(b'')

    def check(self, body: dict[str, Any]) -> list[str]:
        """The choices of structured outputs; raises `BadRequest`."""
        for name in self.server.refuse & set(body):
            raise BadRequest(f'Unexpected fields in the request: {name}')
        for name in self.server.ignore & set(body):
            del body[name]
        structured, grammar = body.pop('structured_outputs', None), body.pop('grammar', '')
        if unknown := set(body) - _FIELDS:
            raise BadRequest(f'unknown fields {unknown}')
        try:
            _SCHEMA.validate_python(body, strict=True)
        except ValidationError as error:
            raise BadRequest(str(error)) from error
        if not body['messages'] or body['messages'][-1]['role'] != 'user':
            raise BadRequest('the last message is not from the user')
        if structured is None and grammar:
            rule, _, texts = grammar.partition(' ::= ')
            assert rule == 'root', grammar
            return [json.loads(text) for text in texts.split(' | ')]
        if structured is None:
            return []
        choices = structured.get('choice') if isinstance(structured, dict) else None
        if not isinstance(choices, list) or not choices or set(structured) != {'choice'}:
            raise BadRequest('structured_outputs: expected {"choice": [...]}')
        return choices

    def events(self, body: dict[str, Any], choices: list[str]) -> Iterator[dict[str, Any]]:
        count, temperature = body.get('n') or 1, body['temperature']
        answers = []
        for index in range(count):
            probe = body['messages'][-1]['content'] == PROBE
            scripted = None if probe else self.server.script(body['messages'])
            drawn = words(body['messages'], temperature, body['seed'] + index)
            answer = drawn if scripted is None else scripted.split(' ')
            if choices:
                chosen = random.Random(f'{body["messages"]} {body["seed"] + index}')
                answer = chosen.choice(choices).split(' ')
            answers.append(self.limited(answer, body))
            yield chunk(index, role='assistant', content='')
        for place in range(max(map(len, (tokens for tokens, _ in answers)))):
            for index, (tokens, _) in enumerate(answers):
                if place < len(tokens):
                    yield chunk(index, content=tokens[place])
        for index, (_, finish) in enumerate(answers):
            yield chunk(index, finish)
        if (body.get('stream_options') or {}).get('include_usage'):
            prompt = 2 + sum(len(m['content'].split()) for m in body['messages'])
            made = sum(len(tokens) + (finish == 'stop') for tokens, finish in answers)
            usage = {'prompt_tokens': prompt, 'completion_tokens': made}
            total = {**usage, 'total_tokens': prompt + made}
            yield {**chunk(0), 'choices': [], 'usage': total}

    def limited(self, answer: list[str], body: dict[str, Any]) -> tuple[list[str], str]:
        """The tokens that stop strings and the limit leave, and why they end there."""
        tokens = [answer[0], *(f' {word}' for word in answer[1:])]
        stop, most = body.get('stop') or [], body['max_completion_tokens']
        for size in range(1, len(tokens) + 1):
            text = ''.join(tokens[:size])
            found = [text.index(each) for each in stop if each in text]
            if found:
                kept = text[: min(found)]
                return ([kept] if kept else []), 'stop'
            if size == most:
                return tokens[:size], 'length'
        return tokens, 'stop'

    def misbehave(self, fault: str, body: dict[str, Any]) -> None:
        """Does what the fault is called."""
        first, end = chunk(0, content='pick'), chunk(0, 'stop')
        no_usage = json.dumps({**chunk(0), 'choices': [], 'usage': {'prompt_tokens': 'x'}})
        texts = {
            'half': [first],
            'no-json': [first, '{"choices": [{"index'],
            'no-object': ['[1, 2]'],
            'deep': ['[' * 50000],
            'no-choices': ['{"id": "x"}'],
            'no-delta': ['{"choices": [{"index": 0}]}'],
            'no-text': [chunk(0, content=7)],
            'wrong-index': [chunk(3, content='pick')],
            'wrong-usage': [first, no_usage],
            'empty': [chunk(0, role='assistant', content=''), end],
            'thinking': [chunk(0, role='assistant', content=None), chunk(0, 'length')],
            'ended': [end, {**chunk(0), 'choices': [], 'usage': ENDED}],
            'filtered': [first, chunk(0, 'content_filter')],
            'failed': [first, '{"error": {"message": "out of memory", "code": 500}}'],
            'failed-text': [first, '{"error": "out of memory"}'],
        }
        if fault in texts:
            for text in texts[fault]:
                self.send(text)
            self.chunk(b'')
            return
        if fault in ('stuck', 'cut', 'one-of-two'):
            self.send(first)
        if fault == 'one-of-two':
            self.send(end)
        self.server.add('waiting')
        if fault == 'cut':
            self.close_connection = True  # with no last chunk
        elif fault in ('stuck', 'one-of-two'):
            self.gone()
        else:
            self.flood(fault)

    def flood(self, fault: str) -> None:
        """Sends without an end: `endless` text, one `line`, or `drops` that keep a client awake."""
        piece = b'data: ' + json.dumps(chunk(0, content='pick ' * 200)).encode() + b'\n\n'
        data = {'endless': piece, 'line': b'x' * 65536, 'drops': b': wait\n\n'}[fault]
        try:
            while not self.server.over.is_set():
                self.chunk(data)
                if fault == 'drops':
                    self.server.over.wait(0.01)
        except OSError:
            self.server.add('closed')
            raise

    def silent(self) -> None:
        self.server.add('waiting')
        self.gone()

    def gone(self) -> None:
        """Waits until the client closes its connection, or the server ends."""
        self.connection.settimeout(0.02)
        while not self.server.over.is_set():
            try:
                if not self.connection.recv(1):
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        self.server.add('closed')
        self.close_connection = True

    def html(self) -> None:
        self.whole(200, 'text/html', b'<html>Welcome</html>')

    def packed(self) -> None:
        self.whole(200, 'text/event-stream', b'\x1f\x8b', {'content-encoding': 'gzip'})

    def redirect(self) -> None:
        self.whole(307, 'text/plain', b'', {'location': 'http://127.0.0.1:1/v1'})

    def refuse(self, status: int, message: str) -> None:
        body = json.dumps({'error': {'message': message, 'type': 'error', 'code': status}})
        more = {'retry-after': self.server.retry_after} if self.server.retry_after else {}
        self.whole(status, 'application/json', body.encode(), more)

    def whole(
        self, status: int, kind: str, body: bytes, headers: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        for name, value in {'content-type': kind, **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header('content-length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def start(self, kind: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header('content-type', kind)
        self.send_header('transfer-encoding', 'chunked')
        self.end_headers()

    def send(self, event: dict[str, Any] | str) -> None:
        text = event if isinstance(event, str) else json.dumps(event)
        self.chunk(f'data: {text}\n\n'.encode())

    def chunk(self, data: bytes) -> None:
        self.wfile.write(f'{len(data):x}\r\n'.encode() + data + b'\r\n')
        self.wfile.flush()


def chunk(index: int, finish: str | None = None, **delta: Any) -> dict[str, Any]:
    """A chunk of a stream with one choice."""
    return {
        'id': 'answer', 'object': 'chat.completion.chunk', 'created': 1, 'model': MODEL,
        'choices': [{'index': index, 'delta': delta, 'finish_reason': finish}],
    }  # fmt: skip

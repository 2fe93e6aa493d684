# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Servers that are down, busy, broken or endless: a cause, a cure, and the time limit kept."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from dataclasses import replace
from typing import Any

import pytest
from support.model_server import KEY, MODEL, ModelServer, words
from support.waiting import wait_until

from safegen_ros.errors import BackendError, Canceled, ErrorCode
from safegen_ros.llm.backend import ChoiceBackend, ChoiceUnsupported, Sampling
from safegen_ros.llm.openai_backend import PROBE, OpenAIBackend, RetryPolicy

MESSAGES = [{'role': 'user', 'content': 'build a tower'}]
DRAWN = Sampling(1.0, 1.0, 64, seed=5)
LIMITED = replace(DRAWN, time_limit_s=0.25)
QUICK = RetryPolicy(tries=3, pause_s=0.01)
SLACK_S = 5.0
"""A loaded machine may take so much longer to notice that the time is over."""


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


def opened(server: ModelServer) -> closing[OpenAIBackend]:
    return closing(OpenAIBackend(server.url, MODEL, retry=QUICK))


@pytest.fixture
def backend(server: ModelServer) -> Iterator[OpenAIBackend]:
    with opened(server) as backend:
        yield backend


def failure(backend: OpenAIBackend, sampling: Sampling = DRAWN) -> str:
    """What is said when it cannot answer."""
    with pytest.raises(BackendError) as caught:
        backend.generate(MESSAGES, sampling)
    assert caught.value.code is ErrorCode.BACKEND_FAILED
    assert caught.value.message.startswith(backend.url)
    return caught.value.message


@pytest.mark.parametrize(
    ('fault', 'said'),
    [
        ('half', 'ended in the middle of the answer'),
        ('cut', 'the connection broke in the middle of the answer'),
        ('no-json', 'is not JSON'),
        ('deep', 'is not JSON'),
        ('no-object', 'not in the protocol of OpenAI'),
        ('no-choices', 'not in the protocol of OpenAI'),
        ('no-delta', 'not in the protocol of OpenAI'),
        ('no-text', 'not in the protocol of OpenAI'),
        ('wrong-index', 'not in the protocol of OpenAI'),
        ('wrong-usage', 'not in the protocol of OpenAI'),
        ('empty', 'the answer is empty'),
        ('thinking', 'the answer is empty: allow more tokens'),
        ('filtered', r'ended for another reason \(content_filter\)'),
        ('failed', 'the server failed in the middle of the answer: out of memory'),
        ('failed-text', 'the server failed in the middle of the answer: out of memory'),
        ('html', 'the answer is text/html, not text/event-stream'),
        ('packed', r'the answer is packed \(gzip\)'),
        ('redirect', '307 .*redirected to http://127.0.0.1:1/v1: give the address that it means'),
        ('endless', 'the answer has no end'),
        ('line', 'the answer has no end'),
        ('endless-error', 'the answer has no end'),
    ],
)
def test_a_server_that_answers_wrongly(
    server: ModelServer, backend: OpenAIBackend, fault: str, said: str
) -> None:
    server.fault, server.faults = fault, 1
    with pytest.raises(BackendError, match=said):
        backend.generate(MESSAGES, replace(DRAWN, max_new_tokens=16))
    assert len(server.requests) == 1  # nothing of an answer is asked for twice
    assert backend.generate(MESSAGES, DRAWN).text == ' '.join(words(MESSAGES, 1.0, 5))


SAID = {'': '', 'thinking': '', 'silent': 'within 0.5 s', 'status-401': 'answered 401'}


@pytest.mark.parametrize(('fault', 'said'), SAID.items())
def test_one_token_tells_whether_a_server_answers(
    server: ModelServer, backend: OpenAIBackend, fault: str, said: str
) -> None:
    server.fault_of[PROBE] = fault
    with pytest.raises(BackendError, match=said) if said else nullcontext():
        backend.check(0.5 if said else SLACK_S)
    assert (backend.last is None) == bool(fault)


@pytest.mark.parametrize('fault', ['silent', 'stuck', 'drops'])
def test_the_time_limit_is_kept_whatever_the_server_does(
    server: ModelServer, backend: OpenAIBackend, fault: str
) -> None:
    server.fault = fault
    start = time.monotonic()
    assert 'did not finish within 0.25 s' in failure(backend, LIMITED)
    assert 0.25 <= time.monotonic() - start < SLACK_S
    server.wait('closed', server.waiting)  # none where a busy machine sent nothing in that time


@pytest.mark.parametrize('fault', ['silent', 'stuck', 'drops', 'endless'])
def test_cancelling_closes_the_connection(
    server: ModelServer, backend: OpenAIBackend, fault: str
) -> None:
    server.fault = fault
    with pytest.raises(Canceled) as caught:
        backend.generate(MESSAGES, replace(DRAWN, max_new_tokens=10**6), lambda: server.waiting > 0)
    assert caught.value.code is ErrorCode.PLANNING_CANCELED
    server.wait('closed', 1)


@pytest.mark.parametrize('fault', ['silent', 'stuck'])
def test_a_server_that_falls_silent_is_named_without_a_time_limit(
    server: ModelServer, fault: str
) -> None:
    server.fault = fault
    retry = replace(QUICK, silence_s=0.1)
    with closing(OpenAIBackend(server.url, MODEL, retry=retry)) as backend:
        assert 'the server is silent' in failure(backend)
    wait_until(lambda: bool(server.requests), 'the request, which may be read after that')
    assert len(server.requests) == 1


def test_a_server_that_is_stopped_ends_every_open_call(
    server: ModelServer, backend: OpenAIBackend
) -> None:
    server.fault = 'stuck'
    errors: list[str] = []
    calls = [threading.Thread(target=lambda: errors.append(failure(backend))) for _ in range(3)]
    for call in calls:
        call.start()
    server.wait('waiting', 3)
    server.stop()
    for call in calls:
        call.join(SLACK_S)
    assert ['broke in the middle' in error for error in errors] == [True] * 3


def test_the_requests_of_all_callers_are_bounded_together(server: ModelServer) -> None:
    server.fault_of = {'never answered': 'silent'}
    cancel = threading.Event()
    one = replace(QUICK, parallel=1)
    with (
        closing(OpenAIBackend(server.url, MODEL, retry=one)) as backend,
        ThreadPoolExecutor(1) as threads,
    ):
        stuck = [{'role': 'user', 'content': 'never answered'}]
        first = threads.submit(backend.generate, stuck, DRAWN, cancel.is_set)
        server.wait('waiting', 1)
        assert 'did not finish within 0.25 s' in failure(backend, LIMITED)
        assert len(server.requests) == 1  # the second one has never left
        cancel.set()
        with pytest.raises(Canceled):
            first.result(SLACK_S)
        assert backend.generate(MESSAGES, DRAWN).text
    assert len(server.requests) == 2


def test_one_failing_call_of_a_batch_ends_the_others(
    server: ModelServer, backend: OpenAIBackend
) -> None:
    server.fault_of = {'never answered': 'silent', 'refused': 'status-404'}
    batch = [[{'role': 'user', 'content': text}] for text in server.fault_of]
    start = time.monotonic()
    with pytest.raises(BackendError, match='answered 404'):
        backend.generate_batch(batch, DRAWN)
    assert time.monotonic() - start < SLACK_S


def test_the_time_limit_of_a_batch_is_that_of_all_together(
    server: ModelServer, backend: OpenAIBackend
) -> None:
    server.fault_of = {'never answered': 'silent'}
    with pytest.raises(BackendError, match='did not finish'):
        backend.generate_batch([MESSAGES, [{'role': 'user', 'content': 'never answered'}]], LIMITED)
    server.wait('closed', server.waiting)


def test_a_server_that_is_down() -> None:
    with socket.socket() as deaf:
        deaf.bind(('127.0.0.1', 0))  # so that nobody else listens there
        url = f'http://127.0.0.1:{deaf.getsockname()[1]}/v1'
        with closing(OpenAIBackend(url, MODEL, retry=QUICK)) as backend:
            message = failure(backend)
    assert 'cannot be reached' in message
    assert 'asked 3 times' in message
    assert 'start it, or fix its address' in message


@pytest.mark.parametrize('status', [429, 500, 502, 503, 504])
def test_a_busy_or_failing_server_is_asked_again(
    server: ModelServer, backend: OpenAIBackend, status: int
) -> None:
    server.fault, server.faults = f'status-{status}', 2
    assert backend.generate(MESSAGES, DRAWN).text == ' '.join(words(MESSAGES, 1.0, 5))
    assert len(server.requests) == 3
    server.faults = 3
    message = failure(backend)
    assert f'answered {status}' in message
    assert 'asked 3 times' in message
    assert len(server.requests) == 6


@pytest.mark.parametrize('status', [400, 401, 403, 404, 422])
def test_a_refusal_is_final(server: ModelServer, backend: OpenAIBackend, status: int) -> None:
    server.fault = f'status-{status}'
    assert f'answered {status}' in failure(backend)
    assert len(server.requests) == 1


def test_a_server_says_when_to_come_back(server: ModelServer, backend: OpenAIBackend) -> None:
    server.fault, server.faults, server.retry_after = 'status-429', 1, '0.2'
    start = time.monotonic()
    assert backend.generate(MESSAGES, DRAWN).text
    assert time.monotonic() - start >= 0.2
    for late, retry_after in ((replace(DRAWN, time_limit_s=30.0), '45'), (DRAWN, '1e6')):
        server.faults, server.retry_after = 1, retry_after
        start = time.monotonic()
        assert 'which is too late' in failure(backend, late)
        assert time.monotonic() - start < SLACK_S
    server.faults, server.retry_after = 1, 'Wed, 21 Oct 2026 07:28:00 GMT'
    assert backend.generate(MESSAGES, DRAWN).text


def test_the_time_limit_holds_for_all_tries_together(server: ModelServer) -> None:
    server.fault = 'status-503'
    retry = RetryPolicy(tries=10**6, pause_s=0.01)
    with closing(OpenAIBackend(server.url, MODEL, retry=retry)) as backend:
        for limit_s in (0.25, 2.0, 20.0):
            server.requests.clear()
            start = time.monotonic()
            failure(backend, replace(DRAWN, time_limit_s=limit_s))
            assert time.monotonic() - start < limit_s + SLACK_S
            if len(server.requests) > 1:
                break  # else a busy machine had no time for a second try
    assert len(server.requests) > 1


def test_a_model_that_the_server_does_not_have(server: ModelServer) -> None:
    with closing(OpenAIBackend(server.url, 'plannner', retry=QUICK)) as backend:
        message = failure(backend)
    assert "a request for 'plannner'" in message
    assert 'name a model that it serves' in message


def test_the_key_is_sent_and_never_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv('OPENAI_API_KEY', 'of-another-service')
    with ModelServer(key=KEY) as server, opened(server) as backend:
        message = failure(backend)
        assert 'answered 401' in message
        assert 'set SAFEGEN_API_KEY to a key that it accepts' in message
        monkeypatch.setenv('LAB_KEY', KEY)
        with closing(OpenAIBackend(server.url, MODEL, 'LAB_KEY', QUICK)) as backend:
            assert backend.generate(MESSAGES, DRAWN).text
            server.fault = 'status-500'  # its message repeats the key
            assert 'for key ***' in failure(backend)
    assert KEY not in caplog.text
    assert 'of-another-service' not in caplog.text


def test_what_a_server_says_is_kept_short_and_on_one_line(
    server: ModelServer, backend: OpenAIBackend
) -> None:
    server.key = '\x1b[31m' + 'no\n' * 5000
    server.fault = 'status-404'
    message = failure(backend)
    assert message.isprintable()
    assert len(message) < 600


def test_samples_need_one_request(server: ModelServer, backend: OpenAIBackend) -> None:
    expected = sorted(' '.join(words(MESSAGES, 1.0, 5 + i)) for i in range(4))
    assert sorted(c.text for c in backend.samples(MESSAGES, 4, DRAWN)) == expected
    assert [request.get('n') for request in server.requests] == [4]


def test_a_sample_need_not_wait_for_the_others(server: ModelServer, backend: OpenAIBackend) -> None:
    server.fault = 'one-of-two'
    with closing(backend.samples(MESSAGES, 2, DRAWN)) as samples:
        assert next(samples).text == 'pick'
    server.wait('closed', 1)


@pytest.mark.parametrize('how', ['ignore', 'refuse'])
def test_samples_of_a_server_that_gives_one_at_a_time(how: str) -> None:
    expected = sorted(' '.join(words(MESSAGES, 1.0, 5 + i)) for i in range(4))
    with ModelServer(**{how: ['n']}) as server, opened(server) as backend:
        for asked in (4 if how == 'ignore' else 5, 4):
            server.requests.clear()
            assert sorted(c.text for c in backend.samples(MESSAGES, 4, DRAWN)) == expected
            assert len(server.requests) == asked


def test_rows_of_a_batch_take_seeds_of_their_own(backend: OpenAIBackend) -> None:
    answers = [c.text for c in backend.generate_batch([MESSAGES] * 20, DRAWN)]
    assert answers == [' '.join(words(MESSAGES, 1.0, 5 + i)) for i in range(20)]


def test_what_a_server_does_not_know_is_left_out_and_remembered() -> None:
    with ModelServer(refuse=['stream_options']) as server, opened(server) as backend:
        answers = [backend.generate(MESSAGES, DRAWN) for _ in range(2)]
        assert len(server.requests) == 3
    drawn = words(MESSAGES, 1.0, 5)
    assert [(a.prompt_tokens, a.completion_tokens) for a in answers] == [(0, len(drawn))] * 2


def test_an_answer_of_nothing_but_its_end_is_an_answer(
    server: ModelServer, backend: OpenAIBackend
) -> None:
    server.fault = 'ended'
    answer = backend.generate(MESSAGES, DRAWN)
    assert (answer.text, answer.finish_reason, answer.completion_tokens) == ('', 'stop', 1)
    assert [sample.text for sample in backend.samples(MESSAGES, 2, DRAWN)] == ['', '']


@pytest.mark.parametrize('most', [4, 200])
def test_stop_strings_are_cut_where_the_server_reads_over_them(most: int) -> None:
    whole = words(MESSAGES, 1.0, 5)
    with ModelServer(ignore=['stop']) as server, opened(server) as backend:
        pieces: list[str] = []
        sampling = replace(DRAWN, stop=(f' {whole[2]} {whole[3]}',), max_new_tokens=most)
        answer = backend.generate(MESSAGES, sampling, on_text=pieces.append)
    assert answer.text == ''.join(pieces) == ' '.join(whole[:2])
    assert (answer.finish_reason, answer.completion_tokens) == ('stop', 4)


CHOICES = ('structured_outputs', 'grammar')
"""What a server is told which answers it may give with."""


@pytest.mark.parametrize('known', CHOICES)
def test_a_choice_is_one_of_those_given(known: str) -> None:
    choices = ['(pickup b1)', '(pickup "b2"\n)', '(noop)']
    unknown = {*CHOICES} - {known}
    with ModelServer(ignore=unknown) as server, opened(server) as backend:
        found = {backend.choose(MESSAGES, choices, replace(DRAWN, seed=s)).text for s in range(12)}
        assert found == set(choices)
        assert isinstance(backend, ChoiceBackend)
    assert server.requests[0]['max_completion_tokens'] == max(map(len, choices)) + 8


@pytest.mark.parametrize('how', ['ignore', 'refuse'])
def test_a_server_that_cannot_be_held_to_choices_is_asked_once(how: str) -> None:
    with ModelServer(**{how: CHOICES}) as server, opened(server) as backend:
        for _ in range(3):
            with pytest.raises(ChoiceUnsupported, match='sample plainly'):
                backend.choose(MESSAGES, ['(pickup b1)', '(noop)'], DRAWN)
        assert backend.generate(MESSAGES, DRAWN).text
        assert len(server.requests) == 2


def test_another_refusal_does_not_say_that_choices_are_unsupported(
    server: ModelServer, backend: OpenAIBackend
) -> None:
    server.fault, server.faults = 'status-400', 1
    with pytest.raises(BackendError, match='answered 400') as caught:
        backend.choose(MESSAGES, ['a', 'b'], DRAWN)
    assert not isinstance(caught.value, ChoiceUnsupported)
    assert backend.choose(MESSAGES, ['a', 'b'], DRAWN).text in ('a', 'b')


@pytest.mark.parametrize('choices', [[], ['a', ''], ['a', 'a']])
def test_choices_that_are_none(backend: OpenAIBackend, choices: list[str]) -> None:
    with pytest.raises(ValueError, match='different texts'):
        backend.choose(MESSAGES, choices, DRAWN)


def test_one_connection_serves_one_call_after_another(
    server: ModelServer, backend: OpenAIBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr('safegen_ros.llm.openai_backend.LAST_S', 10.0)  # the end may come late
    for _ in range(4):
        backend.generate(MESSAGES, DRAWN)
        backend.choose(MESSAGES, ['a', 'b'], DRAWN)
    assert (len(server.requests), server.connections) == (8, 1)


def test_the_thread_of_a_backend_ends_with_it(server: ModelServer) -> None:
    def threads() -> list[Any]:
        return [thread for thread in threading.enumerate() if thread.name == 'model-server']

    before = len(threads())
    backend = OpenAIBackend(server.url, MODEL)
    assert len(threads()) == before + 1
    backend.close()
    backend.close()
    assert len(threads()) == before

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What every backend does: in this process, at `transformers serve`, and at a server like vLLM."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.model_server import MODEL, ModelServer
from support.strategies import examples
from support.transformers_serve import TransformersServe

from safegen_ros.errors import BackendError, Canceled, ErrorCode
from safegen_ros.llm.backend import Backend, ChoiceUnsupported, Completion, Sampling, StopCut
from safegen_ros.llm.open_backend import open_backend
from safegen_ros.llm.openai_backend import RetryPolicy
from safegen_ros.llm.special_tokens import EOS, PAD, SPECIAL_TOKENS
from safegen_ros.paths import data_path
from safegen_ros.tasks.pddl3.prompts.styles import load_style
from safegen_ros.tasks.pddl3.task import Pddl3Task

TASK = 'domain blocksworld init on-table block1 on block2 block1 goal on block1 block2 constraints'
MESSAGES = [{'role': 'user', 'content': TASK}]
LONGER = [{'role': 'user', 'content': f'{TASK} sometime on block3 block1 always clear block2'}]
GREEDY = Sampling(temperature=0.0, max_new_tokens=16)
DRAWN = Sampling(1.0, 1.0, 24, seed=5)
LIMIT_S = 120.0

# `transformers serve` has one generator of random numbers for all requests. So they come one by one
# here, and what is broken off draws nothing: it may go on for a moment beside the next request.
ONE_BY_ONE = RetryPolicy(parallel=1, tries=2, pause_s=0.05)


@pytest.fixture(scope='session')
def sampled_model(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny model, made to say words, and to sample where a server goes by its settings."""
    folder = Path(shutil.copytree(tiny_model, tmp_path_factory.mktemp('served') / 'model'))
    unsaid = [i for i, mark in enumerate(SPECIAL_TOKENS) if mark != EOS]
    settings = {
        'do_sample': True,
        'eos_token_id': SPECIAL_TOKENS.index(EOS),
        'pad_token_id': SPECIAL_TOKENS.index(PAD),
        'suppress_tokens': unsaid,
        'top_k': 0,
    }
    (folder / 'generation_config.json').write_text(json.dumps(settings))
    return folder


@pytest.fixture(scope='session')
def served() -> Iterator[TransformersServe]:
    """`transformers serve`."""
    server = TransformersServe()
    yield server
    server.kill()


@pytest.fixture(scope='module')
def in_process(sampled_model: Path) -> Backend:
    return open_backend(sampled_model, device='cpu')


@pytest.fixture(scope='module')
def strict_server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(scope='module')
def batched(sampled_model: Path) -> Iterator[Backend]:
    with closing(open_backend(sampled_model, device='cpu', batch=3)) as backend:
        yield backend


@pytest.fixture(
    params=['in_process', 'batched', 'protocol', pytest.param('serve', marks=pytest.mark.nightly)]
)
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    if request.param in ('in_process', 'batched'):
        yield request.getfixturevalue(request.param)
        return
    if request.param == 'serve':
        folder = request.getfixturevalue('sampled_model')
        address = f'{request.getfixturevalue("served").url}#{folder}'
    else:
        address = f'{request.getfixturevalue("strict_server").url}#{MODEL}'
    with closing(open_backend(address, retry=ONE_BY_ONE)) as remote:
        yield remote


def test_greedy_answers_are_repeatable_and_batches_keep_their_order(backend: Backend) -> None:
    alone = [backend.generate(m, GREEDY) for m in (MESSAGES, LONGER)]
    together = backend.generate_batch([MESSAGES, LONGER], GREEDY)
    assert [c.text for c in alone] == [c.text for c in together]
    assert [c.prompt_tokens for c in alone] == [c.prompt_tokens for c in together] == [15, 22]
    assert backend.generate(MESSAGES, replace(GREEDY, seed=9)).text == alone[0].text
    assert backend.generate_batch([], GREEDY) == []


def test_the_seed_decides_what_is_drawn(backend: Backend) -> None:
    texts = [backend.generate(MESSAGES, replace(DRAWN, seed=s)).text for s in (1, 2, 3, 1)]
    assert texts[0] == texts[3]
    assert len(set(texts)) == 3


def test_the_limit_of_tokens_ends_an_answer(backend: Backend) -> None:
    answer = backend.generate(MESSAGES, replace(DRAWN, max_new_tokens=5))
    assert (answer.finish_reason, answer.completion_tokens) == ('length', 5)
    assert len(answer.text.split()) == 5


def test_a_stop_string_ends_an_answer_and_is_no_part_of_it(backend: Backend) -> None:
    whole = backend.generate(MESSAGES, GREEDY)
    _, second, third = whole.text.split()[:3]
    for stop in ((f'{second} {third}',), ('nothing like this', f' {second}')):
        pieces: list[str] = []
        cut = backend.generate(MESSAGES, replace(GREEDY, stop=stop), on_text=pieces.append)
        assert cut.text == whole.text.split(stop[-1], maxsplit=1)[0]
        assert ''.join(pieces) == cut.text
        assert cut.finish_reason == 'stop'
        assert cut.completion_tokens <= 4


def test_the_pieces_of_a_stream_are_its_text(backend: Backend) -> None:
    pieces: list[str] = []
    streamed = backend.generate(MESSAGES, DRAWN, on_text=pieces.append)
    assert ''.join(pieces) == streamed.text == backend.generate(MESSAGES, DRAWN).text
    assert len(pieces) > 3
    assert all(pieces)
    assert 0 < streamed.first_token_s < streamed.seconds


def test_samples_differ_and_can_be_drawn_again(backend: Backend) -> None:
    def texts() -> list[str]:
        return sorted(c.text for c in backend.samples(MESSAGES, 4, DRAWN))

    drawn = texts()
    assert len(drawn) == 4
    assert len(set(drawn)) > 1
    assert texts() == drawn
    assert list(backend.samples(MESSAGES, 0, DRAWN)) == []


def test_cancelling_ends_an_answer_in_its_middle(backend: Backend) -> None:
    pieces: list[str] = []
    with pytest.raises(Canceled) as caught:
        backend.generate(
            MESSAGES, replace(GREEDY, max_new_tokens=400), lambda: len(pieces) > 1, pieces.append
        )
    assert caught.value.code is ErrorCode.PLANNING_CANCELED
    assert len(pieces) == 2
    assert backend.generate(MESSAGES, GREEDY).text.startswith(''.join(pieces))


@pytest.mark.parametrize('call', ['generate', 'generate_batch', 'samples'])
def test_nothing_is_begun_for_a_caller_who_has_cancelled(backend: Backend, call: str) -> None:
    calls = {
        'generate': lambda: backend.generate(MESSAGES, GREEDY, lambda: True),
        'generate_batch': lambda: backend.generate_batch([MESSAGES], GREEDY, lambda: True),
        'samples': lambda: list(backend.samples(MESSAGES, 2, GREEDY, lambda: True)),
    }
    with pytest.raises(Canceled):
        calls[call]()


def test_a_time_limit_ends_an_answer(backend: Backend) -> None:
    late = replace(GREEDY, max_new_tokens=400, time_limit_s=1e-4)
    with pytest.raises(BackendError, match=r'did not finish within 0\.0001 s') as caught:
        backend.generate(MESSAGES, late)
    assert caught.value.code is ErrorCode.BACKEND_FAILED
    assert backend.generate(MESSAGES, replace(GREEDY, time_limit_s=LIMIT_S)).text


def test_several_threads_may_ask_at_once(backend: Backend) -> None:
    alone = [backend.generate(m, GREEDY).text for m in (MESSAGES, LONGER)]
    with ThreadPoolExecutor(4) as threads:
        asked = [threads.submit(backend.generate, m, GREEDY) for m in (MESSAGES, LONGER) * 3]
        assert [a.result(LIMIT_S).text for a in asked] == alone * 3


@pytest.mark.nightly
def test_the_shipped_model_answers_alike_in_process_and_behind_a_server(
    served: TransformersServe, tower_order: Pddl3Task
) -> None:
    folder = data_path('models/safegen-mini')
    messages = load_style(folder).messages(tower_order.problem, [], tower_order.format)
    sampling = Sampling(0.0, 1.0, 64, time_limit_s=LIMIT_S)
    with (
        closing(open_backend(f'{served.url}#{folder}')) as remote,
        closing(open_backend(folder, device='cpu')) as here,
    ):
        answer = remote.generate(messages, sampling)
        assert answer.text == here.generate(messages, sampling).text
        with pytest.raises(ChoiceUnsupported):
            remote.choose(messages, ['pickup b1', 'pickup b2'], sampling)


@examples(60)
@given(
    st.text('ab', max_size=12),
    st.lists(st.text('ab', min_size=1, max_size=3), max_size=2),
    st.lists(st.integers(1, 4), max_size=12),
)
def test_a_text_is_cut_in_the_same_place_however_it_comes(
    text: str, stop: list[str], sizes: list[int]
) -> None:
    cut, place, given_on = StopCut(stop), 0, ''
    for size in [*sizes, 1, *[1] * len(text)]:
        given_on += cut.feed(text[place : place + size])
        place += size
    given_on += cut.finish()
    found = [(text.index(each) + len(each), text.index(each)) for each in stop if each in text]
    assert cut.stopped == bool(found)
    assert given_on == cut.text == (text[: min(found)[1]] if found else text)


def test_an_empty_stop_string_is_refused() -> None:
    with pytest.raises(ValueError, match='empty'):
        Sampling(stop=('',))


def test_tokens_per_second_are_those_after_the_first() -> None:
    assert Completion('', 5, 11, 3.0, 'stop', 1.0).tokens_per_s == 5
    assert Completion('', 5, 1, 1.0, 'stop', 1.0).tokens_per_s == 0

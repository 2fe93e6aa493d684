# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The client of servers against real ones, and vLLM in its own process: seeds, limits, cancel.

It needs `make base`, and `make vllm` or `make llamacpp`.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
import warnings
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from safegen_ros.errors import Canceled
from safegen_ros.llm.backend import Sampling
from safegen_ros.llm.open_backend import open_backend
from safegen_ros.llm.openai_backend import OpenAIBackend

ROOT = Path(__file__).parents[2]
BASE = ROOT / 'models/base/SmolLM2-135M-Instruct'
VLLM, LLAMA = ROOT / '.cache/vllm/bin/vllm', ROOT / '.cache/llama.cpp'
MADE = {'vllm': VLLM, 'llama.cpp': LLAMA / 'llama-server'}
HOW = {'vllm': 'make vllm', 'llama.cpp': 'make llamacpp'}
HELLO = [{'role': 'user', 'content': 'Name three colours.'}]
OTHER = [{'role': 'user', 'content': 'Count from one to ten.'}]
GREEDY = Sampling(0.0, 1.0, 16)
DRAWN = Sampling(1.0, 1.0, 16)
START_S = 600.0
LIMITS = {
    'HF_HUB_OFFLINE': '1',
    'OMP_NUM_THREADS': '2',
    'VLLM_CPU_KVCACHE_SPACE': '1',
    'VLLM_CPU_OMP_THREADS_BIND': 'nobind',
}

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(1200)]


@pytest.fixture(scope='module', params=MADE)
def kind(request: pytest.FixtureRequest) -> str:
    """A server that is installed here."""
    found: str = request.param
    need(found)
    return found


def need(kind: str) -> None:
    """Skips, and says so, where a server or its model is not made."""
    if not (MADE[kind].exists() and BASE.exists()):
        not_here = f'NO REAL {kind} WAS ASKED: run make base and {HOW[kind]}'
        warnings.warn(not_here, stacklevel=1)
        pytest.skip(not_here)


@pytest.fixture(scope='module')
def adapters(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random adapters of the base."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    torch.manual_seed(1)
    base = AutoModelForCausalLM.from_pretrained(BASE, dtype=torch.bfloat16)
    config = LoraConfig(r=8, target_modules='all-linear', init_lora_weights=False)
    folder = tmp_path_factory.mktemp('adapters')
    get_peft_model(base, config).save_pretrained(folder)
    return folder


def vllm_command(adapters: Path, port: int) -> list[str]:
    return [
        str(VLLM), 'serve', str(BASE), '--served-model-name', 'base', '--dtype', 'bfloat16',
        '--enforce-eager', '--max-model-len', '2048', '--port', str(port),
        '--host', '127.0.0.1', '--enable-lora', '--max-lora-rank', '8',
        '--lora-modules', f'mine={adapters}',
    ]  # fmt: skip


def llama_command(adapters: Path, port: int) -> list[str]:
    base, mine = adapters / 'base.gguf', adapters / 'mine.gguf'
    for script, out, model in (
        ('convert_hf_to_gguf.py', base, [BASE]),
        ('convert_lora_to_gguf.py', mine, ['--base', BASE, adapters]),
    ):
        python = [sys.executable, LLAMA / script, '--outtype', 'f16', '--outfile', out]
        subprocess.run([*python, *model], check=True)
    return [
        str(MADE['llama.cpp']), '-m', str(base), '-c', '8192',
        '--parallel', '4', '--threads', '2', '--port', str(port), '--host', '127.0.0.1',
        '--lora', str(mine),
    ]  # fmt: skip


@pytest.fixture(scope='module')
def address(kind: str, adapters: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that has the base and the adapters."""
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        port = probe.getsockname()[1]
    log = tmp_path_factory.mktemp('server') / 'log'
    environment = {**os.environ, **LIMITS}
    command = {'vllm': vllm_command, 'llama.cpp': llama_command}[kind](adapters, port)
    with log.open('w') as out:
        server = subprocess.Popen(command, env=environment, stdout=out, stderr=subprocess.STDOUT)
    url = f'http://127.0.0.1:{port}'
    try:
        end = time.monotonic() + START_S
        while True:
            assert server.poll() is None, log.read_text()[-3000:]
            assert time.monotonic() < end, log.read_text()[-3000:]
            try:
                urllib.request.urlopen(f'{url}/health', timeout=5).close()
                break
            except OSError:
                time.sleep(1)
        yield f'{url}/v1'
    finally:
        server.terminate()
        server.wait(60)


@pytest.fixture(scope='module')
def backend(address: str) -> Iterator[OpenAIBackend]:
    with closing(open_backend(f'{address}#base')) as opened:
        assert isinstance(opened, OpenAIBackend)
        yield opened


def test_greedy_answers_are_repeatable_and_keep_their_order(backend: OpenAIBackend) -> None:
    alone = [backend.generate(m, GREEDY).text for m in (HELLO, OTHER)]
    assert [c.text for c in backend.generate_batch([HELLO, OTHER], GREEDY)] == alone
    assert alone[0] != alone[1]


def test_the_seed_decides_what_is_drawn(backend: OpenAIBackend) -> None:
    texts = [backend.generate(HELLO, replace(DRAWN, seed=seed)).text for seed in (1, 2, 3, 1)]
    assert texts[0] == texts[3]
    assert len(set(texts)) == 3


def test_limits_and_stop_strings_end_an_answer(backend: OpenAIBackend) -> None:
    short = backend.generate(HELLO, replace(GREEDY, max_new_tokens=4))
    assert (short.finish_reason, short.completion_tokens) == ('length', 4)
    whole = backend.generate(HELLO, replace(GREEDY, max_new_tokens=32)).text
    stop = whole.split()[2]
    cut = backend.generate(HELLO, replace(GREEDY, max_new_tokens=32, stop=(stop,)))
    assert cut.text == whole[: whole.index(stop)]
    assert cut.finish_reason == 'stop'


def test_the_pieces_of_a_stream_are_its_text(backend: OpenAIBackend) -> None:
    pieces: list[str] = []
    answer = backend.generate(HELLO, GREEDY, on_text=pieces.append)
    assert ''.join(pieces) == answer.text
    assert len(pieces) > 1


def test_samples_come_with_one_request(backend: OpenAIBackend) -> None:
    texts = [c.text for c in backend.samples(HELLO, 4, replace(DRAWN, seed=7))]
    assert len(set(texts)) == 4


def test_a_cancelled_answer_ends_and_the_server_goes_on(backend: OpenAIBackend) -> None:
    pieces: list[str] = []
    endless = replace(DRAWN, max_new_tokens=1500)
    with pytest.raises(Canceled):
        backend.generate(HELLO, endless, lambda: len(pieces) > 3, pieces.append)
    assert len(pieces) < 100
    assert backend.generate(OTHER, GREEDY).text


def test_a_choice_is_one_of_those_that_were_given(backend: OpenAIBackend) -> None:
    choices = ['(pickup b1)', '(unstack b2 b1)', '(putdown b3)']
    for seed in range(4):
        assert backend.choose(HELLO, choices, replace(DRAWN, seed=seed)).text in choices


def test_adapters_answer_otherwise(kind: str, address: str, backend: OpenAIBackend) -> None:
    """In vLLM they are a model by their name; llama.cpp has one model, and weighs them."""

    def answer(name: str, scale: float) -> str:
        if kind == 'llama.cpp':
            weights = json.dumps([{'id': 0, 'scale': scale}]).encode()
            adapters = address.removesuffix('/v1') + '/lora-adapters'
            urllib.request.urlopen(urllib.request.Request(adapters, weights), timeout=30).close()
        with closing(open_backend(f'{address}#{name}')) as named:
            return named.generate(HELLO, GREEDY).text

    assert answer('base', 0) != answer('mine', 1)


def test_vllm_in_process_keeps_the_promises_of_a_backend(tmp_path: Path) -> None:
    need('vllm')
    environment = {**os.environ, **LIMITS, 'PYTHONPATH': f'{ROOT}:{ROOT / "test"}'}
    ran = subprocess.run(
        [VLLM.with_name('python'), '-m', 'support.vllm_in_process', BASE, tmp_path / 'found'],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-3000:]
    found = json.loads((tmp_path / 'found').read_text())
    assert found['together'] == found['alone']
    assert found['alone'][0] != found['alone'][1]
    assert found['after'] == found['alone'][0]
    assert found['drawn'][0] == found['drawn'][3]
    assert len({*found['drawn']}) == 3
    assert len({*found['samples']}) > 1
    assert len(found['samples']) == 4
    assert found['short'] == 'length'
    assert found['stopped'] == found['whole'].split(found['word'])[0]
    assert found['canceled']
    assert 0 < found['heard'] < 200
    assert found['chosen'] in ('pick-up b1', 'put-down b1')

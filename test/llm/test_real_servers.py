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
from pathlib import Path

import pytest
from support.real_backend import GREEDY, HELLO, answers, check

from safegen_ros.llm.open_backend import open_backend
from safegen_ros.llm.openai_backend import OpenAIBackend
from safegen_ros.llm.transformers_backend import TransformersBackend

ROOT = Path(__file__).parents[2]
BASE = ROOT / 'models/base/SmolLM2-135M-Instruct'
ADAPTERS = ROOT / 'models/safegen-smollm2'
VLLM, LLAMA = ROOT / '.cache/vllm/bin/vllm', ROOT / '.cache/llama.cpp'
MADE = {'vllm': VLLM, 'llama.cpp': LLAMA / 'llama-server'}
HOW = {'vllm': 'make vllm', 'llama.cpp': 'make llamacpp'}
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


def vllm_command(port: int) -> list[str]:
    return [
        str(VLLM), 'serve', str(BASE), '--served-model-name', 'base', '--dtype', 'bfloat16',
        '--enforce-eager', '--max-model-len', '2048', '--port', str(port),
        '--host', '127.0.0.1', '--enable-lora', '--max-lora-rank', '64',
        '--lora-modules', f'mine={ADAPTERS}',
    ]  # fmt: skip


def llama_command(folder: Path, port: int) -> list[str]:
    base, mine = folder / 'base.gguf', folder / 'mine.gguf'
    for script, out, model in (
        ('convert_hf_to_gguf.py', base, [BASE]),
        ('convert_lora_to_gguf.py', mine, ['--base', BASE, ADAPTERS]),
    ):
        python = [sys.executable, LLAMA / script, '--outtype', 'f16', '--outfile', out]
        subprocess.run([*python, *model], check=True)
    return [
        str(MADE['llama.cpp']), '-m', str(base), '-c', '8192',
        '--parallel', '4', '--threads', '2', '--port', str(port), '--host', '127.0.0.1',
        '--lora', str(mine),
    ]  # fmt: skip


@pytest.fixture(scope='module')
def address(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that has the base and the adapters that we ship."""
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        port = probe.getsockname()[1]
    folder = tmp_path_factory.mktemp('server')
    log = folder / 'log'
    environment = {**os.environ, **LIMITS}
    command = vllm_command(port) if kind == 'vllm' else llama_command(folder, port)
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


def test_a_server_keeps_the_promises_of_a_backend(backend: OpenAIBackend) -> None:
    check(answers(backend))


def test_adapters_answer_otherwise(kind: str, address: str, backend: OpenAIBackend) -> None:
    """In vLLM they are a model by their name; llama.cpp has one model, and weighs them."""

    def answer(name: str, scale: float) -> str:
        if kind == 'llama.cpp':
            weights = json.dumps([{'id': 0, 'scale': scale}]).encode()
            adapters = address.removesuffix('/v1') + '/lora-adapters'
            urllib.request.urlopen(urllib.request.Request(adapters, weights), timeout=30).close()
        with closing(open_backend(f'{address}#{name}')) as named:
            return named.generate(HELLO, GREEDY).text

    here = TransformersBackend(ADAPTERS, 'cpu').generate(HELLO, GREEDY).text
    assert answer('base', 0) != answer('mine', 1) == here


def test_vllm_in_process_keeps_the_promises_of_a_backend(tmp_path: Path) -> None:
    need('vllm')
    environment = {**os.environ, **LIMITS, 'PYTHONPATH': f'{ROOT}:{ROOT / "test"}'}
    ran = subprocess.run(
        [VLLM.with_name('python'), '-m', 'support.real_backend', BASE, tmp_path / 'found'],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-3000:]
    check(json.loads((tmp_path / 'found').read_text()))

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Models that cannot be opened say why, and nothing heavy is imported before one is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from safegen_ros.errors import BackendError
from safegen_ros.llm.model_folder import four_bits
from safegen_ros.llm.open_backend import open_backend
from safegen_ros.llm.openai_backend import OpenAIBackend
from safegen_ros.llm.vllm_backend import VllmBackend


@pytest.mark.parametrize(
    ('spec', 'said'),
    [
        ('file:///etc/passwd#m', 'no address of a model server'),
        ('ftp://host/v1#m', 'no address of a model server'),
        ('http:///v1#m', 'no address of a model server'),
        ('http://host:port/v1#m', 'wrong'),
        ('http://[::1/v1#m', 'wrong'),
        ('http://user:secret@host/v1#m', 'holds a name or a password'),
        ('http://user:secret@host/v1', 'the model is missing'),
        ('http://127.0.0.1:8000/v1', 'the model is missing'),
        ('http://127.0.0.1:8000/v1#', 'the model is missing'),
        ('nowhere', 'no such model folder'),
        ('vllm:nowhere', 'no such model folder'),
    ],
)
def test_names_of_models_that_cannot_be_opened(spec: str, said: str) -> None:
    with pytest.raises(BackendError, match=said) as caught:
        open_backend(spec)
    assert 'secret' not in caught.value.message


def test_what_is_not_installed_is_named(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, 'vllm', None)
    monkeypatch.setitem(sys.modules, 'openai', None)
    with pytest.raises(BackendError, match=r'install safegen_ros\[vllm\] on a machine with a GPU'):
        VllmBackend(tiny_model)
    with pytest.raises(BackendError, match=r'install safegen_ros\[llm\]'):
        OpenAIBackend('http://127.0.0.1:1/v1', 'planner')


def test_four_bits_need_a_gpu_and_a_package(
    tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    with pytest.raises(BackendError, match='4 bits need a GPU, and the device is cpu'):
        open_backend(tiny_model, device='cpu', four_bit=True)
    monkeypatch.setitem(sys.modules, 'bitsandbytes', None)
    with pytest.raises(BackendError, match=r'install safegen_ros\[quantize\]'):
        four_bits(torch, 'cuda')


def test_importing_the_backends_is_cheap() -> None:
    code = (
        'import sys, safegen_ros.llm.open_backend\n'
        'assert not {"torch", "transformers", "openai", "vllm"} & set(sys.modules), "heavy"'
    )
    subprocess.run([sys.executable, '-c', code], check=True, timeout=60)

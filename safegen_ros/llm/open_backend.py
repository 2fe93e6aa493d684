# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Opens a model wherever it is: in a folder, behind an address, or in vLLM."""

from __future__ import annotations

from pathlib import Path

from safegen_ros.errors import BackendError
from safegen_ros.llm.backend import Backend
from safegen_ros.llm.batching_backend import BatchingBackend
from safegen_ros.llm.model_names import KEY_ENV, VLLM, is_server
from safegen_ros.llm.openai_backend import OpenAIBackend
from safegen_ros.llm.openai_client import Patience
from safegen_ros.llm.transformers_backend import TransformersBackend
from safegen_ros.llm.vllm_backend import VllmBackend


def open_backend(
    spec: str | Path,
    *,
    device: str = 'auto',
    four_bit: bool = False,
    batch: int = 1,
    key_env: str = KEY_ENV,
    patience: Patience | None = None,
) -> Backend:
    """Opens a model.

    Args:
        spec: a folder, for transformers in this process; `vllm:FOLDER`, for vLLM in this process;
            or `http://HOST:PORT/v1#MODEL`, also with https, for a server.
        device: `cpu`, `cuda` or `auto`, of transformers.
        four_bit: whether transformers loads the weights in 4 bits.
        batch: answers to several callers that transformers writes together; 1 for one call after
            the other. vLLM decides for itself, and `Patience.parallel` is the bound for a server.
        key_env: environment variable with the API key of a server.
        patience: limits of the requests to a server.

    Raises:
        BackendError: there is no such model, or it cannot be loaded; a server is asked only by
            the first call.
    """
    text = str(spec)
    if is_server(text):
        url, _, model = text.partition('#')
        if not model:
            raise BackendError(
                f'{text.rpartition("@")[2]}: the model is missing: name it after the address, '
                'as in http://127.0.0.1:8000/v1#MODEL'
            )
        return OpenAIBackend(url, model, key_env, patience)
    if text.startswith(VLLM):
        return VllmBackend(text.removeprefix(VLLM))
    if batch > 1:
        return BatchingBackend(spec, device, four_bit, batch=batch)
    return TransformersBackend(spec, device, four_bit)

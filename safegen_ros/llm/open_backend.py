# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Opens a model by its name: a folder, `http://HOST:PORT/v1#MODEL`, `ollama:MODEL`, `vllm:FOLDER`.

A new kind of backend is a module and a line in `_OPENERS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from safegen_ros.errors import BackendError
from safegen_ros.llm.model_names import KEY_ENV, address_and_model, full_name, is_server, split_name

if TYPE_CHECKING:
    from safegen_ros.llm.backend import Backend
    from safegen_ros.llm.openai_backend import RetryPolicy


@dataclass(frozen=True, slots=True)
class _Settings:
    """The arguments of `open_backend` for a model in this process."""

    device: str
    four_bit: bool
    batch: int


def _with_vllm(folder: str, settings: _Settings) -> Backend:
    from safegen_ros.llm.vllm_backend import VllmBackend

    return VllmBackend(folder)


def _with_transformers(folder: str, settings: _Settings) -> Backend:
    from safegen_ros.llm.batching_backend import BatchingBackend
    from safegen_ros.llm.transformers_backend import TransformersBackend

    if settings.batch > 1:
        return BatchingBackend(folder, settings.device, settings.four_bit, batch=settings.batch)
    return TransformersBackend(folder, settings.device, settings.four_bit)


_OPENERS: dict[str, Callable[[str, _Settings], Backend]] = {
    'vllm:': _with_vllm,
    '': _with_transformers,
}
"""What opens the model in a folder, by the prefix of its name."""


def open_backend(
    spec: str | Path,
    *,
    device: str = 'auto',
    four_bit: bool = False,
    batch: int = 1,
    key_env: str = KEY_ENV,
    retry: RetryPolicy | None = None,
) -> Backend:
    """Opens a model.

    Args:
        spec: a folder, for transformers in this process; `vllm:FOLDER`, for vLLM in this process;
            or `http://HOST:PORT/v1#MODEL`, also with https, for a server; `ollama:MODEL` for
            Ollama.
        device: `cpu`, `cuda` or `auto`, of transformers.
        four_bit: whether transformers loads the weights in 4 bits.
        batch: answers to several callers that transformers writes together; 1 for one call after
            the other. vLLM decides for itself; a server has the bound `RetryPolicy.parallel`.
        key_env: environment variable with the API key of a server.
        retry: limits of the requests to a server.

    Raises:
        BackendError: there is no such model, or it cannot be loaded; a server is asked only by
            the first call.
    """
    name, settings = full_name(str(spec)), _Settings(device, four_bit, batch)
    if is_server(name):
        from safegen_ros.llm.openai_backend import OpenAIBackend

        return OpenAIBackend(*address_and_model(name), key_env, retry)
    prefix, folder = split_name(name)
    if prefix not in _OPENERS:
        known = ' '.join(filter(None, _OPENERS))
        raise BackendError(
            f'{name[:200]}: nothing opens models of this kind: give a folder, or {known}FOLDER'
        )
    return _OPENERS[prefix](folder, settings)

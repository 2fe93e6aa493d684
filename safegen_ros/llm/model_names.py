# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The names of models: a folder, `http://HOST:PORT/v1#MODEL`, or `vllm:FOLDER`."""

from __future__ import annotations

from pathlib import Path

from safegen_ros.paths import data_path

VLLM = 'vllm:'

KEY_ENV = 'SAFEGEN_API_KEY'
"""The environment variable with the key of a server, where no other one is named."""


def is_server(spec: str) -> bool:
    """Whether a model is named by an address, not by a folder."""
    return '://' in spec


def named_model(spec: str) -> str:
    """The name of a model with its folder looked up, where it has one; see `open_backend`.

    Raises:
        DataNotFoundError: there is no such folder.
    """
    if is_server(spec):
        return spec
    if spec.startswith(VLLM):
        return f'{VLLM}{data_path(spec.removeprefix(VLLM))}'
    return str(data_path(spec))


def model_folder(spec: str) -> Path | None:
    """The folder in the name of a model; None for a server."""
    return None if is_server(spec) else Path(spec.removeprefix(VLLM))

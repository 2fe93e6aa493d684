# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The names of models: a folder, `http://HOST:PORT/v1#MODEL`, or `vllm:FOLDER`."""

from __future__ import annotations

import re
from pathlib import Path

from safegen_ros.paths import data_path

KEY_ENV = 'SAFEGEN_API_KEY'
"""The environment variable with the key of a server, where no other one is named."""


def is_server(spec: str) -> bool:
    """Whether a model is named by an address, not by a folder."""
    return '://' in spec


def split_name(spec: str) -> tuple[str, str]:
    """The prefix that says what opens the model in a folder, and the folder."""
    prefix = re.match('(?:[a-z]+:)?', spec)
    end = prefix.end() if prefix is not None else 0
    return spec[:end], spec[end:]


def named_model(spec: str) -> str:
    """The name of a model with its folder looked up, where it has one; see `open_backend`.

    Raises:
        DataNotFoundError: there is no such folder.
    """
    if is_server(spec):
        return spec
    prefix, folder = split_name(spec)
    return f'{prefix}{data_path(folder)}'


def model_folder(spec: str) -> Path | None:
    """The folder in the name of a model; None for a server."""
    return None if is_server(spec) else Path(split_name(spec)[1])

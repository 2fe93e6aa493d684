# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The names of models: a folder, `http://HOST:PORT/v1#MODEL`, `ollama:MODEL`, or `vllm:FOLDER`.

A folder may say in `safegen.json` how its model is asked: `{"prompt_style": "words"}`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection
from pathlib import Path

from safegen_ros.errors import BackendError
from safegen_ros.paths import DataNotFoundError, data_path

SETTINGS = 'safegen.json'

INSTRUCT = 'instruct'
"""The prompt style of chat models, and of a folder that says nothing of one."""

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


def address_and_model(name: str) -> tuple[str, str]:
    """The address of a server and its model, of a name such as `http://127.0.0.1:8000/v1#MODEL`.

    Raises:
        BackendError: the name has no model.
    """
    address, _, model = name.partition('#')
    if not model:
        bare = re.sub('//.*@', '//', address)
        raise BackendError(
            f'{bare}: the model is missing: name it after the address, as in {whole_name(bare)}'
        )
    return address, model


def whole_name(name: str) -> str:
    """The name of a model at a server with the usual scheme, port and path, and NAME for it."""
    address, _, model = name.partition('#')
    scheme, _, rest = address.rpartition('://')
    host, _, path = rest.partition('/')
    port = '' if scheme or ':' in host else ':8000'
    return f'{scheme or "http"}://{host}{port}/{path.strip("/") or "v1"}#{model or "NAME"}'


def full_name(spec: str) -> str:
    """The name of a model with the address of its server written out.

    `ollama:MODEL` is a model at the server that OLLAMA_HOST names, else of this machine.
    """
    kind, _, model = spec.partition(':')
    if kind != 'ollama':
        return spec
    host = os.environ.get('OLLAMA_HOST') or '127.0.0.1:11434'
    return f'{host if is_server(host) else f"http://{host}"}/v1#{model}'


def named_model(spec: str) -> str:
    """The full name of a model with its folder looked up, where it has one; see `open_backend`.

    Raises:
        BackendError: the name of a server has no model.
        DataNotFoundError: there is no such folder; a name that looks like an address or like one
            of the Hugging Face hub is answered with how to write it.
    """
    name = full_name(spec)
    if is_server(name):
        address_and_model(name)
        return name
    prefix, folder = split_name(name)
    try:
        return f'{prefix}{data_path(folder)}'
    except DataNotFoundError as error:
        for pattern, cure in _MEANT:
            if re.fullmatch(pattern, plain := name.removeprefix('vllm:')):
                message = error.message.removesuffix('check the path')
                meant = cure.format(plain, whole_name(plain))
                raise DataNotFoundError(f'{message}{meant}') from error
        raise


_MEANT = (
    (
        r'(?:[\w.-]+:\d+|localhost|\d+(?:\.\d+){3}|[\w.-]+(?=/v\d))(?:[/#].*)?',
        'for a server write {1}',
    ),
    (
        r'(?!models/|runs/)[\w-][\w.-]*/[\w.-]+',
        'for a model of the hub run `hf download {0} --local-dir models/NAME` first, and name that '
        'folder',
    ),
    (r'[\w.-]+', 'name a folder, ollama:{0} for a model of Ollama, or {1} for a server'),
    (r'[\w.:-]+', 'name a folder, or ollama:{0} for a model of Ollama'),
)
"""Names of models that are not folders, with their usual meaning."""


def model_folder(spec: str) -> Path | None:
    """The folder in the name of a model; None for a server."""
    return None if is_server(spec) else Path(split_name(spec)[1])


def prompt_style(folder: Path | None) -> str:
    """The style that a model folder asks for; `instruct` without one, and for a server.

    Raises:
        BackendError: the settings of the folder are not what they should be.
    """
    if folder is None or not (path := folder / SETTINGS).exists():
        return INSTRUCT
    try:
        return str(json.loads(path.read_text(encoding='utf-8'))['prompt_style'])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BackendError(
            f'{path}: expected {{"prompt_style": NAME}}: write a NAME such as instruct or words'
        ) from error


def words_of_model(folder: Path) -> Collection[str]:
    """Every word that a model knows whose tokens are words.

    Raises:
        BackendError: its tokenizer cannot be read.
    """
    path = folder / 'tokenizer.json'
    try:
        found: dict[str, int] = json.loads(path.read_text(encoding='utf-8'))['model']['vocab']
        return found
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BackendError(
            f'{path}: the words of the model cannot be read: {error}: copy the whole model folder'
        ) from error

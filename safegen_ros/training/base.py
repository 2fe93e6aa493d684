# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The model that a run starts from: whether its folder holds all of it, before hours go by."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerBase

from safegen_ros.errors import BackendError
from safegen_ros.llm.model_folder import LOCAL, check_no_code
from safegen_ros.training.config import ConfigError

_NAMES = 3  # of weights in a message
_CURE = 'use files of one and the same model'


def check_base(folder: Path, max_length: int) -> None:
    """Compares the weights in a model folder with its configuration, without reading them.

    The library fills weights that are missing with random numbers and goes on; a run must not.

    Args:
        max_length: longest sequence that it is to read [tokens].

    Raises:
        ConfigError: a file is missing or unreadable, weights are missing or of other shapes, or
            the model cannot read sequences of that length.
    """
    if not (folder / 'config.json').is_file():
        raise ConfigError(f'{folder}: config.json is missing: give the whole folder of a model')
    try:
        check_no_code(folder)
    except BackendError as error:
        raise ConfigError(error.message) from error
    found = shapes(folder)
    try:
        config = AutoConfig.from_pretrained(folder, **LOCAL)
        with torch.device('meta'):
            model = AutoModelForCausalLM.from_config(config)
    except Exception as error:  # every loader of the library raises its own kind
        raise ConfigError(f'{folder}: config.json cannot be used: {error}') from error
    context = getattr(config, 'max_position_embeddings', max_length)
    if context < max_length:
        raise ConfigError(
            f'budget.max_length is {max_length}, and {folder} reads {context} tokens at most: '
            'lower it'
        )
    if getattr(config, 'quantization_config', None) is not None:
        return  # packed weights have other names and shapes
    wanted = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    tied = set(getattr(model, 'all_tied_weights_keys', {}))
    missing = sorted(wanted.keys() - found.keys() - tied)
    if missing:
        names = ' '.join(missing[:_NAMES])
        raise ConfigError(f'{folder}: {len(missing)} weights are missing, such as {names}: {_CURE}')
    for name, shape in wanted.items():
        if found.get(name, shape) != shape:
            raise ConfigError(
                f'{folder}: {name} has shape {found[name]}, and config.json asks for {shape}: '
                f'{_CURE}'
            )


def shapes(folder: Path) -> dict[str, tuple[int, ...]]:
    """The shape of every weight of a model folder, by name.

    Raises:
        ConfigError: a file is missing or damaged.
    """
    files = sorted(folder.glob('*.safetensors'))
    if not files:
        raise ConfigError(f'{folder}: no *.safetensors file: give the whole folder of a model')
    found: dict[str, tuple[int, ...]] = {}
    for path in files:
        try:
            with safe_open(path, framework='pt') as file:
                for name in file.keys():  # noqa: SIM118 - not a mapping
                    found[name] = tuple(file.get_slice(name).get_shape())
        except (SafetensorError, OSError) as error:
            raise ConfigError(f'{path}: is damaged: {error}: copy it again') from error
    return found


def start_weights(folder: Path, wanted: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights in a model folder that a new network begins with.

    Raises:
        ConfigError: a file is missing or damaged, or a weight is missing or of another shape.
    """
    found = shapes(folder)
    for name, value in wanted.items():
        if found.get(name) != tuple(value.shape):
            raise ConfigError(
                f'model.network.start: {folder}: {name} has shape {found.get(name)}, and the '
                f'network wants {tuple(value.shape)}: give the shape of that model to '
                'model.network'
            )
    weights: dict[str, Tensor] = {}
    for path in sorted(folder.glob('*.safetensors')):
        weights |= load_file(path)
    return {name: weights[name] for name in wanted}


def base_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    """The tokenizer of a model folder, which pads on the left as generation wants.

    Raises:
        ConfigError: it cannot be loaded, or has no chat template.
    """
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(
            folder, **LOCAL, padding_side='left', truncation_side='left'
        )
    except Exception as error:  # see above
        raise ConfigError(f'{folder}: the tokenizer cannot be loaded: {error}') from error
    if not tokenizer.chat_template:
        raise ConfigError(f'{folder}: the tokenizer has no chat template: add chat_template.jinja')
    return tokenizer


def check_compiler() -> None:
    """Looks for the compiler that `torch.compile` calls.

    Raises:
        ConfigError: there is none.
    """
    compiler = os.environ.get('CXX', 'g++')
    if shutil.which(compiler) is None:
        raise ConfigError(
            f'model.network.compiled needs a C++ compiler, and there is no {compiler}: install '
            'one (apt install g++), name it in CXX, or set it to false'
        )

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Loads the model and the tokenizer of a folder, and says what is wrong with one that is broken."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from safegen_ros.errors import BackendError

REQUIRED_FILES = ('config.json', 'tokenizer_config.json')


@contextmanager
def quick_start() -> Iterator[None]:
    """Imports and loads without the network, progress bars and garbage collection.

    The collector walks the half-million objects that these imports create again and again; a
    quarter of the time to the first answer is saved by letting it rest.
    """
    # Set before transformers is imported: it reads these once.
    os.environ.setdefault('HF_HUB_OFFLINE', '1')
    os.environ.setdefault('HF_HUB_DISABLE_PROGRESS_BARS', '1')
    os.environ.setdefault('TRANSFORMERS_VERBOSITY', 'error')
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def check_folder(folder: Path) -> None:
    """Raises BackendError when a file of the model is missing."""
    if not folder.is_dir():
        raise BackendError(f'{folder}: there is no such model folder: give the folder of a model')
    for name in REQUIRED_FILES:
        if not (folder / name).is_file():
            raise BackendError(f'{folder}: {name} is missing: copy the whole model folder')
    if not any(folder.glob('*.safetensors')):
        raise BackendError(f'{folder}: no *.safetensors file: copy the whole model folder')


def chosen_device(torch: Any, wanted: str) -> str:
    """The device that `cpu`, `cuda` or `auto` means here; raises BackendError without a GPU."""
    if wanted == 'auto':
        return 'cuda' if torch.cuda.is_available() else 'cpu'
    if wanted.startswith('cuda') and not torch.cuda.is_available():
        raise BackendError('device cuda was asked for and torch finds no GPU: use device cpu')
    return wanted


def load_tokenizer(folder: Path) -> Any:
    """The tokenizer of a model; raises BackendError when it is broken or has no chat template."""
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except Exception as error:  # every loader of the library raises its own kind
        raise BackendError(f'{folder}: the tokenizer cannot be loaded: {error}') from error
    if not tokenizer.chat_template:
        raise BackendError(
            f'{folder}: the tokenizer has no chat template, and guessing one would change what '
            'the model reads: add chat_template.jinja'
        )
    return tokenizer


def four_bits(torch: Any, device: str) -> dict[str, Any]:
    """What the loader of a model needs to know for NF4; raises BackendError where it cannot be."""
    if not device.startswith('cuda'):
        raise BackendError(
            f'4 bits need a GPU, and the device is {device}: load the model as it is, or use a '
            'machine with a GPU'
        )
    if find_spec('bitsandbytes') is None:
        raise BackendError(
            '4 bits need the bitsandbytes package, which is not installed: install '
            'safegen_ros[quantize]'
        )
    from transformers import BitsAndBytesConfig

    settings = BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type='nf4',
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
    )
    return {'quantization_config': settings, 'device_map': {'': device}}


def load_model(folder: Path, more: dict[str, Any]) -> Any:
    """The model in a folder.

    Args:
        folder: with its configuration and weights.
        more: more settings for the loader.

    Raises:
        BackendError: it cannot be loaded, or the weights do not fit the configuration.
    """
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    try:
        model, report = AutoModelForCausalLM.from_pretrained(
            folder, local_files_only=True, dtype='auto', output_loading_info=True, **more
        )
    except Exception as error:  # see above
        raise BackendError(f'{folder}: the model cannot be loaded: {error}') from error
    for problem in ('missing_keys', 'mismatched_keys', 'unexpected_keys'):
        if report.get(problem):
            names = ' '.join(map(str, sorted(report[problem])[:3]))
            raise BackendError(
                f'{folder}: the weights do not fit config.json ({problem}: {names}): use files '
                'of one and the same model'
            )
    return model

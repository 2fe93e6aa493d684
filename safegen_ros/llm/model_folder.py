# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Loads the model and the tokenizer of a folder, and names the fault of a broken one."""

from __future__ import annotations

import gc
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

from safegen_ros.errors import BackendError
from safegen_ros.llm.backend import Message
from safegen_ros.paths import DataNotFoundError, data_path, install

REQUIRED_FILES = ('config.json', 'tokenizer_config.json')

LOCAL: Mapping[str, Any] = MappingProxyType({'local_files_only': True, 'trust_remote_code': False})
"""The arguments of every loader of a model, tokenizer or configuration: no network, no code.

Left out, `trust_remote_code` asks on the terminal whether to run the code.
"""

ADAPTERS, ADAPTER_WEIGHTS = 'adapter_config.json', 'adapter_model.safetensors'
"""The files of a folder that holds adapters alone."""

BASES = Path('models/base')
"""Where their base is, under the last part of its name."""

_DOWN, _UP = '.lora_A.weight', '.lora_B.weight'
_OTHER_ADAPTERS = ('use_dora', 'use_rslora', 'fan_in_fan_out', 'rank_pattern', 'alpha_pattern')
_CODE = ('auto_map', 'custom_pipelines')
_KERNELS = re.compile(r'attn_implementation|use_kernels')


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


def check_no_code(folder: Path) -> None:
    """Raises BackendError when a configuration in a model folder asks for Python code.

    Such code would run with the rights of the node; models of the library need none.
    """
    for path in sorted(folder.glob('*config*.json')):
        try:
            found = _asks_for_code(json.loads(path.read_text(encoding='utf-8')))
        except (OSError, ValueError, RecursionError) as error:
            raise BackendError(f'{path}: cannot be read: {error}: copy the whole model') from error
        if found:
            raise BackendError(
                f'{path}: {found!r} asks for code of the folder or of the network, which is never '
                'run here: use a model whose architecture transformers has'
            )


def _asks_for_code(value: Any) -> str:
    """The key of a configuration that names code; empty where none does."""
    if isinstance(value, list):
        return next(filter(None, map(_asks_for_code, value)), '')
    if not isinstance(value, dict):
        return ''
    for key, inner in value.items():
        from_hub = inner is True or (isinstance(inner, str) and '/' in inner)
        if (key in _CODE and inner) or (from_hub and _KERNELS.search(key)):
            return str(key)
        if found := _asks_for_code(inner):
            return found
    return ''


def base_folder(folder: Path) -> Path:
    """The folder with the weights and the tokenizer of a model: that of the base for adapters.

    Raises:
        BackendError: the base of the adapters is not here, or they do not name it.
    """
    path = folder / ADAPTERS
    if not path.is_file():
        return folder
    try:
        base = Path(json.loads(path.read_text(encoding='utf-8'))['base_model_name_or_path'])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BackendError(f'{path}: names no base: {error!r}: copy the whole folder') from error
    try:
        return data_path(BASES / base.name)
    except DataNotFoundError as error:
        if (base / REQUIRED_FILES[0]).is_file():  # where it was when they were trained
            return base
        raise BackendError(
            f'{folder}: holds adapters of {base.name}, which is not in {BASES}: run make base, or '
            'copy that model there'
        ) from error


def check_folder(folder: Path) -> None:
    """Raises BackendError when a file of the model is missing, or asks for code."""
    try:
        there = folder.is_dir()
    except (OSError, ValueError):  # a name that is too long, or no name
        there = False
    if not there:
        raise BackendError(
            f'{str(folder)[:200]}: there is no such model folder: give the folder of a model'
        )
    check_no_code(folder)
    if (base := base_folder(folder)) != folder:
        if not (folder / ADAPTER_WEIGHTS).is_file():
            raise BackendError(f'{folder}: {ADAPTER_WEIGHTS} is missing: copy the whole folder')
        check_folder(base)
        return
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
        raise BackendError('device cuda needs a GPU, and torch finds none: use device cpu')
    return wanted


def load_tokenizer(folder: Path) -> Any:
    """The tokenizer of a model; raises BackendError when it is broken or has no chat template."""
    from transformers import AutoTokenizer

    folder = base_folder(folder)
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, **LOCAL)
    except Exception as error:  # every loader of the library raises its own kind
        raise BackendError(f'{folder}: the tokenizer cannot be loaded: {error}') from error
    if not tokenizer.chat_template:
        raise BackendError(
            f'{folder}: the tokenizer has no chat template, and guessing one would change what '
            'the model reads: add chat_template.jinja'
        )
    return tokenizer


def chat_prompt(tokenizer: Any, folder: Path, messages: Sequence[Message], **how: Any) -> Any:
    """A conversation in the words of the model's chat template.

    Raises:
        BackendError: the template of the folder cannot be used.
    """
    try:
        return tokenizer.apply_chat_template(list(messages), add_generation_prompt=True, **how)
    except Exception as error:  # a template is a program, and fails in any way it likes
        raise BackendError(
            f'{folder}: the chat template cannot be used: {type(error).__name__}: {error}: copy '
            'the whole model folder'
        ) from error


def four_bits(torch: Any, device: str) -> dict[str, Any]:
    """What the loader of a model needs to know for NF4; raises BackendError where it cannot be."""
    if not device.startswith('cuda'):
        raise BackendError(
            f'4 bits need a GPU, and the device is {device}: load the model as it is, or use a '
            'machine with a GPU'
        )
    if find_spec('bitsandbytes') is None:
        raise BackendError(
            f'4 bits need bitsandbytes, which is not installed: run {install("quantize")}'
        )
    return {'quantization_config': nf4(torch), 'device_map': {'': device}}


def nf4(torch: Any) -> Any:
    """The settings of weights in 4 bits, stored as bfloat16 like the others: FSDP shards floats."""
    from transformers import BitsAndBytesConfig

    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type='nf4',
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
        bnb_4bit_quant_storage=torch.bfloat16,
    )


def load_model(folder: Path, more: dict[str, Any]) -> Any:
    """The model in a folder; adapters are merged into their base.

    Raises:
        BackendError: it cannot be loaded, or the weights do not fit the configuration.
    """
    if (base := base_folder(folder)) != folder:
        model = load_model(base, more)
        merge_adapters(model, folder)
        return model
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    try:
        model, report = AutoModelForCausalLM.from_pretrained(
            folder, **LOCAL, use_safetensors=True, dtype='auto', output_loading_info=True, **more
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


def merge_adapters(model: Any, folder: Path) -> None:
    """Adds low-rank adapters in the files of PEFT to the weights of a model.

    PEFT itself would add seconds to every start.

    Raises:
        BackendError: they are of another kind, or do not fit the base.
    """
    import torch
    from safetensors.torch import load_file

    path = folder / ADAPTER_WEIGHTS
    try:
        settings = json.loads((folder / ADAPTERS).read_text(encoding='utf-8'))
        strange = [key for key in _OTHER_ADAPTERS if settings.get(key)]
        if settings['peft_type'] != 'LORA' or strange:
            raise ValueError(f'{settings["peft_type"]} with {strange} is not a plain LoRA')
        scale = settings['lora_alpha'] / settings['r']
        weights = load_file(path)
        with torch.no_grad():
            for name in [key for key in weights if key.endswith(_DOWN)]:
                down, up = weights.pop(name), weights.pop(name.replace(_DOWN, _UP))
                module = name.removeprefix('base_model.model.').removesuffix(_DOWN)
                weight = model.get_submodule(module).weight
                change = (scale * up.float() @ down.float()).to(weight.device)
                weight.copy_(weight.float() + change)
        if weights:
            raise ValueError(f'{min(weights)} is not part of a LoRA')
    except Exception as error:  # torch and safetensors raise many kinds
        raise BackendError(
            f'{path}: the adapters do not fit their base: {error}: use files of one and the same '
            'training, or merge them with PEFT'
        ) from error

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Writes a trained model as a folder that `AutoModelForCausalLM` loads, with checksums."""

from __future__ import annotations

import json
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

from peft import get_peft_model
from transformers import AutoModelForCausalLM, GenerationConfig
from transformers.utils import logging

from safegen_ros.llm.model_folder import LOCAL
from safegen_ros.llm.model_names import SETTINGS
from safegen_ros.training.config import DataConfig, TrainConfig
from safegen_ros.training.metrics import METRICS
from safegen_ros.training.network import TaughtDecoder

CHECKSUMS = 'checksums.sha256'
PROSE = ('README.md', 'evaluation.json')
"""Files about a finished model; not part of it."""
MODEL = 'model'
"""Folder of the model in the folder of a run."""
RECIPE = 'training.json'
LOG = 'training_log.jsonl'


def export_model(trainer: Any, config: TrainConfig, prompt_style: str, out: Path) -> None:
    """Writes the model of a trainer after its last step, as `write_model` does.

    Every process calls it, as each holds a part of the weights under FSDP; the first one writes.
    Adapters are merged into the weights, unless the recipe says otherwise, and state heads are left
    out, so that the folder is a plain model.

    Args:
        prompt_style: how a new network of its world is asked.
    """
    model = trainer.accelerator.unwrap_model(trainer.model)
    lora = config.model.lora
    weights = {
        name: getattr(weight, 'full_tensor', weight.detach)().cpu()
        for name, weight in model.state_dict().items()
        if lora is None or 'lora_' in name
    }
    if not trainer.accelerator.is_main_process:
        return
    if lora is not None and not lora.merged:
        write_adapters(model, weights, config, prompt_style, out)
        return
    network = isinstance(model, TaughtDecoder)
    plain = model.plain(weights) if network else _plain(model, weights, config, out)
    write_model(plain, trainer.processing_class, config, prompt_style, out)


def write_adapters(
    model: Any, weights: dict[str, Any], config: TrainConfig, prompt_style: str, out: Path
) -> None:
    """Writes adapters in bfloat16, settings, recipe, training log and checksums.

    Args:
        model: of PEFT.
        weights: those of its adapters, by name; others are left out.
    """
    partial = out / f'{MODEL}.partial'
    shutil.rmtree(partial, ignore_errors=True)
    low = {name: weight.bfloat16() for name, weight in weights.items()}
    model.save_pretrained(partial, state_dict=low)
    (partial / 'README.md').unlink(missing_ok=True)  # an empty form
    _write_settings(config, prompt_style, partial)
    _finished(partial, config, out)


def _plain(model: Any, weights: dict[str, Any], config: TrainConfig, out: Path) -> Any:
    """The base, read again, with what it learned.

    Merging into packed weights would round them a second time, and FSDP holds parts of weights.
    """
    dtype = 'float32' if config.model.lora is None else config.optimizer.precision
    base = AutoModelForCausalLM.from_pretrained(
        config.model.base, **LOCAL, use_safetensors=True, dtype=dtype
    )
    if config.model.lora is None:
        base.load_state_dict(weights)
        return base
    adapted = get_peft_model(base, model.peft_config['default'])
    adapted.load_state_dict(weights, strict=False)  # which holds the adapters alone
    return adapted.merge_and_unload()


def write_model(
    model: Any, tokenizer: Any, config: TrainConfig, prompt_style: str, out: Path
) -> Path:
    """Writes weights, tokenizer, configurations, recipe, training log and checksums.

    Args:
        model: a `transformers` model.
        prompt_style: how a new network of its world is asked.
        out: folder of the run; `metrics.jsonl` there becomes the training log. Recipe and log of
            the model that a network started from are kept beside, as `start_*`.

    Returns:
        The folder, `out/model`. It is complete or not there at all.
    """
    partial = out / f'{MODEL}.partial'
    shutil.rmtree(partial, ignore_errors=True)
    if config.model.network is not None:
        model.generation_config = GenerationConfig(
            do_sample=True,
            temperature=0.6,
            top_p=0.9,
            top_k=0,
            max_new_tokens=256,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
    model.config.use_cache = True  # which trainers switch off
    logging.disable_progress_bar()
    model.save_pretrained(partial)
    tokenizer.save_pretrained(partial)
    _write_settings(config, prompt_style, partial)
    return _finished(partial, config, out)


def _finished(partial: Path, config: TrainConfig, out: Path) -> Path:
    """Adds recipe, log and checksums to a model, and puts it in its place."""
    folder = out / MODEL
    recipe = json.dumps(config.as_dict(), indent=2) + '\n'
    (partial / RECIPE).write_text(recipe, encoding='utf-8')
    log = out / METRICS
    if log.exists():
        shutil.copy(log, partial / LOG)
    if config.model.network is not None and config.model.network.start:
        _keep_history(Path(config.model.network.start), partial)
    for path in partial.iterdir():
        path.chmod(0o644)  # the library writes weights that only their owner can read
    write_checksums(partial)
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)
    return folder


def _keep_history(start: Path, folder: Path) -> None:
    """Keeps how the model came about that this one began with, which is a part of its training."""
    for name in (RECIPE, LOG):
        if (start / name).exists():
            shutil.copy(start / name, folder / f'start_{name}')


def _write_settings(config: TrainConfig, prompt_style: str, folder: Path) -> None:
    """The prompt style: that of its world for a new network or by the recipe, else the base's."""
    settings = folder / SETTINGS
    if config.model.network is not None or config.data.style != DataConfig().style:
        named = {'prompt_style': prompt_style}
        settings.write_text(json.dumps(named) + '\n', encoding='utf-8')
    elif (Path(config.model.base) / SETTINGS).exists():
        shutil.copy(Path(config.model.base) / SETTINGS, settings)


def write_checksums(folder: Path) -> None:
    """Writes `checksums.sha256` over the files of a model, in the format of `sha256sum -c`."""
    lines = [
        f'{sha256(path.read_bytes()).hexdigest()}  {path.name}\n'
        for path in sorted(folder.iterdir())
        if path.is_file() and path.name not in (CHECKSUMS, *PROSE)
    ]
    (folder / CHECKSUMS).write_text(''.join(lines), encoding='utf-8')

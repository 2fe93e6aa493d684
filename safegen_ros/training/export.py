# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Writes a trained decoder as a folder that `AutoModelForCausalLM` loads, with checksums."""

from __future__ import annotations

import json
import shutil
from hashlib import sha256
from pathlib import Path

from transformers import GenerationConfig, LlamaForCausalLM
from transformers.utils import logging

from safegen_ros.llm.tokenizer import build_tokenizer
from safegen_ros.llm.vocabulary import BOS, EOS, PAD, WORD_ID
from safegen_ros.training.config import TrainConfig

CHECKSUMS = 'checksums.sha256'


def export_model(decoder: LlamaForCausalLM, config: TrainConfig, out: Path) -> Path:
    """Writes weights, tokenizer, configurations, recipe, training log and checksums.

    Args:
        decoder: the network without its auxiliary heads.
        config: the recipe it was trained with.
        out: folder of the run; `metrics.jsonl` there becomes the training log.

    Returns:
        the folder, `out/model`. It is complete or not there at all.
    """
    folder, partial = out / 'model', out / 'model.partial'
    shutil.rmtree(partial, ignore_errors=True)
    decoder.generation_config = GenerationConfig(
        do_sample=True,
        temperature=0.6,
        top_p=0.9,
        top_k=0,
        max_new_tokens=256,
        pad_token_id=WORD_ID[PAD],
        bos_token_id=WORD_ID[BOS],
        eos_token_id=WORD_ID[EOS],
    )
    logging.disable_progress_bar()
    decoder.save_pretrained(partial)
    build_tokenizer(config.model.context).save_pretrained(partial)
    (partial / 'safegen.json').write_text(json.dumps({'prompt_style': 'canonical'}) + '\n')
    (partial / 'training.json').write_text(json.dumps(config.as_dict(), indent=2) + '\n')
    log = out / 'metrics.jsonl'
    if log.exists():
        shutil.copy(log, partial / 'training_log.jsonl')
    for path in partial.iterdir():
        path.chmod(0o644)  # the library writes weights that only their owner can read
    write_checksums(partial)
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)
    return folder


def write_checksums(folder: Path) -> None:
    """Writes `checksums.sha256` over every other file, in the format of `sha256sum -c`."""
    lines = [
        f'{sha256(path.read_bytes()).hexdigest()}  {path.name}\n'
        for path in sorted(folder.iterdir())
        if path.is_file() and path.name != CHECKSUMS
    ]
    (folder / CHECKSUMS).write_text(''.join(lines), encoding='utf-8')

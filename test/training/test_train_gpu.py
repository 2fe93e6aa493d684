# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Lessons in parts, and adapters that are trained on them for a given time, in two stretches."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

ROOT = Path(__file__).parents[2]
BASE = ROOT / 'models/base/SmolLM2-135M-Instruct'


def run(script: str, *arguments: object) -> None:
    command = [sys.executable, str(ROOT / 'scripts' / script), *map(str, arguments)]
    subprocess.run(command, check=True, timeout=200, cwd=ROOT)


@pytest.mark.nightly
@pytest.mark.skipif(not BASE.is_dir(), reason='needs the tokenizer of the base: make base')
def test_a_run_in_two_stretches_learns_from_packed_lessons(tmp_path: Path) -> None:
    base, packed, out = tmp_path / 'base', tmp_path / 'packed', tmp_path / 'run'
    shutil.copytree(BASE, base, ignore=shutil.ignore_patterns('*.safetensors'))
    torch.manual_seed(1)
    LlamaForCausalLM(
        LlamaConfig(
            vocab_size=49152, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, tie_word_embeddings=True,
        )
    ).save_pretrained(base)  # fmt: skip
    for seed in (1, 2):
        run(
            'pack_lessons.py', packed, '--base', base, '--mix', 'small', '--groups', 4, '--size', 2,
            '--seed', seed, '--jobs', 2,
        )  # fmt: skip
    (packed / '2-00000.npz').rename(packed / '2-00001.npz')  # the first part of a seed is held back
    found = np.load(packed / '1-00000.npz')
    words = AutoTokenizer.from_pretrained(base).decode(found['ids'][: found['ends'][0]])
    assert words.startswith('<|im_start|>')
    assert len(found['ends']) == 8

    recipe = yaml.safe_load((ROOT / 'config/train/smollm2-gpu.yaml').read_text(encoding='utf-8'))
    recipe['model']['base'] = str(base)
    (tmp_path / 'recipe.yaml').write_text(yaml.safe_dump(recipe), encoding='utf-8')
    for begin, end in ((0, 0.5), (0.5, 1)):
        run(
            'train_gpu.py', '--config', tmp_path / 'recipe.yaml', '--packed', packed, '--out', out,
            '--state', tmp_path / 'state', '--seconds', 4, '--begin', begin, '--end', end,
            '--log', 1, '--tokens', 4096,
        )  # fmt: skip
    lines = [json.loads(line) for line in (out / 'metrics.jsonl').read_text().splitlines()]
    losses = [line['loss'] for line in lines if 'loss' in line]
    assert losses[-1] < losses[0]
    rates = [line['rate'] for line in lines if 'rate' in line]
    assert rates[-1] < max(rates)
    assert (out / 'model/adapter_model.safetensors').is_file()

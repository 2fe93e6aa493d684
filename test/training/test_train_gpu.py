# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Lessons in parts, and adapters that are trained on them for a given time, in two stretches."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from torch.nn.functional import cross_entropy
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

ROOT = Path(__file__).parents[2]
BASE = ROOT / 'models/base/SmolLM2-135M-Instruct'


def run(script: str, *arguments: object) -> None:
    command = [sys.executable, str(ROOT / 'scripts' / script), *map(str, arguments)]
    subprocess.run(command, check=True, timeout=200, cwd=ROOT)


def test_lessons_in_a_row_cost_what_they_cost_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / 'scripts'))
    script = import_module('train_gpu')
    torch.manual_seed(1)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=50, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2,
        )
    )  # fmt: skip
    rng = np.random.default_rng(2)
    groups = []
    for _ in range(3):
        common = rng.integers(50, size=9)
        rests = [rng.integers(50, size=rng.integers(4, 12)) for _ in range(5)]
        groups.append([(np.concatenate([common, rest]), 9 + 2) for rest in rests])
    rows = list(script.Packer(64).rows(groups))
    assert len(rows) > 1
    assert sum(row.count for row in rows) == 15
    with torch.no_grad():
        found = script.row_losses(model, script.tensors(rows, 'cpu'))
        alone = 0.0
        for ids, answer in (lesson for group in groups for lesson in group):
            words = torch.from_numpy(ids)[None]
            logits = model(words).logits[0, answer - 1 : -1]
            alone += cross_entropy(logits, words[0, answer:], reduction='sum').item()
    assert found.count == sum(len(ids) - answer for group in groups for ids, answer in group)
    assert found.words.item() == pytest.approx(alone, rel=1e-4)


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
            'pack_lessons.py', packed, '--base', base, '--rows',
            ROOT / 'data/safegen-bench/test.jsonl', '--groups', 4, '--size', 2, '--seed', seed,
            '--jobs', 2,
        )  # fmt: skip
    (packed / '2-00000.npz').rename(packed / '2-00001.npz')  # the first part of a seed is held back
    found = np.load(packed / '1-00000.npz')
    words = AutoTokenizer.from_pretrained(base).decode(found['ids'][: found['ends'][0]])
    assert words.startswith('<|im_start|>')
    assert len(found['ends']) == 8

    recipe = yaml.safe_load((ROOT / 'config/train/smollm2-gpu.yaml').read_text(encoding='utf-8'))
    recipe['model']['base'] = str(base)
    recipe['optimizer'].update(learning_rate=0.05, warmup=1)
    (tmp_path / 'recipe.yaml').write_text(yaml.safe_dump(recipe), encoding='utf-8')
    for begin, end in ((0, 0.5), (0.5, 1)):
        run(
            'train_gpu.py', '--config', tmp_path / 'recipe.yaml', '--packed', packed, '--out', out,
            '--state', tmp_path / 'state', '--seconds', 8, '--begin', begin, '--end', end,
            '--log', 1, '--length', 2048, '--rows', 2,
        )  # fmt: skip
    lines = [json.loads(line) for line in (out / 'metrics.jsonl').read_text().splitlines()]
    losses = [line['loss'] for line in lines if 'loss' in line]
    assert losses[-1] < losses[0]
    rates = [line['rate'] for line in lines if 'rate' in line]
    assert rates[-1] < max(rates)
    assert (out / 'model/adapter_model.safetensors').is_file()

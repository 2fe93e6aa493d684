# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Puts the stages of a trained model into one folder, as it ships.

    .venv/bin/python scripts/ship_model.py --sft runs/mini-sft [--grpo runs/mini-grpo] \
        --out models/safegen-mini

The model after the last stage lies at the top, what was before it below `stages`, and
`stages.json` names them for `safegen evaluate table2`. The card and the figures of the last
measurement stay where they are.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import torch
from transformers import AutoTokenizer

from safegen_ros.evaluation.subjects import STAGES_FILE
from safegen_ros.training.config import load_config
from safegen_ros.training.export import MODEL, PROSE, write_checksums, write_model
from safegen_ros.training.network import new_decoder


def ship(sft: Path, grpo: Path | None, recipe: Path, out: Path) -> None:
    """Replaces the model in `out`.

    Args:
        sft: the last supervised run.
        grpo: the run of reinforcement, if there was one.
        recipe: of the first supervised run, for the network before training.
        out: folder of the model.
    """
    partial = out.with_name(f'{out.name}.partial')
    shutil.rmtree(partial, ignore_errors=True)
    stages = {'PT': 'stages/pt', 'SFT': '.'}
    shutil.copytree((grpo or sft) / MODEL, partial)
    if grpo is not None:
        stages |= {'SFT': 'stages/sft', 'GRPO': '.'}
        shutil.copytree(sft / MODEL, partial / stages['SFT'])
    config = load_config(recipe)
    if config.model.network is None:
        raise SystemExit(f'{recipe}: trains no new network: give the recipe of the first stage')
    # Random numbers do not become better by more digits.
    tokenizer = AutoTokenizer.from_pretrained(partial, local_files_only=True)
    before = new_decoder(config.model.network, config.seed, len(tokenizer)).to(torch.bfloat16)
    made = write_model(before, tokenizer, config, partial / 'untrained')
    (partial / stages['PT']).parent.mkdir(exist_ok=True)
    shutil.move(made, partial / stages['PT'])
    (partial / 'untrained').rmdir()
    (partial / STAGES_FILE).write_text(json.dumps(stages) + '\n', encoding='utf-8')
    write_checksums(partial)
    for name in PROSE:
        if (out / name).exists():
            shutil.copy(out / name, partial / name)
    shutil.rmtree(out, ignore_errors=True)
    partial.rename(out)


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument('--sft', type=Path, required=True)
    parser.add_argument('--grpo', type=Path)
    parser.add_argument('--recipe', type=Path, default=Path('config/train/mini.yaml'))
    parser.add_argument('--out', type=Path, required=True)
    given = parser.parse_args()
    ship(given.sft, given.grpo, given.recipe, given.out)


if __name__ == '__main__':
    main()

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Puts the stages of a trained model into one folder, as it ships.

    .venv/bin/python scripts/ship_model.py --sft runs/mini-sft [--grpo runs/mini-grpo] \
        [--serve sft] --out models/safegen-mini

The model after the last stage, or that which is named, lies at the top, the others below `stages`,
and `stages.json` names them for `safegen evaluate table2`. The card and the figures of the last
measurement stay where they are.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import torch
from transformers import AutoTokenizer

from safegen_ros.benchmarks.subjects import STAGES_FILE
from safegen_ros.training.config import load_config
from safegen_ros.training.export import MODEL, PROSE, write_checksums, write_model
from safegen_ros.training.network import new_decoder
from safegen_ros.training.run import world_of


def ship(sft: Path, grpo: Path | None, serve: str, recipe: Path, out: Path) -> None:
    """Replaces the model in `out`.

    Args:
        sft: the last supervised run.
        grpo: the run of reinforcement, if there was one.
        serve: the stage at the top, `sft` or `grpo`; the last one where it is empty.
        recipe: of the first supervised run, for the network before training.
        out: folder of the model.
    """
    partial = out.with_name(f'{out.name}.partial')
    shutil.rmtree(partial, ignore_errors=True)
    runs = {'SFT': sft} if grpo is None else {'SFT': sft, 'GRPO': grpo}
    top = serve.upper() or list(runs)[-1]
    shutil.copytree(runs[top] / MODEL, partial)
    stages = {'PT': 'stages/pt'}
    for name, run in runs.items():
        stages[name] = '.' if name == top else f'stages/{name.lower()}'
        if name != top:
            shutil.copytree(run / MODEL, partial / stages[name])
    config = load_config(recipe)
    if config.model.network is None:
        raise SystemExit(f'{recipe}: trains no new network: give the recipe of the first stage')
    # Random numbers do not become better by more digits.
    tokenizer = AutoTokenizer.from_pretrained(partial, local_files_only=True)
    before = new_decoder(config.model.network, config.seed, len(tokenizer)).to(torch.bfloat16)
    made = write_model(
        before, tokenizer, config, world_of(config).prompt_style, partial / 'untrained'
    )
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
    parser.add_argument('--serve', choices=('sft', 'grpo'), default='')
    parser.add_argument('--recipe', type=Path, default=Path('config/train/mini.yaml'))
    parser.add_argument('--out', type=Path, required=True)
    given = parser.parse_args()
    ship(given.sft, given.grpo, given.serve, given.recipe, given.out)


if __name__ == '__main__':
    main()

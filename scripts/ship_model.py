# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Puts the stages of a trained model into one folder, as it ships, or writes an untrained one.

    .venv/bin/python scripts/ship_model.py --sft runs/mini-sft [--grpo runs/mini-grpo] \
        [--serve sft] [--keep] [--problems 223000] --out models/safegen-mini
    .venv/bin/python scripts/ship_model.py --untrained models/safegen-mini \
        --recipe config/train/mini.yaml --out runs/mini-pt

The model after the last stage, or that which is named, is shipped; with `--keep` the other one lies
below `stages`, and `stages.json` names both for `safegen eval table2`. The card, the logs of
earlier runs and the figures of the last measurement stay. No network before training is shipped:
the second command writes it from the seed of its recipe, with the words of a model.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path

import torch
from transformers import AutoTokenizer

from safegen_ros.benchmarks.subjects import STAGES_FILE, TRAINING
from safegen_ros.training.config import load_config
from safegen_ros.training.export import MODEL, PROSE, write_checksums, write_model
from safegen_ros.training.network import new_decoder
from safegen_ros.training.run import world_of


def ship(sft: Path, grpo: Path | None, serve: str, keep: bool, problems: int, out: Path) -> None:
    """Replaces the model in `out`.

    Args:
        sft: the last supervised run.
        grpo: the run of reinforcement, if there was one.
        serve: the stage at the top, `sft` or `grpo`; the last one where it is empty.
        keep: whether the other stage lies below `stages`.
        problems: on how many the model was trained, in all of its runs; 0 where it is not known.
        out: folder of the model.
    """
    partial = out.with_name(f'{out.name}.partial')
    shutil.rmtree(partial, ignore_errors=True)
    runs = {'SFT': sft} if grpo is None else {'SFT': sft, 'GRPO': grpo}
    top = serve.upper() or list(runs)[-1]
    shutil.copytree(runs[top] / MODEL, partial)
    stages = {name: '.' if name == top else f'stages/{name.lower()}' for name in runs}
    if not keep:
        stages = {top: '.'}
    for name in stages.keys() - {top}:
        shutil.copytree(runs[name] / MODEL, partial / stages[name])
    (partial / STAGES_FILE).write_text(json.dumps(stages) + '\n', encoding='utf-8')
    if problems:
        recipe = json.loads((partial / TRAINING).read_text(encoding='utf-8'))
        text = json.dumps({**recipe, 'problems': problems}, indent=2) + '\n'
        (partial / TRAINING).write_text(text, encoding='utf-8')
    for log in out.glob('*_training_log.jsonl'):  # of earlier runs, which the card names
        shutil.copy(log, partial)
    write_checksums(partial)
    for name in PROSE:
        if (out / name).exists():
            shutil.copy(out / name, partial / name)
    shutil.rmtree(out, ignore_errors=True)
    partial.rename(out)


def write_untrained(model: Path, recipe: Path, out: Path) -> None:
    """Writes the network of a recipe before its first step.

    Args:
        model: with the tokenizer.
        recipe: of the first supervised run.
        out: folder to write.
    """
    config = load_config(recipe)
    if config.model.network is None:
        raise SystemExit(f'{recipe}: trains no new network: give the recipe of the first stage')
    tokenizer = AutoTokenizer.from_pretrained(model, local_files_only=True)
    # Random numbers do not become better by more digits.
    before = new_decoder(config.model.network, config.seed, len(tokenizer)).to(torch.bfloat16)
    with tempfile.TemporaryDirectory(dir=out.parent) as folder:
        made = write_model(
            before, tokenizer, config, world_of(config).prompt_style, Path(folder) / 'run'
        )
        shutil.rmtree(out, ignore_errors=True)
        shutil.move(made, out)


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument('--sft', type=Path)
    which.add_argument('--untrained', type=Path)
    parser.add_argument('--grpo', type=Path)
    parser.add_argument('--serve', choices=('sft', 'grpo'), default='')
    parser.add_argument('--keep', action='store_true')
    parser.add_argument('--problems', type=int, default=0)
    parser.add_argument('--recipe', type=Path, default=Path('config/train/mini.yaml'))
    parser.add_argument('--out', type=Path, required=True)
    given = parser.parse_args()
    if given.untrained is not None:
        write_untrained(given.untrained, given.recipe, given.out)
    else:
        ship(given.sft, given.grpo, given.serve, given.keep, given.problems, given.out)


if __name__ == '__main__':
    main()

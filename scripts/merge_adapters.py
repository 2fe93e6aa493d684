# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Writes one plain model folder of adapters and their base, for servers, converters and training.

    .venv/bin/python scripts/merge_adapters.py models/safegen-smollm2 runs/smollm2 [--ranks 32]

With `--ranks` only the first ranks of the adapters count: those of the first training, where a
second one has added its own. Adapters that were trained on such a model are put behind them with

    .venv/bin/python scripts/merge_adapters.py FIRST OUT --ranks 32 --then SECOND

which writes adapters of the same base. The weights are those that the stack makes of the adapters
when it starts.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from safegen_ros.llm.model_folder import (
    ADAPTER_WEIGHTS,
    ADAPTERS,
    check_folder,
    load_model,
    load_tokenizer,
    quick_start,
)
from safegen_ros.llm.model_names import SETTINGS

_ROWS = {'.lora_A.weight': 0, '.lora_B.weight': 1}
"""The dimension of the ranks, by the end of a tensor's name."""


def merge(adapters: Path, out: Path) -> None:
    """Writes the model; `out` must not be there.

    Raises:
        BackendError: the adapters or their base cannot be loaded.
    """
    check_folder(adapters)
    out.mkdir(parents=True)
    with quick_start():
        load_model(adapters, {}).save_pretrained(out)
        load_tokenizer(adapters).save_pretrained(out)
    if (adapters / SETTINGS).exists():
        shutil.copy(adapters / SETTINGS, out)


def join(adapters: Path, ranks: int, then: Path | None, out: Path) -> None:
    """Writes adapters with the first ranks of some and, behind them, all of others.

    Args:
        ranks: how many; 0 for all.
        then: adapters that were trained on the model that these ranks make; None for none.

    Raises:
        SystemExit: the scales or the adapted layers differ.
    """
    settings = json.loads((adapters / ADAPTERS).read_text(encoding='utf-8'))
    scale, ranks = settings['lora_alpha'] / settings['r'], ranks or settings['r']
    weights = {
        name: each.narrow(_rank_dimension(name), 0, ranks).contiguous()
        for name, each in load_file(adapters / ADAPTER_WEIGHTS).items()
    }
    if then is not None:
        added = json.loads((then / ADAPTERS).read_text(encoding='utf-8'))
        if added['lora_alpha'] / added['r'] != scale:
            raise SystemExit(f'{then}: lora_alpha / r is not {scale}, as in {adapters}')
        more = load_file(then / ADAPTER_WEIGHTS)
        if more.keys() != weights.keys():
            raise SystemExit(f'{then}: adapts other layers than {adapters}')
        weights = {n: torch.cat([w, more[n]], _rank_dimension(n)) for n, w in weights.items()}
        ranks += added['r']
    out.mkdir(parents=True)
    save_file(weights, out / ADAPTER_WEIGHTS, metadata={'format': 'pt'})
    settings |= {'r': ranks, 'lora_alpha': round(scale * ranks)}
    (out / ADAPTERS).write_text(json.dumps(settings, indent=2) + '\n', encoding='utf-8')
    if (adapters / SETTINGS).exists():
        shutil.copy(adapters / SETTINGS, out)


def _rank_dimension(name: str) -> int:
    return next(place for end, place in _ROWS.items() if name.endswith(end))


def main() -> None:
    """Reads the arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument('adapters', type=Path)
    parser.add_argument('out', type=Path)
    parser.add_argument('--ranks', type=int, default=0)
    parser.add_argument('--then', type=Path)
    given = parser.parse_args()
    if given.out.exists():
        parser.error(f'{given.out} is there: give another folder')
    given.out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=given.out.parent) as folder:
        made, part = Path(folder) / 'made', given.adapters
        if given.then is not None:
            join(part, given.ranks, given.then, made)
        else:
            if given.ranks:
                join(given.adapters, given.ranks, None, part := Path(folder) / 'part')
            merge(part, made)
        made.rename(given.out)


if __name__ == '__main__':
    main()

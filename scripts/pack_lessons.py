# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Makes lessons of planning and their tokens, in parts, for `train_gpu.py`.

    python scripts/pack_lessons.py runs/lessons-packed --seed 11 --groups 4000 --jobs 2
    python scripts/pack_lessons.py runs/lessons-packed --rows runs/data/train.jsonl --groups 4000

Each part is `SEED-NUMBER.npz` with `ids` (the tokens of all lessons in a row), `ends` (where each
lesson ends), `answers` (where its answer begins) and `groups` (what shares the beginning of its
prompt with others).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import cache, partial
from multiprocessing import Pool
from pathlib import Path

import numpy as np

from safegen_ros.datasets.pddl3.lessons import lesson_group, row_group
from safegen_ros.datasets.pddl3.rows import Row, read_rows
from safegen_ros.datasets.requests.lessons import request_group
from safegen_ros.llm.model_folder import LOCAL
from safegen_ros.training.encoding import IGNORE, tokens_of

_PART = 20  # groups


@cache
def rows_of(path: Path) -> list[Row]:
    """The rows of a file of a dataset; each process reads it once."""
    return list(read_rows(path))


def part(
    out: Path, base: str, mix: str, rows: Path | None, seed: int, size: int, groups: range
) -> None:
    """Writes the lessons of some groups, unless they are there."""
    number = groups.start // _PART
    path = out / f'{seed}-{number:05}.npz'
    if path.exists():
        return
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(base, **LOCAL)
    make: Callable[[int, int, int], list[str]]
    if rows is not None:
        make = partial(row_group, rows_of(rows))
    else:
        make = lesson_group if mix == 'plans' else partial(request_group, ())
    ids: list[int] = []
    ends, answers, names = [], [], []
    for group in groups:
        for line in make(seed, group, size):
            row = json.loads(line)
            completion = [{'role': 'assistant', 'content': row['completion']}]
            found = tokens_of({'prompt': row['prompt'], 'completion': completion}, tokenizer)
            answers.append(len(ids) + found['labels'].count(IGNORE))
            ids += found['input_ids']
            ends.append(len(ids))
            names.append(row['group'])
    made = path.with_suffix('.partial.npz')
    np.savez_compressed(
        made,
        ids=np.array(ids, np.uint16),
        ends=np.array(ends),
        answers=np.array(answers),
        groups=np.array(names),
    )
    made.rename(path)


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('out', type=Path)
    parser.add_argument('--base', default='models/base/SmolLM2-135M-Instruct')
    parser.add_argument('--mix', default='plans', choices=['plans', 'requests'])
    parser.add_argument('--rows', type=Path, help='of a dataset, instead of a mix')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--groups', type=int, default=4000)
    parser.add_argument('--size', type=int, default=8)
    parser.add_argument('--jobs', type=int, default=2)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    make = partial(part, args.out, args.base, args.mix, args.rows, args.seed, args.size)
    with Pool(args.jobs) as pool:
        firsts = range(0, args.groups, _PART)
        parts = [range(first, min(first + _PART, args.groups)) for first in firsts]
        for _ in pool.imap_unordered(make, parts):
            pass


if __name__ == '__main__':
    main()

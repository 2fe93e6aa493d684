# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Makes lessons of planning and their tokens, in parts, for `train_gpu.py`.

    python scripts/pack_lessons.py runs/lessons-packed --mix all --seed 11 --groups 4000 --jobs 2

Each part is `SEED-NUMBER.npz` with `ids` (the tokens of all lessons in a row), `ends` (where each
lesson ends) and `answers` (where its answer begins).
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from multiprocessing import Pool
from pathlib import Path

import numpy as np

from safegen_ros.datasets.pddl3.lessons import MIXES, lesson_group
from safegen_ros.datasets.requests.lessons import request_group
from safegen_ros.llm.model_folder import LOCAL
from safegen_ros.training.encoding import IGNORE, tokens_of

_PART = 20  # groups


def part(out: Path, base: str, mix: str, seed: int, size: int, groups: range) -> None:
    """Writes the lessons of some groups, unless they are there."""
    number = groups.start // _PART
    path = out / f'{seed}-{number:05}.npz'
    if path.exists():
        return
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(base, **LOCAL)
    make = request_group if mix == 'requests' else partial(lesson_group, MIXES[mix])
    ids: list[int] = []
    ends, answers = [], []
    for group in groups:
        for line in make(seed, group, size):
            row = json.loads(line)
            completion = [{'role': 'assistant', 'content': row['completion']}]
            found = tokens_of({'prompt': row['prompt'], 'completion': completion}, tokenizer)
            answers.append(len(ids) + found['labels'].count(IGNORE))
            ids += found['input_ids']
            ends.append(len(ids))
    made = path.with_suffix('.partial.npz')
    np.savez_compressed(
        made, ids=np.array(ids, np.uint16), ends=np.array(ends), answers=np.array(answers)
    )
    made.rename(path)


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('out', type=Path)
    parser.add_argument('--base', default='models/base/SmolLM2-135M-Instruct')
    parser.add_argument('--mix', default='all', choices=[*MIXES, 'requests'])
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--groups', type=int, default=4000)
    parser.add_argument('--size', type=int, default=8)
    parser.add_argument('--jobs', type=int, default=2)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    make = partial(part, args.out, args.base, args.mix, args.seed, args.size)
    with Pool(args.jobs, maxtasksperchild=20) as pool:
        firsts = range(0, args.groups, _PART)
        parts = [range(first, min(first + _PART, args.groups)) for first in firsts]
        for _ in pool.imap_unordered(make, parts):
            pass


if __name__ == '__main__':
    main()

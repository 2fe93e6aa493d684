# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Small datasets, models and recipes for the tests of training."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from safegen_ros.datasets.pddl3.rows import Row, Split, is_test_class
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.domains.check import difficulty
from safegen_ros.tasks.pddl3.domains.isomorphism import canonical_problem

BUCKETS = ('easy', 'medium', 'hard')

SHORT: dict[str, Any] = {
    'name': 'short',
    'seed': 5,
    'threads': 1,
    'model': {'network': {'width': 32, 'layers': 1, 'heads': 2, 'mlp': 64}},
    'data': {'repair_share': 0.2, 'validation': 8},
    'optimizer': {'batch': 8, 'accumulate': 1, 'learning_rate': 0.003, 'warmup': 4},
    'budget': {'steps': 12, 'max_length': 512, 'log_steps': 2, 'save_steps': 4},
}
"""A new network for a dozen steps."""


def drawn(domain: str, split: Split, count: int) -> Iterator[Row]:
    """Rows of a domain, from its kit; every class is on its side of the split."""
    kit = kits()[domain]
    number = found = 0
    while found < count:
        generated = kit.problem(number)
        number += 1
        key = canonical_problem(generated.problem).key
        if is_test_class(key) != (split != 'train'):
            continue
        yield Row(
            generated.problem.name, split, domain, generated.family, (),
            tuple(generated.size.items()), True, number, '', key, generated.text, '', '',
            str(generated.witness), len(generated.witness.steps), str(generated.direct),
            difficulty(kit, generated.problem), BUCKETS[found % 3],
        )  # fmt: skip
        found += 1


def write_dataset(folder: Path, train: int, test: int, domains: Sequence[str] = ()) -> Path:
    """A folder with so many rows of each domain."""
    folder.mkdir(parents=True, exist_ok=True)
    splits: tuple[tuple[Split, int], ...] = (('train', train), ('test', test))
    for split, count in splits:
        rows = [row for name in domains or kits() for row in drawn(name, split, count)]
        write_rows(folder / f'{split}.jsonl', rows)
    return folder


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Writes the file of a split."""
    path.write_text(''.join(row.to_line() for row in rows), encoding='utf-8')


def renamed(row: Row, key: str) -> Row:
    """The row with another canonical key."""
    return replace(row, key=key)


def write_recipe(path: Path, values: dict[str, Any], **changes: Any) -> Path:
    """A recipe file; changes name their section and key with two underscores between."""
    values = json.loads(json.dumps(values))
    for name, value in changes.items():
        *sections, key = name.split('__')
        section = values
        for each in sections:
            section = section.setdefault(each, {})
        section[key] = value
    path.write_text(yaml.safe_dump(values), encoding='utf-8')
    return path


def train(recipe: Path, out: Path, **more: Any) -> Path:
    """`safegen_ros.training.run.train`; to import it takes seconds, which no collection needs."""
    from safegen_ros.training.run import train as begin

    return begin(recipe, out, **more)


def reports(folder: Path) -> list[dict[str, float]]:
    """What a run reported, but for the time it took."""
    lines = (folder / 'metrics.jsonl').read_text(encoding='utf-8').splitlines()
    found = [json.loads(line) for line in lines]
    return [{k: v for k, v in line.items() if k not in ('wall_s', 'cpu_s')} for line in found]


def weights(model: Path) -> bytes:
    """The bytes of the weights in a model folder."""
    return (model / 'model.safetensors').read_bytes()

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Has a model translate descriptions of a Planetarium dataset; its answers are scored elsewhere."""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from hashlib import sha256
from itertools import islice
from pathlib import Path

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.llm.backend import Backend, Sampling
from safegen_ros.worlds.pddl3.dataset.failures import writing
from safegen_ros.worlds.pddl3.dataset.rows import read_lines
from safegen_ros.worlds.planetarium.dataset.pairs import Pair, read_pairs
from safegen_ros.worlds.planetarium.domains import planetarium_domain
from safegen_ros.worlds.planetarium.front_door import prompt
from safegen_ros.worlds.planetarium.request import Request

ANSWERS = 'answers.jsonl'

Notify = Callable[[str, int, int], None]


def choose(rows: Path, most: int, seed: int) -> list[Pair]:
    """Rows of a file, by chance and in its order; all of them for 0.

    Args:
        rows: the file.
        most: how many at most.
        seed: the same seed chooses the same rows.

    Raises:
        DatasetError: it cannot be read.
    """
    if not most:
        return list(read_pairs(rows))

    def rank(numbered: tuple[int, Pair]) -> bytes:
        return sha256(f'{seed} {numbered[1].id}'.encode()).digest()

    # Only the chosen rows are kept, however many there are.
    chosen = heapq.nsmallest(most, enumerate(read_pairs(rows)), key=rank)
    return [pair for _, pair in sorted(chosen, key=lambda numbered: numbered[0])]


def answer_rows(
    pairs: Iterable[Pair],
    backend: Backend,
    sampling: Sampling,
    folder: Path,
    *,
    batch: int,
    notify: Notify = lambda what, done, total: None,
) -> Path:
    """Asks for each row once, with the prompt of the front door and no second chance.

    Args:
        pairs: what to translate.
        backend: the model.
        sampling: how it answers.
        folder: where the answers go; those that are there already are not asked for again.
        batch: rows that are answered together.
        notify: told of the progress.

    Returns:
        The file of all rows with their answers, in the order of `pairs`, for
        `planetarium.read_scored`.

    Raises:
        BackendError: the model cannot answer.
        SafegenError: the folder holds answers that were drawn otherwise.
    """
    wanted = list(pairs)
    path, kept = folder / ANSWERS, folder / 'drawn.json'
    drawn = json.dumps(asdict(sampling), indent=1) + '\n'
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    if kept.exists() and kept.read_text(encoding='utf-8') != drawn:
        raise SafegenError(
            f'{kept}: the answers here were drawn with other options: choose another folder',
            ErrorCode.BAD_PDDL,
        )
    with writing(kept):
        kept.write_text(drawn, encoding='utf-8')
    known = _known(path)
    missing = [pair for pair in wanted if pair.id not in known]
    notify('rows', len(wanted) - len(missing), len(wanted))
    with writing(path), path.open('a', encoding='utf-8') as file:
        done = len(wanted) - len(missing)
        for part in _parts(missing, batch):
            asked = [
                [{'role': 'user', 'content': prompt(Request(p.text, planetarium_domain(p.domain)))}]
                for p in part
            ]
            answers = backend.generate_batch(asked, replace(sampling, seed=sampling.seed + done))
            for pair, answer in zip(part, answers, strict=True):
                known[pair.id] = json.dumps({**asdict(pair), 'answer': answer.text}) + '\n'
                file.write(known[pair.id])
            file.flush()
            done += len(part)
            notify('rows', done, len(wanted))
    with writing(path):
        path.write_text(''.join(known[pair.id] for pair in wanted), encoding='utf-8')
    return path


def _known(path: Path) -> dict[str, str]:
    """The lines of the rows that have answers, by id; a last line that was cut off is left out."""
    if not path.exists():
        return {}
    text = path.read_text(encoding='utf-8')
    whole, _, cut = text.rpartition('\n')
    if cut:
        path.write_text(f'{whole}\n' if whole else '', encoding='utf-8')
    return {
        values['id']: json.dumps(values) + '\n' for values, _ in read_lines(path) if 'id' in values
    }


def _parts(pairs: list[Pair], size: int) -> Iterator[list[Pair]]:
    rest = iter(pairs)
    while part := list(islice(rest, size)):
        yield part

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Has a model translate descriptions of a Planetarium dataset; its answers are scored elsewhere."""

from __future__ import annotations

import heapq
import json
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import asdict, replace
from hashlib import sha256
from itertools import islice
from pathlib import Path

from safegen_ros.benchmarks.comparison import claim, kept_lines
from safegen_ros.benchmarks.measurement import Notify, silent
from safegen_ros.datasets.files import writing
from safegen_ros.datasets.planetarium.pairs import Pair, read_pairs
from safegen_ros.errors import SafegenError
from safegen_ros.llm.backend import Backend, Message, Sampling, Unsupported
from safegen_ros.tasks.planetarium.domains import planetarium_domain
from safegen_ros.tasks.planetarium.request import Request
from safegen_ros.tasks.planetarium.styles import (
    InstructTranslation,
    Translation,
    TranslationStyle,
)

ANSWERS = 'answers.jsonl'


def choose(
    rows: Path, most: int, seed: int, domains: Collection[str] = (), fold: int | None = None
) -> list[Pair]:
    """Rows of a file, by chance and in its order; all of them for 0.

    Args:
        seed: the same seed chooses the same rows.
        domains: only rows with one of the ids; all rows without ids.
        fold: only rows of this one; of all when None.

    Raises:
        DatasetError: it cannot be read.
    """

    def fits(pair: Pair) -> bool:
        return (not domains or pair.domain in domains) and fold in (None, pair.fold)

    if not most:
        return [*filter(fits, read_pairs(rows))]

    def rank(numbered: tuple[int, Pair]) -> bytes:
        return sha256(f'{seed} {numbered[1].id}'.encode()).digest()

    # Only the chosen rows are kept, however many there are.
    chosen = heapq.nsmallest(most, enumerate(filter(fits, read_pairs(rows))), key=rank)
    return [pair for _, pair in sorted(chosen, key=lambda numbered: numbered[0])]


def answer_rows(
    pairs: Iterable[Pair],
    backend: Backend,
    sampling: Sampling,
    folder: Path,
    *,
    model: str = '',
    batch: int,
    style: TranslationStyle | None = None,
    notify: Notify = silent,
) -> Path:
    """Asks for each row once, with the prompt of `nl_to_pddl` and no second chance.

    Args:
        folder: where the answers go; those that are there already are not asked for again.
        model: which model that is and what holds it, such as the checksum of its weights.
        style: how the model is asked; as a chat model when None.

    Returns:
        The file of all rows with their answers, in the order of `pairs`, for
        `planetarium.read_scored`.

    Raises:
        BackendError: the model cannot answer.
        SafegenError: the folder holds answers that were made otherwise.
    """
    wanted = list(pairs)
    asked, answering = style or InstructTranslation(), _Model(backend, sampling)
    claim(folder, {'model': model, 'sampling': asdict(sampling)})
    path = folder / ANSWERS
    known = {v['id']: json.dumps(v) + '\n' for v in kept_lines(path) if 'id' in v}
    missing = [pair for pair in wanted if pair.id not in known]
    notify('rows', len(wanted) - len(missing), len(wanted))
    with writing(path), path.open('a', encoding='utf-8') as file:
        done = len(wanted) - len(missing)
        for part in (missing[at : at + batch] for at in range(0, len(missing), batch)):
            texts = _translated(part, answering, asked, sampling.seed + done)
            for pair, text in zip(part, texts, strict=True):
                known[pair.id] = json.dumps({**asdict(pair), 'answer': text}) + '\n'
                file.write(known[pair.id])
            file.flush()
            done += len(part)
            notify('rows', done, len(wanted))
    with writing(path):
        path.write_text(''.join(known[pair.id] for pair in wanted), encoding='utf-8')
    return path


class _Model:
    """Asks a model; where it is greedy, no prompt is asked twice."""

    def __init__(self, backend: Backend, sampling: Sampling) -> None:
        self._backend = backend
        self._sampling = sampling
        self._answered: dict[str, str] = {}

    def answers(self, conversations: list[list[Message]], seed: int) -> list[str]:
        """The answers to some conversations; empty where there is no room for one."""
        keys = [json.dumps(each) for each in conversations]
        if self._sampling.temperature > 0:
            self._answered.clear()
        fresh = [key for key in dict.fromkeys(keys) if key not in self._answered]
        texts = self._generate(list(map(json.loads, fresh)), replace(self._sampling, seed=seed))
        self._answered.update(zip(fresh, texts, strict=True))
        return [self._answered[key] for key in keys]

    def _generate(self, conversations: list[list[Message]], sampling: Sampling) -> list[str]:
        if not conversations:
            return []
        try:
            found = self._backend.generate_batch(conversations, sampling)
            return ['' if each.finish_reason == 'length' else each.text for each in found]
        except Unsupported:
            if len(conversations) == 1:
                return ['']
            return [text for each in conversations for text in self._generate([each], sampling)]


def _translated(pairs: list[Pair], model: _Model, style: TranslationStyle, seed: int) -> list[str]:
    """The answers to some rows, whose questions are asked together."""
    found = [''] * len(pairs)
    waiting: dict[int, tuple[Translation, list[list[Message]]]] = {}
    for place, pair in enumerate(pairs):
        translation = style.translation(Request(pair.text, planetarium_domain(pair.domain)))
        with suppress(SafegenError):  # it is refused, and has no answer
            waiting[place] = (translation, next(translation))
    while waiting:
        asked = [each for _, conversations in waiting.values() for each in conversations]
        answers = iter(model.answers(asked, seed))
        for place, (translation, conversations) in list(waiting.items()):
            del waiting[place]
            own = list(islice(answers, len(conversations)))
            try:
                with suppress(SafegenError):
                    waiting[place] = (translation, translation.send(own))
            except StopIteration as end:
                found[place] = str(end.value)
    return found

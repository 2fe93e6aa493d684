# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a small translator learns from: prompts and answers in its words, as training reads them.

They come from the rows of the training split but for one fold, from problems of made-up domains
(`made_up`), and from goals composed of parts (`composed`). The fold that is left out is there for
validation. Nothing of the test split is read. A question that several rows have is taken once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from safegen_ros.datasets.files import writing
from safegen_ros.datasets.planetarium.composed import composed
from safegen_ros.datasets.planetarium.layouts import Kit, LayoutTask, space_of, tasks_of
from safegen_ros.datasets.planetarium.made_up import made_up
from safegen_ros.datasets.planetarium.pairs import (
    ABSTRACTIONS,
    Pair,
    kits,
    make_problem,
    read_pairs,
)
from safegen_ros.pddl.model import Atom
from safegen_ros.tasks.planetarium.domains import planetarium_domain
from safegen_ros.tasks.planetarium.translator_words import TranslatorWords, clauses, halves

HELD_BACK = 0
"""The fold that is not learned."""

CLAUSES, WHOLES, HALVES, MADE_UP, COMPOSED = 'clauses', 'wholes', 'halves', 'made-up', 'composed'
"""The groups; clauses that cannot be understood alone, `wholes`, are a separate one."""


@dataclass(frozen=True, slots=True)
class Text:
    """A prompt with the answer that is right, and the group it belongs to."""

    prompt: str
    completion: str
    group: str

    def to_line(self) -> str:
        """The row as a line of JSON, as `training.text_world` reads it."""
        values = {'prompt': self.prompt, 'completion': self.completion, 'group': self.group}
        return json.dumps(values) + '\n'


def write_texts(folder: Path, out: Path, made: int, parts: int, seed: int) -> dict[str, int]:
    """Writes `train.jsonl` and `test.jsonl`.

    Returns:
        How many rows of each group there are to learn from.

    Raises:
        DatasetError: the dataset cannot be read, or a file not be written.
    """
    found: dict[str, tuple[Text, bool]] = {}
    for text, held in _all(folder, made, parts, seed):
        known = found.get(text.prompt)
        if known is None or known[1] > held:  # training rows are not a test
            found[text.prompt] = (text, held)
    counts: dict[str, int] = {}
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
        for name, wanted in (('train', False), ('test', True)):
            lines = [text.to_line() for text, held in found.values() if held == wanted]
            (out / f'{name}.jsonl').write_text(''.join(lines), encoding='utf-8')
    for text, held in found.values():
        counts[text.group] = counts.get(text.group, 0) + (not held)
    return counts


def _all(folder: Path, made: int, parts: int, seed: int) -> Iterator[tuple[Text, bool]]:
    """Every text, and whether it is for validation."""
    for pair in read_pairs(folder / 'train.jsonl'):
        for text in pair_texts(pair):
            yield text, pair.fold == HELD_BACK
    for number in range(made):
        for text in made_up_texts(f'{seed} {number}'):
            yield text, number % 50 == 0
    for number in range(parts):
        for text in composed_texts(f'{seed} {number}'):
            yield text, number % 200 == 0


def composed_texts(seed: str) -> Iterator[Text]:
    """The halves and the clauses of a composed problem."""
    found = composed(seed)
    lexicon = TranslatorWords.of(planetarium_domain(found.kit.domain), found.text)
    start, end = halves(found.text) or ('', '')
    yield from _summed(found.kit, lexicon, start, (), found.init, COMPOSED)
    yield from _summed(found.kit, lexicon, end, found.init, found.goal, COMPOSED)


def made_up_texts(seed: str) -> Iterator[Text]:
    """The clauses of a problem of a made-up domain."""
    found = made_up(seed)
    lexicon = TranslatorWords.of(found.domain, found.text)
    for half, atoms in zip(halves(found.text) or (), (found.init, found.goal), strict=True):
        yield from _clauses(lexicon, half, atoms, MADE_UP)


def pair_texts(pair: Pair) -> Iterator[Text]:
    """The questions that a row of the dataset makes: its clauses, and the halves it sums up."""
    kit, task = kits()[pair.domain], _tasks(pair.domain)[pair.start, pair.goal]
    number = int(pair.id.split('-')[-2])
    _, init = make_problem(task, number)
    parameters, wanted = space_of(kit, task.start, task.goal).problem(number)
    goal = kit.goal_atoms(task.goal, wanted, parameters)
    lexicon = TranslatorWords.of(planetarium_domain(pair.domain), pair.text)
    start, end = halves(pair.text) or ('', '')
    place = ABSTRACTIONS.index(pair.abstraction)
    told = [atom for atom in init if kit.clause(atom)]
    for half, before, atoms, summed in (
        (start, (), told, place >= 2),
        (end, told, [atom for atom in goal if kit.clause(atom)], place % 2 == 1),
    ):
        if summed:
            yield from _summed(kit, lexicon, half, before, atoms, HALVES)
        else:
            yield from _clauses(lexicon, half, atoms, CLAUSES)


def _summed(
    kit: Kit,
    lexicon: TranslatorWords,
    half: str,
    before: Sequence[Atom],
    atoms: Sequence[Atom],
    group: str,
) -> Iterator[Text]:
    """A half that is summed up, and each clause of it alone."""
    yield _text(lexicon.half(half, before), lexicon.half_answer(atoms), group)
    alone = {kit.clause(atom): atom for atom in atoms}
    for clause in clauses(half):
        asked, mentioned = lexicon.clause(clause)
        found = [alone[clause]] if clause in alone else []
        yield _text(asked, lexicon.clause_answer(found, mentioned), CLAUSES if found else WHOLES)


def _clauses(
    lexicon: TranslatorWords, half: str, atoms: Sequence[Atom], group: str
) -> Iterator[Text]:
    for clause, atom in zip(clauses(half), atoms, strict=True):
        asked, mentioned = lexicon.clause(clause)
        yield _text(asked, lexicon.clause_answer([atom], mentioned), group)


def _text(asked: Sequence[str], answer: Sequence[str], group: str) -> Text:
    return Text(' '.join(asked), ' '.join(answer), group)


@cache
def _tasks(domain: str) -> Mapping[tuple[str, str], LayoutTask]:
    return {(task.start, task.goal): task for task in tasks_of(kits()[domain])}

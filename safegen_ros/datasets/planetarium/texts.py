# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a language model learns descriptions from: its prompts and right answers, in groups.

Most are clauses of made-up domains (`made_up`). The others come from the rows of the training split
but for one fold, which is there for validation: their clauses, and the halves of few objects that
they sum up. Nothing of the test split is read. A question that several rows have is taken once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from safegen_ros.datasets.files import writing
from safegen_ros.datasets.planetarium.layouts import LayoutTask, space_of, tasks_of
from safegen_ros.datasets.planetarium.made_up import made_up
from safegen_ros.datasets.planetarium.pairs import (
    ABSTRACTIONS,
    Pair,
    kits,
    make_problem,
    read_pairs,
)
from safegen_ros.errors import SafegenError
from safegen_ros.pddl.model import Atom
from safegen_ros.pddl.writer import atom_text
from safegen_ros.tasks.planetarium.clauses import NOTHING, Description
from safegen_ros.tasks.planetarium.domains import planetarium_domain

HELD_BACK = 0
"""The fold that is not learned."""

GROUP = 12
"""Most lessons of a group, which are about one domain."""

_MOST_OBJECTS = 16  # of a half that is summed up; its answer lists a fact of each
_CLAUSES, _HALVES = 'clauses', 'halves'
_SHARE = {_CLAUSES: 0.3, _HALVES: 1.0}  # groups of a kind, for each group of halves
_SAID = 4  # of a group of clauses of the rows, those that say a fact


@dataclass(frozen=True, slots=True)
class Text:
    """A prompt with the right answer, and its kind."""

    prompt: str
    completion: str
    kind: str


def write_texts(folder: Path, out: Path, made: int, known: int, seed: int) -> dict[str, int]:
    """Writes `train.jsonl` and `test.jsonl`.

    Args:
        made: groups of made-up domains.
        known: most groups of halves of each domain; of clauses there are 0.3 times as many.

    Returns:
        How many groups of each kind there are to learn from.

    Raises:
        DatasetError: the dataset cannot be read, or a file not be written.
    """
    train, test = Path(out) / 'train.jsonl', Path(out) / 'test.jsonl'
    learned: dict[str, list[list[Text]]] = {}
    held: dict[str, list[list[Text]]] = {}
    for number in range(made):
        of = held if number % 50 == 0 else learned
        of.setdefault('made-up', []).append([*made_up_texts(f'{seed} {number}')][:GROUP])
    for kind, group, is_held in _of_rows(folder, known, Random(seed)):  # noqa: S311  # no secret
        (held if is_held else learned).setdefault(kind, []).append(group)
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
        for path, groups in ((train, learned), (test, held)):
            path.write_text(''.join(_lines(groups)), encoding='utf-8')
    return {kind: len(groups) for kind, groups in learned.items()}


def _lines(groups: Mapping[str, Sequence[Sequence[Text]]]) -> Iterator[str]:
    for kind, own in groups.items():
        for number, texts in enumerate(own):
            for text in texts:
                values = {
                    'prompt': [{'role': 'user', 'content': text.prompt}],
                    'completion': text.completion,
                    'group': f'{kind} {number}',
                }
                yield json.dumps(values) + '\n'


def _of_rows(folder: Path, most: int, rng: Random) -> Iterator[tuple[str, list[Text], bool]]:
    """Groups of the rows, with their kind and whether they are for validation."""
    found: dict[tuple[str, str], dict[str, tuple[Text, bool]]] = {}
    for pair in read_pairs(folder / 'train.jsonl'):
        for text in pair_texts(pair):
            of = found.setdefault((pair.domain, text.kind), {})
            known = of.get(text.prompt)
            if known is None or known[1]:  # training rows are not a test
                of[text.prompt] = (text, pair.fold == HELD_BACK)
    for (domain, kind), texts in found.items():
        for is_held in (False, True):
            own = [text for text, held in texts.values() if held == is_held]
            rng.shuffle(own)
            said = [text for text in own if kind == _CLAUSES and text.completion != NOTHING]
            rest = [text for text in own if text not in said]
            room = GROUP - (_SAID if said else 0)
            most_of = max(len(rest) // room, bool(said))
            for number in range(min(most_of, round(most * _SHARE[kind]))):
                group = rest[number * room : (number + 1) * room]
                group += rng.sample(said, min(_SAID, len(said)))
                yield f'{domain} {kind}', group, is_held


def made_up_texts(seed: str) -> Iterator[Text]:
    """The clauses of a made-up domain, each question once."""
    found = made_up(seed)
    asked: dict[str, Text] = {}
    for clause, atom in found.clauses:
        told = Description(found.domain, {}, found.kinds, (), ()).clause(clause)
        new = {name: old for old, name in told.names.items()}
        if not told.prompt:
            continue
        said = NOTHING if atom is None else atom_text((atom[0], *(new[n] for n in atom[1:])))
        asked[told.prompt] = Text(told.prompt, said, _CLAUSES)
    yield from asked.values()


def pair_texts(pair: Pair) -> Iterator[Text]:
    """The questions that a row of the dataset makes: its clauses, and the halves it sums up.

    There are none where the program refuses the description.
    """
    kit, task = kits()[pair.domain], _tasks(pair.domain)[pair.start, pair.goal]
    number = int(pair.id.split('-')[-2])
    _, init = make_problem(task, number)
    parameters, wanted = space_of(kit, task.start, task.goal).problem(number)
    goal = kit.goal_atoms(task.goal, wanted, parameters)
    try:
        described = Description.of(planetarium_domain(pair.domain), pair.text)
    except SafegenError:
        return
    place = ABSTRACTIONS.index(pair.abstraction)
    told = [atom for atom in init if kit.clause(atom)]
    for half, before, atoms, summed in (
        (described.start, (), told, place >= 2),
        (described.goal, told, goal, place % 2 == 1),
    ):
        said = {kit.clause(atom): atom for atom in atoms}
        for clause in half:
            asked = described.clause(clause)
            new = {name: old for old, name in asked.names.items()}
            atom = said.get(clause)
            answer = atom_text((atom[0], *(new[n] for n in atom[1:]))) if atom else NOTHING
            if asked.prompt:
                yield Text(asked.prompt, answer, _CLAUSES)
        if summed and sum(map(len, described.objects.values())) <= _MOST_OBJECTS:
            facts = [atom for atom in atoms if atom[0] in described.facts]
            if before and pair.placeholder:
                facts = _in_turn(facts, described.objects)
            answer = ' '.join(map(atom_text, facts))
            yield Text(described.whole(half, before).prompt, answer, _HALVES)


def _in_turn(atoms: Sequence[Atom], objects: Mapping[str, Sequence[str]]) -> list[Atom]:
    """Atoms about placeholders, which are named in the order in which they come."""
    named: dict[str, str] = {}
    for own in objects.values():
        coming = dict.fromkeys(name for atom in atoms for name in atom[1:] if name in own)
        named |= dict(zip(coming, own, strict=False))
    return [(atom[0], *(named[name] for name in atom[1:])) for atom in atoms]


@cache
def _tasks(domain: str) -> Mapping[tuple[str, str], LayoutTask]:
    return {(task.start, task.goal): task for task in tasks_of(kits()[domain])}

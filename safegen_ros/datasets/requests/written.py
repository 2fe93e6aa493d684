# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Requests that were written one by one with their meaning, and the same with other names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from safegen_ros.datasets.files import DatasetError, read_lines
from safegen_ros.pddl.text_files import read_text

_WORLD = 'blocks'
_NAME = re.compile(r'\b([a-z]+)([0-9]+)\b')
_ALIKE = frozenset({'b', 'c', 'l', 'ball', 'room', 'nut', 'spanner'})
"""Stems of objects of which none differs from the others by its number."""
_STEMS = 'abcdefghklmnpqrtuvwxyz'
_COUNTED = re.compile(
    r'\d|\b(?:one|two|three|four|five|six|first|second|third|fourth|fifth|sixth)\b', re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class WrittenRequest:
    """A request that a person wrote.

    Attributes:
        world: the name of a problem, without `.pddl`, in the folder of the file.
        start: the text of that problem.
        goal: the atoms that are meant, in the order of the text.
        rules: ways to write its rule in PDDL3; none where it has no rule.
    """

    text: str
    world: str
    start: str
    goal: tuple[str, ...]
    rules: tuple[str, ...]


def written_requests(file: Path) -> Iterator[WrittenRequest]:
    """The requests of a file: JSON lines with `request`, `goal`, and `world` if not blocks.

    The rule of one is in `pddl`, in all ways in which it may be written.

    Raises:
        DatasetError: a line is not a request, or a file cannot be read.
    """
    for values, place in read_lines(file):
        try:
            world = str(values.get('world', _WORLD))
            text, goal = str(values['request']), tuple(map(str, values['goal']))
            rules = tuple(map(str, values.get('pddl', ())))
        except (KeyError, AttributeError, TypeError) as error:
            raise DatasetError(
                f'{place}: is not a request: write an object with request and goal'
            ) from error
        if values.get('rule') and not rules:
            raise DatasetError(
                f'{place}: has a rule in words alone: write it in PDDL3 as pddl, too'
            )
        start = read_text(file.parent / f'{world}.pddl', 'problem')
        yield WrittenRequest(text, world, start, goal, rules)


def other_names(rng: Random, start: str) -> Mapping[str, str]:
    """Names for objects of the text of a problem: other numbers, and other letters before them.

    Objects that belong together by their numbers, as a robot and its grippers, keep their names.
    """
    stems: dict[str, list[str]] = {}
    for found in sorted({*_NAME.findall(start)}):
        if found[0] in _ALIKE:
            stems.setdefault(found[0], []).append(found[1])
    fresh, names = rng.sample(_STEMS, len(stems)), dict[str, str]()
    for (stem, numbers), letter in zip(stems.items(), fresh, strict=True):
        new = letter if len(stem) == 1 and rng.random() < 0.5 else stem
        for old, number in zip(numbers, rng.sample(numbers, len(numbers)), strict=True):
            names[f'{stem}{old}'] = f'{new}{number}'
    return names if len({*names.values()}) == len(names) else {name: name for name in names}


def renamed(asked: WrittenRequest, names: Mapping[str, str]) -> WrittenRequest | None:
    """The same request about a world with other names.

    None where its text counts or numbers something, so that it may mean an object by its number.
    """

    def put(text: str) -> str:
        return _NAME.sub(lambda found: names.get(found[0], found[0]), text)

    if _COUNTED.search(_NAME.sub('', asked.text)):
        return None
    return replace(
        asked,
        text=put(asked.text),
        start=put(asked.start),
        goal=tuple(map(put, asked.goal)),
        rules=tuple(map(put, asked.rules)),
    )

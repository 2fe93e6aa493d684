# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The phrases of the YAML files here, and how one of them is chosen."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import yaml

from safegen_ros.language import lexicon

_ALTERNATIVES = re.compile(r'[^\s{}]+/[^\s{}]+')
_SYMBOL = re.compile(r'<([\w-]+)>')


@cache
def phrases() -> Mapping[str, Any]:
    """All of the files."""
    found = dict[str, Any]()
    for path in sorted(Path(__file__).parent.glob('*.yaml')):
        found |= yaml.safe_load(path.read_text(encoding='utf-8'))
    return found


def chosen(rng: Random, templates: Sequence[str], number: int | None = None) -> str:
    """One of the templates, with one of the words that a slash divides.

    A `<name>` in it is chosen from `grammar`, in the same way.

    Args:
        number: which of the words, where they are not alike.
    """

    def word(found: re.Match[str]) -> str:
        words = found[0].split('/')
        return rng.choice(words) if number is None else words[number % len(words)]

    def symbol(found: re.Match[str]) -> str:
        return chosen(rng, phrases()['grammar'][found[1]])

    return _SYMBOL.sub(symbol, _ALTERNATIVES.sub(word, rng.choice(templates)))


def participle(verb: str) -> str:
    """`stuck` for `stick`."""
    return str(phrases()['participles'].get(verb) or lexicon.participle(verb))


def gerund(verb: str) -> str:
    """`sticking` for `stick`."""
    return str(phrases()['gerunds-of'].get(verb) or lexicon.gerund(verb))


def of_several(be: str) -> str:
    """The plural of a verb form such as `is` or `has`."""
    first, blank, rest = be.partition(' ')
    return f'{_PLURALS.get(first, first)}{blank}{rest}'


_PLURALS = {
    'is': 'are', 'has': 'have', 'needs': 'need', 'ends': 'end', 'stays': 'stay',
    'remains': 'remain', "isn't": "aren't", "doesn't": "don't", 'to': 'to',
}  # fmt: skip

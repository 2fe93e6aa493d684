# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The phrases of `phrases.yaml`, and how one of them is chosen."""

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


@cache
def phrases() -> Mapping[str, Any]:
    """All of the file."""
    text = Path(__file__).with_name('phrases.yaml').read_text(encoding='utf-8')
    found: Mapping[str, Any] = yaml.safe_load(text)
    return found


def chosen(rng: Random, templates: Sequence[str], number: int | None = None) -> str:
    """One of the templates, with one of the words that a slash divides.

    Args:
        number: which of the words, where they are not alike.
    """

    def word(found: re.Match[str]) -> str:
        words = found[0].split('/')
        return rng.choice(words) if number is None else words[number % len(words)]

    return _ALTERNATIVES.sub(word, rng.choice(templates))


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
    'remains': 'remain',
}  # fmt: skip

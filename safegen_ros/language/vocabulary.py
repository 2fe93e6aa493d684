# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The words of a domain: those for its facts, and those of a person.

The domains belong to a room above this one, which has them found here (`add_source`). Any other
domain is spoken of by the names of its predicates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from safegen_ros.pddl.model import Domain


@dataclass(frozen=True, slots=True)
class Wording:
    """The words of a domain.

    A template is plain words, with `{0}` where the first argument stands. It may not contain `and`,
    `both`, `or`, `if` or `then`, which join facts, and no two templates may fit the same text.

    Attributes:
        nouns: singular and plural for every type.
        facts: for every predicate, a template for when it is true and one for when it is not.
        kinds: predicates of one argument for the kind of an object; where each object has just one
            of them they become nouns (singular and plural).
        distinct: a predicate of two arguments that is true of any two different objects of a kind,
            and that kind; where it is, one sentence states that.
        steps: for actions, what the robot does in a step, such as `put {0} on {1}`.
    """

    nouns: Mapping[str, tuple[str, str]]
    facts: Mapping[str, tuple[str, str]]
    kinds: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    distinct: tuple[str, str] | None = None
    steps: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of a domain.

    Attributes:
        names: the names by which problems ask for it.
        lexicon: the file of its lexicon (see `lexicon`); None if it has none.
    """

    wording: Wording
    names: tuple[str, ...] = ()
    lexicon: Path | None = None


Source = Callable[[Domain], Vocabulary | None]
"""Finds the vocabulary of a domain, by its types and predicates; None where it knows none."""

_PLAIN = Vocabulary(Wording({}, {}))
_sources: list[Source] = []


def add_source(source: Source) -> None:
    """Has the vocabularies of more domains found."""
    _sources.append(source)


def vocabulary(domain: Domain) -> Vocabulary:
    """The vocabulary of a domain; one without words where no source knows it."""
    return next((found for source in _sources if (found := source(domain))), _PLAIN)

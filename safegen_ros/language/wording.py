# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The words in which a domain's facts are told to a person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Wording:
    """The words of a domain.

    A template is plain words, with `{0}` where the first argument stands. It may not contain `and`,
    `both`, `or`, `if` or `then`, which join facts, and no two templates may fit the same text.

    Attributes:
        nouns: singular and plural for every type.
        facts: for every predicate, a template for when it is true and one for when it is not.
        kinds: predicates of one argument that say what an object is; where each object has just
            one of them they are told as nouns (singular and plural).
        distinct: a predicate of two arguments that is true of any two different objects of a kind,
            and that kind; where it is, that is told in one sentence.
        steps: for actions, what the robot does in a step, such as `put {0} on {1}`.
    """

    nouns: Mapping[str, tuple[str, str]]
    facts: Mapping[str, tuple[str, str]]
    kinds: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    distinct: tuple[str, str] | None = None
    steps: Mapping[str, str] = field(default_factory=dict)

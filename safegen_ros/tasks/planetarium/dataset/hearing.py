# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the readers of descriptions of the three domains have in common."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from safegen_ros.pddl.model import Atom

Objects = Mapping[str, Sequence[str]]
"""The objects by what they are."""

Clauses = Mapping[str, str]
"""Patterns of clauses about one atom, with the predicates; objects are in the order of the atom."""


def atoms_heard(clauses: Iterable[str], patterns: Clauses) -> list[Atom] | None:
    """The atoms that clauses say one by one; None when one of them says something else."""
    found: list[Atom] = []
    for clause in clauses:
        for predicate, pattern in patterns.items():
            match = re.fullmatch(pattern, clause)
            if match is not None:
                named = match.groupdict()
                found.append((predicate, *(named[key] for key in sorted(named))))
                break
        else:
            return None
    return found


def numbers_in(text: str) -> list[int]:
    """Every number in a text, in order."""
    return [int(number) for number in re.findall(r'\d+', text)]


def only(clauses: Sequence[str], expected: Iterable[str]) -> None:
    """Checks that clauses are what is expected.

    Raises:
        ValueError: they are not.
    """
    wanted = list(expected)
    if sorted(clauses) != sorted(wanted):
        raise ValueError(f'{"; ".join(clauses)!r} is not {"; ".join(wanted)!r}')

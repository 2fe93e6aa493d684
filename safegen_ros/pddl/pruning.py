# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The bindings of a quantifier that matter: those that static atoms and equalities do not decide.

`(exists (?a ?b ?c ?d) (and (road ?a ?b) (road ?b ?c) (road ?c ?d)))` has 160,000 bindings of 20
places, and a few where there are roads. Variables are bound one after the other, and each atom that
no action changes is looked up as soon as its terms are known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import product
from math import inf, prod
from typing import Protocol

from safegen_ros.pddl.model import (
    And,
    Atom,
    AtomFormula,
    Equals,
    Formula,
    Imply,
    Not,
    Or,
    Variables,
    terms_of,
)

FEW = 2_000
"""Bindings that are all written out: looking for those that matter takes as long."""

_MOST_TRIED = 2_000_000

_Filter = tuple[AtomFormula | Equals, bool]
"""A formula whose truth does not change, and the truth that it must have."""


class StaticFacts(Protocol):
    """What does not change in a problem."""

    @property
    def fluents(self) -> Set[str]:
        """The predicates that may change."""

    def initially(self, atom: Atom) -> bool:
        """Whether an atom holds in the initial state."""


class _TooMany(Exception):
    """More values would have to be tried than anybody waits for."""


def fitting(
    variables: Variables,
    condition: Formula,
    truth: bool,
    objects: Mapping[str, tuple[str, ...]],
    facts: StaticFacts,
    binding: Mapping[str, str],
) -> Iterator[dict[str, str]]:
    """The bindings of variables for which a condition may have a truth, in order.

    Where there are few, all of them. What changes, and variables that are bound nowhere, are open.

    Args:
        variables: of a quantifier or an effect.
        condition: its body or its condition.
        truth: what the condition must be for a binding to matter: true in an `exists` and a
            conditional effect, false in a `forall`.
        objects: of every type.
        facts: what does not change.
        binding: what is bound around it.
    """
    names = [name for name, _ in variables]
    ranges = [objects[kind] for _, kind in variables]
    if prod(map(len, ranges)) <= FEW:
        for values in product(*ranges):
            yield dict(zip(names, values, strict=True))
        return
    stages = _stages(names, condition, truth, facts, binding)
    yield from _bound(names, ranges, stages, facts, binding)


def fitting_count(
    variables: Variables,
    condition: Formula,
    truth: bool,
    objects: Mapping[str, tuple[str, ...]],
    facts: StaticFacts,
) -> int | None:
    """How many bindings `fitting` finds, or None where that takes too long to find out.

    Variables after the last one that anything is known about are not tried, but multiplied.
    """
    names = [name for name, _ in variables]
    ranges = [objects[kind] for _, kind in variables]
    free = prod(map(len, ranges))
    if free <= FEW:
        return free
    stages = _stages(names, condition, truth, facts, {})
    decided = max((place for place, stage in enumerate(stages) if stage), default=0)
    tried = _bound(names[:decided], ranges[:decided], stages, facts, {}, _MOST_TRIED)
    try:
        return sum(1 for _ in tried) * prod(map(len, ranges[decided:]))
    except _TooMany:
        return None


def _stages(
    names: Sequence[str],
    condition: Formula,
    truth: bool,
    facts: StaticFacts,
    binding: Mapping[str, str],
) -> list[list[_Filter]]:
    """What decides a binding, by the number of variables that must be bound to look it up."""
    stages: list[list[_Filter]] = [[] for _ in range(len(names) + 1)]
    for formula, wanted in _decisive(condition, truth):
        places = [_place(term, names, binding) for term in terms_of(formula)]
        static = isinstance(formula, Equals) or formula.predicate not in facts.fluents
        if static and None not in places:
            stages[max((place for place in places if place is not None), default=0)].append(
                (formula, wanted)
            )
    return stages


def _bound(
    names: Sequence[str],
    ranges: Sequence[Sequence[str]],
    stages: Sequence[Sequence[_Filter]],
    facts: StaticFacts,
    binding: Mapping[str, str],
    most: float = inf,
) -> Iterator[dict[str, str]]:
    """The bindings that pass every stage, of which at most so many values are tried."""
    known = dict(binding)
    tried = 0

    def holds(stage: Sequence[_Filter]) -> bool:
        return all(_holds(formula, known, facts) is truth for formula, truth in stage)

    def bound(place: int) -> Iterator[dict[str, str]]:
        if place == len(names):
            yield {name: known[name] for name in names}
            return
        nonlocal tried
        tried += len(ranges[place])
        if tried > most:
            raise _TooMany
        for value in ranges[place]:
            known[names[place]] = value
            if holds(stages[place + 1]):
                yield from bound(place + 1)

    if holds(stages[0]):
        yield from bound(0)


def _decisive(formula: Formula, truth: bool) -> Iterator[_Filter]:
    """Atoms and equalities whose truth is known wherever a formula may have a truth."""
    if isinstance(formula, (AtomFormula, Equals)):
        yield formula, truth
    elif isinstance(formula, Not):
        yield from _decisive(formula.body, not truth)
    elif (isinstance(formula, And) and truth) or (isinstance(formula, Or) and not truth):
        for part in formula.parts:
            yield from _decisive(part, truth)
    elif isinstance(formula, Imply) and not truth:
        yield from _decisive(formula.premise, True)
        yield from _decisive(formula.conclusion, False)


def _place(term: str, names: Sequence[str], binding: Mapping[str, str]) -> int | None:
    """After how many variables a term is known; None for a variable that is bound nowhere."""
    if term in names:
        return names.index(term) + 1
    return None if term.startswith('?') and term not in binding else 0


def _holds(formula: AtomFormula | Equals, known: Mapping[str, str], facts: StaticFacts) -> bool:
    terms = [known.get(term, term) for term in terms_of(formula)]
    if isinstance(formula, Equals):
        return terms[0] == terms[1]
    return facts.initially((formula.predicate, *terms))

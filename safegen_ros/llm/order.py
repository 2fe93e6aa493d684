# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The canonical order of blocks: equal for two tasks exactly when one is a renaming of the other.

Towers are the units, since their blocks are already ordered from the table upwards. They are
sorted by height, then by colour refinement over goal and constraints; towers that still tie are
tried one after the other and the smallest text wins. Towers that can be swapped without changing
the task give the same text, so only one of them is tried.
"""

from __future__ import annotations

import itertools
from typing import Any

from safegen_ros.llm.sketch import Formula, Sketch, blocks_of

_UNORDERED = ('and', 'or')

Colours = list[int]
Units = list[tuple[int, ...]]


def shape(formula: Any, colour: Colours) -> tuple[Any, ...]:
    """The formula with colours for blocks, commutative parts sorted."""
    head = formula[0]
    if head in _UNORDERED:
        return (head, *sorted(shape(part, colour) for part in formula[1:]))
    return (
        head,
        *(colour[x] if isinstance(x, int) else shape(x, colour) for x in formula[1:]),
    )


def canonical_order(sketch: Sketch) -> tuple[int, ...]:
    """Block numbers in canonical order: element i is the block that is called b<i+1>."""
    units: Units = list(sketch.towers)
    if sketch.held is not None:
        units.append((sketch.held,))
    heights = [len(tower) for tower in sketch.towers]
    # Tallest first; the held block is always last, whatever the towers are.
    keys = [-height for height in heights] + [1] * (sketch.held is not None)
    terms = [('goal', g) for g in sketch.goal] + list(sketch.constraints)
    search = _Search(units, terms, sketch.size)
    return search.run(_rank(keys))


def _rank(keys: list[Any]) -> list[int]:
    """Dense ranks; equal keys share one."""
    position = {key: i for i, key in enumerate(sorted(set(keys)))}
    return [position[key] for key in keys]


class _Search:
    """Refinement and branching over the order of towers."""

    def __init__(self, units: Units, terms: list[Formula], size: int) -> None:
        self.units = units
        self.terms = terms
        self.size = size
        self.members = [sorted(set(blocks_of(term))) for term in terms]

    def run(self, ranks: list[int]) -> tuple[int, ...]:
        if len(set(ranks)) < len(ranks):
            ranks = self._refine(ranks)
        tied = self._first_tie(ranks)
        if not tied:
            order = sorted(range(len(ranks)), key=ranks.__getitem__)
            return tuple(block for i in order for block in self.units[i])
        leaves = [self.run(self._prefer(ranks, unit)) for unit in self._distinct(tied)]
        if len(leaves) == 1:
            return leaves[0]
        return min(leaves, key=self._text)

    def _refine(self, ranks: list[int]) -> list[int]:
        while True:
            colour = self._colours(ranks)
            marks: list[list[Any]] = [[] for _ in range(self.size)]
            for term, members in zip(self.terms, self.members, strict=True):
                for block in members:
                    kept, colour[block] = colour[block], -1
                    marks[block].append(shape(term, colour))
                    colour[block] = kept
            for mark in marks:
                mark.sort()
            keys = [
                (rank, [marks[block] for block in unit])
                for rank, unit in zip(ranks, self.units, strict=True)
            ]
            refined = _rank_by_sort(keys)
            if max(refined) == max(ranks):
                return ranks
            ranks = refined
            if len(set(ranks)) == len(ranks):
                return ranks

    def _colours(self, ranks: list[int]) -> Colours:
        colour = [0] * self.size
        for rank, unit in zip(ranks, self.units, strict=True):
            for height, block in enumerate(unit):
                colour[block] = rank * self.size + height
        return colour

    @staticmethod
    def _first_tie(ranks: list[int]) -> list[int]:
        for rank in sorted(set(ranks)):
            tied = [i for i, r in enumerate(ranks) if r == rank]
            if len(tied) > 1:
                return tied
        return []

    @staticmethod
    def _prefer(ranks: list[int], unit: int) -> list[int]:
        keys = [2 * rank for rank in ranks]
        keys[unit] -= 1
        return _rank(keys)

    def _distinct(self, tied: list[int]) -> list[int]:
        """One of each set of towers that are interchangeable."""
        chosen: list[int] = []
        for unit in tied:
            if not any(self._swappable(unit, other) for other in chosen):
                chosen.append(unit)
        return chosen

    def _swappable(self, one: int, two: int) -> bool:
        identity = list(range(self.size))
        swapped = list(identity)
        for a, b in zip(self.units[one], self.units[two], strict=True):
            swapped[a], swapped[b] = b, a
        return self._key(identity) == self._key(swapped)

    def _key(self, colour: Colours) -> list[Any]:
        return sorted(shape(term, colour) for term in self.terms)

    def _text(self, order: tuple[int, ...]) -> list[Any]:
        colour = [0] * self.size
        for position, block in enumerate(order):
            colour[block] = position
        return self._key(colour)


def _rank_by_sort(keys: list[Any]) -> list[int]:
    """Dense ranks of keys that are not hashable."""
    order = sorted(range(len(keys)), key=keys.__getitem__)
    ranks = [0] * len(keys)
    rank = 0
    for before, here in itertools.pairwise(order):
        rank += keys[before] != keys[here]
        ranks[here] = rank
    return ranks

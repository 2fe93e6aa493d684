# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Groups of atoms of which exactly one is true in every state that can be reached.

A block is on the table, on another block, or held: a goal that says which denies the others. Groups
are guessed from the predicates (what they say about one object, or about the world) and kept when
they hold at first and no action breaks them, as in Helmert, "Concise Finite-Domain Representations
for PDDL Planning Tasks" (2009), section 5, but checked action by action.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.ground import GroundAction
from safegen_ros.pddl.model import Atom
from safegen_ros.search.budget import Budget

_MOST_PARTS = 4
"""Most predicates in a group; those of the field's domains have two to four."""

_WORLD = ''
"""Stands for the object in the groups that speak of none."""


def exactly_one(
    table: AtomTable, atoms: Iterable[Atom], actions: Sequence[GroundAction], budget: Budget
) -> list[int]:
    """Groups of atoms, as masks, of which exactly one is true in every state.

    Args:
        table: the bits of the atoms.
        atoms: those that can become true; in a group are all of them that belong there.
        actions: every action that can ever be applied.
        budget: asked while groups are checked.

    Raises:
        SearchLimit: time ran out.
        Canceled: the caller wants to stop.
    """
    init = table.encode(table.problem.init)
    parts: dict[tuple[str, int], dict[str, int]] = {}
    for atom in atoms:
        for place in range(len(atom)):
            owner = atom[place] if place else _WORLD
            masks = parts.setdefault((atom[0], place), {})
            masks[owner] = masks.get(owner, 0) | table.bit(atom)
    # More than one true atom of a part at first cannot become one by adding parts.
    groups = {
        mask
        for about_object in (True, False)
        for chosen in _choices([key for key in parts if bool(key[1]) is about_object])
        for mask in _masks([parts[key] for key in chosen])
        if (init & mask).bit_count() == 1 and mask.bit_count() > 1
    }
    return [mask for mask in sorted(groups) if all(_keeps(a, mask, budget) for a in actions)]


def _choices(keys: list[tuple[str, int]]) -> Iterator[tuple[tuple[str, int], ...]]:
    for count in range(1, _MOST_PARTS + 1):
        yield from combinations(sorted(keys), count)


def _masks(parts: list[dict[str, int]]) -> Iterator[int]:
    """For every object that some part speaks of, the atoms of all parts about it."""
    for owner in sorted(set().union(*parts)):
        mask = 0
        for part in parts:
            mask |= part.get(owner, 0)
        yield mask


def _keeps(action: GroundAction, group: int, budget: Budget) -> bool:
    """Whether exactly one atom of a group is true after an action if it was so before."""
    budget.tick()
    if any((more | less) & group for _, more, less in action.conditional):
        return False
    needed = action.care & action.want & group
    if needed & (needed - 1):
        return True  # it asks for two of them, so it never applies
    added = action.add & group
    deleted = action.delete & group & ~added
    if not added:
        return not deleted or bool(needed and not deleted & needed)
    # What is added must be all that is true: the one that was true goes, or is the same.
    return added.bit_count() == 1 and bool(needed and not needed & ~(deleted | added))


def forced(groups: Iterable[int], given: int) -> int:
    """The atoms that must be true beside given ones, since others of their groups cannot be."""
    true, groups = given, list(groups)
    while True:
        before, false = true, 0
        for group in groups:
            found = group & true
            if found:
                false |= group & ~found
        for group in groups:
            left = group & ~false
            if left and not left & (left - 1):
                true |= left
        if true == before:
            return true & ~given

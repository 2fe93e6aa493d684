# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Where the blocks of Blocksworld stand in a picture: in columns that stay where they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from safegen_ros.pddl.model import Atom, AtomFormula, Problem, State
from safegen_ros.tasks.pddl3.domains import builtin_domain

MOST_BLOCKS = 40
"""Most blocks that are drawn; more of them are listed in words."""


@dataclass(frozen=True, slots=True)
class Towers:
    """A state as it is drawn.

    Attributes:
        places: column and level of each block that stands, both from 0.
        columns: how many columns the picture has.
        height: of the highest tower that it has room for [blocks].
        hand: the column over which the hand is.
        held: the block in it, if any.
        anywhere: columns whose lowest block may stand on anything.
        hand_unknown: whether the hand is not shown.
    """

    places: dict[str, tuple[int, int]]
    columns: int
    height: int
    hand: int = 0
    held: str = ''
    anywhere: tuple[int, ...] = ()
    hand_unknown: bool = False


def is_blocksworld(problem: Problem) -> bool:
    """Whether a problem has blocks as the built-in domain does, and not too many."""
    ours = builtin_domain('blocksworld').predicates
    return dict(problem.domain.predicates) == dict(ours) and len(problem.objects) <= MOST_BLOCKS


def towers_of(problem: Problem, states: Sequence[State]) -> tuple[Towers, ...] | None:
    """The towers of several states, each at its place; None where some state has none to draw.

    A tower stands where it stood before; a block that is put on the table gets the column that it
    last had, or else the first free one.
    """
    home: dict[str, int] = {}
    hand = 0
    found: list[Towers] = []
    for state in states:
        piles = _piles(state)
        held = next((atom[1] for atom in state if atom[0] == 'holding'), '')
        standing = [name for pile in piles for name in pile]
        if sorted([*standing, *filter(None, [held])]) != sorted(problem.objects):
            return None
        standing_before = found[-1].places.keys() if found else frozenset()
        columns = _columns(problem, piles, home, standing_before)
        places = {
            name: (column, level)
            for pile, column in zip(piles, columns, strict=True)
            for level, name in enumerate(pile)
        }
        home.update({name: column for name, (column, _) in places.items()})
        moved = places.keys() if not found else places.keys() - found[-1].places.keys()
        if held:
            hand = home.setdefault(held, hand)
        elif found and moved:
            hand = home[min(moved)]
        found.append(Towers(places, 0, max(map(len, piles), default=0), hand, held))
    used = [column for each in found for column, _ in each.places.values()]
    columns_needed = 1 + max([*used, *home.values()], default=0)
    height = max(each.height for each in found) if found else 0
    return tuple(replace(each, columns=columns_needed, height=height) for each in found)


def _columns(
    problem: Problem, piles: Sequence[Sequence[str]], home: Mapping[str, int], stood: Set[str]
) -> list[int]:
    """A column for each pile, by its lowest block; first for those whose lowest block stood."""
    order = [*problem.objects]
    chosen: dict[str, int] = {}
    for base in sorted((pile[0] for pile in piles), key=lambda b: (b not in stood, order.index(b))):
        wanted = home.get(base)
        if wanted is None or wanted in chosen.values():
            wanted = next(c for c in range(len(piles)) if c not in chosen.values())
        chosen[base] = wanted
    return [chosen[pile[0]] for pile in piles]


def _piles(state: Iterable[Atom]) -> list[list[str]]:
    """The towers of a state, each from the table up; blocks that stand on nothing are left out."""
    above = {atom[2]: atom[1] for atom in state if atom[0] == 'on'}
    piles = []
    for base in sorted(atom[1] for atom in state if atom[0] == 'on-table'):
        pile = [base]
        while (upper := above.get(pile[-1])) is not None and upper not in pile:
            pile.append(upper)
        piles.append(pile)
    return piles


def wanted_towers(problem: Problem) -> tuple[tuple[str, ...], ...]:
    """The towers that a goal asks for, each from below; none where it asks for anything else too.

    Whether the lowest block has to stand on the table is in the goal itself.
    """
    atoms = [part for part in problem.goal_conjuncts() if isinstance(part, AtomFormula)]
    wanted = {(part.predicate, *part.terms) for part in atoms}
    if not is_blocksworld(problem) or len(atoms) < len(problem.goal_conjuncts()):
        return ()
    if not wanted or {atom[0] for atom in wanted} - {'on', 'on-table', 'clear'}:
        return ()
    named = {name for atom in wanted for name in atom[1:]}
    upper = {atom[1] for atom in wanted if atom[0] == 'on'}
    lowest = {('on-table', name) for name in named - upper}
    piles = _piles({*(atom for atom in wanted if atom[0] == 'on'), *lowest})
    drawn = [name for pile in piles for name in pile]
    supported = [atom[1] for atom in wanted if atom[0] in ('on', 'on-table')]
    # What contradicts itself, such as a block on two others, is not a tower.
    if sorted(drawn) != sorted(named) or len(set(supported)) < len(supported):
        return ()
    order = [*problem.objects]
    return tuple(sorted(map(tuple, piles), key=lambda pile: order.index(pile[0])))


def goal_towers(problem: Problem) -> Towers | None:
    """The same to be drawn; None where there is nothing to draw."""
    piles = wanted_towers(problem)
    if not piles:
        return None
    places = {
        name: (column, level)
        for column, pile in enumerate(piles)
        for level, name in enumerate(pile)
    }
    table = {
        part.terms[0]
        for part in problem.goal_conjuncts()
        if isinstance(part, AtomFormula) and part.predicate == 'on-table'
    }
    anywhere = tuple(column for column, pile in enumerate(piles) if pile[0] not in table)
    height = max(map(len, piles))
    return Towers(places, len(piles), height, anywhere=anywhere, hand_unknown=True)

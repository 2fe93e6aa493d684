# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whether some permutation of the objects in a goal makes it another goal (placeholders).

A permutation keeps what objects are: their types, and the atoms about one object that no action
changes, such as `(ball b)`. So a goal that asks for nonsense does not become one that makes sense.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from safegen_ros.pddl.model import Atom
from safegen_ros.search.budget import SearchLimit
from safegen_ros.tasks.planetarium.graphs import (
    Bijection,
    embeddings,
    isomorphism,
    renamed,
    scene_graph,
)
from safegen_ros.tasks.planetarium.pair import Pair, natures

_MOST_EMBEDDINGS = 1000

_Specify = Callable[[frozenset[Atom]], frozenset[Atom] | None]


def permuted_goal(pair: Pair, goal: frozenset[Atom]) -> Bijection | None:
    """A way to give the objects of the second goal to the first problem that makes the goals equal.

    That is a map p of the objects that the second goal names, such that the goal states of the
    first problem are those of the first problem with the second goal, renamed by p.

    Args:
        pair: two problems with goals that are conjunctions of atoms; the first has a goal state.
        goal: the first goal, fully specified.

    Returns:
        Objects of the second problem with those of the first that stand for them; None when there
        is no such map, which is proved.

    Raises:
        SearchLimit: it could not be found out.
        Canceled: the caller wants to stop.
    """
    first, task = pair.tasks
    if first is None or task is None:
        raise SearchLimit('only goals that are conjunctions of atoms have placeholders')
    whole, permuted = _both_natures(pair)
    asked = scene_graph(whole, {'goal': first.goal})
    same = isomorphism(scene_graph(permuted, {'goal': task.goal}), asked, pair.budget.tick)
    if same is not None:
        return same
    specified = _specifier(pair)
    needed = {atom for atom in goal if specified(goal - {atom}) != goal}
    if not _same_where_needed(pair, task.goal, goal, needed):
        return None
    used = {name for atom in task.goal for name in atom[1:]}
    permuted = {name: kind for name, kind in permuted.items() if name in used}
    small, large = scene_graph(permuted, {'goal': task.goal}), scene_graph(whole, {'goal': goal})
    tried: set[frozenset[Atom]] = set()
    for names in embeddings(small, large, pair.budget.tick):
        found = renamed(task.goal, names)
        if found in tried or not needed <= found:
            continue
        if specified(found) == goal:
            return names
        tried.add(found)
        if len(tried) == _MOST_EMBEDDINGS:
            raise SearchLimit(f'{_MOST_EMBEDDINGS} permutations of the goal were tried')
    return None


def _specifier(pair: Pair) -> _Specify:
    """Full specification of goals of the first problem."""

    def specified(goal: frozenset[Atom]) -> frozenset[Atom] | None:
        found = pair.specified(goal)
        if found.solvable is False:
            return None
        if not found.exact:
            raise SearchLimit('it could not be found out in time what all goal states have')
        return found.known

    return specified


def _same_where_needed(
    pair: Pair, given: frozenset[Atom], goal: frozenset[Atom], needed: set[Atom]
) -> bool:
    """Whether the part of a goal that must become the needed atoms, and no others, can do so.

    An atom is needed when the others of a full specification do not imply it. Every permutation
    that makes the goals equal makes some atom of the given goal into it. Where a predicate has as
    many needed atoms as the goal has atoms, these are mapped onto each other.
    """
    has = Counter(atom[0] for atom in given)
    most, least = (Counter(atom[0] for atom in atoms) for atoms in (goal, needed))
    if any(not least[predicate] <= has[predicate] <= most[predicate] for predicate in has | most):
        return False
    fixed = [predicate for predicate in has if has[predicate] == least[predicate]]
    first, second = (
        scene_graph(kinds, {'goal': {atom for atom in atoms if atom[0] in fixed}})
        for kinds, atoms in zip(_both_natures(pair), (needed, given), strict=True)
    )
    return isomorphism(first, second, pair.budget.tick) is not None


def _both_natures(pair: Pair) -> list[dict[str, str]]:
    problems = zip(pair.problems, pair.kinds, strict=True)
    return [natures(problem, kinds) for problem, kinds in problems]

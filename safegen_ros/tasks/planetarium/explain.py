# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What has to be changed in a problem for it to be the one that was wanted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.model import Atom, Problem
from safegen_ros.pddl.writer import formula_text
from safegen_ros.search.budget import Budget, SearchLimit
from safegen_ros.search.solve import MEMORY_LIMIT_MB
from safegen_ros.tasks.planetarium.alignment import Kinds, aligned, alike
from safegen_ros.tasks.planetarium.equivalence import compare
from safegen_ros.tasks.planetarium.generic import as_formula, literals_of
from safegen_ros.tasks.planetarium.graphs import Bijection, Scenes, renamed
from safegen_ros.tasks.planetarium.pair import ProblemPair, natures

Scene = Literal['init', 'goal']

_MOST_STARTS = 3
_PLACES = {'init': 'the initial state', 'goal': 'the goal'}


@dataclass(frozen=True)
class Difference:
    """Something to change.

    Attributes:
        scene: where.
        has: the atom that is there and does not belong there, if any.
        lacks: the atom that belongs there and is neither there nor implied, if any. Where both are
            given, one stands in the place of the other. An object in angle brackets is one of the
            wanted problem that has no partner.
    """

    scene: Scene
    has: Atom | None = None
    lacks: Atom | None = None

    def __str__(self) -> str:
        """What to do, for a model or a person."""
        place = _PLACES[self.scene]
        if self.has is None and self.lacks is not None:
            return f'{place} lacks {_text(self.lacks)}: add it'
        if self.has is not None and self.lacks is None:
            return f'{place} has {_text(self.has)}, which does not belong there: remove it'
        if self.has is not None and self.lacks is not None:
            return f'{place} has {_text(self.has)} where {_text(self.lacks)} belongs: change it'
        return ''


@dataclass(frozen=True)
class Explanation:
    """The differences of a problem from the wanted one, with the names of its own objects.

    Attributes:
        objects: the objects of the wanted problem with those that stand for them best.
        goal_objects: likewise in the goal; another map only where objects are placeholders.
        counts: wrong numbers of objects, in words.
        differences: what to change.
    """

    objects: Bijection
    goal_objects: Bijection
    counts: tuple[str, ...]
    differences: tuple[Difference, ...]

    def __str__(self) -> str:
        """One line for each thing to change; empty when nothing is known to differ."""
        return '\n'.join((*self.counts, *map(str, self.differences)))


def explain(
    wanted: Problem, found: Problem, *, placeholder: bool = False, time_limit_s: float = 10.0
) -> Explanation:
    """Says how a problem differs from the one that was wanted.

    What the goal of either problem implies counts as if it were written there. A goal that no state
    satisfies implies nothing here, and is compared as it is written. Trajectory constraints are not
    looked at.

    Args:
        wanted: the problem as it should be, with a goal that is a conjunction of literals.
        found: the problem as it is, of the same domain.
        placeholder: whether the objects in the goal may stand for any objects.
        time_limit_s: wall-clock limit [s]; afterwards the objects go together as they do then.

    Raises:
        SafegenError: the domains differ, or a goal is not a conjunction of literals.
    """
    if wanted.domain.predicates != found.domain.predicates:
        raise SafegenError(
            f'the problems have the domains {wanted.domain.name} and {found.domain.name}: '
            'write both for one domain',
            ErrorCode.UNKNOWN_DOMAIN,
        )
    given, asked = literals_of(wanted.goal), literals_of(found.goal)
    if given is None or asked is None:
        raise SafegenError(
            'goals can only be explained where they are conjunctions of literals: write them so'
        )
    wanted, found = replace(wanted, constraints=()), replace(found, constraints=())
    same = compare(wanted, found, placeholder=placeholder, time_limit_s=time_limit_s / 2)
    if same.equivalent and same.objects is not None:
        return Explanation(same.objects, same.goal_objects or same.objects, (), ())
    pair = ProblemPair(wanted, found, Budget(time_limit_s / 2, MEMORY_LIMIT_MB))
    implied = [
        each.possible | goal if each.solvable else goal
        for each, goal in zip(pair.specifications, (given, asked), strict=True)
    ]
    init: list[Scenes] = [{'init': problem.init} for problem in pair.problems]
    goals: list[Scenes] = [{'goal': goal} for goal in implied]
    literally: list[Scenes] = [{'goal': goal} for goal in (given, asked)]
    if placeholder:
        names = _align(pair, pair.kinds, init)
        goal_names = _align(pair, _same_natures(pair, names), goals, literally)
    else:
        whole, written = (
            [{**first, **second} for first, second in zip(init, each, strict=True)]
            for each in (goals, literally)
        )
        names = goal_names = _align(pair, pair.kinds, whole, written)
    extra = asked - renamed(implied[0], goal_names)
    # The rest may imply less than the goal as it is, and more once the initial state is right.
    back = {partner: name for name, partner in goal_names.items()}
    kept = pair.specified(renamed(asked - extra, back))
    missing = given - (kept.known if kept.solvable else renamed(asked - extra, back))
    differences = [
        *_differences('init', renamed(wanted.init, names), found.init),
        *_differences('goal', renamed(missing, goal_names), extra),
    ]
    return Explanation(names, goal_names, tuple(_counts(wanted, found)), tuple(differences))


def _same_natures(pair: ProblemPair, names: Bijection) -> tuple[Kinds, Kinds]:
    """What objects are for good, according to the wanted problem, whose initial state is right."""
    wanted = natures(pair.problems[0], pair.kinds[0])
    partners = {partner: wanted[name] for name, partner in names.items()}
    return wanted, {name: partners.get(name, kind) for name, kind in pair.kinds[1].items()}


def _align(pair: ProblemPair, kinds: tuple[Kinds, Kinds], *scenes: Sequence[Scenes]) -> Bijection:
    """The best map of objects for the first scenes; the others show what is alike, too."""
    try:
        starts = list(islice(pair.initial(), _MOST_STARTS))
    except SearchLimit:
        starts = []
    fitting = [n for n in starts if all(kinds[0][a] == kinds[1][b] for a, b in n.items())]
    fitting += [alike(kinds, (one, other)) for one, other in scenes]
    return aligned(kinds, (scenes[0][0], scenes[0][1]), fitting, pair.budget.tick)


def _differences(scene: Scene, wanted: frozenset[Atom], found: frozenset[Atom]) -> list[Difference]:
    """The atoms that only one side has; those that say something about one object go together."""
    extra = sorted(found - wanted)
    result = []
    for atom in sorted(wanted - found):
        # A wrong atom mostly shares its first object with the right one, and then its predicate.
        near = [e for e in extra if len(atom) > 1 and e[1:2] == atom[1:2]]
        near.sort(key=lambda each: each[0] != atom[0])
        if near:
            extra.remove(near[0])
        result.append(Difference(scene, near[0] if near else None, atom))
    return [*result, *(Difference(scene, atom) for atom in extra)]


def _counts(wanted: Problem, found: Problem) -> list[str]:
    first, second = Counter(wanted.objects.values()), Counter(found.objects.values())
    return [
        f'there are {second[kind]} objects of type {kind} where {first[kind]} belong: '
        f'{"declare the missing ones" if first[kind] > second[kind] else "leave some out"}'
        for kind in sorted(first | second)
        if first[kind] != second[kind]
    ]


def _text(literal: Atom) -> str:
    return formula_text(as_formula(literal))

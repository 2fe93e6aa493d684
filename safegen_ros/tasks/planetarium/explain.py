# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What has to be changed in a problem for it to be the one that was wanted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.model import Atom, Problem
from safegen_ros.pddl.writer import formula_text
from safegen_ros.search.budget import Budget, SearchLimit
from safegen_ros.search.solve import MEMORY_LIMIT_MB
from safegen_ros.tasks.planetarium.equivalence import compare
from safegen_ros.tasks.planetarium.generic import as_formula, literals_of
from safegen_ros.tasks.planetarium.graphs import Bijection, Scenes, never_stop, renamed
from safegen_ros.tasks.planetarium.pair import ProblemPair, natures

_MOST_ROUNDS = 8
#: Time for each of the two looks; afterwards the objects go together as they do then [s].
_LIMIT_S = 5.0
Kinds = Mapping[str, str]
"""The objects of a problem, each with the properties that its partner must have."""
_Placed = tuple[str, Atom]
"""An atom with its scene."""


def nothing(name: str) -> str:
    """What stands for an object that has no partner; no object has such a name."""
    return f'<{name}>'


def aligned(
    kinds: tuple[Kinds, Kinds],
    scenes: tuple[Scenes, Scenes],
    starts: Collection[Bijection],
    tick: Callable[[], None],
) -> Bijection:
    """A map of objects under which as many atoms as possible are in both problems.

    Objects of one name go together at first, since an author mostly takes the given names, unless
    one of `starts` makes more atoms agree. Two objects swap their partners as long as that makes
    still more agree. The result is the best one that swaps lead to, and not always the best of all.

    Args:
        kinds: for both problems, what objects must have in common with their partners.
        scenes: the atoms of both problems, scene by scene.
        starts: other maps to start from, such as those of `alike`.
        tick: called again and again; when it raises `SearchLimit`, what has been found is returned.

    Returns:
        Every object of the first problem with its partner, or with `nothing`.
    """
    search = _Search(kinds, scenes, tick)
    return search.improved(max((search.by_name(), *starts), key=search.agreeing))


def alike(kinds: tuple[Kinds, Kinds], scenes: tuple[Scenes, Scenes]) -> Bijection:
    """Objects with those in equal surroundings, as far as can be seen.

    The partners of partners go together next, so that a tower with one wrong block is followed from
    both its ends. Arguments and result are those of `aligned`.
    """
    return _Search(kinds, scenes, never_stop).by_surroundings()


def _atoms_of(kinds: Kinds, atoms: Collection[_Placed]) -> dict[str, list[_Placed]]:
    """The atoms about each object."""
    found: dict[str, list[_Placed]] = {name: [] for name in kinds}
    for scene, atom in atoms:
        for name in {*atom[1:]}:
            found[name].append((scene, atom))
    return found


def _recoloured(
    about: Mapping[str, list[_Placed]], colours: Mapping[str, int], numbers: dict[object, int]
) -> dict[str, int]:
    """Colours of objects that also reflect the colours of those that share an atom with them."""
    found = {}
    for name, atoms in about.items():
        near = sorted(
            (scene, atom[0], atom.index(name, 1), *[colours[each] for each in atom[1:]])
            for scene, atom in atoms
        )
        found[name] = numbers.setdefault((colours[name], tuple(near)), len(numbers))
    return found


class _Search:
    """Looks for a map; the arguments are those of `aligned`."""

    def __init__(
        self, kinds: tuple[Kinds, Kinds], scenes: tuple[Scenes, Scenes], tick: Callable[[], None]
    ) -> None:
        self._kinds = kinds
        self._tick = tick
        self._atoms = [(scene, atom) for scene, atoms in scenes[0].items() for atom in atoms]
        self._others = {(scene, atom) for scene, atoms in scenes[1].items() for atom in atoms}
        self._about = _atoms_of(kinds[0], self._atoms)
        self._about_others = _atoms_of(kinds[1], self._others)

    def by_name(self) -> Bijection:
        """Objects with those of the same name and kind, the others in their order."""
        one, other = self._kinds
        return self._completed({name: name for name in one if one[name] == other.get(name)})

    def by_surroundings(self) -> Bijection:
        """See `alike`: those that nothing else looks like from afar, then from nearer."""
        names: Bijection = {}
        taken: set[str] = set()
        for one, other in reversed(self._surroundings()):
            alike: dict[int, tuple[list[str], list[str]]] = {}
            for side, colours in enumerate((one, other)):
                for name, colour in colours.items():
                    if name not in (names, taken)[side]:
                        alike.setdefault(colour, ([], []))[side].append(name)
            for first, second in alike.values():
                if len(first) == len(second) == 1:
                    self._extend(names, taken, first[0], second[0])
        return self._completed(names)

    def _surroundings(self) -> list[tuple[dict[str, int], dict[str, int]]]:
        """Colours of the objects of both problems that become finer from round to round."""
        numbers: dict[object, int] = {}
        one, other = (
            {name: numbers.setdefault(kind, len(numbers)) for name, kind in kinds.items()}
            for kinds in self._kinds
        )
        rounds = [(one, other)]
        for _ in range(_MOST_ROUNDS):
            one = _recoloured(self._about, rounds[-1][0], numbers)
            other = _recoloured(self._about_others, rounds[-1][1], numbers)
            rounds.append((one, other))
        return rounds

    def _extend(self, names: Bijection, taken: set[str], first: str, second: str) -> None:
        """Makes two objects partners, and what only they have in the same atoms, and so on."""
        waiting = [(first, second)]
        while waiting:
            name, partner = waiting.pop()
            if name in names or partner in taken:
                continue
            names[name] = partner
            taken.add(partner)
            near = self._beside(name, self._about, self._kinds[0], names)
            others = self._beside(partner, self._about_others, self._kinds[1], taken)
            for key, found in near.items():
                if len(found) == len(others.get(key, ())) == 1:
                    waiting.append((found[0], others[key][0]))

    @staticmethod
    def _beside(
        name: str, about: Mapping[str, list[_Placed]], kinds: Kinds, known: Collection[str]
    ) -> dict[tuple[object, ...], list[str]]:
        """The objects without a partner in atoms with another one, by the atoms."""
        found: dict[tuple[object, ...], list[str]] = {}
        for scene, atom in about[name]:
            for place, other in enumerate(atom[1:], 1):
                if other != name and other not in known:
                    key = (scene, atom[0], atom.index(name, 1), place, kinds[other])
                    found.setdefault(key, []).append(other)
        return found

    def _completed(self, names: Bijection) -> Bijection:
        """The map with the other objects in their order."""
        one, other = self._kinds
        partners = set(names.values())
        left = {name: kind for name, kind in other.items() if name not in partners}
        for name, kind in one.items():
            if name not in names:
                partner = next((each for each, its in left.items() if its == kind), nothing(name))
                left.pop(partner, None)
                names[name] = partner
        return names

    def agreeing(self, names: Bijection) -> int:
        """How many atoms of the first problem are atoms of the second."""
        return self._count(self._atoms, names)

    def improved(self, start: Bijection) -> Bijection:
        """A map that no swap makes better."""
        names = dict(start)
        try:
            for _ in range(_MOST_ROUNDS):
                if not self._improve(names):
                    break
        except SearchLimit:
            pass
        return names

    def _improve(self, names: Bijection) -> bool:
        """Makes every swap that makes the map better; whether there was any."""
        better = False
        for first in [name for name in names if self._may_be_wrong(name, names)]:
            for second in names:
                self._tick()
                if first != second and self._kinds[0][first] == self._kinds[0][second]:
                    better |= self._swap(names, first, second)
        for spare in sorted(self._kinds[1].keys() - names.values()):
            better |= self._take(names, spare)
        return better

    def _may_be_wrong(self, name: str, names: Bijection) -> bool:
        """Whether an atom about an object does not agree."""
        return self._count(self._about[name], names) < len(self._about[name])

    def _take(self, names: Bijection, spare: str) -> bool:
        """Gives an object without a partner to the first that is better off with it."""
        for name, old in names.items():
            self._tick()
            if self._kinds[0][name] == self._kinds[1][spare]:
                before = self._count(self._about[name], names)
                names[name] = spare
                if self._count(self._about[name], names) > before:
                    return True
                names[name] = old
        return False

    def _swap(self, names: Bijection, first: str, second: str) -> bool:
        """Swaps two partners if that makes more atoms agree."""
        about = [*self._about[first], *(a for a in self._about[second] if first not in a[1])]
        before = self._count(about, names)
        names[first], names[second] = names[second], names[first]
        if self._count(about, names) > before:
            return True
        names[first], names[second] = names[second], names[first]
        return False

    def _count(self, atoms: Collection[tuple[str, Atom]], names: Bijection) -> int:
        return sum(
            (scene, (atom[0], *[names[name] for name in atom[1:]])) in self._others
            for scene, atom in atoms
        )


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


def explain(wanted: Problem, found: Problem, *, placeholder: bool = False) -> Explanation:
    """Says how a problem differs from the one that was wanted.

    What the goal of either problem implies counts as if it were written there. A goal that no state
    satisfies implies nothing here, and is compared as it is written. Trajectory constraints are not
    looked at.

    Args:
        wanted: the problem as it should be, with a goal that is a conjunction of literals.
        found: the problem as it is, of the same domain.
        placeholder: whether the objects in the goal may stand for any objects.

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
    same = compare(wanted, found, placeholder=placeholder, time_limit_s=_LIMIT_S)
    if same.equivalent and same.objects is not None:
        return Explanation(same.objects, same.goal_objects or same.objects, (), ())
    pair = ProblemPair(wanted, found, Budget(_LIMIT_S, MEMORY_LIMIT_MB))
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

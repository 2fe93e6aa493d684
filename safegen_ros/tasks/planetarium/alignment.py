# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which objects of two problems stand for each other, so that most of their atoms agree."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from safegen_ros.pddl.model import Atom
from safegen_ros.search.budget import SearchLimit
from safegen_ros.tasks.planetarium.graphs import Bijection, Scenes, never_stop

_MOST_ROUNDS = 8

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

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Problems up to the names of their objects.

A problem is a graph: objects, atoms, and the nodes of its formulas. Colours are refined until
neighbours cannot distinguish equal ones (Weisfeiler and Leman 1968); where objects still share a
colour, one after the other gets a separate colour, and the smallest text is the canonical one
(McKay 1981). Texts that come out twice show a symmetry, which saves trying what is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

from safegen_ros.pddl.deciding import refuse_numbers
from safegen_ros.pddl.model import (
    And,
    Atom,
    AtomFormula,
    Equals,
    Exists,
    Forall,
    Formula,
    Imply,
    Or,
    Problem,
    subformulas,
    terms_of,
)

Colours = list[int]
Links = Sequence[tuple[int, int]]

_ORDERED = 1  # role of the first argument where order matters; 0 where it does not


@dataclass(frozen=True)
class CanonicalProblem:
    """A problem without the names of its objects.

    Attributes:
        text: equal for two problems of a domain exactly when renaming objects makes them equal.
        order: the objects in the order in which the text counts them.
    """

    text: str
    order: tuple[str, ...]

    @cached_property
    def key(self) -> str:
        """A short stand-in for the text, the same on every machine."""
        return sha256(self.text.encode()).hexdigest()[:32]


def canonical_problem(problem: Problem) -> CanonicalProblem:
    """The canonical form of a problem.

    Initial state, goal and constraints count, the names of the problem and of objects do not, nor
    does the order of atoms, of constraints and of the parts of `and` and `or`. Constants of the
    domain keep their names, since actions use them.

    Raises:
        SafegenError: plans of it depend on numbers.
    """
    refuse_numbers(problem, 'the search for equal problems', 'leave them out')
    return _Search(problem).result()


def refined(
    colours: Colours, links: Sequence[Links], tick: Callable[[], None] = lambda: None
) -> Colours:
    """Colours of nodes that neighbours cannot distinguish further, numbered in a canonical way.

    Args:
        links: of every node, the role and the number of each neighbour.
        tick: called in each round; it ends the search by raising.
    """
    count = len(set(colours))
    while True:
        tick()
        keys = [
            (colour, sorted([(role, colours[other]) for role, other in near]))
            for colour, near in zip(colours, links, strict=True)
        ]
        colours = ranked(keys)
        if len(set(colours)) == count:
            return colours
        count = len(set(colours))


class _Graph:
    """The graph of a problem; its first nodes are the objects."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        constants = problem.domain.constants
        self.names = list(problem.objects)
        self.labels = [
            f'constant {name}' if name in constants else f'object {kind}'
            for name, kind in problem.objects.items()
        ]
        self.links: list[list[tuple[int, int]]] = [[] for _ in self.names]
        self._numbers = {name: number for number, name in enumerate(self.names)}
        for predicate, *arguments in sorted(problem.init):
            self._link(self._node(f'true {predicate}'), (self._numbers[a] for a in arguments), 1)
        goal = self._node('goal')
        self._link(goal, [self._formula(problem.goal, {})], 0)
        for constraint in problem.constraints:
            label = ' '.join(map(str, ('constraint', constraint.operator, *constraint.times)))
            parts = [self._formula(argument, {}) for argument in constraint.arguments]
            self._link(self._node(label), parts, _ORDERED)

    def _node(self, label: str) -> int:
        self.labels.append(label)
        self.links.append([])
        return len(self.labels) - 1

    def _link(self, node: int, others: Iterable[int], role: int) -> None:
        """Links a node to others: roles count up from `role`, or are all 0."""
        for place, other in enumerate(others):
            kind = role and role + place
            self.links[node].append((2 * kind, other))
            self.links[other].append((2 * kind + 1, node))

    def _formula(self, formula: Formula, bound: Mapping[str, int]) -> int:
        node = self._node(_head(formula))
        if isinstance(formula, (AtomFormula, Equals)):
            terms = [bound[t] if t in bound else self._numbers[t] for t in terms_of(formula)]
            self._link(node, terms, 0 if isinstance(formula, Equals) else _ORDERED)
        elif isinstance(formula, (Forall, Exists)):
            inner = {name: self._node(f'variable {kind}') for name, kind in formula.variables}
            self._link(node, inner.values(), _ORDERED)
            self._link(node, [self._formula(formula.body, {**bound, **inner})], 0)
        else:
            parts = [self._formula(part, bound) for part in subformulas(formula)]
            self._link(node, parts, _ORDERED if isinstance(formula, Imply) else 0)
        return node

    def text(self, rank: Mapping[str, str]) -> str:
        """The problem with its objects renamed."""
        kinds = sorted(f'{rank[name]} {kind}' for name, kind in self.problem.objects.items())
        init = sorted(' '.join((a[0], *map(rank.__getitem__, a[1:]))) for a in self.problem.init)
        return '\n'.join(('; '.join(kinds), '; '.join(init), self.wishes(rank)))

    def wishes(self, rank: Mapping[str, str]) -> str:
        """The goal and the constraints with objects renamed."""
        found = []
        for constraint in self.problem.constraints:
            arguments = [_text(argument, rank) for argument in constraint.arguments]
            found.append(' '.join((constraint.operator, *map(str, constraint.times), *arguments)))
        return '\n'.join((_text(self.problem.goal, rank), '; '.join(sorted(found))))

    def interchangeable(self) -> Iterable[tuple[int, int]]:
        """Pairs of objects that can be swapped; each object is in at most one as the second."""
        names, init = self.names, self.problem.init
        atoms: dict[str, list[Atom]] = {name: [] for name in names}
        for atom in init:
            for name in {*atom[1:]}:
                atoms[name].append(atom)
        same = {name: name for name in names}
        wishes = self.wishes(same)
        shape = [(self.labels[n], sorted(a[0] for a in atoms[names[n]])) for n in range(len(names))]
        for second, name in enumerate(names):
            for first in reversed(range(second)):
                other = names[first]
                swap = {**same, name: other, other: name}
                if (
                    shape[first] == shape[second]
                    and all((a[0], *map(swap.__getitem__, a[1:])) in init for a in atoms[name])
                    and all((a[0], *map(swap.__getitem__, a[1:])) in init for a in atoms[other])
                    and self.wishes(swap) == wishes
                ):
                    yield first, second
                    break


class _Search:
    """Looks for the order of objects with the smallest text."""

    def __init__(self, problem: Problem) -> None:
        self._graph = _Graph(problem)
        self._size = len(self._graph.names)
        self._seen: dict[str, list[int]] = {}  # a text, and the objects in its order
        self._symmetries: list[list[int]] = []  # maps of objects that keep the problem
        self._twin = list(range(self._size))  # equal for objects that can be swapped
        for first, second in self._graph.interchangeable():
            self._twin[second] = self._twin[first]

    def result(self) -> CanonicalProblem:
        graph = self._graph
        self._descend(refined(ranked(graph.labels), graph.links), [])
        text = min(self._seen)
        return CanonicalProblem(text, tuple(graph.names[n] for n in self._seen[text]))

    def _descend(self, colours: Colours, chosen: list[int]) -> None:
        cell = self._cell(colours)
        if not cell:
            self._leaf(colours)
            return
        # What can be swapped gets its colours all at once, in any order.
        groups: dict[int, list[int]] = {}
        for number in cell:
            groups.setdefault(self._twin[number], []).append(number)
        tried: list[int] = []
        for first, *others in groups.values():
            if first in self._orbit(tried, chosen):
                continue
            tried.append(first)
            split = [(len(colours) + 1) * (colour + 1) for colour in colours]
            for place, number in enumerate((first, *others)):
                split[number] -= len(colours) - place
            self._descend(refined(split, self._graph.links), [*chosen, first, *others])

    def _cell(self, colours: Colours) -> list[int]:
        """The objects of the first colour that several objects share."""
        shared: dict[int, list[int]] = {}
        for number in range(self._size):
            shared.setdefault(colours[number], []).append(number)
        return next((shared[c] for c in sorted(shared) if len(shared[c]) > 1), [])

    def _leaf(self, colours: Colours) -> None:
        order = sorted(range(self._size), key=colours.__getitem__)
        names = self._graph.names
        constants = self._graph.problem.domain.constants
        rank = {names[n]: f'o{place}' for place, n in enumerate(order)}
        rank.update((name, f'={name}') for name in constants)  # which no rank of an object is
        text = self._graph.text(rank)
        known = self._seen.setdefault(text, order)
        if known is not order:
            symmetry = [0] * self._size
            for one, other in zip(known, order, strict=True):
                symmetry[one] = other
            self._symmetries.append(symmetry)

    def _orbit(self, tried: list[int], chosen: list[int]) -> set[int]:
        """What symmetries that keep the chosen objects in place make of the tried ones."""
        keeping = [s for s in self._symmetries if all(s[number] == number for number in chosen)]
        found, fresh = set(tried), list(tried)
        while fresh:
            number = fresh.pop()
            for symmetry in keeping:
                if symmetry[number] not in found:
                    found.add(symmetry[number])
                    fresh.append(symmetry[number])
        return found


def ranked(keys: list[str] | list[tuple[int, list[tuple[int, int]]]]) -> Colours:
    """The place of every key among the sorted keys."""
    ordered = sorted({repr(key) for key in keys})
    places = {key: place for place, key in enumerate(ordered)}
    return [places[repr(key)] for key in keys]


def _head(formula: Formula) -> str:
    if isinstance(formula, AtomFormula):
        return f'atom {formula.predicate}'
    return type(formula).__name__.lower()


def _text(formula: Formula, rank: Mapping[str, str], depth: int = 0) -> str:
    """A formula with objects and variables renamed, and sorted where order does not matter."""
    if isinstance(formula, (AtomFormula, Equals)):
        words = [rank[term] for term in terms_of(formula)]
        if isinstance(formula, Equals):
            words.sort()
    elif isinstance(formula, (Forall, Exists)):
        inner = {name: f'?{depth + n}' for n, (name, _) in enumerate(formula.variables)}
        body = _text(formula.body, {**rank, **inner}, depth + len(inner))
        words = [*(kind for _, kind in formula.variables), body]
    else:
        words = [_text(part, rank, depth) for part in subformulas(formula)]
        if isinstance(formula, (And, Or)):
            words.sort()
    return f'({" ".join((_head(formula), *words))})'

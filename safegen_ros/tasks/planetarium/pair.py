# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Two problems of a domain, and the questions that compare them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import product

from safegen_ros.pddl.deciding import changed_predicates, refuse_numbers
from safegen_ros.pddl.model import And, Atom, Problem
from safegen_ros.search.budget import Budget, SearchLimit
from safegen_ros.tasks.planetarium.domains import rules_for
from safegen_ros.tasks.planetarium.generic import (
    NOT,
    Specification,
    as_formula,
    literals_of,
    specify,
    specify_by_rules,
)
from safegen_ros.tasks.planetarium.graphs import (
    Bijection,
    Scenes,
    embeddings,
    isomorphism,
    isomorphisms,
    renamed,
    scene_graph,
)
from safegen_ros.tasks.planetarium.state_rules import GoalRules, StripsTask


class ProblemPair:
    """Two problems of a domain with equally many objects of every type.

    Attributes:
        tasks: the tasks of those whose goal is a conjunction of atoms, else None.
        budget: asked while bijections are looked for.
        kinds: for each problem, what its objects must have in common with those that stand for
            them. A constant stands for nothing but itself, for actions may name it; and so does
            every object with `named`.
    """

    def __init__(self, one: Problem, other: Problem, budget: Budget, named: bool = False) -> None:
        for problem in (one, other):
            refuse_numbers(problem, 'the comparison of two problems', 'leave them out')
        self.problems = (one, other)
        self.tasks = (StripsTask.of(one), StripsTask.of(other))
        self.budget = budget
        constants = one.domain.constants
        first, second = (
            {
                name: f'={name}' if named or name in constants else kind
                for name, kind in p.objects.items()
            }
            for p in self.problems
        )
        self.kinds = (first, second)

    def bijections(self, one: Scenes, other: Scenes) -> Iterator[Bijection]:
        """The bijections that map scenes of the first problem onto those of the second."""
        first, second = map(scene_graph, self.kinds, (one, other))
        return isomorphisms(first, second, self.budget.tick)

    def initial(self) -> Iterator[Bijection]:
        """The bijections that map the initial states."""
        one, other = self.problems
        return self.bijections({'init': one.init}, {'init': other.init})

    @cached_property
    def start(self) -> Bijection | None:
        """The first of the bijections; None when the initial states are not the same."""
        return next(self.initial(), None)

    def whole(self, one: frozenset[Atom], other: frozenset[Atom]) -> Iterator[Bijection]:
        """The bijections that map the initial states and, at once, given goals."""
        first, second = self.problems
        return self.bijections(
            {'init': first.init, 'goal': one}, {'init': second.init, 'goal': other}
        )

    def goals(self, one: frozenset[Atom], other: frozenset[Atom]) -> Iterator[Bijection]:
        """The bijections that map given goals, whatever they do to the initial states."""
        return self.bijections({'goal': one}, {'goal': other})

    @cached_property
    def rules(self) -> tuple[GoalRules | None, GoalRules | None]:
        """The rules of the domain for each problem, None where they do not apply."""
        first, second = (
            None if task is None else rules_for(problem.domain, task)
            for problem, task in zip(self.problems, self.tasks, strict=True)
        )
        return first, second

    @cached_property
    def specifications(self) -> tuple[Specification, Specification]:
        """The goals of both problems, which are conjunctions of literals, fully specified.

        A predicate that one goal denies is asked for with all objects of both problems, since a
        bijection may give them any name.

        Raises:
            Canceled: the caller wants to stop.
        """
        goals = [literals_of(problem.goal) or frozenset() for problem in self.problems]
        denied = {literal[0] for goal in goals for literal in goal if literal[0].startswith(NOT)}
        first, second = (
            specify_by_rules(rules)
            if rules is not None and not denied
            else specify(problem, _instances(problem, denied), self.budget)
            for problem, rules in zip(self.problems, self.rules, strict=True)
        )
        return first, second

    def specified(self, literals: frozenset[Atom]) -> Specification:
        """A goal of one's own, a conjunction of literals, of the first problem."""
        problem = replace(self.problems[0], goal=And(tuple(map(as_formula, sorted(literals)))))
        rules = rules_for(problem.domain, StripsTask(problem.objects, problem.init, literals))
        denied = {literal[0] for literal in literals if literal[0].startswith(NOT)}
        if rules is not None and not denied:
            return specify_by_rules(rules)
        return specify(problem, _instances(problem, denied), self.budget)


def _instances(problem: Problem, predicates: set[str]) -> Iterator[Atom]:
    """All negative literals of some predicates."""
    objects = problem.objects_by_type()
    for predicate in sorted(predicates):
        kinds = problem.domain.predicates[predicate.removeprefix(NOT)]
        for names in product(*(objects[kind] for kind in kinds)):
            yield (predicate, *names)


def natures(problem: Problem, kinds: Mapping[str, str]) -> dict[str, str]:
    """What objects are for good: their kinds, and the atoms about one that no action changes."""
    changed = changed_predicates(problem)
    found = {name: [kind] for name, kind in kinds.items()}
    for atom in sorted(problem.init):
        if len(atom) == 2 and atom[0] not in changed:
            found[atom[1]].append(atom[0])
    return {name: ' '.join(words) for name, words in found.items()}


_MOST_EMBEDDINGS = 1000

_Specify = Callable[[frozenset[Atom]], frozenset[Atom] | None]


def permuted_goal(pair: ProblemPair, goal: frozenset[Atom]) -> Bijection | None:
    """A way to give the objects of the second goal to the first problem that makes the goals equal.

    That is a map p of the objects that the second goal names, such that the goal states of the
    first problem are those of the first problem with the second goal, renamed by p.

    Args:
        pair: two problems with goals that are conjunctions of atoms; the first has a goal state.
        goal: the first goal, fully specified.

    Returns:
        Objects of the second problem with those of the first that stand for them; None when there
        it is proved that there is no such map.

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


def _specifier(pair: ProblemPair) -> _Specify:
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
    pair: ProblemPair, given: frozenset[Atom], goal: frozenset[Atom], needed: set[Atom]
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


def _both_natures(pair: ProblemPair) -> list[dict[str, str]]:
    problems = zip(pair.problems, pair.kinds, strict=True)
    return [natures(problem, kinds) for problem, kinds in problems]

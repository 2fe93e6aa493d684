# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Two problems of a domain, and what is asked about them to compare them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import product

from safegen_ros.pddl.bits import changed_predicates
from safegen_ros.pddl.model import And, Atom, Problem
from safegen_ros.search.budget import Budget
from safegen_ros.tasks.planetarium.domains import rules_for
from safegen_ros.tasks.planetarium.generic import (
    NOT,
    Specification,
    as_formula,
    literals_of,
    specify,
    specify_by_rules,
)
from safegen_ros.tasks.planetarium.graphs import Bijection, Scenes, isomorphisms, scene_graph
from safegen_ros.tasks.planetarium.rules import GoalRules, Task


class Pair:
    """Two problems of a domain with equally many objects of every type.

    Attributes:
        problems: the two.
        tasks: the tasks of those whose goal is a conjunction of atoms, else None.
        budget: asked while bijections are looked for.
        kinds: for each problem, what its objects must have in common with those that stand for
            them. A constant stands for nothing but itself, for actions may name it; and so does
            every object with `named`.
    """

    def __init__(self, one: Problem, other: Problem, budget: Budget, named: bool = False) -> None:
        self.problems = (one, other)
        self.tasks = (Task.of(one), Task.of(other))
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
        """The first of these bijections; None when the initial states are not the same."""
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
        rules = rules_for(problem.domain, Task(problem.objects, problem.init, literals))
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

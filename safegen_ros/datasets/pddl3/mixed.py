# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Problems of several constraint families at once, and with goals of every predicate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from random import Random

from safegen_ros.datasets.pddl3.any_rule import BUDGET, Shape, shapes, with_any_rule
from safegen_ros.errors import SafegenError
from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.ground import Grounder
from safegen_ros.pddl.model import And, AtomFormula, Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.pddl.reader import read_problem
from safegen_ros.pddl.writer import problem_text
from safegen_ros.search.task import reachable_actions
from safegen_ros.tasks.pddl3.domains.folders import folder_domain
from safegen_ros.tasks.pddl3.domains.kit import (
    UNCONSTRAINED,
    DomainKit,
    GeneratedProblem,
    Instance,
    Size,
    SizeError,
)

ANY_GOAL, ANY_RULE, LARGER = 'any-goal', 'any-rule', 'larger'

RULES = {
    UNCONSTRAINED: (0,),
    'two-rules': (2,),
    'three-rules': (3,),
    'four-rules': (4,),
    ANY_GOAL: (0, 1, 2),
    ANY_RULE: (0, 0, 1),
    LARGER: (1,),
}
"""How many families a problem draws from; a recipe weights these names like families."""

_WALK, _GOALS = 12, 3  # most steps, and most facts
_MOST_OBJECTS = 12  # of a kind: the small model has words for so many
_DRAWS = 100  # of a larger size


def with_rules(
    kit: DomainKit, size: Size, instance: Instance, families: Sequence[str], count: int, rng: Random
) -> Instance | None:
    """The instance with constraints of so many random families; None where fewer fit it."""
    found: list[str] = []
    goal, left = instance.goal, count
    for family in rng.sample(families, len(families)) if count else ():
        try:
            kit.checked(size, family)
        except SafegenError:
            continue
        constrained = kit.families[family].constrain(rng, instance)
        if constrained is None:
            continue
        found += constrained.constraints
        goal = tuple(atom for atom in goal if atom in constrained.goal)  # which a family may lower
        left -= 1
        if not left:
            break
    if left:
        return None
    return replace(instance, goal=goal, constraints=tuple(dict.fromkeys(found)))


def with_other_goal(problem: Problem, rng: Random) -> Problem:
    """The problem with a few facts as its goal that a random walk makes true."""
    table = AtomTable(problem)
    actions = reachable_actions(Grounder(problem, table), BUDGET)
    start = state = table.encode(problem.init)
    for _ in range(rng.randint(1, _WALK)):
        possible = [action for action in actions if action.applicable(state)]
        if not possible:
            break
        state = rng.choice(possible).apply(state)
    new = sorted(table.atoms(state & ~start))
    facts = rng.sample(new, min(len(new), rng.randint(1, _GOALS)))
    if not facts:
        return problem
    return replace(problem, goal=And(tuple(AtomFormula(a[0], a[1:]) for a in sorted(facts))))


def mixed_problem(
    kit: DomainKit, seed: int, size: Size, name: str, families: Sequence[str]
) -> GeneratedProblem:
    """A problem of a kind of `RULES`, without plans: only a search knows whether there is one.

    A larger one has the plans of its family, since no search finds a shortest one in time.

    Raises:
        SizeError: chance has made none.
    """
    rng = Random(f'{kit.name} {name} {seed}')  # noqa: S311
    if name == LARGER:
        return _larger(kit, seed, families, rng)
    bare, count = kit.draw(rng, size), rng.choice(RULES[name])
    instance = None if _reached(bare) else with_rules(kit, size, bare, families, count, rng)
    if instance is None or _reached(instance):
        raise SizeError(f'{kit.name}: no room for the constraints of {name}: take a larger size')
    problem = read_problem(kit.text(f'{kit.name}-{seed}', instance), folder_domain(kit.name))
    if name == ANY_GOAL:
        problem = with_other_goal(problem, rng)
    if name == ANY_RULE:
        problem = _with_any_rule(kit, problem, families, rng)
    text = problem_text(problem)
    return GeneratedProblem(
        kit.name, name, kit.measure(problem), seed, text, problem, Plan(), Plan()
    )


def _with_any_rule(
    kit: DomainKit, problem: Problem, families: Sequence[str], rng: Random
) -> Problem:
    left_out = [shapes(kit.name, family) for family in kit.families if family not in families]
    found = with_any_rule(problem, frozenset[Shape]().union(*left_out), rng)
    if found is None:
        raise SizeError(f'{kit.name}: no rule of those drawn makes a difference')
    return found


def _larger(kit: DomainKit, seed: int, families: Sequence[str], rng: Random) -> GeneratedProblem:
    """A problem of one family, beyond the wide sizes and up to twice as large."""
    for _ in range(_DRAWS):
        size = {p.name: rng.randint(p.wide[0], 2 * p.wide[1]) for p in kit.parameters}
        family = rng.choice(families)
        if all(size[p.name] <= p.wide[1] for p in kit.parameters):
            continue
        with suppress(SizeError):
            made = kit.problem(seed, size, family)
            if max(Counter(made.problem.objects.values()).values()) <= _MOST_OBJECTS:
                return replace(made, family=LARGER)
    raise SizeError(f'{kit.name}: no family fits a larger size')


def _reached(instance: Instance) -> bool:
    return {*instance.goal} <= {*instance.init}

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Random tasks and plans for property tests, drawn from a seed so that a failure can be repeated.

Formulas never hold an `(and)` or `(or)` without parts: VAL cannot parse those inside a constraint
and drops the whole section. Quantified constraints come ground, since VAL crashes on some nestings;
it also crashes on a quantifier of two variables when one of them ranges over nothing, so only the
type `empty`, with one variable to a quantifier, has no objects.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from safegen_ros.errors import SafegenError
from safegen_ros.pddl.ground import Grounder
from safegen_ros.pddl.model import (
    Action,
    And,
    AtomFormula,
    Constraint,
    Domain,
    Effect,
    Equals,
    Exists,
    Forall,
    Formula,
    Imply,
    Not,
    Or,
    Problem,
    Variables,
)
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.pddl.reader import read_domain
from safegen_ros.search.breadth_first import solve

SUITE = settings(
    deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
"""The same examples in every run, however slow the machine."""

SEEDS = st.integers(0, 2**32 - 1)

BLOCKSWORLD_FILE = (
    Path(__file__).parents[1] / 'safegen_ros/worlds/pddl3/domains/blocksworld/domain.pddl'
)
BLOCKSWORLD = read_domain(BLOCKSWORLD_FILE.read_text(encoding='ascii'))

OPERATORS = ('always', 'sometime', 'at-most-once', 'sometime-before')

TYPE_TREES: tuple[dict[str, str], ...] = (
    {},
    {'box': 'object', 'crate': 'box', 'site': 'object'},
    {'box': '', 'site': '', 'object': ''},
    {'box': 'object', 'empty': 'object'},
)


def formula(
    rng: random.Random, domain: Domain, names: Mapping[str, str], depth: int = 2
) -> Formula:
    """A random formula over the given objects and variables."""
    kind = rng.randrange(10) if depth else 0
    if kind == 1 and names:
        return Equals(rng.choice(list(names)), rng.choice(list(names)))
    if kind in (2, 3):
        return Not(formula(rng, domain, names, depth - 1))
    if kind in (4, 5):
        parts = tuple(formula(rng, domain, names, depth - 1) for _ in range(rng.randint(1, 3)))
        return And(parts) if kind == 4 else Or(parts)
    if kind == 6:
        return Imply(*(formula(rng, domain, names, depth - 1) for _ in range(2)))
    if kind in (7, 8):
        variables = quantified(rng, domain)
        body = formula(rng, domain, {**names, **dict(variables)}, depth - 1)
        return Forall(variables, body) if kind == 7 else Exists(variables, body)
    return atom(rng, domain, names)


def atom(rng: random.Random, domain: Domain, names: Mapping[str, str]) -> AtomFormula:
    """A random well-typed atom; every domain here has a predicate without arguments."""
    while True:
        predicate = rng.choice(list(domain.predicates))
        fitting = [
            [name for name, own in names.items() if domain.is_subtype(own, wanted)]
            for wanted in domain.predicates[predicate]
        ]
        if all(fitting):
            return AtomFormula(predicate, tuple(map(rng.choice, fitting)))


def quantified(rng: random.Random, domain: Domain) -> Variables:
    """The variables of a random quantifier."""
    names = rng.sample(['?x', '?y', '?z'], rng.choice([1, 1, 2]))
    kinds = [kind for kind in (*domain.types, 'object') if kind != 'empty' or len(names) == 1]
    return tuple((name, rng.choice(kinds)) for name in names)


def constraint(rng: random.Random, domain: Domain, names: Mapping[str, str]) -> Constraint:
    """A random constraint of one of the four kinds."""
    operator = rng.choice(OPERATORS)
    count = 2 if operator == 'sometime-before' else 1
    return Constraint(operator, tuple(formula(rng, domain, names) for _ in range(count)))


def domain(rng: random.Random) -> Domain:
    """A random small domain with every kind of precondition and effect that is supported."""
    types = rng.choice(TYPE_TREES)
    kinds = [*types, 'object']
    constants = {'k1': rng.choice(kinds)} if rng.random() < 0.4 else {}
    predicates: dict[str, tuple[str, ...]] = {'flag': ()}
    for index in range(rng.randint(2, 4)):
        predicates[f'p{index}'] = tuple(rng.choice(kinds) for _ in range(rng.randint(0, 2)))
    bare = Domain('random-toggles', types, constants, predicates, {})
    actions = [_action(rng, bare, f'act_{index}') for index in range(rng.randint(2, 4))]
    return Domain('random-toggles', types, constants, predicates, {a.name: a for a in actions})


def _action(rng: random.Random, bare: Domain, name: str) -> Action:
    count = rng.randint(0, 2)
    parameters = tuple((f'?p{i}', rng.choice([*bare.types, 'object'])) for i in range(count))
    names = {**bare.constants, **dict(parameters)}
    parts = tuple(formula(rng, bare, names) for _ in range(rng.randint(0, 2)))
    effects = tuple(_effect(rng, bare, names, index) for index in range(rng.randint(1, 4)))
    return Action(name, parameters, And(parts), effects)


def _effect(rng: random.Random, bare: Domain, names: Mapping[str, str], index: int) -> Effect:
    variables: Variables = ()
    if rng.random() < 0.25:
        variables = ((f'?e{index}', rng.choice([*bare.types, 'object'])),)
    inside = {**names, **dict(variables)}
    condition = And(())
    if rng.random() < 0.35:
        part = formula(rng, bare, inside, 1)
        condition = part if isinstance(part, And) else And((part,))
        condition = And(tuple(p for p in condition.parts if not isinstance(p, And)))
    literal = atom(rng, bare, inside)
    if rng.random() < 0.45:
        return Effect(variables, condition, (), (literal,))
    return Effect(variables, condition, (literal,), ())


def toggles(rng: random.Random) -> Problem:
    """A random problem of a random domain."""
    own = domain(rng)
    objects = dict(own.constants)
    kinds = [kind for kind in own.types if kind != 'empty'] or ['object'] * rng.randint(1, 3)
    for index, kind in enumerate(kinds):
        objects[f'o{index}'] = kind
    state = frozenset(ground_atom(rng, own, objects) for _ in range(rng.randint(0, 5)))
    goal = formula(rng, own, objects, 1)
    constraints = tuple(
        dict.fromkeys(constraint(rng, own, objects) for _ in range(rng.randint(0, 3)))
    )
    return Problem('toggles-1', own, objects, state, goal, constraints)


def ground_atom(rng: random.Random, own: Domain, objects: Mapping[str, str]) -> tuple[str, ...]:
    """A random ground atom."""
    found = atom(rng, own, objects)
    return (found.predicate, *found.terms)


def blocks(rng: random.Random, count: int, constraints: int | None = None) -> Problem:
    """A random Blocksworld problem with random constraints."""
    objects = {f'b{index + 1}': 'object' for index in range(count)}
    state = frozenset({('arm-empty',), *_towers(rng, list(objects))})
    goals = [a for a in sorted(_towers(rng, list(objects))) if a[0] != 'clear']
    goal = And(tuple(AtomFormula(a[0], a[1:]) for a in goals))
    number = rng.randint(0, 3) if constraints is None else constraints
    found = [constraint(rng, BLOCKSWORLD, objects) for _ in range(number)]
    return Problem('blocks-1', BLOCKSWORLD, objects, state, goal, tuple(dict.fromkeys(found)))


def _towers(rng: random.Random, names: list[str]) -> set[tuple[str, ...]]:
    atoms: set[tuple[str, ...]] = set()
    rng.shuffle(names)
    below = None
    for name in names:
        if below is None or rng.random() < 0.4:
            atoms.add(('on-table', name))
        else:
            atoms.discard(('clear', below))
            atoms.add(('on', name, below))
        atoms.add(('clear', name))
        below = name
    return atoms


def plan(rng: random.Random, problem: Problem) -> Plan:
    """A random walk, a solution, or either with a fault; now and then nothing at all."""
    grounder = Grounder(problem)
    actions = grounder.all_actions()
    steps: list[Step] = []
    if rng.random() < 0.5:
        try:
            steps = list(solve(problem, time_limit_s=5.0, node_limit=400).steps)
        except SafegenError:
            steps = []
    state = grounder.table.encode(problem.init)
    if not steps:
        for _ in range(rng.randint(0, 7)):
            possible = [a for a in actions if a.applicable(state)]
            if not possible:
                break
            action = rng.choice(possible)
            steps.append(action.step)
            state = action.apply(state)
    if actions and rng.random() < 0.4:
        place = rng.randint(0, len(steps))
        fault = rng.randrange(3)
        steps[place : place + fault] = [rng.choice(actions).step][: 2 - fault or 1]
    return Plan(tuple(steps))

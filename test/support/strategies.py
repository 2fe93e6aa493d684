# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Random tasks and plans for property tests, drawn from a seed so that a failure can be repeated.

Everything that the language has turns up: all trajectory operators with numbers small enough to
matter, quantified constraints in the domain and the problem, `either`, formulas without parts,
types without objects, names that are keywords elsewhere. What VAL cannot judge as it stands is
`safegen_ros.verify.val_faults`' concern, not this module's.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from safegen_ros.errors import SafegenError
from safegen_ros.pddl.deciding import settled
from safegen_ros.pddl.facts import exact
from safegen_ros.pddl.formulas import flatten_constraints, substitute
from safegen_ros.pddl.ground import Grounder
from safegen_ros.pddl.model import (
    ALL_OF,
    ANY_OF,
    Action,
    And,
    Arithmetic,
    Atom,
    AtomFormula,
    Comparison,
    Constraint,
    ConstraintAnd,
    ConstraintForall,
    ConstraintTree,
    DerivedRule,
    Domain,
    Effect,
    Equals,
    Exists,
    Expression,
    Forall,
    Formula,
    Imply,
    Metric,
    Not,
    Number,
    NumericEffect,
    Or,
    Preference,
    Problem,
    SoftRule,
    Variables,
)
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.pddl.writer import constraint_tree_text, domain_text, problem_text
from safegen_ros.tasks.pddl3.domains import kits
from support.breadth_first import solve

SUITE = settings.get_profile('suite')
"""What conftest.py sets for all tests, to be changed by some."""


def examples(count: int) -> settings:
    """Settings of a test that draws so many examples at night, and a fifth of them by day."""
    return settings(max_examples=max(count * settings().max_examples // 100, min(count, 5)))


def one_in(count: int, cases: Iterable[Any]) -> list[Any]:
    """Parameters of which one in `count` is tested by day, the others at night."""
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=() if number % count == count - 1 else pytest.mark.nightly,
        )
        for number, case in enumerate(cases)
    ]


SEEDS = st.integers(0, 2**32 - 1)

BLOCKSWORLD_FILE = (
    Path(__file__).parents[2] / 'safegen_ros/tasks/pddl3/domains/blocksworld/domain.pddl'
)
BLOCKSWORLD = read_domain(BLOCKSWORLD_FILE.read_text(encoding='ascii'))

OPERATORS: dict[str, tuple[int, int]] = {
    'always': (0, 1), 'sometime': (0, 1), 'at-most-once': (0, 1), 'at end': (0, 1),
    'sometime-before': (0, 2), 'sometime-after': (0, 2),
    'within': (1, 1), 'always-within': (1, 2), 'hold-during': (2, 1), 'hold-after': (1, 1),
}  # fmt: skip
"""Every trajectory operator, with how many numbers and how many formulas it takes."""

LATEST = 5
"""The largest number in a constraint; plans are a little longer and a little shorter."""

TYPE_TREES: tuple[dict[str, str], ...] = (
    {},
    {'box': 'object', 'crate': 'box', 'site': 'object'},
    {'box': '', 'site': '', 'object': ''},
    {'box': 'object', 'empty': 'object'},
    {'box': 'object', 'site': 'object', 'bench': 'box&site'},
)

KEYWORDS = {'p0': 'at', 'p1': 'number', 'act_0': 'assign', 'o0': 'end', 'k1': 'name'}
"""Names that some domains here use instead; VAL's reader takes them for something else."""


def formula(
    rng: random.Random, domain: Domain, names: Mapping[str, str], depth: int = 2
) -> Formula:
    """A random formula over the given objects and variables."""
    if domain.functions and rng.random() < 0.25:
        return comparison(rng, domain, names)
    kind = rng.randrange(10) if depth else 0
    if kind == 1 and names:
        return Equals(rng.choice(list(names)), rng.choice(list(names)))
    if kind in (2, 3):
        return Not(formula(rng, domain, names, depth - 1))
    if kind in (4, 5):
        count = rng.choice([0, 1, 1, 1, 2, 2, 2, 3, 3, 3])
        parts = tuple(formula(rng, domain, names, depth - 1) for _ in range(count))
        return And(parts) if kind == 4 else Or(parts)
    if kind == 6:
        return Imply(*(formula(rng, domain, names, depth - 1) for _ in range(2)))
    if kind in (7, 8):
        variables = quantified(rng, domain)
        body = formula(rng, domain, {**names, **dict(variables)}, depth - 1)
        return Forall(variables, body) if kind == 7 else Exists(variables, body)
    return atom(rng, domain, names)


def comparison(rng: random.Random, domain: Domain, names: Mapping[str, str]) -> Comparison:
    """A random comparison of numbers that are close to each other."""
    left, right = (expression(rng, domain, names) for _ in range(2))
    return Comparison(rng.choice(['<', '<=', '=', '>=', '>']), left, right)


def expression(
    rng: random.Random, domain: Domain, names: Mapping[str, str], depth: int = 2
) -> Expression:
    """A random expression; it divides by numbers that are not 0, but for a few."""
    kind = rng.randrange(10) if depth else rng.randrange(6)
    if kind < 2:
        return number(rng)
    if kind < 6:
        return function(rng, domain, names)
    operator = rng.choice('++--*/')
    parts = [expression(rng, domain, names, depth - 1) for _ in range(rng.choice([1, 2, 2, 3]))]
    if operator == '*' and rng.random() < 0.9:
        parts = [number(rng), parts[0]]
    if operator == '/':
        parts[1:] = [expression(rng, domain, names, 0) if rng.random() < 0.03 else Decimal(4)]
    if len(parts) < 2 and operator != '-':
        return parts[0]
    return Arithmetic(operator, tuple(parts[:2] if operator == '-' else parts))


def number(rng: random.Random) -> Decimal:
    """A small number, whole or not."""
    return Decimal(rng.randint(-3, 6)) + rng.choice([Decimal(0), Decimal(0), Decimal('0.25')])


def function(rng: random.Random, domain: Domain, names: Mapping[str, str]) -> AtomFormula:
    """A random well-typed function; as for `atom`, one has no arguments."""
    return atom(rng, replace(domain, predicates=domain.functions), names)


def atom(
    rng: random.Random, domain: Domain, names: Mapping[str, str], changed: bool = False
) -> AtomFormula:
    """A random well-typed atom; every domain here has a predicate without arguments.

    Args:
        rng: the source of randomness.
        domain: of the predicates.
        names: the terms, with their types.
        changed: whether actions must be able to change it, so that it is not derived.
    """
    derived = domain.derived_predicates() if changed else ()
    while True:
        predicate = rng.choice([name for name in domain.predicates if name not in derived])
        fitting = [
            [name for name, own in names.items() if domain.is_subtype(own, wanted)]
            for wanted in domain.predicates[predicate]
        ]
        if all(fitting):
            return AtomFormula(predicate, tuple(map(rng.choice, fitting)))


def kind(rng: random.Random, types: Mapping[str, str], joint: str = ANY_OF) -> str:
    """A random type: a declared one, `object`, or now and then two of them with `either`.

    Args:
        rng: the source of randomness.
        types: the declared types.
        joint: what `either` means here: `ANY_OF` for a variable, `ALL_OF` for an object.
    """
    if len(types) > 1 and rng.random() < 0.15:
        return joint.join(sorted(rng.sample(list(types), 2)))
    return rng.choice([*types, *({'object'} - types.keys())])


def quantified(rng: random.Random, domain: Domain) -> Variables:
    """The variables of a random quantifier."""
    names = rng.sample(['?x', '?y', '?z'], rng.choice([1, 1, 2]))
    return tuple((name, kind(rng, domain.types)) for name in names)


def constraint(rng: random.Random, domain: Domain, names: Mapping[str, str]) -> Constraint:
    """A random constraint of any kind."""
    operator = rng.choice(list(OPERATORS))
    numbers, count = OPERATORS[operator]
    times = tuple(rng.randint(0, LATEST) for _ in range(numbers))
    if operator == 'hold-during':
        begin = min(times)
        times = (begin, max(*times, begin + 1))  # an empty window is not a constraint
    return Constraint(operator, tuple(formula(rng, domain, names) for _ in range(count)), times)


def tree(
    rng: random.Random, domain: Domain, names: Mapping[str, str], depth: int = 2
) -> ConstraintTree:
    """Random constraints with `and` and `forall` around them, nested in every way."""
    shape = rng.randrange(4) if depth else 0
    if shape == 1:
        parts = [tree(rng, domain, names, depth - 1) for _ in range(rng.randint(0, 3))]
        return ConstraintAnd(tuple(parts))
    if shape == 2:
        variables = quantified(rng, domain)
        body = tree(rng, domain, {**names, **dict(variables)}, depth - 1)
        return ConstraintForall(variables, body)
    return constraint(rng, domain, names)


def domain(rng: random.Random, derived: bool = False, numbers: bool = False) -> Domain:
    """A random small domain with every kind of precondition and effect that is supported.

    Args:
        rng: the source of randomness.
        derived: whether it has derived predicates.
        numbers: whether it has functions; no rule depends on them.
    """
    types = rng.choice(TYPE_TREES)
    named = KEYWORDS if rng.random() < 0.15 else {}
    constants = {named.get('k1', '@k1'): kind(rng, types, ALL_OF)} if rng.random() < 0.4 else {}
    predicates: dict[str, tuple[str, ...]] = {'flag': ()}
    for index in range(rng.randint(2, 4)):
        name = named.get(f'p{index}', f'p{index}')
        predicates[name] = tuple(kind(rng, types) for _ in range(rng.randint(0, 2)))
    bare = Domain('random-toggles', types, constants, predicates, {})
    if derived:
        bare = _with_rules(rng, bare)
    if numbers:
        bare = replace(bare, functions={'level': (), 'far': (), 'load': (kind(rng, types),)})
    actions = [
        _action(rng, bare, named.get(f'act_{index}', f'act_{index}'))
        for index in range(rng.randint(2, 4))
    ]
    return replace(bare, actions={action.name: action for action in actions})


def _with_rules(rng: random.Random, bare: Domain) -> Domain:
    """The domain with a few layers of derived predicates; those of a layer may need each other."""
    for layer in range(rng.randint(1, 3)):
        heads = {
            f'd{layer}{index}': tuple(kind(rng, bare.types) for _ in range(rng.randint(0, 2)))
            for index in range(rng.choice([1, 1, 2]))
        }
        own = replace(bare, predicates={'flag': (), **heads})
        rules = []
        for name in rng.choices(list(heads), k=rng.randint(len(heads), 3)):
            kinds = [
                rng.choice([k for k in (*bare.types, wanted) if bare.is_subtype(k, wanted)])
                for wanted in heads[name]
            ]
            variables = tuple((f'?h{i}', wanted) for i, wanted in enumerate(kinds))
            inner = quantified(rng, bare)
            near, far = dict(variables), dict([*variables, *inner])
            parts = [formula(rng, bare, {**bare.constants, **near})]
            for _ in range(rng.choice([0, 1, 1, 2])):  # what it needs of its own layer
                needed = And(
                    (
                        formula(rng, bare, {**bare.constants, **far}, 1),
                        atom(rng, own, {**bare.constants, **far}),
                    )
                )
                parts.append((Exists if rng.random() < 0.8 else Forall)(inner, needed))
            body = (
                parts[0] if len(parts) == 1 else (Or if rng.random() < 0.8 else And)(tuple(parts))
            )
            rules.append(DerivedRule(name, variables, body))
        bare = replace(
            bare, predicates={**bare.predicates, **heads}, derived=(*bare.derived, *rules)
        )
    return bare


def _action(rng: random.Random, bare: Domain, name: str) -> Action:
    parameters = tuple((f'?p{i}', kind(rng, bare.types)) for i in range(rng.randint(0, 2)))
    names = {**bare.constants, **dict(parameters)}
    parts = tuple(formula(rng, bare, names) for _ in range(rng.randint(0, 2)))
    effects = tuple(_effect(rng, bare, names, index) for index in range(rng.randint(1, 4)))
    numeric: tuple[NumericEffect, ...] = ()
    if bare.functions:
        numeric = tuple(_change(rng, bare, names, index) for index in range(rng.randint(0, 2)))
    return Action(name, parameters, And(parts), effects, numeric)


def _change(
    rng: random.Random, bare: Domain, names: Mapping[str, str], index: int
) -> NumericEffect:
    plain = _effect(rng, bare, names, index + 10)
    inside = {**names, **dict(plain.variables)}
    operator = rng.choice(['assign', *['increase', 'decrease'] * 2, 'scale-up', 'scale-down'])
    value = expression(rng, bare, inside)
    if 'scale' in operator:
        value = rng.choice([Decimal(2), Decimal('-0.5'), Decimal(4), Decimal(0)])
    return NumericEffect(
        plain.variables, plain.condition, operator, function(rng, bare, inside), value
    )


def _effect(rng: random.Random, bare: Domain, names: Mapping[str, str], index: int) -> Effect:
    variables: Variables = ()
    if rng.random() < 0.25:
        count = rng.choice([1, 1, 2])
        variables = tuple((f'?e{index}{i}', kind(rng, bare.types)) for i in range(count))
    inside = {**names, **dict(variables)}
    condition = And(())
    if rng.random() < 0.35:
        part = formula(rng, bare, inside, 1)
        condition = part if isinstance(part, And) else And((part,))
        condition = And(tuple(p for p in condition.parts if not isinstance(p, And)))
    literal = atom(rng, bare, inside, changed=True)
    if rng.random() < 0.45:
        return Effect(variables, condition, (), (literal,))
    return Effect(variables, condition, (literal,), ())


def toggles(rng: random.Random, derived: bool = False, numbers: bool = False) -> Problem:
    """A random problem of a random domain, with ground constraints and maybe with numbers."""
    own = domain(rng, derived, numbers)
    objects = dict(own.constants)
    kinds = [name for name in own.types if name != 'empty'] or ['object'] * rng.randint(1, 3)
    for index, name in enumerate(kinds):
        first = KEYWORDS['o0'] if KEYWORDS['p0'] in own.predicates and not index else f'o{index}'
        several = len(kinds) > 1 and own.types and rng.random() < 0.1
        objects[first] = ALL_OF.join(sorted(rng.sample(kinds, 2))) if several else name
    state = frozenset(ground_atom(rng, own, objects) for _ in range(rng.randint(0, 5)))
    goal = formula(rng, own, objects, 1)
    constraints = tuple(
        dict.fromkeys(constraint(rng, own, objects) for _ in range(rng.randint(0, 3)))
    )
    found = Problem('toggles-1', own, objects, state, goal, constraints)
    return settled(replace(found, values=_values(rng, found))) if numbers else found


def _values(rng: random.Random, problem: Problem) -> dict[Atom, Number]:
    """Values for most ground functions, and often for all."""
    missing = rng.choice([0, 0, 0, 0.1])
    objects, found = problem.objects_by_type(), {}
    for name, kinds in problem.domain.functions.items():
        for terms in product(*(objects[kind] for kind in kinds)):
            if rng.random() >= missing:
                found[(name, *terms)] = exact(number(rng))
    return found


def quantified_toggles(rng: random.Random) -> tuple[Problem, ConstraintTree]:
    """As `toggles`, with a tree of constraints in the domain and one of the problem's own.

    Returns:
        The problem, with what both trees mean for it, and its own tree.
    """
    problem = toggles(rng)
    own = replace(
        problem.domain, constraint_tree=tree(rng, problem.domain, problem.domain.constants, 2)
    )
    trees = [own.constraint_tree, tree(rng, own, problem.objects, 3)]
    problem = replace(problem, domain=own)
    objects = problem.objects_by_type()
    found = [c for each in trees if each for c in flatten_constraints(each, objects)]
    return replace(problem, constraints=tuple(dict.fromkeys(found))), trees[1] or ConstraintAnd(())


def problem(rng: random.Random) -> Problem:
    """A random problem of any kind that there is here."""
    choice = rng.random()
    if choice < 0.3:
        return quantified_toggles(rng)[0]
    return toggles(rng) if choice < 0.7 else blocks(rng, rng.choice([3, 3, 4]))


def wishing(rng: random.Random, made: Problem | None = None) -> Problem:
    """A random problem with preferences of every kind, a metric over them, and no other goal."""
    made = made or toggles(rng, derived=rng.random() < 0.2)
    names = [f'w{index}' for index in range(rng.randint(1, 4))]
    preferences = tuple(
        Preference(
            rng.choice(names),
            (_countable(rng, made),),
        )
        for _ in range(rng.randint(0, 4))
    )
    actions = {
        name: replace(action, wishes=_wishes(rng, made.domain, action, names))
        if name not in made.domain.durative
        else action
        for name, action in made.domain.actions.items()
    }
    known = {each.name for each in preferences}
    known |= {each.name for action in actions.values() for each in action.wishes}
    prices = [
        Arithmetic('*', (Decimal(10**place), AtomFormula('is-violated', (name,))))
        for place, name in enumerate(sorted(known))
    ]
    metric = Metric('minimize', Arithmetic('+', (Decimal(0), Decimal(0), *prices)))
    domain = replace(made.domain, actions=actions)
    return replace(
        made, domain=domain, goal=And(()), constraints=(), preferences=preferences, metric=metric
    )


def _countable(rng: random.Random, made: Problem) -> Constraint:
    """A constraint that is one for VAL, too, which counts each of a preference by itself."""
    while True:
        found = constraint(rng, made.domain, made.objects)
        if not found.operator.startswith('hold'):
            return found


def _wishes(
    rng: random.Random, own: Domain, action: Action, names: list[str]
) -> tuple[SoftRule, ...]:
    found = []
    for _ in range(rng.choice([0, 1, 1, 2])):
        variables = quantified(rng, own) if rng.random() < 0.4 else ()
        inside = {**own.constants, **dict(action.parameters), **dict(variables)}
        body = Constraint('at end', (formula(rng, own, inside),))
        found.append(SoftRule(rng.choice(names), variables, body))
    return tuple(found)


def any_problem(rng: random.Random) -> Problem:
    """A random problem with derived predicates, of a built-in domain, or as in `problem`."""
    choice = rng.random()
    if choice < 0.4:
        return toggles(rng, derived=True) if choice < 0.2 else generated(rng)
    return problem(rng)


def written(rng: random.Random, problem: Problem, own: ConstraintTree) -> tuple[str, str]:
    """The texts of a task with its trees of constraints, sometimes with action costs.

    Args:
        rng: the source of randomness.
        problem: what `quantified_toggles` returned.
        own: the problem's own tree.
    """
    domain_source = domain_text(problem.domain, constraints=True)
    section = f'(:constraints {constraint_tree_text(own, bool(problem.domain.types))})'
    problem_source = _with_section(problem_text(replace(problem, constraints=())), section)
    if rng.random() < 0.5:
        return domain_source, problem_source
    costs = f':effect (and (increase (total-cost) {rng.randint(0, 9)}) '
    domain_source = domain_source.replace(':effect (and ', costs).replace(
        '(:predicates', '(:functions (total-cost) - number)\n  (:predicates'
    )
    problem_source = problem_source.replace('(:init\n', '(:init\n    (= (total-cost) 0)\n')
    return domain_source, _with_section(problem_source, '(:metric minimize (total-cost))')


def _with_section(source: str, section: str) -> str:
    return f'{source.rstrip()[:-1]}  {section}\n)\n'


def ground_atom(rng: random.Random, own: Domain, objects: Mapping[str, str]) -> tuple[str, ...]:
    """A random ground atom that may stand in a state."""
    found = atom(rng, own, objects, changed=True)
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


def generated(rng: random.Random) -> Problem:
    """A problem of a built-in domain, of a size of the paper, with random constraints added."""
    kit = rng.choice(list(kits().values()))
    family = rng.choice([name for name in kit.families if kit.sizes(name)])
    made = kit.problem(rng.randrange(10**6), rng.choice(kit.sizes(family)), family).problem
    more = [constraint(rng, made.domain, made.objects) for _ in range(rng.randint(0, 2))]
    return replace(made, constraints=tuple(dict.fromkeys((*made.constraints, *more))))


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


def renamed(problem: Problem, names: Mapping[str, str]) -> Problem:
    """The problem with other names for its objects; one without another name keeps its own."""

    def other(constraint: Constraint) -> Constraint:
        arguments = tuple(substitute(each, names) for each in constraint.arguments)
        return replace(constraint, arguments=arguments)

    return replace(
        problem,
        objects={names.get(name, name): kind for name, kind in problem.objects.items()},
        init=frozenset((head, *(names.get(n, n) for n in terms)) for head, *terms in problem.init),
        goal=substitute(problem.goal, names),
        constraints=tuple(map(other, problem.constraints)),
    )


def disguised(rng: random.Random, problem: Problem) -> Problem:
    """The same problem with other names, in another order."""

    def reordered(part: Formula) -> Formula:
        if isinstance(part, (And, Or)):
            return type(part)(tuple(rng.sample([*map(reordered, part.parts)], len(part.parts))))
        if isinstance(part, Not):
            return Not(reordered(part.body))
        if isinstance(part, Imply):
            return Imply(reordered(part.premise), reordered(part.conclusion))
        return part

    own = [name for name in problem.objects if name not in problem.domain.constants]
    fresh = [f'n{number}' for number in rng.sample(range(100, 999), len(own))]
    other = renamed(problem, dict(zip(own, fresh, strict=True)))
    constraints = [
        replace(c, arguments=tuple(map(reordered, c.arguments))) for c in other.constraints
    ]
    return replace(
        other,
        name='disguised',
        objects=dict(rng.sample(list(other.objects.items()), len(other.objects))),
        goal=reordered(other.goal),
        constraints=tuple(rng.sample(constraints, len(constraints))),
    )


def make_plan(steps: Sequence[Sequence[str]]) -> Plan:
    """A plan from `(action, argument, ...)` sequences."""
    return Plan(tuple(Step(name, tuple(arguments)) for name, *arguments in steps))


def three_blocks(goal: str, constraints: str = '(and)') -> Problem:
    """A problem with a and b on the table, and c on b."""
    text = f"""(define (problem small) (:domain blocksworld) (:objects a b c)
      (:init (arm-empty) (on-table a) (on-table b) (on c b) (clear a) (clear c))
      (:goal {goal}) (:constraints {constraints}))"""
    return read_problem(text, BLOCKSWORLD)


def plan(rng: random.Random, problem: Problem) -> Plan:
    """A random walk, a solution, or either with a fault; now and then nothing at all."""
    grounder = Grounder(problem)
    actions = grounder.all_actions()
    steps: list[Step] = []
    if rng.random() < 0.5:
        try:
            steps = list(solve(problem, node_limit=400).steps)
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

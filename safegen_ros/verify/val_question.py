# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The question that VAL answers rightly: an equivalent problem without its known faults."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from safegen_ros.pddl.deciding import without_costs
from safegen_ros.pddl.facts import is_value
from safegen_ros.pddl.model import (
    ALL_OF,
    ANY_OF,
    Action,
    And,
    Atom,
    AtomFormula,
    Comparison,
    Constraint,
    DerivedRule,
    Domain,
    DurativeAction,
    Effect,
    Equals,
    Exists,
    Forall,
    Formula,
    Imply,
    Not,
    NumericEffect,
    Or,
    Problem,
    Variables,
    with_subformulas,
)
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.verify import val_numbers
from safegen_ros.verify.val_numbers import term

_ALWAYS = Forall((('?any', 'object'),), Equals('?any', '?any'))
_NEVER = Exists((('?any', 'object'),), Not(Equals('?any', '?any')))


def question(problem: Problem, plan: Plan) -> tuple[Problem, Plan]:
    """A problem and a plan that mean the same and that VAL judges rightly.

    The plan has as many steps, and its states hold the same atoms under other names, so VAL's
    answer needs no translation.
    """
    problem, last = without_costs(problem), len(plan)
    constraints: Iterable[Constraint] = problem.constraints
    if not problem.domain.durative:
        counted = [replace(each, exact=()) for each in problem.constraints]
        constraints = [each for c in counted for each in _without_clock(c, last)]
    asked = replace(
        problem,
        name=f'q-{problem.name}',
        domain=_domain(problem.domain),
        objects={term(name): _type(kind) for name, kind in problem.objects.items()},
        init=frozenset(map(_fact, problem.init)),
        goal=_top(problem.goal),
        constraints=tuple(
            replace(c, arguments=tuple(map(_formula, c.arguments)), binding=()) for c in constraints
        ),
        values={(f'f-{a[0]}', *map(term, a[1:])): v for a, v in problem.values.items()},
        timed=tuple(replace(each, atom=_fact(each.atom)) for each in problem.timed),
    )
    steps = [Step(f'a-{step.action}', tuple(map(term, step.arguments))) for step in plan.steps]
    return _with_copies(asked), Plan(tuple(steps), plan.times)


def _without_clock(constraint: Constraint, last: int) -> list[Constraint]:
    """The same for a trajectory that ends with s_last; VAL keeps 32 bits of a number."""
    if constraint.operator in ('hold-during', 'hold-after'):
        begin, *rest = constraint.times
        if begin > last:
            return [replace(constraint, operator='at end', times=())]
        end = min(*rest, last + 1) if rest else last + 1
        return [
            replace(constraint, operator='hold-during', times=(k, k + 1)) for k in range(begin, end)
        ]
    return [replace(constraint, times=tuple(min(time, last) for time in constraint.times))]


def _type(kind: str) -> str:
    for joint in (ANY_OF, ALL_OF):
        if joint in kind:
            return joint.join(sorted(map(_type, kind.split(joint))))
    return kind if kind in ('', 'object') else f't-{kind}'


def _variables(variables: Variables) -> Variables:
    return tuple((term(name), _type(kind)) for name, kind in variables)


def _atom(atom: AtomFormula) -> AtomFormula:
    return AtomFormula(f'p-{atom.predicate}', tuple(map(term, atom.terms)))


def _formula(formula: Formula) -> Formula:
    if isinstance(formula, AtomFormula):
        return _atom(formula)
    if isinstance(formula, Equals):
        return Equals(term(formula.left), term(formula.right))
    if isinstance(formula, Not):
        return Not(_formula(formula.body))
    if isinstance(formula, Imply):
        return Imply(_formula(formula.premise), _formula(formula.conclusion))
    if isinstance(formula, (And, Or)):
        if not formula.parts:
            return _ALWAYS if isinstance(formula, And) else _NEVER
        return type(formula)(tuple(map(_formula, formula.parts)))
    if isinstance(formula, Comparison):
        return val_numbers.comparison(formula)
    body = _formula(formula.body)
    for variable in reversed(_variables(formula.variables)):
        body = type(formula)((variable,), body)
    return body


def _fact(fact: Atom) -> Atom:
    return val_numbers.value(fact) if is_value(fact) else (f'p-{fact[0]}', *map(term, fact[1:]))


def _top(formula: Formula) -> Formula:
    """A goal or a condition, which may be empty as a whole."""
    return formula if formula == And(()) else _formula(formula)


def _domain(domain: Domain) -> Domain:
    actions = [_action(action) for action in domain.actions.values()]
    heads = domain.derived_predicates()
    return replace(
        domain,
        name=f'd-{domain.name}',
        types=_types(domain),
        constants={term(name): _type(kind) for name, kind in domain.constants.items()},
        predicates={
            f'p-{name}': tuple(map(_union if name in heads else _type, kinds))
            for name, kinds in domain.predicates.items()
        },
        functions={f'f-{n}': tuple(map(_type, kinds)) for n, kinds in domain.functions.items()},
        derived=tuple(_rule(rule, domain.predicates[rule.predicate]) for rule in domain.derived),
        actions={action.name: action for action in actions},
        constraint_tree=None,
        durative={f'a-{name}': _durative(each) for name, each in domain.durative.items()},
    )


def _durative(action: DurativeAction) -> DurativeAction:
    return DurativeAction(
        f'a-{action.name}',
        _variables(action.parameters),
        tuple((operator, val_numbers.expression(value)) for operator, value in action.duration),
        tuple((moment, _top(formula)) for moment, formula in action.conditions),
        tuple(
            (moment, _effect(each) if isinstance(each, Effect) else _numeric(each))
            for moment, each in action.effects
        ),
        tuple((moment, _effect(each)) for moment, each in action.remembered),
    )


def _with_copies(asked: Problem) -> Problem:
    """Constraints use copies of the derived predicates, so that no action reads those."""
    domain = asked.domain
    names = {head: f'c{head[1:]}' for head in domain.derived_predicates()}

    def copied(formula: Formula) -> Formula:
        if isinstance(formula, AtomFormula):
            return replace(formula, predicate=names.get(formula.predicate, formula.predicate))
        return with_subformulas(formula, copied)

    copies = (
        DerivedRule(names[rule.predicate], rule.variables, copied(rule.body))
        for rule in domain.derived
    )
    predicates = {name: domain.predicates[head] for head, name in names.items()}
    domain = replace(
        domain,
        predicates={**domain.predicates, **predicates},
        derived=(*domain.derived, *copies),
    )
    constraints = (replace(c, arguments=tuple(map(copied, c.arguments))) for c in asked.constraints)
    return replace(asked, domain=domain, constraints=tuple(constraints))


def _rule(rule: DerivedRule, declared: tuple[str, ...]) -> DerivedRule:
    """A rule whose variables are of the types that its predicate takes, its own ones inside."""
    variables, inner = [], []
    for place, ((name, kind), wanted) in enumerate(zip(rule.variables, declared, strict=True)):
        head = term(name)
        if kind != wanted or ANY_OF in kind:
            inner.append((head, kind))
            head = f'?h-{place}'
        variables.append((head, _union(wanted)))
    body = _formula(rule.body)
    for (head, _), (name, kind) in zip(
        [each for each in variables if each[0].startswith('?h-')], inner, strict=True
    ):
        body = Exists(((name, _type(kind)),), And((Equals(head, name), body)))
    return DerivedRule(f'p-{rule.predicate}', tuple(variables), body)


def _union(kind: str) -> str:
    """The type above all those of an `either` that a derived predicate takes."""
    return f'e-{_type(kind).replace(ANY_OF, "-or-")}' if ANY_OF in kind else _type(kind)


def _types(domain: Domain) -> dict[str, str]:
    """The types, below one more for every `either` that a derived predicate takes."""
    found = {_type(name): _type(parent) for name, parent in domain.types.items()}
    heads = domain.derived_predicates()
    taken = {kind for head in heads for kind in domain.predicates[head] if ANY_OF in kind}
    for kind in sorted(taken):
        found[_union(kind)] = '' if 'object' in domain.types else 'object'
        for own in (_type(each) for each in kind.split(ANY_OF)):
            above = {*found.get(own, '').split(ALL_OF), _union(kind)} - {'', 'object'}
            found[own] = ALL_OF.join(sorted(above))
    return found


def _action(action: Action) -> Action:
    return Action(
        f'a-{action.name}',
        _variables(action.parameters),
        _top(action.precondition),
        tuple(map(_effect, action.effects)),
        tuple(map(_numeric, action.numeric)),
    )


def _effect(effect: Effect) -> Effect:
    return Effect(
        _variables(effect.variables),
        _top(effect.condition),
        tuple(map(_atom, effect.add)),
        tuple(map(_atom, effect.delete)),
    )


def _numeric(effect: NumericEffect) -> NumericEffect:
    return NumericEffect(
        _variables(effect.variables),
        _top(effect.condition),
        effect.operator,
        val_numbers.function(effect.target),
        val_numbers.expression(effect.value),
    )

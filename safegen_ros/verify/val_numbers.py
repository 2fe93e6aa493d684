# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How VAL is asked about numbers, which it keeps as floats and compares with a tolerance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.deciding import state_functions
from safegen_ros.pddl.expressions import bound
from safegen_ros.pddl.facts import told_value, value_fact
from safegen_ros.pddl.formulas import bindings, substitute
from safegen_ros.pddl.ground import GroundAction, NumericAction
from safegen_ros.pddl.limits import Objects
from safegen_ros.pddl.model import (
    DURATION,
    Arithmetic,
    Atom,
    AtomFormula,
    Comparison,
    Exists,
    Expression,
    Forall,
    Formula,
    Not,
    Problem,
    subformulas,
)
from safegen_ros.pddl.numbers import NoNumber, NumberTable
from safegen_ros.pddl.plan import Plan
from safegen_ros.verify.timed_actions import EXACT, TimedActions

_FINE = Decimal(1_000_000)
_LARGEST = 1_000_000_000  # number that floats hold finely enough


def term(name: str) -> str:
    """A term under a name that VAL takes for nothing else."""
    if name.startswith('?'):
        return f'?v-{name[1:]}'
    return f'o-{name.replace("@", "-")}'  # no name starts with a dash


def function(read: AtomFormula) -> AtomFormula:
    """A function, likewise."""
    if read == DURATION:
        return read
    return AtomFormula(f'f-{read.predicate}', tuple(map(term, read.terms)))


def value(fact: Atom) -> Atom:
    """The fact that gives the value of a function, likewise."""
    (name, *terms), number = told_value(fact)
    return value_fact((f'f-{name}', *map(term, terms)), number)


def expression(read: Expression) -> Expression:
    """An expression, likewise; VAL reads arithmetic with two parts only."""
    if isinstance(read, AtomFormula):
        return function(read)
    if not isinstance(read, Arithmetic):
        return read
    parts = list(map(expression, read.parts))
    if len(parts) == 1:
        return Arithmetic(read.operator, (Decimal(0), parts[0]))
    while len(parts) > 2:  # a sum or a product, in halves: VAL recurses into each part
        pairs = [parts[n : n + 2] for n in range(0, len(parts), 2)]
        parts = [Arithmetic(read.operator, tuple(p)) if len(p) == 2 else p[0] for p in pairs]
    return Arithmetic(read.operator, tuple(parts))


def comparison(read: Comparison) -> Formula:
    """A comparison in millionths, for which the tolerance does not matter; `>` as not `<=`."""
    left, right = (Arithmetic('*', (_FINE, expression(each))) for each in (read.left, read.right))
    weak = {'>': '<=', '<': '>='}.get(read.operator)
    if weak is not None:
        return Not(Comparison(weak, left, right))
    return Comparison(read.operator, left, right)


def depends_on_numbers(problem: Problem, plan: Plan) -> bool:
    """Whether numbers decide which plans of a problem are valid."""
    return bool(state_functions(problem))


def lacks_numbers(problem: Problem, plan: Plan) -> bool:
    """Whether something that a plan needs has no value, or no decimal that is exact."""
    asked = [problem.goal, *(f for each in problem.constraints for f in each.arguments)]
    for seen in _followed(problem, plan):
        own = [formula for part in (asked, seen.asked) for formula in part]
        found = (c for formula in own for c in _comparisons(formula, seen.table.objects))
        if seen.blocked or not all(seen.numbers.has_result(each, seen.state) for each in found):
            return True
        if any('/' in fact[2] for fact in seen.numbers.facts(seen.state)):
            return True
    return False


def _comparisons(
    formula: Formula, objects: Objects, binding: Mapping[str, str] | None = None
) -> Iterator[Comparison]:
    """The ground comparisons in a formula, with its quantifiers written out."""
    binding = binding or {}
    if isinstance(formula, Comparison):
        left, right = (bound(side, binding) for side in (formula.left, formula.right))
        yield Comparison(formula.operator, left, right)
    elif isinstance(formula, (Forall, Exists)):
        for inner in bindings(formula.variables, objects):
            yield from _comparisons(formula.body, objects, {**binding, **inner})
    else:
        for part in subformulas(formula):
            yield from _comparisons(part, objects, binding)


def has_large_numbers(problem: Problem, plan: Plan) -> bool:
    """Whether a number gets so large in a plan that a float rounds it."""
    return any(
        not -_LARGEST <= each <= _LARGEST
        for seen in _followed(problem, plan)
        for each in seen.numbers.values(seen.state)
        if each is not None
    )


@dataclass(frozen=True, slots=True)
class _Seen:
    """A state of a plan, and what the next step asks of it."""

    table: AtomTable
    numbers: NumberTable
    state: int
    asked: tuple[Formula, ...] = ()
    blocked: bool = False  # whether a number has no value after it


def _followed(problem: Problem, plan: Plan) -> Iterator[_Seen]:
    """The states of a plan, as far as its steps apply, where numbers decide."""
    timed = TimedActions(problem)
    table, numbers = timed.table, timed.table.numbers
    if numbers is None:
        return
    state = table.encode(problem.init)
    for together, lasting in _moments(timed, plan):
        for action in (*together, *lasting):
            yield _asked(timed, numbers, action, state)
        if not all(action.applicable(state) for action in together):
            return
        try:
            state = timed.after(together, state)
        except NoNumber:
            yield _Seen(table, numbers, state, blocked=True)
            return
    yield _Seen(table, numbers, state)


_Together = tuple[list[GroundAction], list[GroundAction]]
"""What happens at one moment, and what asks for something until then."""


def _moments(timed: TimedActions, plan: Plan) -> Iterator[_Together]:
    """The moments of a plan, as far as its steps are those of the problem."""
    durative = timed.problem.domain.durative
    try:
        if not durative:
            for step in plan.steps:
                yield timed.happenings(step, Decimal(0)), []
            return
        plan = timed.timed(plan)
        steps = [
            (timed.during(step), start, EXACT.add(start, duration))
            for step, (start, duration) in zip(plan.steps, plan.times, strict=True)
            if step.action in durative
        ]
        for time, together in timed.moments(plan):
            yield together, [each for each, start, end in steps if start < time <= end]
    except (KeyError, ValueError):
        return


def _asked(timed: TimedActions, numbers: NumberTable, action: GroundAction, state: int) -> _Seen:
    """A state, and what an action asks there."""
    schema = timed.schema(action)
    names = (name for name, _ in schema.parameters)
    binding = dict(zip(names, action.step.arguments, strict=True))
    conditions = [schema.precondition]
    conditions += [Forall(effect.variables, effect.condition) for effect in schema.effects]
    conditions += [
        Forall(effect.variables, effect.condition)
        for effect in schema.numeric
        if effect.target.predicate in numbers.functions
    ]
    trouble = action.changes.trouble(state) if isinstance(action, NumericAction) else ''
    blocked = bool(trouble) and 'contradict' not in trouble
    asked = tuple(substitute(each, binding) for each in conditions)
    return _Seen(timed.table, numbers, state, asked, blocked)

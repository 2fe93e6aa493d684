# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How large a task becomes once its quantifiers are written out, counted before that is done.

A quantifier stands for one copy of its body per binding, so a short text can ask for more memory
than there is. The counts here take time in proportion to the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cached_property

from safegen_ros.pddl.deciding import changed_predicates
from safegen_ros.pddl.model import (
    Action,
    And,
    Arithmetic,
    Atom,
    AtomFormula,
    Comparison,
    ConstraintAnd,
    ConstraintForall,
    ConstraintTree,
    DerivedRule,
    Effect,
    Equals,
    Exists,
    Expression,
    Forall,
    Formula,
    NumericEffect,
    Problem,
    Variables,
    subformulas,
)
from safegen_ros.pddl.pruning import FEW, StaticFacts, fitting_count

MAX_CONSTRAINTS = 100_000
"""Most ground trajectory constraints of a problem."""

MAX_FORMULA_SIZE = 500_000
"""Most connectives and atoms in the goal and the ground constraints of a problem."""

MAX_DERIVED = 300_000
"""Most connectives and atoms in the ground rules of all derived predicates."""

MAX_ACTION_SIZE = 300_000
"""Most connectives and atoms in the precondition and the effects of one ground action."""

MAX_DOMAIN_SIZE = 2_000_000
"""Most connectives, atoms and numbers in all actions of a domain as they are written, a condition
counted once for each effect behind it."""

_EFFECT_SIZE = 3  # what a conditional effect takes beside its literals, in atoms

_CAP = 10**12  # far above every limit; keeps the numbers small

Objects = Mapping[str, tuple[str, ...]]
"""The objects of every type."""

Facts = StaticFacts | None
"""What does not change, where that is known."""


def extent(formulas: Sequence[Formula | Expression]) -> tuple[int, int]:
    """How many parts some formulas and numbers have as they are written, and how deep they nest.

    One that stands there several times, as the condition of many effects, is looked at once.
    """
    known: dict[int, tuple[int, int]] = {}
    size = depth = 0
    for formula in formulas:
        found = known.get(id(formula))
        if found is None:
            count = levels = 0
            level = [formula]
            while level:
                count, levels = count + len(level), levels + 1
                level = [part for each in level for part in _parts(each)]
            found = known[id(formula)] = count, levels
        size, depth = size + found[0], max(depth, found[1])
    return size, depth


def _parts(each: Formula | Expression) -> tuple[Formula | Expression, ...]:
    if isinstance(each, Comparison):
        return each.left, each.right
    if isinstance(each, Arithmetic):
        return each.parts
    return () if isinstance(each, Decimal) else subformulas(each)


def effect_parts(effects: Iterable[Effect | NumericEffect]) -> list[Formula | Expression]:
    """What some effects are written with, for `extent`."""
    found: list[Formula | Expression] = []
    for each in effects:
        found.append(each.condition)
        if isinstance(each, NumericEffect):
            found += (each.target, each.value)
        else:
            found += (*each.add, *each.delete)
    return found


def action_parts(action: Action) -> list[Formula | Expression]:
    """What an action is written with, for `extent`."""
    return [action.precondition, *effect_parts((*action.effects, *action.numeric))]


def binding_count(variables: Variables, objects: Objects) -> int:
    """In how many ways objects can be given to variables; huge numbers are cut off."""
    count = 1
    for _, kind in variables:
        count = min(count * len(objects[kind]), _CAP)
        if not count:
            break
    return count


def _copies(
    variables: Variables, condition: Formula, truth: bool, objects: Objects, facts: Facts
) -> int:
    """How often a quantifier writes out its body, or an effect its literals."""
    count = binding_count(variables, objects)
    if facts is None or count <= FEW:
        return count
    fitting = fitting_count(variables, condition, truth, objects, facts)
    return count if fitting is None else fitting


def formula_size(formula: Formula, objects: Objects, facts: Facts = None) -> int:
    """Number of connectives and atoms of a formula once its quantifiers are written out.

    With facts, bindings that those decide are not written out.
    """
    if isinstance(formula, (AtomFormula, Equals)):  # most of them
        return 1
    if isinstance(formula, Comparison):
        return 1 + expression_size(formula.left) + expression_size(formula.right)
    size = sum(formula_size(part, objects, facts) for part in subformulas(formula))
    if isinstance(formula, (Forall, Exists)):
        truth = isinstance(formula, Exists)
        copies = _copies(formula.variables, formula.body, truth, objects, facts)
        size = min(copies * size, _CAP)
    return 1 + size


def expression_size(expression: Expression) -> int:
    """Number of operators, functions and numbers of an expression."""
    parts = expression.parts if isinstance(expression, Arithmetic) else ()
    return 1 + sum(map(expression_size, parts))


def constraint_size(tree: ConstraintTree, objects: Objects) -> tuple[int, int]:
    """Number of ground constraints of a tree, and the size of their formulas together."""
    if isinstance(tree, ConstraintAnd):
        sizes = [constraint_size(part, objects) for part in tree.parts]
        return sum(count for count, _ in sizes), sum(size for _, size in sizes)
    if isinstance(tree, ConstraintForall):
        copies = binding_count(tree.variables, objects)
        count, size = constraint_size(tree.body, objects)
        return min(copies * count, _CAP), min(copies * size, _CAP)
    return 1, sum(formula_size(argument, objects) for argument in tree.arguments)


def action_size(action: Action, objects: Objects, facts: Facts = None) -> int:
    """Size of the precondition and the effects of one ground instance of an action.

    Facts are looked at only where it would be too large without them.
    """
    size = _action_size(action, objects, None)
    if facts is None or size <= MAX_ACTION_SIZE:
        return size
    return _action_size(action, objects, facts)


def _action_size(action: Action, objects: Objects, facts: Facts) -> int:
    size = formula_size(action.precondition, objects, facts)
    parts = [
        (each.variables, each.condition, len(each.add) + len(each.delete))
        for each in action.effects
    ]
    for wish in action.wishes:
        size += constraint_size(ConstraintForall(wish.variables, wish.body), objects)[1]
    parts += [(n.variables, n.condition, expression_size(n.value)) for n in action.numeric]
    for variables, condition, own in parts:
        own += _EFFECT_SIZE
        if not variables and isinstance(condition, And) and not condition.parts:  # most of them
            size += own + 1
            continue
        own += formula_size(condition, objects, facts)
        size += min(_copies(variables, condition, True, objects, facts) * own, _CAP)
    return size


def derived_size(rules: Iterable[DerivedRule], objects: Objects) -> int:
    """Size of all ground instances of some rules."""
    return sum(
        min(binding_count(rule.variables, objects) * formula_size(rule.body, objects), _CAP)
        for rule in rules
    )


def excess(problem: Problem, trees: Iterable[ConstraintTree], objects: Objects) -> str:
    """What of a problem would not fit into memory with its quantifiers written out, or nothing."""
    sizes = [constraint_size(tree, objects) for tree in trees]
    goal = formula_size(problem.goal, objects)
    measured = [
        ('ground constraints', sum(count for count, _ in sizes), MAX_CONSTRAINTS),
        ('parts of goal and constraints', goal + sum(s for _, s in sizes), MAX_FORMULA_SIZE),
    ]
    facts = InitialFacts(problem)
    measured += [
        (f'parts of action {name[:40]}', action_size(action, objects, facts), MAX_ACTION_SIZE)
        for name, action in problem.domain.actions.items()
    ]
    measured += [
        ('parts of derived predicates', derived_size(problem.domain.derived, objects), MAX_DERIVED)
    ]
    for what, size, limit in measured:
        if size > limit:
            return f'{size:,} {what} with its quantifiers written out, more than {limit:,}'
    return ''


class InitialFacts:
    """What does not change in a problem, by its actions and its initial state."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    @cached_property
    def fluents(self) -> frozenset[str]:
        """The predicates that may change."""
        return changed_predicates(self._problem)

    def initially(self, atom: Atom) -> bool:
        """Whether an atom holds in the initial state."""
        return atom in self._problem.init

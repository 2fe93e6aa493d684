# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What conditions on bits say before an action, and what follows from what."""

from __future__ import annotations

from safegen_ros.pddl.bits import FALSE, TRUE, Condition, Literals, join, single_bits
from safegen_ros.pddl.ground import GroundAction


def negation(formula: Condition) -> Condition:
    """The condition that holds where this one does not."""
    if isinstance(formula, Literals):
        mask = formula.mask
        conjunctive = not formula.conjunctive or not mask & (mask - 1)
        if not mask:
            return FALSE if formula.conjunctive else TRUE
        return Literals(conjunctive, formula.false, formula.true)
    return join(map(negation, formula.parts), not formula.conjunctive)


def assume(formula: Condition, true: int, false: int) -> Condition:
    """The condition simplified by atoms that are known to be true, or to be false."""
    if not formula.mask & (true | false):
        return formula
    if not isinstance(formula, Literals):
        return join((assume(part, true, false) for part in formula.parts), formula.conjunctive)
    if formula.conjunctive:
        if formula.true & false or formula.false & true:
            return FALSE
    elif formula.true & true or formula.false & false:
        return TRUE
    unknown = ~(true | false)
    rest = Literals(formula.conjunctive, formula.true & unknown, formula.false & unknown)
    return join((rest,), rest.conjunctive)


def follows(formula: Condition, true: int, false: int) -> bool:
    """Whether the condition holds wherever some atoms are true and some others false."""
    return assume(formula, true, false) == TRUE


def regress(formula: Condition, action: GroundAction) -> Condition:
    """What must hold before an action so that the condition holds after it.

    The action's precondition is not part of that.
    """
    add, delete = action.add, action.delete & ~action.add
    for _, more, less in action.conditional:
        if formula.mask & (more | less) & ~add:
            return _regress_each(formula, action)
    return assume(formula, add, delete)


def _regress_each(formula: Condition, action: GroundAction) -> Condition:
    """The same when conditional effects change what the condition speaks of."""
    if not isinstance(formula, Literals):
        return join((_regress_each(part, action) for part in formula.parts), formula.conjunctive)
    parts: list[Condition] = []
    for atom in single_bits(formula.mask):
        before = _before(atom, action)
        parts.append(before if formula.true & atom else negation(before))
    return join(parts, formula.conjunctive)


def _before(atom: int, action: GroundAction) -> Condition:
    """What must hold before an action so that an atom is true after it."""
    if action.add & atom:
        return TRUE
    gained: list[Condition] = []
    lost: list[Condition] = [TRUE] if action.delete & atom else []
    for when, (_, add, delete) in zip(action.conditions, action.conditional, strict=True):
        if add & atom:
            gained.append(when)
        if delete & atom:
            lost.append(when)
    kept = join((Literals(True, atom, 0), *map(negation, lost)), True)
    return join((*gained, kept), False)

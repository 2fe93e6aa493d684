# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Adds readings to a problem. They are added to its demands; no demand is given up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.language.reading import Reading, read_formal
from safegen_ros.pddl.bits import FALSE, AtomTable, Condition, Literals, Numeric, condition, join
from safegen_ros.pddl.deciding import settled
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.writer import constraint_text, names_text
from safegen_ros.verify.monitors import MonitorSet

_REACHED = ('sometime', 'within')  # what must hold in some state


def with_rules(problem: Problem, readings: Sequence[Reading]) -> Problem:
    """The problem with the constraints of readings beside its own.

    Its objects, initial state, goal and constraints stay as they are, so a plan that is valid for
    the result is valid for the problem.

    Raises:
        SafegenError: a reading names a thing that the problem does not have (`BAD_PDDL`), or the
            new constraints visibly leave no plan (`UNSOLVABLE`).
    """
    for each in readings:
        for constraint in each.constraints:
            read_formal(constraint_text(constraint), problem, each.place)
    more = (constraint for each in readings for constraint in each.constraints)
    constraints = tuple(dict.fromkeys((*problem.constraints, *more)))
    result = settled(replace(problem, constraints=constraints))
    known = set(contradictions(problem))
    found = [text for text in contradictions(result) if text not in known]
    if found and not known:
        raise SafegenError(
            f'no plan can keep these rules: {"; ".join(found[:5])}: '
            'take back a rule, or change the task',
            ErrorCode.UNSOLVABLE,
        )
    return result


def contradictions(problem: Problem) -> tuple[str, ...]:
    """Why no plan at all can satisfy a problem, as far as that is seen without a search.

    It finds a constraint that the initial state breaks for good. It also finds a required state
    with a literal that another constraint always forbids, or that the goal denies.
    """
    table = AtomTable(problem)
    monitors = MonitorSet(problem, table)
    start = monitors.start(table.encode(problem.init))
    found = [
        f'{constraint_text(monitor.constraint)} is broken in the initial state'
        for monitor in monitors.violated(start)
    ]
    if not found and monitors.lost(start):
        late = [m for m in monitors.unsatisfied(start) if m.timed]
        found.append(f'{names_text([constraint_text(m.constraint) for m in late])} comes too late')
    always = [c for c in problem.constraints if c.operator == 'always']
    forbidden = [(constraint_text(c), condition(c.arguments[0], table)) for c in always]
    for what, wanted in _needed(problem, table):
        broken = next((text for text, rule in forbidden if _clash(wanted, rule)), '')
        whole = join((wanted, *(rule for _, rule in forbidden)), conjunctive=True)
        if broken:
            found.append(f'{what} is needed, and {broken} forbids it')
        elif whole == FALSE:
            found.append(f'{what} is needed, and what must always hold forbids it')
    return tuple(found)


def _needed(problem: Problem, table: AtomTable) -> Iterator[tuple[str, Condition]]:
    """What must hold in some state of every plan that is valid, in words and as a condition."""
    ends = [c for c in problem.constraints if c.operator == 'at end']
    last = [problem.goal, *(c.arguments[0] for c in ends)]
    told = ' '.join(['the goal', *map(constraint_text, ends)])
    yield told, join([condition(formula, table) for formula in last], conjunctive=True)
    for each in problem.constraints:
        if each.operator in _REACHED:
            yield constraint_text(each), condition(each.arguments[0], table)


def _clash(wanted: Condition, rule: Condition) -> bool:
    """Whether the literals that a condition needs make another one false."""
    true = false = 0
    if isinstance(wanted, Numeric):  # whose numbers may have any values
        return False
    for part in (wanted,) if isinstance(wanted, Literals) else wanted.parts:
        if wanted.conjunctive and isinstance(part, Literals) and _needs_all(part):
            true |= part.true
            false |= part.false
    return _denied(rule, true, false)


def _needs_all(part: Literals) -> bool:
    return part.conjunctive or not part.mask & (part.mask - 1)


def _denied(rule: Condition, true: int, false: int) -> bool:
    """Whether a condition is false wherever some atoms are true and some others false."""
    if isinstance(rule, Literals):
        against = (rule.true & false) | (rule.false & true)
        return bool(against) if rule.conjunctive else against == rule.mask
    if isinstance(rule, Numeric):
        return False
    denied = (_denied(part, true, false) for part in rule.parts)
    return any(denied) if rule.conjunctive else all(denied)

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Rules of any PDDL3 operator over any facts of a domain, so that a model must read them.

A random rule mostly forbids nothing, or everything. Those taken here are satisfied on a way to the
goal that makes a detour, and broken on the direct one. The families that a recipe leaves out stay
unseen: no rule has the operator and the predicates of one of theirs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cache, reduce
from operator import or_
from random import Random

from safegen_ros.errors import SafegenError
from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.ground import GroundAction, Grounder
from safegen_ros.pddl.model import (
    And,
    AtomFormula,
    Constraint,
    Formula,
    Imply,
    Not,
    Problem,
    subformulas,
)
from safegen_ros.search.budget import Budget
from safegen_ros.search.in_process import solve_in_process
from safegen_ros.search.task import reachable_actions
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.verify.monitors import MonitorSet

Shape = tuple[str, ...]
"""The operator of a constraint, then its predicates in alphabetical order."""

# How many formulas and how many numbers each operator has, and its weight: chance leaves few of the
# last ones.
_OPERATORS = {
    'hold-during': (1, 2, 1),
    'sometime': (1, 0, 1),
    'within': (1, 1, 1),
    'sometime-before': (2, 0, 2),
    'sometime-after': (2, 0, 2),
    'at end': (1, 0, 2),
    'always-within': (2, 1, 4),
    'at-most-once': (1, 0, 8),
    'always': (1, 0, 8),
    'hold-after': (1, 1, 16),
}

_DRAWN = 4  # rules of each operator, times its weight, of which one of all is taken
_DETOURS, _DETOUR = 4, 8  # how many are tried, and most random steps before the way to the goal
_SEEN = 12  # problems of a family, whose shapes are left out

# Far beyond what a problem of a dataset takes, so that no machine is slow enough to change one.
BUDGET = Budget(3600.0, 4096.0)


def shape(constraint: Constraint) -> Shape:
    """What two rules of one family have in common."""
    return constraint.operator, *sorted(p for f in constraint.arguments for p in _predicates(f))


def _predicates(formula: Formula) -> list[str]:
    if isinstance(formula, AtomFormula):
        return [formula.predicate]
    return [name for part in subformulas(formula) for name in _predicates(part)]


@cache
def shapes(domain: str, family: str) -> frozenset[Shape]:
    """The shapes of the rules of a family."""
    kit = kits()[domain]
    made = (kit.problem(seed, None, family) for seed in range(_SEEN))
    return frozenset(shape(c) for each in made for c in each.problem.constraints)


def with_any_rule(problem: Problem, unseen: Collection[Shape], rng: Random) -> Problem | None:
    """The problem with one more rule; None where no drawn one makes the difference.

    Args:
        problem: without numbers and durations.
        unseen: shapes that the rule may not have.
    """
    table = AtomTable(problem)
    actions = reachable_actions(Grounder(problem, table), BUDGET)
    start = table.encode(problem.init)
    try:
        direct = _states(problem, actions, table, [start])
    except SafegenError:
        return None
    left: dict[str, list[Constraint]] = {}
    for _ in range(_DETOURS):
        try:
            detour = _states(problem, actions, table, _walk(rng, actions, start))
        except SafegenError:  # a dead end
            continue
        changing = reduce(or_, (state ^ start for state in (*direct, *detour)))
        facts = [AtomFormula(atom[0], atom[1:]) for atom in sorted(table.atoms(changing))]
        if len(facts) < 2:
            continue
        drawn = [
            rule
            for operator, (_, _, weight) in _OPERATORS.items()
            for rule in (_rule(rng, operator, facts, len(detour)) for _ in range(_DRAWN * weight))
            if shape(rule) not in unseen and rule not in problem.constraints
        ]
        monitors = MonitorSet(replace(problem, constraints=tuple(drawn)), table)
        for place in sorted(_satisfied(monitors, detour) - _satisfied(monitors, direct)):
            left.setdefault(drawn[place].operator, []).append(drawn[place])
    if not left:
        return None
    operator = rng.choices(list(left), [_OPERATORS[name][2] for name in left])[0]
    return replace(problem, constraints=(*problem.constraints, rng.choice(left[operator])))


def _walk(rng: Random, actions: Sequence[GroundAction], start: int) -> list[int]:
    states = [start]
    for _ in range(rng.randint(1, _DETOUR)):
        possible = [action for action in actions if action.applicable(states[-1])]
        if not possible:
            break
        states.append(rng.choice(possible).apply(states[-1]))
    return states


def _states(
    problem: Problem, actions: Sequence[GroundAction], table: AtomTable, states: Sequence[int]
) -> list[int]:
    """The states of a walk and of a way on to the goal; raises when there is none."""
    by_step = {action.step: action for action in actions}
    rest = replace(problem, init=frozenset(table.decode(states[-1])), constraints=())
    found = list(states)
    for step in solve_in_process(rest, BUDGET).plan.steps:
        found.append(by_step[step].apply(found[-1]))
    return found


def _satisfied(monitors: MonitorSet, states: Sequence[int]) -> set[int]:
    standing = monitors.start(states[0])
    for state in states[1:]:
        standing = monitors.progress(standing, state)
    open_ones = {monitor.shift for monitor in monitors.unsatisfied(standing)}
    return {n for n, monitor in enumerate(monitors.monitors) if monitor.shift not in open_ones}


def _rule(rng: Random, operator: str, facts: Sequence[AtomFormula], length: int) -> Constraint:
    formulas, numbers, _ = _OPERATORS[operator]
    arguments = tuple(_formula(rng, operator, facts) for _ in range(formulas))
    longest = 5 if operator == 'always-within' else length
    times = tuple(sorted(rng.sample(range(longest + numbers), numbers)))
    if operator in ('within', 'always-within'):
        times = tuple(time + 1 for time in times)
    return Constraint(operator, arguments, times)


def _formula(rng: Random, operator: str, facts: Sequence[AtomFormula]) -> Formula:
    one, other = (_literal(rng, fact) for fact in rng.sample(facts, 2))
    chance = rng.random()
    if operator == 'always' and chance < 0.7:
        return Not(And((one, other))) if chance < 0.4 else Imply(one, other)
    return And((one, other)) if chance > 0.9 else one


def _literal(rng: Random, fact: AtomFormula) -> Formula:
    return fact if rng.random() < 0.7 else Not(fact)

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The sub-goals of a problem, in an order in which none has to be undone for a later one.

A sub-goal comes before another one if it cannot be made true while the other one is, the reasonable
orders of a goal agenda (Koehler and Hoffmann, "On Reasonable and Forced Goal Orderings", 2000).
Reachable pairs, the mutexes of h2, say which atoms can be true together (Haslum and Geffner,
"Admissible Heuristics for Optimal Planning", 2000). A `sometime-before` orders sub-goals, too.
Orders are advice: a wrong one costs time, and no safety.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from math import inf

from safegen_ros.pddl.bits import FALSE, Condition, Literals, bit_numbers, condition
from safegen_ros.pddl.ground import GroundAction
from safegen_ros.pddl.model import AtomFormula, Formula, Problem, conjuncts
from safegen_ros.search.budget import Budget
from safegen_ros.search.rules import assume, follows
from safegen_ros.search.task import SearchTask

PASSING = ('sometime', 'within')
"""The operators that ask for something at some time, whatever holds at the end."""

LASTING = 'hold-after'
"""The operator that asks for something from some time on, to the end."""

_MOST_ATOMS = 4_000  # pairs of atoms take memory by the square of their number


@dataclass(frozen=True, slots=True)
class OrderedGoal:
    """Something that a plan has to make true.

    Attributes:
        condition: the same on the bits of a `SearchTask`.
        kept: whether it has to be true at the end, too, as goals have; `sometime` asks less.
        ready: whether it only has to be true, with others of the kind, when the first sub-goal
            that follows them is taken up.
        waits: the formulas of sub-goals that have to come before it.
    """

    formula: Formula
    condition: Condition
    kept: bool = True
    ready: bool = False
    waits: frozenset[Formula] = frozenset()


def goal_orders(
    task: SearchTask, budget: Budget, resource_goals: Sequence[Sequence[int]] = ()
) -> list[list[OrderedGoal]]:
    """The orders to try, the most promising first.

    What goals use up is laid in first, where there is such a thing. What must hold at some time
    comes before the goals, since it is cheapest before they are in its way, or is left out, to be
    asked of the last part. Goals that may come in any order are taken as the problem lists them, or
    the other way round. The last agenda is empty: all is one part, for where no order helps, as
    with times after which something is closed.

    Args:
        resource_goals: as of `RelaxedAnalysis.resource_goals`.

    Raises:
        SearchLimit: the budget is used up.
        Canceled: the caller wants to stop.
    """
    formulas = sorted(_final(task.problem), key=partial(_shut_until, task))
    conditions = [condition(f, task.table) for f in formulas]
    atoms = [_atom(each) for each in conditions]
    together = _together(task, budget) if len(task.table) <= _MOST_ATOMS else None
    orders = list(_orders(task, conditions, together))
    laid_in = [_laid_in(task, each, together) for each in resource_goals]
    before = [frozenset(formulas[n] for n, late in orders if late == m) for m in range(len(atoms))]
    goals = [
        OrderedGoal(f, each, waits=waits)
        for f, each, waits in zip(formulas, conditions, before, strict=True)
    ]
    forwards, backwards = ([goals[n] for n in _sorted(len(goals), orders, d)] for d in (1, -1))
    first = _passing(task)
    found = [[*each, *first, *forwards] for each in laid_in if each]
    found += [[*first, *forwards], forwards, [*first, *backwards], []]
    return [each for place, each in enumerate(found) if each not in found[:place]]


def atoms_of(task: SearchTask) -> int:
    """The bits of the goals of a task that are atoms."""
    found = 0
    for formula in _final(task.problem):
        found |= _atom(condition(formula, task.table))
    return found


def _laid_in(
    task: SearchTask, resource_goals: Sequence[int], together: Sequence[int] | None
) -> list[OrderedGoal]:
    """Provisions as sub-goals; empty if pairs show that they exclude each other."""
    if together is not None:
        for bit in resource_goals:
            if any(other & ~together[bit.bit_length() - 1] for other in resource_goals):
                return []
    atoms = [task.table.atoms(bit)[0] for bit in resource_goals]
    formulas = [AtomFormula(name, tuple(terms)) for name, *terms in atoms]
    conditions = [condition(formula, task.table) for formula in formulas]
    order = _sorted(len(formulas), _orders(task, conditions, together), 1)
    return [OrderedGoal(formulas[n], conditions[n], ready=True) for n in order]


def _passing(task: SearchTask) -> list[OrderedGoal]:
    """What must hold at some time or from some time on, the earliest deadline first."""
    asked = [c for c in task.problem.constraints if c.operator in (*PASSING, LASTING)]
    asked.sort(key=lambda c: c.times or (inf,))
    return [
        OrderedGoal(c.arguments[0], condition(c.arguments[0], task.table), c.operator == LASTING)
        for c in asked
    ]


def _shut_until(task: SearchTask, goal: Formula) -> int:
    """The time before which a constraint does not let a goal come true for good; 0 for none."""
    atom = _atom(condition(goal, task.table))
    times = [
        c.times[1]
        for c in task.problem.constraints
        if c.operator == 'hold-during'
        and assume(condition(c.arguments[0], task.table), atom, 0) == FALSE
    ]
    return max(times, default=0)


def _final(problem: Problem) -> list[Formula]:
    last = [c.arguments[0] for c in problem.constraints if c.operator == 'at end']
    parts = (part for formula in (problem.goal, *last) for part in conjuncts(formula))
    return list(dict.fromkeys(parts))


def _orders(
    task: SearchTask, goals: Sequence[Condition], together: Sequence[int] | None
) -> Iterable[tuple[int, int]]:
    """Pairs of places of goals, the first of which has to come before the second."""
    atoms = [_atom(goal) for goal in goals]
    late = together and _made_last(task, sum({atom for atom in atoms if atom}), together)
    waits = [
        [condition(argument, task.table) for argument in c.arguments]
        for c in task.problem.constraints
        if c.operator == 'sometime-before'
    ]
    always = [
        condition(c.arguments[0], task.table)
        for c in task.problem.constraints
        if c.operator == 'always'
    ]
    for one, other in permutations(range(len(goals)), 2):
        made, kept = atoms[one], atoms[other]
        forced = any(_implies(goals[other], f) and _implies(goals[one], h) for f, h in waits)
        if made and kept:
            forced = forced or any(assume(each, kept, made) == FALSE for each in always)
        if late and made and kept:
            forced = forced or bool(not late[made] & kept and late[kept] & made)
        if forced:
            yield one, other


def _atom(goal: Condition) -> int:
    """The bit of a goal that is one atom; 0 for any other."""
    single = isinstance(goal, Literals) and not goal.false and goal.true.bit_count() == 1
    return goal.mask if single else 0


def _implies(goal: Condition, formula: Condition) -> bool:
    if not isinstance(goal, Literals) or not goal.conjunctive:
        return False
    return follows(formula, goal.true, goal.false)


def _made_last(task: SearchTask, atoms: int, together: Sequence[int]) -> dict[int, int]:
    """For each of some atoms, those that may be true already when an action makes it true."""
    found = dict.fromkeys((1 << number for number in bit_numbers(atoms)), 0)
    for action in task.actions:
        after = _after(action, together)
        for number in bit_numbers(_added(action) & atoms):
            found[1 << number] |= after
    return found


def _together(task: SearchTask, budget: Budget) -> list[int]:
    """For each atom the atoms that can be true with it, as far as pairs of atoms show.

    They say nothing about derived atoms: each can be true with all others.
    """
    derived = 0 if task.table.closure is None else task.table.closure.heads
    found = [0] * len(task.table)
    for number in bit_numbers(task.init):
        found[number] = task.init | derived
    for number in bit_numbers(derived):
        found[number] = (1 << len(task.table)) - 1
    changed = True
    while changed:
        changed = False
        for action in task.actions:
            budget.tick()
            after = _after(action, found)
            after |= derived if after else 0
            for number in bit_numbers(_added(action) & after):
                new = after & ~found[number]
                if new:
                    changed = True
                    found[number] |= new
                    for other in bit_numbers(new):
                        found[other] |= 1 << number
    return found


def _after(action: GroundAction, together: Sequence[int]) -> int:
    """What can be true behind an action; nothing when it cannot be applied.

    Preconditions that are not literals are not looked at, which only lets more be true.
    """
    context = action.want | ~action.care
    for number in bit_numbers(action.want):
        context &= together[number]
    if action.want & ~context:
        return 0
    if not action.want:
        context &= sum(1 << number for number, others in enumerate(together) if others)
    added = _added(action)
    return context & ~(action.delete & ~added) | added


def _added(action: GroundAction) -> int:
    added = action.add
    for _, more, _ in action.conditional:
        added |= more
    return added


def _sorted(count: int, orders: Iterable[tuple[int, int]], direction: int) -> list[int]:
    """Places such that each comes behind those that have to come before it.

    Where orders go round in a circle, the place with the fewest before it is taken.
    """
    left: dict[int, set[int]] = {place: set() for place in range(count)}
    for first, second in orders:
        left[second].add(first)
    found: list[int] = []
    while left:
        place = min(left, key=lambda each: (len(left[each]), direction * each))
        found.append(place)
        del left[place]
        for places in left.values():
            places.discard(place)
    return found

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whether two problems of a domain are equivalent (Definition 2 of the Planetarium paper).

They are when a bijection of their objects maps the initial state of one onto that of the other, and
its goal states onto the other's: the states that satisfy the goal and can be reached. For
conjunctions of literals this is so exactly when it maps the goals onto each other once they are
fully specified, that is, hold every literal that all goal states have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from itertools import islice
from types import MappingProxyType
from typing import Literal

from safegen_ros.errors import SafegenError
from safegen_ros.pddl.bits import AtomTable, Condition, condition, join
from safegen_ros.pddl.formulas import substitute
from safegen_ros.pddl.model import And, Not, Or, Problem
from safegen_ros.search.budget import Budget, SearchLimit, Unsolvable
from safegen_ros.search.in_process import solve_in_process
from safegen_ros.search.solve import MEMORY_LIMIT_MB
from safegen_ros.tasks.planetarium.generic import Specification, literals_of
from safegen_ros.tasks.planetarium.graphs import Bijection, renamed
from safegen_ros.tasks.planetarium.pair import ProblemPair, permuted_goal
from safegen_ros.tasks.planetarium.published import published_specification

Compat = Literal['', 'planetarium']

TIME_LIMIT_S = 10.0
"""Most time for one comparison when the caller does not say [s]; the three domains need 0.1 s."""

_MOST_BIJECTIONS = 200
"""How many bijections are tried one by one where no graph decides."""

_NOTHING: Mapping[str, str] = MappingProxyType({})


class Equivalence(str, Enum):
    """The known facts about two problems."""

    EQUIVALENT = 'equivalent'
    DIFFERENT = 'different'
    UNKNOWN = 'unknown'


@dataclass(frozen=True)
class ProblemComparison:
    """Whether two problems are equivalent, and why.

    Attributes:
        answer: the known facts.
        objects: the objects of the first problem, each with the one of the second that stands for
            it: a proof if they are equivalent; if only the goals differ, one of the bijections that
            map the initial states. None when there is no such bijection, or none was looked for.
        goal_objects: likewise for the goals where their objects are placeholders.
    """

    answer: Equivalence
    reason: str
    objects: Bijection | None = None
    goal_objects: Bijection | None = None

    @property
    def equivalent(self) -> bool:
        """Whether the problems are known to be equivalent."""
        return self.answer is Equivalence.EQUIVALENT


def compare(
    one: Problem,
    other: Problem,
    *,
    placeholder: bool = False,
    named: bool = False,
    compat: Compat = '',
    time_limit_s: float = TIME_LIMIT_S,
) -> ProblemComparison:
    """Compares two problems.

    Args:
        other: another one of the same domain.
        placeholder: whether the objects in the goal of `other` stand for any objects, so that any
            permutation of them is as good (section 4.1, "PDDL without Object Identity").
        named: whether the names of objects are those of things in the world, so that each stands
            for nothing but itself.
        compat: `planetarium` for the verdict of the published code, which is unknown only for
            lack of time; docs/planetarium.md lists where it differs.
        time_limit_s: wall-clock limit [s]; anything undecided by then is unknown.

    Raises:
        SafegenError: `compat` is not known.
    """
    if compat not in ('', 'planetarium'):
        raise SafegenError(f"compat {compat!a} is not known: use '' or 'planetarium'")
    counted = _counted(one, other)
    if counted:
        return ProblemComparison(Equivalence.DIFFERENT, counted)
    budget = Budget(time_limit_s, MEMORY_LIMIT_MB)
    pair = ProblemPair(one, other, budget, named)
    try:
        if compat:
            return _published(pair, placeholder)
        found = _placeholders(pair) if placeholder else _identities(pair)
    except SearchLimit as limit:
        return ProblemComparison(Equivalence.UNKNOWN, limit.message)
    if one.constraints or other.constraints:
        return _constrained(pair, found, placeholder)
    return found


def _counted(one: Problem, other: Problem) -> str:
    """How domains or objects differ, or nothing."""
    if replace(one.domain, name='') != replace(other.domain, name=''):
        return f'the domains differ: {one.domain.name} and {other.domain.name}'
    first, second = Counter(one.objects.values()), Counter(other.objects.values())
    if first != second:
        kinds = sorted((first - second) + (second - first))
        counts = ', '.join(f'{first[kind]} and {second[kind]} of type {kind}' for kind in kinds)
        return f'the numbers of objects differ: {counts}'
    return ''


_SAME_INIT = 'no bijection of the objects maps the initial states onto each other'
_SAME_GOAL = 'no bijection of the objects maps the initial states and the goal states'
_PROVED = 'a bijection of the objects maps the initial states and the goal states'
_UNDECIDED = 'it could not be decided in time whether the goal states are the same'


def _identities(pair: ProblemPair) -> ProblemComparison:
    """Compares problems whose objects are the same at first and at last (Definition 2)."""
    if None in pair.rules and pair.start is None:  # before any search
        return ProblemComparison(Equivalence.DIFFERENT, _SAME_INIT)
    if any(literals_of(problem.goal) is None for problem in pair.problems):
        return _one_by_one(pair, None)
    one, other = pair.specifications
    if one.solvable is not False and other.solvable is not False:
        found = next(pair.whole(one.known, other.known), None)
        if found is not None:
            return ProblemComparison(Equivalence.EQUIVALENT, _PROVED, found)
    if pair.start is None:
        return ProblemComparison(Equivalence.DIFFERENT, _SAME_INIT)
    if one.solvable is False or other.solvable is False:
        return _without_goal_states(one, other, pair.start)
    if one.exact and other.exact:
        return ProblemComparison(Equivalence.DIFFERENT, _SAME_GOAL, pair.start)
    return _one_by_one(pair, (one, other))


def _without_goal_states(
    one: Specification, other: Specification, start: Bijection
) -> ProblemComparison:
    """Compares problems of which one is known to have no goal state."""
    if one.solvable is other.solvable:
        reason = 'neither problem has a goal state that can be reached'
        return ProblemComparison(Equivalence.EQUIVALENT, reason, start, start)
    if one.solvable is None or other.solvable is None:
        return ProblemComparison(Equivalence.UNKNOWN, _UNDECIDED, start)
    which = 'second' if one.solvable else 'first'
    reason = f'the {which} problem has no goal state that can be reached'
    return ProblemComparison(Equivalence.DIFFERENT, reason, start)


def _one_by_one(
    pair: ProblemPair, found: tuple[Specification, Specification] | None
) -> ProblemComparison:
    """Tries the bijections that map the initial states, as many as there is time for.

    A plan to a state that satisfies one goal and not the other refutes a bijection; that there is
    none proves it.
    """
    one, other = pair.problems
    decided = True
    for tried, names in enumerate(islice(pair.initial(), _MOST_BIJECTIONS + 1)):
        if tried == _MOST_BIJECTIONS:
            decided = False
        elif found is None or not _refuted(pair, found, names):
            goal = substitute(one.goal, names)
            differs = Or((And((goal, Not(other.goal))), And((other.goal, Not(goal)))))
            try:
                solve_in_process(replace(other, goal=differs, constraints=()), pair.budget)
            except Unsolvable:
                return ProblemComparison(Equivalence.EQUIVALENT, _PROVED, names)
            except SearchLimit:
                decided = False
                break
    if decided:
        return ProblemComparison(Equivalence.DIFFERENT, _SAME_GOAL, pair.start)
    return ProblemComparison(Equivalence.UNKNOWN, _UNDECIDED, pair.start)


def _refuted(
    pair: ProblemPair, found: tuple[Specification, Specification], names: Mapping[str, str]
) -> bool:
    """Whether a goal state is known that lacks what the other goal asks for."""
    one, other = (literals_of(problem.goal) or frozenset() for problem in pair.problems)
    first, second = found
    return (bool(second.solvable) and not renamed(one, names) <= second.possible) or (
        bool(first.solvable) and not other <= renamed(first.possible, names)
    )


def _placeholders(pair: ProblemPair) -> ProblemComparison:
    """Compares problems where the objects in the second goal stand for any objects."""
    start = pair.start
    if start is None:
        return ProblemComparison(Equivalence.DIFFERENT, _SAME_INIT)
    if None in pair.tasks:
        reason = 'only goals that are conjunctions of atoms have placeholders'
        return ProblemComparison(Equivalence.UNKNOWN, reason, start)
    one, other = pair.specifications
    permutes = all(rules is not None and rules.permutes for rules in pair.rules)
    # Where objects of a kind are not alike, a permutation can make a goal one that can be reached.
    if one.solvable is False or (permutes and other.solvable is False):
        return _without_goal_states(one, other, start)
    if not one.exact:
        return ProblemComparison(Equivalence.UNKNOWN, _UNDECIDED, start)
    if permutes:
        found = next(pair.goals(one.known, other.known), None)
    else:
        back = permuted_goal(pair, one.known)
        found = None if back is None else {name: own for own, name in back.items()}
    if found is None:
        return ProblemComparison(
            Equivalence.DIFFERENT, 'no permutation of the goal makes it the other', start
        )
    return ProblemComparison(
        Equivalence.EQUIVALENT,
        'the initial states are the same, and so is a permuted goal',
        start,
        found,
    )


def _published(pair: ProblemPair, placeholder: bool) -> ProblemComparison:
    """The verdict of the published code, whose scenes hold the atoms of goals and nothing else."""
    one, other = pair.tasks
    start = pair.start
    if start is None:
        return ProblemComparison(Equivalence.DIFFERENT, _SAME_INIT)
    if one is None or other is None:
        return ProblemComparison(
            Equivalence.DIFFERENT, 'the published code reads conjunctions of atoms only'
        )
    if one == other:
        return ProblemComparison(
            Equivalence.EQUIVALENT, 'the problems are literally the same', start
        )
    name = pair.problems[0].domain.name
    first, second = (published_specification(name, task) for task in (one, other))
    if first is None or second is None:
        return ProblemComparison(
            Equivalence.DIFFERENT, 'the published code raises an exception here', start
        )
    found = next((pair.goals if placeholder else pair.whole)(first, second), None)
    if found is None:
        return ProblemComparison(
            Equivalence.DIFFERENT, 'the graphs of the published code differ', start
        )
    reason = 'the graphs of the published code are isomorphic'
    if placeholder:
        return ProblemComparison(Equivalence.EQUIVALENT, reason, start, found)
    return ProblemComparison(Equivalence.EQUIVALENT, reason, found)


def _constrained(
    pair: ProblemPair, found: ProblemComparison, placeholder: bool
) -> ProblemComparison:
    """The comparison with the trajectory constraints, which are compared as ground formulas.

    Constraints leave fewer goal states to be reached, so results without them hold only where they
    are the same.
    """
    if found.answer is Equivalence.DIFFERENT and found.objects is None:
        return found
    one, other = pair.problems
    if found.equivalent and not placeholder and found.objects is not None:
        candidates = [found.objects]
        if all(literals_of(problem.goal) is not None for problem in pair.problems):
            known = (each.known for each in pair.specifications)
            candidates += islice(pair.whole(*known), _MOST_BIJECTIONS)
        table = AtomTable(other)
        wanted = ground_rules(other, table)
        for names in candidates:
            if ground_rules(one, table, names) == wanted:
                return replace(found, objects=names)
    reason = 'trajectory constraints are compared as ground formulas, and they differ'
    return ProblemComparison(Equivalence.UNKNOWN, reason, found.objects)


def ground_rules(
    problem: Problem, table: AtomTable, names: Mapping[str, str] = _NOTHING
) -> frozenset[tuple[object, ...]]:
    """The constraints over the bits of a table, so that most ways to write a rule are the same.

    Args:
        table: of a problem with the same objects.
        names: from the objects of `problem` to those of the table.
    """
    always: list[Condition] = []
    found: set[tuple[object, ...]] = set()
    for rule in problem.constraints:
        parts = [condition(substitute(formula, names), table) for formula in rule.arguments]
        if rule.operator == 'always':
            always += parts
        else:
            found.add((rule.operator, rule.times, rule.exact, *parts))
    return frozenset({*found, ('always', join(always, conjunctive=True))})

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Full specification for any domain: by looking at every state, or by search.

Of every literal it is known that all goal states have it, known that one has it not, or unknown
because time ran out. Small state spaces are looked at as a whole. In larger ones groups of atoms of
which exactly one is true show the implications of a goal; each goal state that is found rules out
the atoms that it lacks; and any other literal is proved when there is no plan to a goal state
without it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from safegen_ros.pddl.bits import AtomTable, compile_test, condition
from safegen_ros.pddl.ground import GroundAction, Grounder
from safegen_ros.pddl.model import And, Atom, AtomFormula, Formula, Not, Problem, State
from safegen_ros.pddl.plan import Step
from safegen_ros.search.budget import Budget, SearchLimit, Unsolvable
from safegen_ros.search.in_process import solve_in_process
from safegen_ros.search.task import reachable_actions
from safegen_ros.tasks.planetarium.state_rules import GoalRules

_MOST_PARTS = 4
"""Most predicates in a group; those of the field's domains have two to four."""

_WORLD = ''
"""Stands for the object in the groups without one."""


def exactly_one(
    table: AtomTable, atoms: Iterable[Atom], actions: Sequence[GroundAction], budget: Budget
) -> list[int]:
    """Groups of atoms, as masks, of which exactly one is true in every state.

    Args:
        table: the bits of the atoms.
        atoms: those that can become true; in a group are all of them that belong there.
        actions: every action that can ever be applied.
        budget: asked while groups are checked.

    Raises:
        SearchLimit: time ran out.
        Canceled: the caller wants to stop.
    """
    init = table.encode(table.problem.init)
    parts: dict[tuple[str, int], dict[str, int]] = {}
    for atom in atoms:
        for place in range(len(atom)):
            owner = atom[place] if place else _WORLD
            masks = parts.setdefault((atom[0], place), {})
            masks[owner] = masks.get(owner, 0) | table.bit(atom)
    # More than one true atom of a part at first cannot become one by adding parts.
    groups = {
        mask
        for about_object in (True, False)
        for chosen in _choices([key for key in parts if bool(key[1]) is about_object])
        for mask in _masks([parts[key] for key in chosen])
        if (init & mask).bit_count() == 1 and mask.bit_count() > 1
    }
    return [mask for mask in sorted(groups) if all(_keeps(a, mask, budget) for a in actions)]


def _choices(keys: list[tuple[str, int]]) -> Iterator[tuple[tuple[str, int], ...]]:
    for count in range(1, _MOST_PARTS + 1):
        yield from combinations(sorted(keys), count)


def _masks(parts: list[dict[str, int]]) -> Iterator[int]:
    """For every object in some part, the atoms of all parts about it."""
    for owner in sorted(set().union(*parts)):
        mask = 0
        for part in parts:
            mask |= part.get(owner, 0)
        yield mask


def _keeps(action: GroundAction, group: int, budget: Budget) -> bool:
    """Whether exactly one atom of a group is true after an action if it was so before."""
    budget.tick()
    if any((more | less) & group for _, more, less in action.conditional):
        return False
    needed = action.care & action.want & group
    if needed & (needed - 1):
        return True  # it asks for two of them, so it never applies
    added = action.add & group
    deleted = action.delete & group & ~added
    if not added:
        return not deleted or bool(needed and not deleted & needed)
    # The added atoms must all be true: the one that was true goes, or is the same.
    return added.bit_count() == 1 and bool(needed and not needed & ~(deleted | added))


def forced(groups: Iterable[int], given: int) -> int:
    """The atoms that must be true beside given ones, since others of their groups cannot be."""
    true, groups = given, list(groups)
    while True:
        before, false = true, 0
        for group in groups:
            found = group & true
            if found:
                false |= group & ~found
        for group in groups:
            left = group & ~false
            if left and not left & (left - 1):
                true |= left
        if true == before:
            return true & ~given


MOST_STATES = 20_000
"""Most states that are searched before each literal is searched for separately."""

NOT = 'not '
"""What the predicate of a negative literal begins with."""

_STATES_SHARE = 0.4
"""What part of the time may be spent on looking at every state."""

_PER_LITERAL_S = 2.0
"""Most time for one literal [s]; one that is hard to prove must not use up the time of all."""


@dataclass(frozen=True, slots=True)
class Specification:
    """What the goal states of a problem have in common.

    Attributes:
        known: the literals that all goal states have; `('not on', 'a', 'b')` is a negative one.
        possible: these, and those of which it could not be found out.
        solvable: whether there is a goal state; None where that is unknown.
    """

    known: frozenset[Atom]
    possible: frozenset[Atom]
    solvable: bool | None = True

    @property
    def exact(self) -> bool:
        """Whether nothing is unknown."""
        return self.solvable is not None and self.known == self.possible


def literals_of(goal: Formula) -> frozenset[Atom] | None:
    """The literals of a goal that is a conjunction of them, None for any other goal."""
    found = set()
    parts = [goal]
    while parts:
        part = parts.pop()
        if isinstance(part, And):
            parts += part.parts
        elif isinstance(part, AtomFormula):
            found.add((part.predicate, *part.terms))
        elif isinstance(part, Not) and isinstance(part.body, AtomFormula):
            found.add((NOT + part.body.predicate, *part.body.terms))
        else:
            return None
    return frozenset(found)


def as_formula(literal: Atom, positive: bool = True) -> Formula:
    """A literal, or its negation, as a formula."""
    predicate, *terms = literal
    atom = AtomFormula(predicate.removeprefix(NOT), tuple(terms))
    return atom if predicate.startswith(NOT) != positive else Not(atom)


def specify_by_rules(rules: GoalRules) -> Specification:
    """What the rules of a domain say that the goal states have in common."""
    found = rules.specified()
    known = frozenset() if found is None else found
    return Specification(known, known, found is not None)


def specify(problem: Problem, literals: Iterable[Atom], budget: Budget) -> Specification:
    """Finds out what the goal states of a problem have in common.

    Args:
        problem: the problem; its trajectory constraints are left out.
        literals: negative literals that are of interest beside the atoms; all goal states are
            asked for them, too.
        budget: what may be used; when it is over, the rest is unknown.

    Raises:
        Canceled: the caller wants to stop.
    """
    free = replace(problem, constraints=())
    negative = frozenset(literal for literal in literals if literal[0].startswith(NOT))
    try:
        states = _all_states(free, budget.part(budget.left_s * _STATES_SHARE))
    except SearchLimit:
        states = None
    if states is None:
        return _by_search(free, negative, budget)
    table, reached = states
    test = compile_test(condition(problem.goal, table))
    goal_states = [state for state in reached if test(state)]
    if not goal_states:
        return Specification(frozenset(), frozenset(), False)
    common = goal_states[0]
    for state in goal_states:
        common &= state
    never = {each for each in negative if not any(_has(table, s, each) for s in goal_states)}
    found = table.decode(common) | never
    return Specification(found, found)


def _has(table: AtomTable, state: int, negative: Atom) -> bool:
    """Whether a state has the atom of a negative literal."""
    atom = (negative[0].removeprefix(NOT), *negative[1:])
    if atom[0] in table.fluents:
        return bool(state & table.bit(atom))
    return table.initially(atom)


def _all_states(problem: Problem, budget: Budget) -> tuple[AtomTable, set[int]] | None:
    """Every state that can be reached, None when they are too many.

    Raises:
        SearchLimit: time or memory ran out.
        Canceled: the caller wants to stop.
    """
    table = AtomTable(problem)
    start = table.encode(problem.init)
    actions: list[GroundAction] = reachable_actions(Grounder(problem, table), budget)
    found = {start}
    waiting = deque([start])
    while waiting:
        state = waiting.popleft()
        budget.tick()
        for action in actions:
            if action.applicable(state):
                after = action.apply(state)
                if after not in found:
                    if len(found) >= MOST_STATES:
                        return None
                    found.add(after)
                    waiting.append(after)
    return table, found


def _by_search(problem: Problem, negative: frozenset[Atom], budget: Budget) -> Specification:
    """As `specify`, with a search for every literal that could be common to all goal states."""
    given = literals_of(problem.goal) or frozenset()
    try:
        first = _goal_state(problem, budget.part(budget.left_s))
    except Unsolvable:
        return Specification(frozenset(), frozenset(), False)
    except SearchLimit:
        return Specification(given, given | negative, None)
    possible = first | {each for each in negative if holds(each, first)}
    static = {atom for atom in problem.init if atom[0] not in AtomTable(problem).fluents}
    known = {*static, *(given & possible), *_implied(problem, given, budget)}
    for literal in sorted(possible):
        if literal in known or literal not in possible:
            continue
        without = replace(problem, goal=And((problem.goal, as_formula(literal, positive=False))))
        try:
            state = _goal_state_without(without, first, budget)
        except Unsolvable:
            known.add(literal)
        except SearchLimit:
            continue
        else:
            possible &= state | {each for each in negative if holds(each, state)}
    return Specification(frozenset(known), frozenset(possible))


def _implied(problem: Problem, given: frozenset[Atom], budget: Budget) -> list[Atom]:
    """The atoms that a goal implies because of groups of which exactly one atom is true."""
    table = AtomTable(problem)
    start = table.encode(problem.init)
    try:
        actions = reachable_actions(Grounder(problem, table), budget)
        reached = start
        for action in actions:
            reached |= action.add
            for _, more, _ in action.conditional:
                reached |= more
        groups = exactly_one(table, table.atoms(reached), actions, budget)
    except SearchLimit:
        return []
    return table.atoms(forced(groups, table.encode(a for a in given if a[0] in table.fluents)))


def _goal_state_without(problem: Problem, near: State, budget: Budget) -> State:
    """A goal state that can be reached; first it is looked for from one that is known.

    Raises:
        Unsolvable: there is none.
        SearchLimit: it took too long.
        Canceled: the caller wants to stop.
    """
    most = min(_PER_LITERAL_S, budget.left_s) / 2
    try:
        return _goal_state(replace(problem, init=near), budget.part(most))
    except (Unsolvable, SearchLimit):  # which says nothing about other ways there
        return _goal_state(problem, budget.part(most))


def _goal_state(problem: Problem, budget: Budget) -> State:
    """A goal state, found by search; raises as `solve_in_process`."""
    return last_state(problem, solve_in_process(problem, budget).plan.steps)


def holds(literal: Atom, state: State) -> bool:
    """Whether a state has a literal."""
    if literal[0].startswith(NOT):
        return (literal[0].removeprefix(NOT), *literal[1:]) not in state
    return literal in state


def last_state(problem: Problem, steps: Iterable[Step]) -> State:
    """The state behind the steps of a plan that is known to apply."""
    table = AtomTable(problem)
    grounder = Grounder(problem, table)
    state = table.encode(problem.init)
    for step in steps:
        state = grounder.action(step).apply(state)
    return table.decode(state)

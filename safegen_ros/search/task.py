# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The space that is searched: its ground actions, and states times standings of the constraints."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from safegen_ros.pddl.bits import (
    FALSE,
    TRUE,
    AtomTable,
    Condition,
    Junction,
    Literals,
    Test,
    bit_numbers,
    compile_test,
    condition,
    join,
)
from safegen_ros.pddl.deciding import refuse_numbers
from safegen_ros.pddl.facts import is_value
from safegen_ros.pddl.ground import GroundAction, Grounder
from safegen_ros.pddl.model import Action, Atom, Problem
from safegen_ros.pddl.plan import Step
from safegen_ros.search.budget import BrokenAtFirst, Budget
from safegen_ros.search.joins import Body, Index, JoinRule, Row, RowPattern, RuleMaker
from safegen_ros.verify.monitors import MonitorSet, Standing

_ACTION_SIZE = 800  # a ground action without its masks [bytes], measured


def reachable_actions(grounder: Grounder, budget: Budget) -> list[GroundAction]:
    """Every action that some sequence of actions could make applicable if nothing were deleted.

    An action is grounded when the atoms that its precondition asks for have all been reached. The
    combinations of objects are found as a database finds them: the atoms of a predicate are rows, a
    precondition joins them on its variables (Helmert, "Concise Finite-Domain Representations for
    PDDL Planning Tasks", 2009, section 6).

    Args:
        grounder: of the problem; its table gets the bits of the atoms that can be reached.

    Returns:
        The actions, in the order in which they and their objects were declared; every action that
        is applicable in a state that can be reached is among them.

    Raises:
        SearchLimit: time or memory ran out.
        Canceled: the caller wants to stop.
    """
    return _Reachability(grounder, budget).actions()


def initial_atoms(problem: Problem) -> list[Atom]:
    """The atoms of the initial state, in the order in which their names were declared."""
    names = (*problem.domain.predicates, *problem.objects)
    order = {name: place for place, name in enumerate(dict.fromkeys(names))}
    atoms = (fact for fact in problem.init if not is_value(fact))
    return sorted(atoms, key=lambda atom: [order[name] for name in atom])


class _Reachability:
    """The state of the computation: what has been reached, and what waits to be looked at."""

    def __init__(self, grounder: Grounder, budget: Budget) -> None:
        self._grounder = grounder
        self._table = grounder.table
        self._budget = budget
        self._problem = grounder.problem
        self._static: dict[str, list[Row]] = {}
        self._indexes: dict[str, dict[RowPattern, Index]] = {}
        self._rules: dict[str, list[JoinRule]] = {}
        self._awaiting: dict[Atom, list[tuple[str, list[Atom]]]] = {}
        self._reached = 0
        self._waiting: deque[Atom] = deque()
        self._found: dict[Step, GroundAction] = {}
        rules = self._table.closure.rules if self._table.closure else []
        self._derivable: list[tuple[int, Test]] = []
        for head, body in rules:
            budget.tick()
            self._derivable.append((head, compile_test(_undeleted(body))))

    def actions(self) -> list[GroundAction]:
        """See `reachable_actions`."""
        init = initial_atoms(self._problem)
        for predicate, *arguments in init:
            if predicate not in self._table.fluents:
                self._static.setdefault(predicate, []).append(tuple(arguments))
        self._reach(self._table.encode(init))
        self._derive()
        for schema in self._problem.domain.actions.values():
            self._compile(schema)
        while self._waiting:
            predicate, *arguments = self._waiting.popleft()
            row = tuple(arguments)
            for index in self._indexes.get(predicate, {}).values():
                index.insert(row)
            for rule in self._rules.get(predicate, ()):
                self._fire(rule, row)
            for name, atoms in self._awaiting.pop((predicate, *row), ()):
                self._await(name, atoms)
            if not self._waiting:
                self._derive()
        actions = {name: place for place, name in enumerate(self._problem.domain.actions)}
        objects = {name: place for place, name in enumerate(self._problem.objects)}

        def place(action: GroundAction) -> tuple[int, list[int]]:
            self._budget.tick()
            step = action.step
            return actions[step.action], [objects[name] for name in step.arguments]

        return sorted(self._found.values(), key=place)

    def _compile(self, schema: Action) -> None:
        """Files the rules of an action under its predicates; one without fluents fires at once."""
        body = Body(schema, self._table)
        if not body.parameters:
            atoms = [(atom.predicate, *atom.terms) for atom in (*body.static, *body.fluent)]
            self._await(schema.name, atoms)
            return
        for pinned, atom in enumerate(body.fluent):
            maker = RuleMaker(body, self._table, self._index)
            self._rules.setdefault(atom.predicate, []).append(maker.rule(pinned))
        if not body.fluent:
            self._fire(RuleMaker(body, self._table, self._index).rule(None), ())

    def _index(self, predicate: str, pattern: RowPattern) -> Index:
        indexes = self._indexes.setdefault(predicate, {})
        found = indexes.get(pattern)
        if found is None:
            found = indexes[pattern] = Index(pattern, self._table)
            for row in self._static.get(predicate, ()):
                found.insert(row)
        return found

    def _await(self, action: str, atoms: list[Atom]) -> None:
        """Grounds an action without parameters, now or when one of the atoms has been reached."""
        for atom in atoms:
            if atom[0] in self._table.fluents:
                if not self._reached & self._table.bit(atom):
                    self._awaiting.setdefault(atom, []).append((action, atoms))
                    return
            elif not self._table.initially(atom):
                return
        self._ground(Step(action))

    def _fire(self, rule: JoinRule, row: Row) -> None:
        for arguments in rule.bindings(row, self._budget):
            step = Step(rule.action, arguments)
            if step not in self._found:
                self._ground(step)

    def _ground(self, step: Step) -> None:
        self._budget.tick()
        action = self._grounder.ground(step)
        if action.precondition == FALSE:
            return
        self._found[step] = action
        added = action.add
        for _, more, _ in action.conditional:
            added |= more
        self._reach(added)
        self._budget.use(_ACTION_SIZE + 6 * sys.getsizeof(self._reached))

    def _derive(self) -> None:
        """Reaches the derived atoms that follow from the reached ones."""
        new = True
        while new:
            new = False
            for head, test in self._derivable:
                self._budget.tick()
                if not self._reached & head and test(self._reached):
                    self._reach(head)
                    new = True

    def _reach(self, atoms: int) -> None:
        new = atoms & ~self._reached
        if new:
            self._reached |= new
            self._waiting.extend(self._table.atoms(new))


def _undeleted(formula: Condition) -> Condition:
    """The rest of a condition if every atom may be false."""
    if isinstance(formula, Junction):
        return join(map(_undeleted, formula.parts), formula.conjunctive)
    if not isinstance(formula, Literals) or (formula.false and not formula.conjunctive):
        return TRUE
    return Literals(formula.conjunctive, formula.true, 0)


class SearchTask:
    """A problem, grounded.

    Raises:
        SearchLimit: time or memory ran out.
        Canceled: the caller wants to stop.
        Unsolvable: the initial state breaks a constraint.
    """

    def __init__(self, problem: Problem, budget: Budget) -> None:
        self.problem = problem
        self.table = AtomTable(problem, tick=budget.tick)
        if self.table.numbers is not None and self.table.numbers.changing:
            refuse_numbers(
                problem, 'this search', 'pip install kairos-planner, or take --route kairos'
            )
        self.init = self.table.encode(initial_atoms(problem))
        self.monitors = MonitorSet(problem, self.table)
        self.start: Standing = self.monitors.start(self.init)
        broken = self.monitors.texts(self.monitors.violated(self.start))
        if broken:
            raise BrokenAtFirst(problem.name, broken[0])
        self.goal = condition(problem.goal, self.table)
        self._reached = compile_test(self.goal)
        self._clock = max(
            (m.shift + m.limit.bit_length() for m in self.monitors.monitors), default=1
        )
        self._fields = (1 << self._clock) - 1
        self._windows_end = max(
            (c.times[1] for c in problem.constraints if c.operator == 'hold-during'), default=0
        )
        self.actions: list[GroundAction] = reachable_actions(Grounder(problem, self.table), budget)

    def follow(self, action: int, state: int, standing: Standing) -> tuple[int, Standing]:
        """The node behind an action; whether the action is applicable is not looked at."""
        after = self.actions[action].apply(state)
        return after, self.monitors.progress(standing, after, state ^ after)

    def split(self, standing: Standing) -> tuple[int, int]:
        """The time of a standing, as far as a constraint asks for it, and the rest."""
        return standing >> self._clock, standing & self._fields

    def key(self, state: int, standing: Standing) -> tuple[tuple[int, int], int]:
        """The key that distinguishes nodes, and the time.

        The earlier of two nodes with one key can do whatever the later one can: its deadlines are
        farther away, and fewer conditions hold from a time on. Only an interval in which something
        must hold can be worse early than late, so until the last one is over the time is part of
        the key.
        """
        time, fields = self.split(standing)
        if time < self._windows_end:
            return (state, standing + (1 << self._clock)), time  # never as below, not even at 0
        return (state, fields), time

    def finished(self, state: int, standing: Standing) -> bool:
        """Whether a plan may end here."""
        return self._reached(state) and not self.monitors.unsatisfied(standing)


_KEPT_SIZE = 1 << 26  # of all answers that are kept [bytes]
_ENTRY_SIZE = 150  # of one of them beside its mask [bytes]
_LEAST_KEPT = 64  # answers of one group


class Successors:
    """Finds the applicable actions of a state.

    The atoms are cut into groups, those of one object together. The actions that a group of atoms
    allows are computed once for each of its values, mostly a handful, as one bit per action. A
    state then needs one look-up per group.

    Args:
        without: the numbers of the actions that are left out, in ascending order.
    """

    def __init__(self, task: SearchTask, without: Sequence[int], budget: Budget) -> None:
        actions, table = task.actions, task.table
        self._all = (1 << len(actions)) - 1
        self._all ^= _mask(list(without))
        self._rest = {n: a.rest for n, a in enumerate(actions) if a.rest is not None}
        self._rest_mask = _mask(list(self._rest))
        needs: dict[int, list[int]] = {}
        forbids: dict[int, list[int]] = {}
        for number, action in enumerate(actions):
            budget.tick()
            for atom in bit_numbers(action.want):
                needs.setdefault(atom, []).append(number)
            for atom in bit_numbers(action.care & ~action.want):
                forbids.setdefault(atom, []).append(number)
        groups: dict[str, list[_Users]] = {}
        for atom in sorted({*needs, *forbids}):
            budget.tick()
            users = _Users(1 << atom, _mask(needs.get(atom, [])), _mask(forbids.get(atom, [])))
            _, *arguments = table.atoms(1 << atom)[0]
            groups.setdefault(arguments[0] if arguments else '', []).append(users)
        size = sys.getsizeof(self._all)
        budget.use(2 * size * sum(map(len, groups.values())))
        most = max(_KEPT_SIZE // (max(len(groups), 1) * (size + _ENTRY_SIZE)), _LEAST_KEPT)
        self._groups = [
            (sum(users.atom for users in group), _Group(group, self._all, most))
            for group in groups.values()
        ]

    def mask(self, state: int) -> int:
        """The numbers of the applicable actions, one bit each."""
        found = self._all
        for mask, allowed in self._groups:
            found &= allowed[state & mask]
        doubtful = found & self._rest_mask
        while doubtful:
            low = doubtful & -doubtful
            doubtful ^= low
            if not self._rest[low.bit_length() - 1](state):
                found ^= low
        return found


class _Users(NamedTuple):
    """An atom, the actions that need it, and those that need it to be false, as masks."""

    atom: int
    needing: int
    forbidding: int


def _mask(numbers: list[int]) -> int:
    """The mask of some numbers in ascending order, in one go: action masks are wide."""
    if not numbers:
        return 0
    found = bytearray(numbers[-1] // 8 + 1)
    for number in numbers:
        found[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(found, 'little')


class _Group(dict[int, int]):
    """The actions that a group of atoms allows, by the atoms among them that are true."""

    def __init__(self, group: list[_Users], everything: int, most: int) -> None:
        super().__init__()
        self._group = group
        self._everything = everything
        self._most = most

    def __missing__(self, true: int) -> int:
        blocked = 0
        for atom, needing, forbidding in self._group:
            blocked |= forbidding if true & atom else needing
        found = self._everything & ~blocked
        if len(self) >= self._most:
            self.clear()
        self[true] = found
        return found

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The ground actions that can ever be applied, without trying every combination of objects.

An action is grounded when the atoms that its precondition asks for have all been reached, if
nothing were ever deleted. The combinations are found as a database finds them: the atoms of a
predicate are rows, a precondition joins them on its variables (Helmert, "Concise Finite-Domain
Representations for PDDL Planning Tasks", 2009, section 6).
"""

from __future__ import annotations

import sys
from collections import deque

from safegen_ros.pddl.bits import (
    FALSE,
    TRUE,
    Condition,
    Junction,
    Literals,
    Test,
    compile_test,
    join,
)
from safegen_ros.pddl.facts import is_value
from safegen_ros.pddl.ground import GroundAction, Grounder
from safegen_ros.pddl.model import Action, Atom, Problem
from safegen_ros.pddl.plan import Step
from safegen_ros.search.budget import Budget
from safegen_ros.search.joins import Body, Index, JoinRule, Row, RowPattern, RuleMaker

_ACTION_SIZE = 800  # a ground action without its masks [bytes], measured


def reachable_actions(grounder: Grounder, budget: Budget) -> list[GroundAction]:
    """Every action that some sequence of actions could make applicable if nothing were deleted.

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

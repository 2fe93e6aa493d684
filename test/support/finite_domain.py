# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Finite-domain tasks without Fast Downward: a translator for small problems, and a simulator."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import product

from safegen_ros.pddl.bits import AtomTable, Condition, Literals
from safegen_ros.pddl.derived import levels
from safegen_ros.pddl.ground import GroundAction, Grounder
from safegen_ros.pddl.model import Atom, Problem
from safegen_ros.pddl.writer import atom_text
from safegen_ros.search.sas import Axiom, Fact, SasEffect, SasOperator, SasTask, SasVariable


class Translator:
    """Writes all ground actions of a small problem as operators over finite-domain variables.

    A condition that is not a conjunction of facts becomes a derived variable with axioms, as the
    translator of Fast Downward may write it.

    Args:
        problem: the problem.
        groups: atoms of which exactly one is true in every state that can be reached; those of a
            group share a variable, the others have one each.
    """

    def __init__(self, problem: Problem, groups: Iterable[Sequence[Atom]] = ()) -> None:
        self._table = AtomTable(problem)
        self._init = problem.init
        self._variables: list[SasVariable] = []
        self._rules: list[Axiom] = []
        self._facts: dict[Atom, Fact] = {}
        self._derived: dict[Hashable, Fact] = {}
        self._layers = {
            head: 1 + level  # behind what says that a variable has another value
            for head, level in levels(problem.domain.derived).items()
        }
        for group in groups:
            (initial,) = (index for index, atom in enumerate(group) if atom in problem.init)
            self._add(group, tuple(map(value_text, group)), initial)
        closure = self._table.closure
        for head, body in closure.rules if closure else ():
            ((variable, value),) = (self._fact(atom) for atom in self._table.atoms(head))
            for cube in self._cubes(body):
                if consistent(cube):
                    self._rules.append(Axiom(tuple(cube), variable, value))
        actions = Grounder(problem, self._table).all_actions()
        operators = tuple(map(self._operator, actions))
        self.task = SasTask(tuple(self._variables), (), {}, operators, tuple(self._rules))

    def _add(
        self, atoms: Sequence[Atom], values: tuple[str, ...], initial: int, layer: int = -1
    ) -> None:
        self._facts.update((atom, (len(self._variables), i)) for i, atom in enumerate(atoms))
        self._variables.append(SasVariable(values, initial, layer))

    def _fact(self, atom: Atom) -> Fact:
        if atom not in self._facts:
            text = value_text(atom)
            values, layer = (text, f'Negated{text}'), self._layers.get(atom[0], -1)
            self._add([atom], values, int(atom not in self._init), layer)
        return self._facts[atom]

    def _absent(self, atom: Atom) -> Fact:
        variable, value = self._fact(atom)
        count = len(self._variables[variable].values)
        if count == 2:
            return variable, 1 - value
        others = [[(variable, other)] for other in range(count) if other != value]
        return self._any(('not', atom), others)

    def _cubes(self, condition: Condition) -> list[list[Fact]]:
        """Conjunctions of facts of which one must hold."""
        if isinstance(condition, Literals):
            parts = [[[self._fact(atom)]] for atom in self._table.atoms(condition.true)]
            parts += [[[self._absent(atom)]] for atom in self._table.atoms(condition.false)]
        else:
            parts = [self._cubes(part) for part in condition.parts]
        if condition.conjunctive:
            return [[fact for cube in cubes for fact in cube] for cubes in product(*parts)]
        return [cube for cubes in parts for cube in cubes]

    def _all(self, condition: Condition) -> list[Fact]:
        """Facts that together hold where a condition does."""
        if isinstance(condition, Literals):
            parts = [[self._fact(atom)] for atom in self._table.atoms(condition.true)]
            parts += [[self._absent(atom)] for atom in self._table.atoms(condition.false)]
        else:
            parts = [self._all(part) for part in condition.parts]
        if condition.conjunctive:
            return list(dict.fromkeys(fact for part in parts for fact in part))
        return [self._any(condition, parts)]

    def _any(self, what: Hashable, bodies: Sequence[Sequence[Fact]]) -> Fact:
        """A derived fact that holds where all facts of some body do; `what` tells it apart."""
        if what not in self._derived:
            layers = [self._variables[v].layer for body in bodies for v, _ in body]
            number = len(self._variables)
            values = (f'Atom axiom-{number}()', f'NegatedAtom axiom-{number}()')
            self._variables.append(SasVariable(values, 1, max(layers, default=-1) + 1))
            self._rules += [Axiom(tuple(b), number, 0) for b in bodies if consistent(b)]
            self._derived[what] = (number, 0)
        return self._derived[what]

    def _operator(self, action: GroundAction) -> SasOperator:
        adds: dict[Atom, list[list[Fact]]] = {}
        deletes: dict[Atom, list[list[Fact]]] = {}
        effects = [([], action.add, action.delete)]
        for condition, (_, add, delete) in zip(action.conditions, action.conditional, strict=True):
            effects.append((self._all(condition), add, delete))
        for when, add, delete in effects:
            for atom in self._table.atoms(add):
                adds.setdefault(atom, []).append(when)
            for atom in self._table.atoms(delete):
                deletes.setdefault(atom, []).append(when)
        found = [(when, self._fact(atom)) for atom, whens in adds.items() for when in whens]
        for atom, whens in deletes.items():
            variable, value = self._fact(atom)
            if len(self._variables[variable].values) > 2:
                continue  # another atom of its group is added
            added = adds.get(atom, [])
            if [] in added:
                continue
            kept = []
            if added:  # an atom that is added and deleted is true
                number, truth = self._any(('added', action.step, atom), added)
                kept = [(number, 1 - truth)]
            found += [([*when, *kept], (variable, 1 - value)) for when in whens]
        needed = self._all(action.precondition)
        if not consistent(needed):
            needed = [self._any('never', [])]
        return SasOperator(
            atom_text((action.step.action, *action.step.arguments))[1:-1],
            dict(needed),
            tuple(SasEffect(tuple(when), *fact) for when, fact in found if consistent(when)),
        )


def value_text(atom: Atom) -> str:
    """An atom as the translator of Fast Downward names a value."""
    return f'Atom {atom[0]}({", ".join(atom[1:])})'


def positions(problem: Problem) -> list[list[Atom]]:
    """Where each block of a Blocksworld problem can be; it is always in one of these places."""
    blocks = list(problem.objects)
    return [
        [('on-table', b), ('holding', b), *(('on', b, other) for other in blocks)] for b in blocks
    ]


def consistent(facts: Sequence[Fact]) -> bool:
    """Whether no variable has two values."""
    return len(dict(facts)) == len(set(facts))


class Simulator:
    """Applies operators by their names."""

    def __init__(self, task: SasTask) -> None:
        self.task = task
        self.initial = self._derive([variable.initial for variable in task.variables])
        self._operators: dict[str, list[SasOperator]] = {}
        for operator in task.operators:
            self._operators.setdefault(operator.name, []).append(operator)

    def _derive(self, state: list[int]) -> tuple[int, ...]:
        variables = self.task.variables
        layers = sorted({variable.layer for variable in variables} - {-1})
        for number, variable in enumerate(variables):
            if variable.layer >= 0:
                state[number] = variable.initial
        for layer in layers:
            changed = True
            while changed:
                changed = False
                for condition, number, value in self.task.rules:
                    if variables[number].layer == layer and state[number] != value:
                        assert value != variables[number].initial
                        if all(state[v] == a for v, a in condition):
                            state[number] = value
                            changed = True
        return tuple(state)

    def apply(self, state: tuple[int, ...], name: str) -> tuple[int, ...] | None:
        """The state after an operator; None when none of that name applies.

        Operators that one was split into must agree, and so must the effects that fire together.
        """
        found = {
            self._after(state, operator)
            for operator in self._operators.get(name, ())
            if all(state[v] == a for v, a in operator.precondition.items())
        }
        assert len(found) < 2
        return found.pop() if found else None

    def _after(self, state: tuple[int, ...], operator: SasOperator) -> tuple[int, ...]:
        after: dict[int, int] = {}
        for condition, variable, value in operator.effects:
            if all(state[v] == a for v, a in condition):
                assert self.task.variables[variable].layer < 0
                assert after.setdefault(variable, value) == value
        return self._derive([after.get(v, value) for v, value in enumerate(state)])

    def solved(self, state: tuple[int, ...]) -> bool:
        """Whether the goal holds."""
        return all(state[variable] == value for variable, value in self.task.goal.items())

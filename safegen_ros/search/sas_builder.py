# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A finite-domain task under construction, whose conditions may be any formulas over its facts.

`SasBuilder.finish` writes it as a task again. A condition that is not a conjunction of facts
becomes several operators, else an effect that makes the goal unreachable, else an axiom. None of
them grows faster than its formula.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field

from safegen_ros.search.nnf import (
    FALSE,
    TRUE,
    NnfFormula,
    NnfFormulas,
    NnfJunction,
    NnfLiteral,
    conjuncts,
    literals,
)
from safegen_ros.search.sas import (
    NOT_DERIVED,
    Axiom,
    Fact,
    SasEffect,
    SasOperator,
    SasTask,
    SasVariable,
)

MAX_COPIES = 8
"""Most operators that one operator is split into."""

MAX_CUBES = 64
"""Most conditional effects that one condition is split into."""


Mark = tuple[NnfFormula, NnfLiteral]
"""A flag gets a value if a formula holds before the operator."""


@dataclass(slots=True)
class OperatorBuilder:
    """An operator under construction.

    Attributes:
        name: as in a plan.
        changes: for every variable that it changes, the values with their conditions.
        needs: what else must hold before it.
        demands: what must hold before it for the trajectory to stay within the constraints.
        marks: how it changes flags.
    """

    name: str
    precondition: dict[int, int]
    changes: dict[int, list[tuple[NnfFormula, int]]]
    needs: list[NnfFormula] = field(default_factory=list)
    demands: list[NnfFormula] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)


class SasBuilder:
    """A task under construction.

    Args:
        task: what to start from; its axioms are written out into the conditions that use them.
        checkpoint: called for every operator that is looked at; it may raise.
        derived: predicates whose atoms stay derived variables, as their axioms may need each other.
    """

    def __init__(
        self,
        task: SasTask,
        checkpoint: Callable[[], None],
        derived: Collection[str] = (),
    ) -> None:
        self._checkpoint = checkpoint
        self.variables = list(task.variables)
        self._sizes = [len(variable.values) for variable in task.variables]
        self.logic = NnfFormulas(self._sizes)
        self.goals: list[NnfFormula] = []
        self.mutexes = list(task.mutexes)
        self.rules = list(task.rules) if derived else []
        self._derived = frozenset(
            variable for atom, (variable, _) in task.atoms().items() if atom[0] in derived
        )
        self._defined = _Definitions(task, self.logic, self._derived)
        self.operators = [self._operator(operator) for operator in task.operators]
        self._setting: dict[Fact, list[int]] = {}
        self._leaving: dict[Fact, list[int]] = {}
        self._index()
        self.alive = self.flag('alive', True)
        self.goals.append(self.alive)

    def _operator(self, operator: SasOperator) -> OperatorBuilder:
        plain, needs = self._defined.split(operator.precondition.items())
        changes: dict[int, list[tuple[NnfFormula, int]]] = {}
        for condition, variable, value in operator.effects:
            changes.setdefault(variable, []).append((self._defined.formula(condition), value))
        return OperatorBuilder(operator.name, plain, changes, needs)

    def is_derived(self, formula: NnfFormula) -> bool:
        """Whether a formula has a derived variable that has stayed."""
        if isinstance(formula, NnfLiteral):
            return formula.variable in self._derived
        return bool(self._derived) and any(map(self.is_derived, formula.parts))

    def _index(self) -> None:
        """Notes which operators may make a fact true, and which may make it false."""
        for number, operator in enumerate(self.operators):
            for variable, values in operator.changes.items():
                before = operator.precondition.get(variable)
                targets = {value for _, value in values}
                for value in sorted(targets):
                    self._setting.setdefault((variable, value), []).append(number)
                left = range(self._sizes[variable]) if before is None else (before,)
                for value in left:
                    if targets != {value}:
                        self._leaving.setdefault((variable, value), []).append(number)

    def gaining(self, *formulas: NnfFormula) -> Iterator[OperatorBuilder]:
        """The operators that may make some formula true, and perhaps a few more."""
        numbers: set[int] = set()
        waiting = list(formulas)
        while waiting:
            part = waiting.pop()
            if isinstance(part, NnfJunction):
                waiting.extend(part.parts)
            else:
                index = self._setting if part.positive else self._leaving
                numbers.update(index.get((part.variable, part.value), ()))
        for number in sorted(numbers):
            self._checkpoint()
            yield self.operators[number]

    def every(self) -> Iterator[OperatorBuilder]:
        """All operators."""
        for operator in self.operators:
            self._checkpoint()
            yield operator

    def flag(self, name: str, initially: bool, layer: int = NOT_DERIVED) -> NnfLiteral:
        """A new variable of two values, as the literal that it is true."""
        number = len(self.variables)
        values = (f'NegatedAtom {name}-{number}()', f'Atom {name}-{number}()')
        self.variables.append(SasVariable(values, int(initially), layer))
        self._sizes.append(2)
        return NnfLiteral(number, 1, True)

    def initial(self) -> list[int]:
        """The value of every variable in the initial state."""
        return [variable.initial for variable in self.variables]

    def finish(self) -> SasTask | None:
        """The task so far, or None when its goal is false in itself."""
        goal = self.logic.join(self.goals, True)
        if goal == FALSE:
            return None
        return _Writer(self).task(goal)


class _Definitions:
    """What the derived variables of a task stand for."""

    def __init__(self, task: SasTask, logic: NnfFormulas, kept: Collection[int]) -> None:
        self._task = task
        self._kept = kept
        self._logic = logic
        self._rules: dict[int, list[Axiom]] = {}
        for rule in task.rules:
            self._rules.setdefault(rule.variable, []).append(rule)
        self._known: dict[Fact, NnfFormula] = {}

    def formula(self, facts: Collection[Fact]) -> NnfFormula:
        """What a conjunction of facts stands for."""
        if not facts:
            return TRUE
        plain, others = self.split(facts)
        own = [self._logic.literal(*fact) for fact in plain.items()]
        return self._logic.join([*own, *others], True)

    def split(self, facts: Iterable[Fact]) -> tuple[dict[int, int], list[NnfFormula]]:
        """The facts about variables that stay, and what the others stand for."""
        plain, others = {}, []
        for variable, value in facts:
            if self._task.variables[variable].layer < 0 or variable in self._kept:
                plain[variable] = value
            else:
                others.append(self._definition(variable, value))
        return plain, others

    def _definition(self, variable: int, value: int) -> NnfFormula:
        found = self._known.get((variable, value))
        if found is None:
            logic = self._logic
            if value == self._task.variables[variable].initial:
                found = logic.negate(self._definition(variable, 1 - value))
            else:
                bodies = (self.formula(rule.condition) for rule in self._rules.get(variable, ()))
                found = logic.join(bodies, False)
            self._known[(variable, value)] = found
        return found


_Cube = tuple[NnfLiteral, ...]


@dataclass(frozen=True, slots=True)
class _Copy:
    """One of the operators that an operator is split into."""

    name: str
    precondition: _Cube
    effects: list[tuple[_Cube, NnfLiteral]]


class _Writer:
    """Writes a draft as a task."""

    def __init__(self, draft: SasBuilder) -> None:
        self._draft = draft
        self._logic = draft.logic
        self._derived: dict[NnfFormula, NnfLiteral] = {}
        self._rules: list[tuple[_Cube, NnfLiteral]] = []
        self._opposites: dict[int, dict[int, NnfLiteral]] = {}

    def task(self, goal: NnfFormula) -> SasTask:
        goals = self._cube(goal)
        copies = [copy for operator in self._draft.every() for copy in self._copies(operator)]
        cubes = [goals, *(cube for cube, _ in self._rules)]
        for copy in copies:
            cubes += [copy.precondition, *(cube for cube, _ in copy.effects)]
        self._add_opposites(cubes)
        rules = [Axiom(self._facts(cube), f.variable, f.value) for cube, f in self._rules]
        mutexes = [
            ((variable, value), (other.variable, other.value))
            for variable, values in self._opposites.items()
            for value, other in values.items()
        ]
        return SasTask(
            tuple(self._draft.variables),
            (*self._draft.mutexes, *mutexes),
            dict(self._facts(goals)),
            tuple(map(self._operator, copies)),
            (*self._draft.rules, *rules),
        )

    def _copies(self, operator: OperatorBuilder) -> list[_Copy]:
        logic = self._logic
        known = [logic.literal(*fact) for fact in operator.precondition.items()]
        if not operator.needs and not operator.demands:
            return [self._copy(operator, tuple(known), [])]
        bases, large = self._split(logic.join([*known, *operator.needs], True))
        bases = [logic.both(base, *map(self._axiom, large)) for base in bases]
        demand = logic.join(dict.fromkeys(operator.demands), True)
        found = []
        for base in bases:
            choices, rest = self._split(logic.both(base, demand))
            found += [self._copy(operator, literals(choice), rest) for choice in choices]
        return found

    def _split(self, formula: NnfFormula) -> tuple[list[NnfFormula], list[NnfJunction]]:
        """Conjunctions of literals of which one must hold, and what must hold beside it."""
        logic = self._logic
        if formula == FALSE:
            return [], []
        found: list[NnfFormula] = [logic.both(*literals(formula))]
        large: list[NnfJunction] = []
        choices = [part for part in conjuncts(formula) if isinstance(part, NnfJunction)]
        for part in sorted(choices, key=lambda part: len(part.parts)):
            cubes = logic.cubes(part, MAX_COPIES)
            if cubes is None or len(found) * len(cubes) > MAX_COPIES:
                large.append(part)
            else:
                merged = [logic.both(each, *cube) for each in found for cube in cubes]
                found = [each for each in dict.fromkeys(merged) if each != FALSE]
        return found, large

    def _copy(self, operator: OperatorBuilder, cube: _Cube, rest: list[NnfJunction]) -> _Copy:
        logic = self._logic
        facts = {literal.variable: literal.value for literal in cube if literal.positive}
        dead = logic.opposite(self._draft.alive)
        effects: list[Mark] = [(logic.negate(part), dead) for part in rest]
        for variable, values in operator.changes.items():
            effects += [(when, NnfLiteral(variable, value, True)) for when, value in values]
        written = [
            (condition, target)
            for when, target in (*effects, *operator.marks)
            if facts.get(target.variable) != target.value
            for condition in self._conditions(logic.restrict(when, facts))
        ]
        return _Copy(operator.name, cube, written)

    def _conditions(self, formula: NnfFormula) -> list[_Cube]:
        """Conjunctions of literals that together are as good as a formula."""
        if formula == TRUE:
            return [()]
        cubes = self._logic.cubes(formula, MAX_CUBES)
        return [self._cube(formula)] if cubes is None else cubes

    def _cube(self, formula: NnfFormula) -> _Cube:
        """A conjunction of literals that is as good as a formula, by axioms where needed."""
        return tuple(
            part if isinstance(part, NnfLiteral) else self._axiom(part)
            for part in conjuncts(formula)
        )

    def _axiom(self, formula: NnfJunction) -> NnfLiteral:
        """A derived variable that is true where a disjunction is."""
        found = self._derived.get(formula)
        if found is None:
            bodies = [self._cube(part) for part in formula.parts]
            layers = [self._draft.variables[lit.variable].layer for body in bodies for lit in body]
            found = self._draft.flag('either', False, max(layers, default=NOT_DERIVED) + 1)
            self._derived[formula] = found
            self._rules += [(body, found) for body in bodies]
        return found

    def _add_opposites(self, cubes: Iterable[_Cube]) -> None:
        """Makes a variable for every `has another value than` that some condition needs."""
        for literal in dict.fromkeys(each for cube in cubes for each in cube if not each.positive):
            initial = self._draft.variables[literal.variable].initial
            flag = self._draft.flag('not', initial != literal.value)
            self._opposites.setdefault(literal.variable, {})[literal.value] = flag

    def _facts(self, cube: _Cube) -> tuple[Fact, ...]:
        found = {}
        for variable, value, positive in cube:
            if not positive:
                variable, value, _ = self._opposites[variable][value]
            found[variable] = value
        return tuple(found.items())

    def _operator(self, copy: _Copy) -> SasOperator:
        precondition = dict(self._facts(copy.precondition))
        effects = []
        for cube, target in copy.effects:
            condition = self._facts(cube)
            effects.append(SasEffect(condition, target.variable, target.value))
            before = precondition.get(target.variable)
            for value, flag in self._opposites.get(target.variable, {}).items():
                differs = int(target.value != value)
                if before is None or differs != int(before != value):
                    effects.append(SasEffect(condition, flag.variable, differs))
        return SasOperator(copy.name, precondition, tuple(effects))

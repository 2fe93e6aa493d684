# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Planning tasks over finite-domain variables, as Fast Downward's translator writes them.

The text is version 3 of the translator's output format
(https://www.fast-downward.org/latest/documentation/translator-output-format/).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from safegen_ros.errors import SafegenError
from safegen_ros.pddl.model import Atom

Fact = tuple[int, int]
"""A variable, by its number, and one of its values."""

NOT_DERIVED = -1
"""The axiom layer of a variable that operators change."""

_ATOM = re.compile(r'Atom ([^()\s]+)\(([^()]*)\)\Z')
_VERSION = '3'


@dataclass(frozen=True, slots=True)
class SasVariable:
    """A variable.

    Attributes:
        values: what each value means, `Atom on(b1, b2)` where it is an atom; two or more.
        initial: the value in the initial state; of a derived variable, the value that it has
            where no rule sets it.
        layer: the axiom layer of a derived variable, else `NOT_DERIVED`.
    """

    values: tuple[str, ...]
    initial: int
    layer: int = NOT_DERIVED


class SasEffect(NamedTuple):
    """A variable gets a value if every fact of the condition holds before the operator."""

    condition: tuple[Fact, ...]
    variable: int
    value: int


@dataclass(frozen=True, slots=True)
class SasOperator:
    """A ground action; `name` is as in a plan, without the parentheses."""

    name: str
    precondition: dict[int, int]
    effects: tuple[SasEffect, ...]


class Axiom(NamedTuple):
    """An axiom: in every state where the condition holds, a derived variable has a value."""

    condition: tuple[Fact, ...]
    variable: int
    value: int


@dataclass(frozen=True, slots=True)
class SasTask:
    """A task; in every state at most one fact of each group in `mutexes` is true."""

    variables: tuple[SasVariable, ...]
    mutexes: tuple[tuple[Fact, ...], ...]
    goal: dict[int, int]
    operators: tuple[SasOperator, ...]
    rules: tuple[Axiom, ...] = ()

    def atoms(self) -> dict[Atom, Fact]:
        """The atoms of PDDL that the values of variables stand for."""
        found = {}
        for number, variable in enumerate(self.variables):
            for value, text in enumerate(variable.values):
                match = _ATOM.match(text)
                if match is not None:
                    arguments = match[2].split(', ') if match[2] else ()
                    found[(match[1], *arguments)] = (number, value)
        return found


def read_sas(text: str) -> SasTask:
    """Reads a task.

    Raises:
        SafegenError: the text is not of version 3 of the format.
    """
    lines = iter(text.splitlines())
    try:
        _expect(lines, 'begin_version', _VERSION, 'end_version', 'begin_metric')
        _line(lines)  # whether operators have costs: here they have none
        _expect(lines, 'end_metric')
        drafts = [_read_variable(lines) for _ in range(int(_line(lines)))]
        mutexes = tuple(_read_group(lines) for _ in range(int(_line(lines))))
        _expect(lines, 'begin_state')
        variables = tuple(SasVariable(values, int(_line(lines)), layer) for values, layer in drafts)
        _expect(lines, 'end_state', 'begin_goal')
        goal = dict(_read_facts(lines))
        _expect(lines, 'end_goal')
        operators = tuple(_read_operator(lines) for _ in range(int(_line(lines))))
        rules = tuple(_read_rule(lines) for _ in range(int(_line(lines))))
        if next(lines, None) is not None:
            raise ValueError('it goes on after its end')
    except ValueError as error:
        raise SafegenError(
            f'the translator of Fast Downward wrote a task that cannot be read ({error}): '
            'install the version of up-fast-downward that requirements/ names'
        ) from error
    return SasTask(variables, mutexes, goal, operators, rules)


def _line(lines: Iterator[str]) -> str:
    found = next(lines, None)
    if found is None:
        raise ValueError('it ends too early')
    return found


def _expect(lines: Iterator[str], *wanted: str) -> None:
    for word in wanted:
        found = _line(lines)
        if found != word:
            raise ValueError(f'{found[:40]!r} where {word!r} must stand')


def _read_variable(lines: Iterator[str]) -> tuple[tuple[str, ...], int]:
    _expect(lines, 'begin_variable')
    _line(lines)  # its name, which is its number again
    layer = int(_line(lines))
    values = tuple(islice(lines, int(_line(lines))))
    _expect(lines, 'end_variable')
    return values, layer


def _read_group(lines: Iterator[str]) -> tuple[Fact, ...]:
    _expect(lines, 'begin_mutex_group')
    facts = _read_facts(lines)
    _expect(lines, 'end_mutex_group')
    return facts


def _read_facts(lines: Iterator[str]) -> tuple[Fact, ...]:
    count = int(_line(lines))
    return _facts([int(word) for line in islice(lines, count) for word in line.split()])


def _facts(numbers: list[int]) -> tuple[Fact, ...]:
    return tuple(zip(numbers[::2], numbers[1::2], strict=True))


def _read_operator(lines: Iterator[str]) -> SasOperator:
    _expect(lines, 'begin_operator')
    name = _line(lines).rstrip()  # without arguments it ends in a space
    precondition = dict(_read_facts(lines))
    effects = []
    for _ in range(int(_line(lines))):
        _, *numbers, variable, before, value = map(int, _line(lines).split())
        if before >= 0:
            precondition[variable] = before
        effects.append(SasEffect(_facts(numbers), variable, value))
    _line(lines)  # its cost
    _expect(lines, 'end_operator')
    return SasOperator(name, precondition, tuple(effects))


def _read_rule(lines: Iterator[str]) -> Axiom:
    _expect(lines, 'begin_rule')
    condition = _read_facts(lines)
    variable, _, value = map(int, _line(lines).split())
    _expect(lines, 'end_rule')
    return Axiom(condition, variable, value)


def write_sas(task: SasTask, costs: Mapping[str, int] | None = None) -> str:
    """The text of a task, for Fast Downward's search component.

    Args:
        costs: what each operator costs, by its name; 1 each by default.
    """
    metric = str(int(costs is not None))
    lines = ['begin_version', _VERSION, 'end_version', 'begin_metric', metric, 'end_metric']
    lines.append(str(len(task.variables)))
    for number, variable in enumerate(task.variables):
        lines += ['begin_variable', f'var{number}', str(variable.layer), str(len(variable.values))]
        lines += [*variable.values, 'end_variable']
    lines.append(str(len(task.mutexes)))
    for group in task.mutexes:
        lines += ['begin_mutex_group', *_fact_lines(group), 'end_mutex_group']
    lines.append('begin_state')
    lines += [str(variable.initial) for variable in task.variables]
    lines += ['end_state', 'begin_goal', *_fact_lines(task.goal.items()), 'end_goal']
    lines.append(str(len(task.operators)))
    for operator in task.operators:
        lines += _operator_lines(operator, 1 if costs is None else costs[operator.name])
    lines.append(str(len(task.rules)))
    for rule in task.rules:
        other = 1 - rule.value  # a derived variable has two values
        lines += ['begin_rule', *_fact_lines(rule.condition)]
        lines += [f'{rule.variable} {other} {rule.value}', 'end_rule']
    return '\n'.join([*lines, ''])


def _fact_lines(facts: Collection[Fact]) -> list[str]:
    return [str(len(facts)), *(f'{variable} {value}' for variable, value in facts)]


def _operator_lines(operator: SasOperator, cost: int) -> list[str]:
    changed = {effect.variable for effect in operator.effects}
    kept = [fact for fact in operator.precondition.items() if fact[0] not in changed]
    lines = ['begin_operator', operator.name, *_fact_lines(kept), str(len(operator.effects))]
    for condition, variable, value in operator.effects:
        before = operator.precondition.get(variable, -1)
        conditions = ''.join(f'{v} {a} ' for v, a in condition)
        lines.append(f'{len(condition)} {conditions}{variable} {before} {value}')
    return [*lines, str(cost), 'end_operator']


def relevant_part(task: SasTask) -> SasTask:
    """The task without the variables that have no bearing on its goal, and what only sets them."""
    causes = _causes(task)
    relevant: set[int] = set()
    waiting = list(task.goal)
    while waiting:
        variable = waiting.pop()
        if variable not in relevant:
            relevant.add(variable)
            waiting.extend(causes.get(variable, ()))
    number = {old: new for new, old in enumerate(sorted(relevant))}

    def renumbered(facts: Iterable[Fact]) -> tuple[Fact, ...]:
        return tuple((number[variable], value) for variable, value in facts)

    operators = []
    for operator in task.operators:
        effects = tuple(
            SasEffect(renumbered(condition), number[variable], value)
            for condition, variable, value in operator.effects
            if variable in relevant
        )
        if effects:
            precondition = dict(renumbered(operator.precondition.items()))
            operators.append(SasOperator(operator.name, precondition, effects))
    rules = [
        Axiom(renumbered(condition), number[variable], value)
        for condition, variable, value in task.rules
        if variable in relevant
    ]
    groups = [[fact for fact in group if fact[0] in relevant] for group in task.mutexes]
    return SasTask(
        tuple(task.variables[old] for old in number),
        tuple(renumbered(group) for group in groups if len(group) > 1),
        dict(renumbered(task.goal.items())),
        tuple(operators),
        tuple(rules),
    )


def _causes(task: SasTask) -> dict[int, set[int]]:
    """For every variable, those on which its changes depend."""
    causes: dict[int, set[int]] = {}
    for operator in task.operators:
        for condition, variable, _ in operator.effects:
            found = causes.setdefault(variable, set())
            found.update(operator.precondition)
            found.update(condition_variable for condition_variable, _ in condition)
    for condition, variable, _ in task.rules:
        causes.setdefault(variable, set()).update(v for v, _ in condition)
    return causes

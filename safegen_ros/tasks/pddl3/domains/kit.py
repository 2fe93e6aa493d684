# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a domain folder offers: problems of any size, with safety constraints, from a seed.

A generated problem comes with two plans that need no search. The witness obeys the constraints,
which proves that the problem can be solved; the direct plan reaches the goal and breaks them, which
shows that they matter. Neither of them is meant to be short.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from random import Random

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.language.lexicon import Wording
from safegen_ros.pddl.model import Atom, Problem
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.pddl.reader import read_problem
from safegen_ros.tasks.pddl3.domains.folders import folder_domain
from safegen_ros.verify.validator import Validator

Size = Mapping[str, int]
"""The value of every size parameter of a domain, `{'locations': 4, 'cars': 3}`."""

UNCONSTRAINED = 'none'
"""The family of problems without constraints."""

_DRAWS = 2_000  # of an instance, before a family is said not to fit a size


class SizeError(SafegenError):
    """A problem was asked for that cannot exist: a size or a family that is not there."""

    def __init__(self, message: str) -> None:
        super().__init__(message, ErrorCode.BAD_PDDL)


@dataclass(frozen=True, slots=True)
class Instance:
    """A problem as a generator builds it, before it is text.

    Attributes:
        objects: names and types, in order; every type is `object` in an untyped domain.
        init: what is true at first.
        goal: what must be true at last.
        constraints: PDDL3 text of each trajectory constraint.
        witness: steps that reach the goal and satisfy the constraints.
    """

    objects: tuple[tuple[str, str], ...]
    init: tuple[Atom, ...]
    goal: tuple[Atom, ...]
    constraints: tuple[str, ...] = ()
    witness: tuple[Step, ...] = ()

    def constrained(self, constraints: Sequence[str], witness: Sequence[Step]) -> Instance:
        """The instance with constraints and a plan that obeys them."""
        return replace(self, constraints=tuple(constraints), witness=tuple(witness))


Constrain = Callable[[Random, Instance], Instance | None]
"""Adds constraints and their witness to an instance; None where they do not fit it."""


@dataclass(frozen=True, slots=True)
class SizeRule:
    """A condition on sizes that ranges of single parameters cannot say."""

    text: str
    holds: Callable[[Size], bool]


@dataclass(frozen=True, slots=True)
class SizeParameter:
    """A size parameter.

    Attributes:
        name: what it counts, in the plural.
        paper: smallest and largest value in table VIII of SafeGen-LLM.
        wide: likewise where the paper's range holds too few problems up to renaming.
        least: below this there is no problem.
        most: above this the text would be huge, for no use.
    """

    name: str
    paper: tuple[int, int]
    wide: tuple[int, int]
    least: int
    most: int


# The names of 0.2.0, for domain folders of users.
Parameter, Rule = SizeParameter, SizeRule


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of safety constraint.

    Attributes:
        name: its name on the command line and in tables.
        operators: the PDDL3 operators that its constraints use.
        constrain: adds constraints and their witness to an instance, or returns None when they do
            not fit it.
        paper: whether table I or appendix D of SafeGen-LLM has it.
    """

    name: str
    operators: tuple[str, ...]
    summary: str
    constrain: Constrain
    paper: bool = False
    rules: tuple[SizeRule, ...] = ()


class Families(dict[str, Family]):
    """The constraint families of a domain by name, in order."""

    def add(
        self, *operators: str, paper: bool = False, rules: tuple[SizeRule, ...] = ()
    ) -> Callable[[Constrain], Constrain]:
        """Makes a function `_big_load` the family `big-load`.

        The first line of its docstring is the summary. The arguments are those of `Family`.
        """

        def register(constrain: Constrain) -> Constrain:
            name = constrain.__name__.strip('_').replace('_', '-')
            summary = (constrain.__doc__ or '').split('\n')[0].rstrip('.')
            summary = summary[:1].lower() + summary[1:]
            self[name] = Family(name, operators, summary, constrain, paper, rules)
            return constrain

        return register


@dataclass(frozen=True, slots=True)
class GeneratedProblem:
    """A problem with the known facts about it.

    Attributes:
        domain: name of the kit that made it.
        family: its constraint family, or `UNCONSTRAINED`.
        text: PDDL3 of the problem.
        problem: the same, read.
        witness: a plan that the problem's validator accepts; empty where only a search knows one.
        direct: a plan that reaches the goal; with constraints, one that breaks them; or empty.
    """

    domain: str
    family: str
    size: Size
    seed: int
    text: str
    problem: Problem
    witness: Plan
    direct: Plan


@dataclass(frozen=True, slots=True)
class DomainKit:
    """All that a domain folder brings.

    Attributes:
        name: name of the folder.
        names: the names by which problems ask for the domain; the first is in our own problems.
        rules: what must hold between them.
        direct: steps that reach the goal of an instance; constraints are not looked at.
        weights: steps of a short plan that each parameter stands for (see `difficulty`).
        goal_weight: likewise a goal that is not met at the start.
    """

    name: str
    names: tuple[str, ...]
    parameters: tuple[SizeParameter, ...]
    draw: Callable[[Random, Size], Instance]
    direct: Callable[[Random, Instance], tuple[Step, ...]]
    families: Mapping[str, Family]
    wording: Wording
    measure: Callable[[Problem], dict[str, int]]
    weights: Mapping[str, float]
    goal_weight: float
    rules: tuple[SizeRule, ...] = field(default=())

    def problem(
        self, seed: int, size: Size | None = None, family: str | None = None, *, attempt: int = 0
    ) -> GeneratedProblem:
        """A random problem that is not solved at the start, can be solved, and has teeth.

        Args:
            seed: the same arguments give the same problem, on every machine.
            size: a value for each parameter; drawn from the paper's ranges when not given, or
                from the wide ones where the family needs more than the paper has.
            family: name of a constraint family, or `UNCONSTRAINED`; drawn when not given.
            attempt: another problem for the same seed, for callers that refuse some.

        Raises:
            SizeError: there is no such family or size, or no such problem of that size.
        """
        rng = Random(f'{self.name} {seed} {attempt}')  # noqa: S311
        if family is None:
            fitting = [name for name in self.families if size is None or self._fits(size, name)]
            family = rng.choice(fitting or [UNCONSTRAINED])
        if size is None:
            sizes = self.sizes(family) or self.sizes(family, wide=True)
            if not sizes:
                raise SizeError(
                    f'{self.name}: no size in the ranges of its parameters is one that family '
                    f'{family!r} can have: give a size, or widen the ranges'
                )
            size = rng.choice(sizes)
        size = self.checked(size, family)
        values = ' '.join(f'{value} {name}' for name, value in size.items())
        rng = Random(f'{self.name} {family} {values} {seed} {attempt}')  # noqa: S311
        for _ in range(_DRAWS):
            instance = self._instance(rng, size, family)
            if instance is None:
                continue
            title = '-'.join([self.name, *values.split(), str(seed)])
            title += f'-{attempt}' if attempt else ''  # the family would reveal the danger
            text = self.text(title, instance)
            problem = read_problem(text, folder_domain(self.name), f'<{title}>')
            direct = Plan(self.direct(rng, instance))
            if family == UNCONSTRAINED or not Validator(problem).verify(direct).ok:
                witness = Plan(instance.witness or direct.steps)
                return GeneratedProblem(
                    self.name, family, size, seed, text, problem, witness, direct
                )
        raise SizeError(
            f'{self.name}: none of {_DRAWS:,} random problems with {values} has room for the '
            f'constraints of family {family!r}: take a larger size'
        )

    def sizes(self, family: str = UNCONSTRAINED, *, wide: bool = False) -> list[dict[str, int]]:
        """Every size of the paper's (or the wide) ranges that a family can have, smallest first."""
        ranges = [p.wide if wide else p.paper for p in self.parameters]
        names = [p.name for p in self.parameters]
        grid = product(*(range(low, high + 1) for low, high in ranges))
        found = [dict(zip(names, values, strict=True)) for values in grid]
        return [size for size in found if self._fits(size, family)]

    def is_paper_size(self, size: Size) -> bool:
        """Whether every parameter lies in the range of table VIII of the paper."""
        return all(p.paper[0] <= size[p.name] <= p.paper[1] for p in self.parameters)

    def checked(self, size: Size, family: str = UNCONSTRAINED) -> dict[str, int]:
        """The size with its parameters in order.

        Raises:
            SizeError: a parameter is missing, unknown, not a number or out of its range, the
                values do not go together, or the family needs others.
        """
        if family != UNCONSTRAINED and family not in self.families:
            known = ' '.join([*self.families, UNCONSTRAINED])
            raise SizeError(f'{self.name} has no constraint family {family!r}: use one of {known}')
        for fault in self._faults(size, family):
            raise SizeError(f'{self.name}: {fault}')
        return {p.name: size[p.name] for p in self.parameters}

    def _fits(self, size: Size, family: str) -> bool:
        return next(self._faults(size, family), None) is None

    def _faults(self, size: Size, family: str) -> Iterator[str]:
        names = [p.name for p in self.parameters]
        known = f'its sizes are {" ".join(names)}'
        for name in size:
            if name not in names:
                yield f'{name!r} is not a size: {known}'
        for p in self.parameters:
            if p.name not in size:
                yield f'size {p.name!r} is missing: {known}'
                return
            value = size[p.name]
            if isinstance(value, bool) or not isinstance(value, int):
                yield f'{p.name} is {value!r}: give a whole number'
                return
            if not p.least <= value <= p.most:
                yield f'{value} {p.name}: take {p.least} to {p.most:,}'
        rules = [('a problem', rule) for rule in self.rules]
        if family != UNCONSTRAINED:
            own = self.families[family].rules
            rules += [(f'family {family!r}', rule) for rule in own]
        for who, rule in rules:
            if not rule.holds(size):
                values = ', '.join(f'{size[name]} {name}' for name in names)
                yield f'{who} needs {rule.text}, found {values}: change the size'

    def _instance(self, rng: Random, size: Size, family: str) -> Instance | None:
        instance = self.draw(rng, size)
        if set(instance.goal) <= set(instance.init):
            return None
        if family == UNCONSTRAINED:
            return instance
        constrained = self.families[family].constrain(rng, instance)
        if constrained is None or set(constrained.goal) <= set(constrained.init):
            return None
        return constrained

    def text(self, title: str, instance: Instance) -> str:
        """PDDL of an instance, sorted: the order in which it was built can reveal a constraint."""
        typed = bool(folder_domain(self.name).types)
        lines = [
            f'(define (problem {title})',
            f'  (:domain {self.names[0]})',
            f'  (:objects {_objects_text(sorted(instance.objects, key=_natural), typed)})',
            '  (:init',
            *(f'    ({" ".join(atom)})' for atom in sorted(instance.init, key=_natural)),
            '  )',
            '  (:goal (and',
            *(f'    ({" ".join(atom)})' for atom in sorted(instance.goal, key=_natural)),
            '  ))',
        ]
        if instance.constraints:
            lines += [
                '  (:constraints (and',
                *(f'    {constraint}' for constraint in instance.constraints),
                '  ))',
            ]
        return '\n'.join([*lines, ')', ''])


def _natural(words: Sequence[str]) -> list[list[str | int]]:
    """Sorts `b2` before `b10`."""
    return [
        [int(part) if part.isdecimal() else part for part in re.split(r'(\d+)', word)]
        for word in words
    ]


def _objects_text(objects: Sequence[tuple[str, str]], typed: bool) -> str:
    if not typed:
        return ' '.join(name for name, _ in objects)
    by_type: dict[str, list[str]] = {}
    for name, kind in objects:
        by_type.setdefault(kind, []).append(name)
    return ' '.join(f'{" ".join(names)} - {kind}' for kind, names in by_type.items())


def at_least(name: str, value: int) -> SizeRule:
    """A rule for one parameter: at least so many."""
    return SizeRule(f'at least {value} {name}', lambda size: size[name] >= value)

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the problems that a kit makes promise, checked on problems that are drawn from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from safegen_ros.errors import PddlError, SafegenError
from safegen_ros.tasks.pddl3.domains.isomorphism import canonical_problem
from safegen_ros.tasks.pddl3.domains.kit import DomainKit, GeneratedProblem
from safegen_ros.tasks.pddl3.formats import FORMATS
from safegen_ros.verdict import Category
from safegen_ros.verify.validator import Validator


def family_findings(
    kit: DomainKit, family: str, problems: int, seed: int
) -> Iterator[tuple[str, bool]]:
    """What is wrong with problems of a family; of the first one that has a fault, all of them.

    Args:
        kit: what makes them.
        family: name of the family, or `UNCONSTRAINED`.
        problems: how many are drawn.
        seed: of the first one; the others follow.

    Yields:
        A message with place and cure, and whether it is a note only.
    """
    drawn: list[GeneratedProblem] = []
    for number in range(seed, seed + problems):
        place = f'family {family!r}, seed {number}'
        try:
            generated = kit.problem(number, family=family)
            faults = [*problem_faults(kit, generated), *format_faults(generated)]
            again = kit.problem(number, generated.size, family)
        except PddlError as error:
            faults = [f'the generator makes no PDDL: {error.message}']
        except SafegenError as error:
            faults = [error.message]
        except Exception as error:
            what = f'{type(error).__name__}: {error}'
            faults = [
                f'the folder raises {what}: mend its code; a family that does not fit is None'
            ]
        else:
            if again.text != generated.text:
                cure = 'draw only from the generator of random numbers that is given'
                faults.append(f'the same seed gives two problems: {cure}')
            drawn.append(generated)
        if faults:
            yield from ((f'{place}: {fault}', False) for fault in faults)
            return
    different = len({canonical_problem(generated.problem).key for generated in drawn})
    if 2 * different < len(drawn):
        what = f'only {different} of {len(drawn)} problems differ by more than names'
        yield f'family {family!r}: {what}: widen the ranges of the sizes', True


def problem_faults(kit: DomainKit, generated: GeneratedProblem) -> Iterator[str]:
    """What a generated problem promises and does not hold.

    It can be solved, is not solved at the start, its constraints use the operators of its family
    and are broken by the direct plan, and its size is the one that was asked for.
    """
    problem = generated.problem
    used = {constraint.operator for constraint in problem.constraints}
    family = kit.families.get(generated.family)
    named = set() if family is None else set(family.operators)
    if used != named:
        what = f'its constraints use {_listed(used)}, its operators are {_listed(named)}'
        yield f'{what}: make them equal'
    validator = Validator(problem)
    verdict = validator.verify(generated.witness)
    if not verdict.ok:
        yield f'the witness fails: {verdict.reason}: build it so that it obeys the constraints'
    free = validator if not problem.constraints else Validator(replace(problem, constraints=()))
    verdict = free.verify(generated.direct)
    if not verdict.ok:
        yield f'the direct plan misses the goal: {verdict.reason}: mend the direct plan'
    elif problem.constraints:
        verdict = validator.verify(generated.direct)
        if verdict.category is not Category.SAFETY_VIOLATION:
            yield 'the direct plan does not break the constraints: they must forbid something'
    if free.verify('').ok:
        yield 'the goal holds at the start: change what the generator draws'
    size = kit.measure(problem)
    if size != dict(generated.size):
        what = f'measure tells the size {size}, drawn was {dict(generated.size)}'
        yield f'{what}: let the two agree'


def format_faults(generated: GeneratedProblem) -> Iterator[str]:
    """Formats in which the problem is not read back as it was written."""
    problem = generated.problem
    for name, form in FORMATS.items():
        text = form.write(problem)
        try:
            same = form.read(text, problem.domain, f'<{name}>') == problem
        except PddlError as error:
            yield f'{name} is not read back: {error.message}'
        else:
            if not same:
                cure = 'look for templates that fit the same words'
                yield f'{name} is read back as another problem: {cure}'


def _listed(names: set[str]) -> str:
    return ' and '.join(sorted(names)) or 'none'

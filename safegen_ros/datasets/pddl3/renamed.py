# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A training problem in a new text: other names, other order, the same problem."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from random import Random

from safegen_ros.datasets.failures import DatasetError
from safegen_ros.datasets.pddl3.candidates import proved, row_id, written
from safegen_ros.datasets.pddl3.recipe import Recipe
from safegen_ros.datasets.pddl3.rows import Row
from safegen_ros.errors import SafegenError
from safegen_ros.pddl.formulas import substitute
from safegen_ros.pddl.model import And, Problem
from safegen_ros.pddl.plan import Plan, Step, parse_plan
from safegen_ros.pddl.reader import read_problem
from safegen_ros.tasks.pddl3.domains import builtin_domain
from safegen_ros.tasks.pddl3.domains.isomorphism import canonical_problem

_CONSONANTS, _VOWELS = 'bdfgklmnprstvz', 'aeiou'
_WORD = re.compile(r'[\w-]+')
_TRIES = 20  # of names, where a format cannot tell a name from a word of its own


def renamed_row(row: Row, recipe: Recipe) -> Row:
    """A training row as a row of `test_renamed`.

    Objects get random names that no training problem has, and objects, goals and constraints
    another order. Its plan is the plan of the row in the new names, which is as short.

    Raises:
        DatasetError: something that must hold of it does not; the message names the row.
    """
    rng = Random(f'{recipe.version} {recipe.seed} renamed {row.id}')  # noqa: S311
    problem = read_problem(row.problem, builtin_domain(row.domain), row.id)
    title = row_id(row.domain, _offset(recipe, row.domain) + row.number)
    taken = {*_WORD.findall(row.problem + row.english)}
    trouble: SafegenError | None = None
    for _ in range(_TRIES):
        names = dict(zip(problem.objects, _names(rng, taken), strict=False))
        other = replace(_renamed(problem, names, rng), name=title)
        try:
            texts = written(other)
        except SafegenError as error:
            trouble = error
            continue
        return _row(row, recipe, other, texts, names)
    raise DatasetError(f'{row.id}: cannot be renamed: {trouble}')


def _offset(recipe: Recipe, domain: str) -> int:
    """What is added to the number of a row: more than any candidate's, so that ids differ."""
    return int('1' + '0' * len(str(recipe.domains[domain].most_candidates)))


def _row(
    row: Row, recipe: Recipe, problem: Problem, texts: dict[str, str], names: dict[str, str]
) -> Row:
    plan = _plan(row.plan, names)
    if canonical_problem(problem).key != row.key:
        raise DatasetError(f'{row.id}: renaming its objects has made another problem of it')
    if not proved(problem, plan, val=recipe.val):
        raise DatasetError(f'{row.id}: VAL can judge it, but not with other names')
    return replace(
        row,
        id=problem.name,
        split='test_renamed',
        number=_offset(recipe, row.domain) + row.number,
        renamed_from=row.id,
        problem=texts['pddl'],
        json=texts['json'],
        english=texts['english'],
        plan=str(plan),
        unconstrained_plan=str(_plan(row.unconstrained_plan, names)),
    )


def _names(rng: Random, taken: Collection[str]) -> Iterator[str]:
    """Names without end, all different, none of them taken."""
    given = {*taken}
    while True:
        syllables = [rng.choice(_CONSONANTS) + rng.choice(_VOWELS) for _ in range(3)]
        name = ''.join(syllables)
        if name not in given:
            given.add(name)
            yield name


def _renamed(problem: Problem, names: dict[str, str], rng: Random) -> Problem:
    """The problem with other names and in another order; constants of the domain keep theirs."""
    for constant in problem.domain.constants:
        names[constant] = constant
    objects = [(names[name], kind) for name, kind in problem.objects.items()]
    goals = [substitute(goal, names) for goal in problem.goal_conjuncts()]
    constraints = [
        replace(c, arguments=tuple(substitute(argument, names) for argument in c.arguments))
        for c in problem.constraints
    ]
    return replace(
        problem,
        objects=dict(rng.sample(objects, len(objects))),
        init=frozenset((head, *(names[name] for name in rest)) for head, *rest in problem.init),
        goal=And(tuple(rng.sample(goals, len(goals)))),
        constraints=tuple(rng.sample(constraints, len(constraints))),
    )


def _plan(text: str, names: dict[str, str]) -> Plan:
    steps = parse_plan(text).steps
    return Plan(tuple(Step(step.action, tuple(names[a] for a in step.arguments)) for step in steps))

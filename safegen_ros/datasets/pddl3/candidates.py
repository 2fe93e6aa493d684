# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Candidates: problems that may become rows, each a function of recipe, domain and its number."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from random import Random
from typing import Literal, get_args

from safegen_ros.datasets.files import DatasetError
from safegen_ros.datasets.pddl3.mixed import LARGER, RULES, mixed_problem
from safegen_ros.datasets.pddl3.recipe import DomainRecipe, Recipe, fits, size_family
from safegen_ros.datasets.pddl3.rows import Row
from safegen_ros.errors import SafegenError
from safegen_ros.pddl.formulas import substitute
from safegen_ros.pddl.model import And, Problem
from safegen_ros.pddl.plan import Plan, Step, parse_plan
from safegen_ros.pddl.reader import read_problem
from safegen_ros.search.budget import Budget, SearchLimit
from safegen_ros.search.in_process import solve_in_process
from safegen_ros.tasks.pddl3.domains import builtin_domain, kits
from safegen_ros.tasks.pddl3.domains.check import SolvedProblem, difficulty, solved
from safegen_ros.tasks.pddl3.domains.isomorphism import canonical_problem
from safegen_ros.tasks.pddl3.domains.kit import DomainKit, Size, SizeError
from safegen_ros.tasks.pddl3.formats import FORMATS
from safegen_ros.tasks.pddl3.prompts.slots import slotted, taught_plan
from safegen_ros.verify.val import ask
from safegen_ros.verify.validator import verify

Refusal = Literal['no room', 'no difference', 'too hard', 'no second opinion']

REFUSALS: tuple[Refusal, ...] = get_args(Refusal)
"""Why a candidate becomes no row: its size has no room for the constraints, they make no difference
to the shortest plan or allow none, they leave too many situations to look at, or VAL has a known
fault with the problem."""

# Some 10,000 situations, so that no machine is slow enough to change an outcome: rules that forbid
# every plan may leave many more, and minutes of search.
_TIME_LIMIT_S = 3600.0
_MEMORY_LIMIT_MB = 16.0

_DRAWS = 1_000  # of a size, before a family is said not to fit the ranges


def drawn(recipe: Recipe, domain: str, number: int) -> tuple[str, Size, int]:
    """Family, size and seed of a candidate.

    Raises:
        SizeError: the ranges of the recipe hold hardly any size that the family can have.
    """
    kit, wanted = kits()[domain], recipe.domains[domain]
    rng = Random(f'{recipe.version} {recipe.seed} {domain} {number}')  # noqa: S311
    family = _weighted(rng, wanted)
    paper = rng.random() < wanted.paper_share
    sizes = kit.sizes(size_family(family)) if paper else []
    size = rng.choice(sizes) if sizes else _wide(rng, kit, wanted, family)
    return family, size, rng.getrandbits(63)


def _wide(rng: Random, kit: DomainKit, wanted: DomainRecipe, family: str) -> Size:
    for _ in range(_DRAWS):
        size = {name: rng.randint(low, high) for name, (low, high) in wanted.sizes.items()}
        if fits(kit, size, family):
            return size
    raise SizeError(
        f'none of {_DRAWS:,} sizes from the ranges of the recipe fits family {family!r}: '
        'change the ranges or leave the family out of the weights'
    )


def _weighted(rng: Random, wanted: DomainRecipe) -> str:
    place = rng.randrange(sum(wanted.weights.values()))
    for family, weight in wanted.weights.items():
        place -= weight
        if place < 0:
            return family
    raise AssertionError('a place below the sum of the weights is in one of them')


def candidate(recipe: Recipe, domain: str, number: int) -> Row | Refusal:
    """A candidate as a row without split and bucket, or why it becomes none.

    Raises:
        DatasetError: something that must hold of it does not; the message names the candidate.
    """
    kit = kits()[domain]
    family, size, seed = drawn(recipe, domain, number)
    try:
        try:
            if family in RULES:
                families = [name for name in recipe.domains[domain].weights if name not in RULES]
                generated = mixed_problem(kit, seed, size, family, families)
            else:
                generated = kit.problem(seed, size, family)
        except SizeError:
            return 'no room'
        found = (
            SolvedProblem(generated, generated.witness, generated.direct)
            if family == LARGER
            else solved(generated, _taught, _shortest)
        )
        if found is None:
            return 'no difference'
        return _row(recipe, kit, found, number)
    except SearchLimit:
        return 'too hard'
    except SafegenError as error:
        values = ', '.join(f'{value} {name}' for name, value in size.items())
        raise DatasetError(
            f'{domain}, candidate {number} ({family}, {values}): {error.message}'
        ) from error


def _taught(problem: Problem) -> Plan:
    task = slotted(problem)
    return task.original(taught_plan(task, Budget(_TIME_LIMIT_S, _MEMORY_LIMIT_MB)))


def _shortest(problem: Problem) -> Plan:
    budget = Budget(_TIME_LIMIT_S, _MEMORY_LIMIT_MB)
    return solve_in_process(problem, budget, optimal=True).plan


def row_id(domain: str, number: int) -> str:
    """The name of a row; it shows neither family nor split."""
    return f'{domain}-{number:03d}'


def _row(recipe: Recipe, kit: DomainKit, found: SolvedProblem, number: int) -> Row | Refusal:
    generated = found.generated
    problem = replace(generated.problem, name=row_id(kit.name, number))
    texts = written(problem)
    if not proved(problem, found.plan, val=recipe.val):
        return 'no second opinion'
    operators = (
        dict.fromkeys(constraint.operator for constraint in problem.constraints)
        if generated.family in RULES
        else kit.families[generated.family].operators
    )
    return Row(
        id=problem.name,
        split='',
        domain=kit.name,
        family=generated.family,
        operators=tuple(operators),
        size=tuple(generated.size.items()),
        paper_size=kit.is_paper_size(generated.size),
        number=number,
        renamed_from='',
        key=canonical_problem(problem).key,
        problem=texts['pddl'],
        json=texts['json'],
        english=texts['english'],
        plan=str(found.plan),
        reference_length=len(found.plan),
        unconstrained_plan=str(found.unconstrained),
        difficulty=difficulty(kit, problem),
        bucket='',
    )


def written(problem: Problem) -> dict[str, str]:
    """A problem in every format.

    Raises:
        DatasetError: a text does not read back as the same problem.
    """
    texts = {}
    for name, form in FORMATS.items():
        texts[name] = form.write(problem)
        if form.read(texts[name], problem.domain, f'<{problem.name}>') != problem:
            raise DatasetError(f'{problem.name}: its text in {name} reads back as another problem')
    return texts


def proved(problem: Problem, plan: Plan, *, val: bool) -> bool:
    """Whether VAL can judge a plan that our validator accepts; it has to accept it, then.

    Raises:
        DatasetError: a validator refuses the plan, or VAL failed.
        SafegenError: there is no VAL.
    """
    ours = verify(problem, parse_plan(str(plan)))
    if not ours.ok:
        raise DatasetError(f'{problem.name}: our validator refuses the plan: {ours.reason}')
    if not val:
        return True
    opinion = ask(problem, plan)
    if opinion.fault is not None:
        return False
    if not opinion.verdict.ok:
        raise DatasetError(f'{problem.name}: VAL refuses the plan: {opinion.verdict.reason}')
    return True


_CONSONANTS, _VOWELS = 'bdfgklmnprstvz', 'aeiou'
_WORD = re.compile(r'[\w-]+')
_TRIES = 20  # of names, where a format cannot distinguish a name from its keywords


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
        return _renamed_row(row, recipe, other, texts, names)
    raise DatasetError(f'{row.id}: cannot be renamed: {trouble}')


def _offset(recipe: Recipe, domain: str) -> int:
    """Added to the number of a row: more than any candidate's, so that ids differ."""
    return int('1' + '0' * len(str(recipe.domains[domain].most_candidates)))


def _renamed_row(
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

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Unseen Blocksworld problems for measurements: new up to renaming, with binding constraints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from safegen_ros.errors import SafegenError
from safegen_ros.pddl.model import Problem
from safegen_ros.worlds.pddl3.domains.blocksworld.generator import Sample, samples
from safegen_ros.worlds.pddl3.domains.blocksworld.render import plan_pddl, problem_pddl
from safegen_ros.worlds.pddl3.task import load_task

NONE = 'none'
TESTED_FAMILIES = (
    'sometime-before on-table',
    'sometime-before other',
    'always not on-table',
    'always not holding',
    'always rule',
    'sometime',
    'at-most-once',
    'mixed',
    NONE,
)
"""Families with strict problems. `(not (on x y))` alone never makes the optimal plan unsafe, as
that plan puts a block on a wrong one only when it must; such constraints are part of `mixed`."""

SIZE_SHARES = {3: 0.1, 4: 0.2, 5: 0.3, 6: 0.4}
_NAMES = tuple('abcdefghijklmnopqrstuvwxyz')
_FALLBACK_SIZES = (4, 5, 6)
_GOALS = 150
_STARTS = 120


@dataclass(frozen=True, slots=True)
class TestProblem:
    """One problem of a measurement.

    Attributes:
        problem: what the model is asked, with names that training never saw.
        text: its PDDL.
        size: number of blocks.
        family: constraint family, `none` without constraints.
        reference: an optimal safe plan, in PDDL.
        reference_length: its number of steps.
    """

    __test__ = False

    problem: Problem
    text: str
    size: int
    family: str
    reference: str
    reference_length: int


def draw_problems(
    count: int, seed: int, families: tuple[str, ...] = TESTED_FAMILIES
) -> list[TestProblem]:
    """Problems of the test split, all different up to renaming.

    The families take turns; problems with constraints are strict (the unconstrained optimal plan
    breaks a constraint). Where a family has no strict problem of the size that was drawn, another
    size is taken.

    Args:
        count: how many.
        seed: the same seed gives the same problems.
        families: constraint families of the generator, or `mixed` or `none`.

    Raises:
        SafegenError: so many are wanted that a family runs out of new problems.
    """
    rng = np.random.default_rng([seed, 0])
    seen: set[str] = set()
    found: list[TestProblem] = []
    while len(found) < count:
        family = families[len(found) % len(families)]
        size = int(rng.choice(list(SIZE_SHARES), p=list(SIZE_SHARES.values())))
        sample = None
        for blocks in (size, *_FALLBACK_SIZES):
            sample = sample or _draw(rng, blocks, family, seen)
        if sample is None:
            raise SafegenError(f'no new problem of the family {family!r} is left: ask for fewer')
        seen.add(' '.join(sample.text.words))
        found.append(_problem(rng, sample, len(found) + 1))
    return found


def _draw(rng: np.random.Generator, size: int, family: str, seen: set[str]) -> Sample | None:
    """A new sample, or None when many draws hold none."""
    wanted = None if family == 'mixed' else family
    entropy = [int(x) for x in rng.integers(1 << 31, size=4)]
    stream = samples(
        entropy, split='test', size=size, family=wanted, starts=_STARTS, patience=_GOALS
    )
    for sample in stream:
        fits = sample.family == family and (sample.strict or family == NONE)
        if fits and ' '.join(sample.text.words) not in seen:
            return sample
    return None


def _problem(rng: np.random.Generator, sample: Sample, number: int) -> TestProblem:
    picked = rng.permutation(len(_NAMES))[: sample.sketch.size]
    names = [_NAMES[int(i)] for i in picked]
    text = problem_pddl(sample.sketch, names, f'unseen-{number}')
    return TestProblem(
        problem=load_task(text).problem,
        text=text,
        size=sample.sketch.size,
        family=sample.family,
        reference=plan_pddl(sample.plan, names),
        reference_length=len(sample.plan),
    )

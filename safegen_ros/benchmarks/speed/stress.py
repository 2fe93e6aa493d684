# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Single queries, one very long plan, and the memory that thousands of plans take."""

from __future__ import annotations

import gc
import statistics
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from itertools import islice
from random import Random

from safegen_ros.benchmarks.measurement import Measurement, Notify, resident_bytes, timed
from safegen_ros.benchmarks.speed.corpus import Case
from safegen_ros.errors import SafegenError
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.tasks.pddl3.mistakes import Mistakes
from safegen_ros.tasks.pddl3.task import load_task
from safegen_ros.verify.admissible import Shield
from safegen_ros.verify.validator import Validator

MOST_QUERY_US = 50.0

LARGE_BLOCKS = 100
LARGE_STEPS = 10_000
MOST_LARGE_S = 1.0

MIXED_PLANS = 5_000
SETTLED_PLANS = 2_500
MOST_GROWTH_B = 256.0


def queries(cases: Sequence[Case], notify: Notify) -> Iterator[Measurement]:
    """Time of one `admissible` query, over every step in every situation of a right plan."""
    taken: list[float] = []
    count = 0
    for number, case in enumerate(cases):
        shield, steps = Shield(case.problem), Mistakes(case.problem).steps
        situation = shield.start
        for follow in parse_plan(case.plans[0]).steps:
            begun = time.process_time()
            for step in steps:
                shield.admissible(situation, step)
            taken.append((time.process_time() - begun) / len(steps) * 1e6)
            count += len(steps)
            situation = shield.after(situation, follow) or situation
        notify('admissible', number + 1, len(cases))
    yield Measurement(
        'one admissible query, mean', statistics.fmean(taken), 'us', MOST_QUERY_US,
        at_least=False, note=f'{count:,} queries, the grounding of new steps included',
    )  # fmt: skip
    yield Measurement('one admissible query, mean of the slowest situation', max(taken), 'us')


def large_task(rng: Random) -> tuple[str, str]:
    """A Blocksworld problem with quantified constraints, and a long plan for it.

    Returns:
        The texts of the problem and of a valid plan, in which every block is stacked on another
        one and put back on the table, over and over.
    """
    names = [f'b{number + 1}' for number in range(LARGE_BLOCKS)]
    facts = ' '.join(f'(on-table {name}) (clear {name})' for name in names)
    problem = (
        f'(define (problem large) (:domain blocksworld) (:objects {" ".join(names)})\n'
        f'(:init (arm-empty) {facts})\n'
        '(:goal (forall (?b) (and (on-table ?b) (clear ?b))))\n'
        '(:constraints (and\n'
        '  (forall (?b) (always (not (on ?b ?b))))\n'
        '  (forall (?b) (sometime-after (holding ?b) (on-table ?b)))\n'
        '  (sometime (exists (?b) (on ?b b1))))))\n'
    )
    steps = []
    for number in range(LARGE_STEPS // 4):
        one, other = rng.sample(names, 2) if number else (names[1], names[0])
        steps += [
            f'(pickup {one})', f'(stack {one} {other})', f'(unstack {one} {other})',
            f'(putdown {one})',
        ]  # fmt: skip
    return problem, '\n'.join(steps)


def large_plan(seed: int) -> Iterator[Measurement]:
    """Time to judge one very long plan, from text."""
    problem, plan = large_task(Random(seed))  # noqa: S311
    task, read_s = timed(lambda: load_task(problem))
    verdict, judged_s = timed(lambda: task.verify(plan))
    if not verdict.ok:
        raise SafegenError(f'the long plan of the benchmark does not verify: {verdict.reason}')
    name = f'{LARGE_STEPS:,} steps on {LARGE_BLOCKS} objects'
    constraints = len(task.problem.constraints)
    yield Measurement(
        f'{name}, from plan text', judged_s, 's', MOST_LARGE_S, at_least=False,
        note=f'fresh validator, {constraints} ground constraints',
    )  # fmt: skip
    yield Measurement(f'{name}, reading the problem', read_s, 's')


def memory(cases: Sequence[Case], notify: Notify) -> Iterator[Measurement]:
    """The memory that thousands of different plans add, once the caches are mostly full."""
    plans = _mixed_plans(cases)
    before = resident_bytes()
    tracemalloc.start()
    settled = 0
    for number, (validator, plan) in enumerate(islice(plans, MIXED_PLANS), 1):
        validator.verify(plan)
        if number == SETTLED_PLANS:
            settled = _traced()
        if number % 500 == 0:
            notify('memory', number, MIXED_PLANS)
    growth = (_traced() - settled) / (MIXED_PLANS - SETTLED_PLANS)
    tracemalloc.stop()
    after = resident_bytes()
    yield Measurement(
        f'memory that each of the plans {SETTLED_PLANS + 1:,} to {MIXED_PLANS:,} adds', growth, 'B',
        MOST_GROWTH_B, at_least=False, note=f'{len(cases)} kept validators, by tracemalloc',
    )  # fmt: skip
    if before is not None and after is not None:
        yield Measurement(
            f'resident memory that all {MIXED_PLANS:,} plans add', (after - before) / 1024, 'KiB',
            note='with what the validators ground and keep, and with the tracing',
        )  # fmt: skip


def _mixed_plans(cases: Sequence[Case]) -> Iterator[tuple[Validator, str]]:
    """Plans without end, a quarter as they are and the others with new mistakes."""
    rng = Random(0)  # noqa: S311
    known = []
    for case in cases:
        validator, mistakes = Validator(case.problem), Mistakes(case.problem)
        validator.verify(str(Plan(tuple(mistakes.steps))))  # every action is grounded and kept
        known.append((validator, mistakes, case.plans, parse_plan(case.plans[0])))
    while True:
        validator, mistakes, texts, right = rng.choice(known)
        yield validator, rng.choice(texts) if rng.random() < 0.25 else mistakes.make(rng, right)


def _traced() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]

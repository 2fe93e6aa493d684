# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen bench validator`: our validator beside VAL and unified-planning, in one run.

All times are processor time, of this process and of those that it starts, so that the ratios do not
depend on what else the machine does.
"""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace

from safegen_ros.benchmarks.speed.corpus import Case, Notify, draw_cases
from safegen_ros.benchmarks.speed.report import Measurement, Report
from safegen_ros.benchmarks.speed.rivals import UP_MISSING, up_seconds, val_seconds
from safegen_ros.benchmarks.speed.stress import large_plan, memory, queries
from safegen_ros.pddl.plan import Plan, forget_lines, parse_plan
from safegen_ros.tasks.pddl3.task import load_task
from safegen_ros.verdict import Category
from safegen_ros.verify.validator import Validator

LEAST_VAL_RATIO = 150.0
LEAST_UP_RATIO = 200.0

KEPT = 'a plan text'
READ = 'a plan that is read already'
FRESH = 'a plan text, fresh validator'
FROM_TEXT = 'domain, problem and plan from text'
VAL = 'VAL -v, one process per plan'
VAL_BRIEF = 'VAL -v -a, one process per plan'
UP = 'unified-planning, SequentialPlanValidator'

_NOTES = {
    KEPT: 'the validator has judged as many other plans of the same problem, and not these',
    READ: 'likewise',
    FRESH: 'the problem is read already',
    FROM_TEXT: 'what each run of VAL does, without a process',
    VAL: "the paper's command",
    VAL_BRIEF: 'without repair advice',
    UP: 'the problem is read already, without its constraints, which it cannot judge',
}

_ROUNDS = 3  # the median counts
_PASSES = 10  # of what takes microseconds, each over plans that nothing has seen before

_Work = Callable[[], object]


@dataclass(frozen=True, slots=True)
class ValidatorSettings:
    """What `safegen bench validator` was asked.

    Attributes:
        problems: problems of each domain.
        plans: plans of each problem, at most; half of them warm the validator up.
        seed: of problems and plans.
    """

    problems: int
    plans: int
    seed: int


def measure(settings: ValidatorSettings, notify: Notify) -> Report:
    """Takes all figures.

    Args:
        settings: how much to measure.
        notify: told of the progress.

    Raises:
        SafegenError: VAL is not installed.
    """
    cases = draw_cases(settings.problems, settings.plans, settings.seed, notify)
    half = settings.plans // 2
    warm = [replace(case, plans=case.plans[half:]) for case in cases]
    timed = [replace(case, plans=case.plans[:half]) for case in cases]
    measurements = [
        *_speeds(warm, timed, notify),
        *queries(cases, notify),
        *large_plan(settings.seed),
        *memory(cases, notify),
    ]
    return Report('validator', asdict(settings), tuple(measurements), _details(timed))


def _details(cases: Sequence[Case]) -> dict[str, object]:
    """What the timed plans are like."""
    verdicts = Counter(
        Validator(case.problem).verify(plan).category for case in cases for plan in case.plans
    )
    return {
        'timed plans': verdicts.total(),
        'mean steps': statistics.fmean(plan.count('(') for c in cases for plan in c.plans),
        'verdicts': {category.name: verdicts[category] for category in reversed(Category)},
    }


def _speeds(warm: Sequence[Case], timed: Sequence[Case], notify: Notify) -> list[Measurement]:
    """Time per plan of the three validators, and the ratios."""
    count = sum(len(case.plans) for case in timed)
    rounds: dict[str, list[float]] = {name: [] for name in _NOTES}
    for _ in range(_ROUNDS):  # all in turn, so that a slow moment of the machine meets them all
        seconds: dict[str, float | None] = {
            KEPT: _mean([_seconds(_kept(warm, timed)) for _ in range(_PASSES)]),
            READ: _mean([_seconds(_kept_steps(warm, timed)) for _ in range(_PASSES)]),
            FRESH: _seconds(_fresh(timed)),
            FROM_TEXT: _seconds(_from_text(timed)),
            VAL: val_seconds(timed, ('-v',), notify),
            VAL_BRIEF: val_seconds(timed, ('-v', '-a'), notify),
            UP: up_seconds(timed, notify),
        }
        for name, value in seconds.items():
            if value is not None:
                rounds[name].append(value / count * 1e6)
    found = {name: statistics.median(values) for name, values in rounds.items() if values}
    ratios = [
        Measurement(
            f'{name} / {KEPT}',
            found[name] / found[KEPT] if name in found else None,
            'x',
            target,
            note='' if name in found else UP_MISSING,
        )
        for name, target in ((VAL, LEAST_VAL_RATIO), (VAL_BRIEF, None), (UP, LEAST_UP_RATIO))
    ]
    times = [Measurement(name, found[name], 'us', note=_NOTES[name]) for name in found]
    return [*times, *ratios]


def _seconds(work: _Work) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def _mean(seconds: Sequence[float]) -> float:
    return statistics.fmean(seconds)


def _judge(validators: Sequence[Validator], plans: Sequence[Sequence[str | Plan]]) -> None:
    for validator, own in zip(validators, plans, strict=True):
        for plan in own:
            validator.verify(plan)


def _warmed(warm: Sequence[Case]) -> list[Validator]:
    """Validators that have judged other plans of their problems, and none of those to come."""
    forget_lines()
    validators = [Validator(case.problem) for case in warm]
    _judge(validators, [case.plans for case in warm])
    return validators


def _kept(warm: Sequence[Case], timed: Sequence[Case]) -> _Work:
    validators = _warmed(warm)
    return lambda: _judge(validators, [case.plans for case in timed])


def _kept_steps(warm: Sequence[Case], timed: Sequence[Case]) -> _Work:
    """As `_kept`; a text that is no plan has no steps and is left out."""
    plans = [[parse_plan(p) for p in case.plans if p.startswith('(')] for case in timed]
    validators = _warmed(warm)
    return lambda: _judge(validators, plans)


def _fresh(timed: Sequence[Case]) -> _Work:
    return lambda: [Validator(case.problem).verify(p) for case in timed for p in case.plans]


def _from_text(timed: Sequence[Case]) -> _Work:
    return lambda: [
        load_task(case.problem_text, case.domain_text).verify(p)
        for case in timed
        for p in case.plans
    ]

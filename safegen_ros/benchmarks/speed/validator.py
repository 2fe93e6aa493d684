# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen bench validator`: our validator beside VAL and unified-planning, in one run.

All times are processor time, of this process and of those that it starts, so that the ratios do not
depend on what else the machine does.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from safegen_ros.benchmarks.measurement import Measurement, Notify, Report, timed
from safegen_ros.benchmarks.speed.corpus import (
    Case,
    draw_cases,
    large_plan,
    memory,
    over_time,
    queries,
    with_numbers,
)
from safegen_ros.pddl.plan import Plan, forget_lines, parse_plan
from safegen_ros.pddl.writer import domain_text, problem_text
from safegen_ros.tasks.pddl3.task import load_task
from safegen_ros.verdict import Category
from safegen_ros.verify.val import TIMEOUT_S, validate_binary
from safegen_ros.verify.validator import Validator

UP_MISSING = 'unified-planning is not installed here: pip install unified-planning, and run again'

LEAST_VAL_RATIO = 150.0
LEAST_UP_RATIO = 200.0
LEAST_TIMED_RATIO = 100.0
LEAST_NUMERIC_RATIO = 100.0

KEPT = 'a plan text'
READ = 'a plan that is read already'
FRESH = 'a plan text, fresh validator'
FROM_TEXT = 'domain, problem and plan from text'
VAL = 'VAL -v, one process per plan'
VAL_BRIEF = 'VAL -v -a, one process per plan'
UP = 'unified-planning, SequentialPlanValidator'
TIMED = 'a plan text over time'
VAL_TIMED = 'VAL -v -t 0.001, one process per plan over time'
NUMERIC = 'a plan text with numbers'
VAL_NUMERIC = 'VAL -v, one process per plan with numbers'

_NOTES = {
    KEPT: 'the validator has judged as many other plans of the same problem, and not these',
    READ: 'likewise',
    FRESH: 'the problem is read already',
    FROM_TEXT: 'what each run of VAL does, without a process',
    VAL: "the paper's command",
    VAL_BRIEF: 'without repair advice',
    UP: 'the problem is read already, without its constraints, which it cannot judge',
    TIMED: 'the same plans and problems, with actions that take time',
    VAL_TIMED: 'likewise',
    NUMERIC: 'the same plans and problems, with a battery that every action drains',
    VAL_NUMERIC: 'likewise',
}

_ROUNDS = 3  # the median counts
_PASSES = 10  # of work of microseconds, each over plans that are new to everything

_Work = Callable[[], object]


def measure(problems: int, plans: int, seed: int, notify: Notify) -> Report:
    """Takes all figures.

    Raises:
        SafegenError: VAL is not installed.
    """
    cases = draw_cases(problems, plans, seed, notify)
    half = plans // 2
    warm = [replace(case, plans=case.plans[half:]) for case in cases]
    judged = [replace(case, plans=case.plans[:half]) for case in cases]
    measurements = [
        *_speeds(warm, judged, notify),
        *queries(cases, notify),
        *large_plan(seed),
        *memory(cases, notify),
    ]
    settings = {'problems': problems, 'plans': plans, 'seed': seed}
    return Report('validator', settings, tuple(measurements), _details(judged))


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


def _speeds(warm: Sequence[Case], judged: Sequence[Case], notify: Notify) -> list[Measurement]:
    """Time per plan of the three validators, and the ratios."""
    timed_warm, timed_judged = list(map(over_time, warm)), list(map(over_time, judged))
    numeric_warm, numeric_judged = list(map(with_numbers, warm)), list(map(with_numbers, judged))
    counts = dict.fromkeys(_NOTES, sum(len(case.plans) for case in judged))
    steps = sum(len(case.plans) for case in timed_judged)  # no texts that are not plans
    counts |= dict.fromkeys((TIMED, VAL_TIMED, NUMERIC, VAL_NUMERIC), steps)
    rounds: dict[str, list[float]] = {name: [] for name in _NOTES}
    for _ in range(_ROUNDS):  # all in turn, so that a slow moment of the machine meets them all
        seconds: dict[str, float | None] = {
            KEPT: _passes(lambda: _kept(warm, judged)),
            READ: _passes(lambda: _kept_steps(warm, judged)),
            FRESH: timed(_fresh(judged))[1],
            FROM_TEXT: timed(_from_text(judged))[1],
            VAL: val_seconds(judged, ('-v',), notify),
            VAL_BRIEF: val_seconds(judged, ('-v', '-a'), notify),
            UP: up_seconds(judged, notify),
            TIMED: _passes(lambda: _kept(timed_warm, timed_judged)),
            VAL_TIMED: val_seconds(timed_judged, ('-v', '-t', '0.001'), notify),
            NUMERIC: _passes(lambda: _kept(numeric_warm, numeric_judged)),
            VAL_NUMERIC: val_seconds(numeric_judged, ('-v',), notify),
        }
        for name, value in seconds.items():
            if value is not None:
                rounds[name].append(value / counts[name] * 1e6)
    found = {name: statistics.median(values) for name, values in rounds.items() if values}
    ratios = [
        Measurement(
            f'{name} / {ours}', unit='x', target=target, **_ratio(rounds[name], rounds[ours])
        )
        for name, ours, target in (
            (VAL, KEPT, LEAST_VAL_RATIO),
            (VAL_BRIEF, KEPT, None),
            (UP, KEPT, LEAST_UP_RATIO),
            (VAL_TIMED, TIMED, LEAST_TIMED_RATIO),
            (VAL_NUMERIC, NUMERIC, LEAST_NUMERIC_RATIO),
        )
    ]
    times = [Measurement(name, found[name], 'us', note=_NOTES[name]) for name in found]
    return [*times, *ratios]


def _ratio(others: Sequence[float], ours: Sequence[float]) -> dict[str, Any]:
    """The median of the ratios of the rounds, with the least and the greatest."""
    found = [other / our for other, our in zip(others, ours, strict=False)]
    if not found:
        return {'value': None, 'note': UP_MISSING}
    note = f'{min(found):.0f} to {max(found):.0f} in {len(found)} rounds'
    return {'value': statistics.median(found), 'note': note}


def _passes(prepare: Callable[[], _Work]) -> float:
    """Mean time of work that is prepared again for each pass [s]."""
    return statistics.fmean(timed(prepare())[1] for _ in range(_PASSES))


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


def _kept(warm: Sequence[Case], judged: Sequence[Case]) -> _Work:
    validators = _warmed(warm)
    return lambda: _judge(validators, [case.plans for case in judged])


def _kept_steps(warm: Sequence[Case], judged: Sequence[Case]) -> _Work:
    """As `_kept`; a text that is not a plan has no steps and is left out."""
    plans = [[parse_plan(p) for p in case.plans if p.startswith('(')] for case in judged]
    validators = _warmed(warm)
    return lambda: _judge(validators, plans)


def _fresh(judged: Sequence[Case]) -> _Work:
    return lambda: [Validator(case.problem).verify(p) for case in judged for p in case.plans]


def _from_text(judged: Sequence[Case]) -> _Work:
    return lambda: [
        load_task(case.problem_text, case.domain_text).verify(p)
        for case in judged
        for p in case.plans
    ]


def _processor_time() -> float:
    """Processor time of this process and of its children that have ended [s]."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def val_seconds(cases: Sequence[Case], flags: Sequence[str], notify: Notify) -> float:
    """Processor time that VAL takes for all plans, with one process for each.

    The files are written before the clock starts, by our own writer and without nested
    quantifiers, on which VAL crashes.

    Returns:
        The time, starting the processes included [s].

    Raises:
        SafegenError: VAL is not installed.
    """
    program = validate_binary()
    environment = {'LD_LIBRARY_PATH': str(program.parent)}
    stage, spent, done = f'VAL {" ".join(flags)}', 0.0, 0
    total = sum(len(case.plans) for case in cases)
    with tempfile.TemporaryDirectory(prefix='safegen-bench-') as folder:
        for case in cases:
            Path(folder, 'domain').write_text(domain_text(case.problem.domain), encoding='ascii')
            Path(folder, 'problem').write_text(problem_text(case.problem), encoding='ascii')
            for number, plan in enumerate(case.plans):
                Path(folder, f'plan{number}').write_text(plan, encoding='ascii')
            for number in range(len(case.plans)):
                command = [str(program), *flags, 'domain', 'problem', f'plan{number}']
                begun = _processor_time()
                subprocess.run(
                    command, cwd=folder, env=environment, capture_output=True, check=False,
                    timeout=TIMEOUT_S,
                )  # fmt: skip
                spent += _processor_time() - begun
                done += 1
                notify(stage, done, total)
    return spent


def up_seconds(cases: Sequence[Case], notify: Notify) -> float | None:
    """Processor time that unified-planning's `SequentialPlanValidator` takes for all plans.

    It refuses trajectory constraints, so it gets the problems without them, which is less work.
    Its reading of each problem is not counted; a plan that it cannot read counts up to there.

    Returns:
        The time [s], or None when the package is not installed.
    """
    if find_spec('unified_planning') is None:
        return None
    engines: Any = import_module('unified_planning.engines')
    import_module('unified_planning.shortcuts').get_environment().credits_stream = None
    reader = import_module('unified_planning.io').PDDLReader()
    validator = engines.SequentialPlanValidator()
    spent, done = 0.0, 0
    total = sum(len(case.plans) for case in cases)
    for case in cases:
        plain = problem_text(replace(case.problem, constraints=()))
        problem = reader.parse_problem_string(domain_text(case.problem.domain), plain)
        for text in case.plans:
            begun = _processor_time()
            with suppress(Exception):  # it raises all kinds for a bad plan
                validator.validate(problem, reader.parse_plan_string(problem, text))
            spent += _processor_time() - begun
            done += 1
            notify('unified-planning', done, total)
    return spent

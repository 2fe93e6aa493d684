# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Has a model plan the tasks of a split of BoxNet2D, several times each, and scores what it did."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean
from threading import Event

from safegen_ros.benchmarks.comparison import (
    ComparisonTable,
    Figures,
    Line,
    Tally,
    claim,
    kept_lines,
)
from safegen_ros.benchmarks.measurement import Notify, silent
from safegen_ros.datasets.boxnet.rows import BoxNetRow
from safegen_ros.datasets.files import writing
from safegen_ros.llm.backend import Backend, Cancelled, Sampling
from safegen_ros.tasks.boxnet.findings import COLLISION, INCOMPLETE, UNREACHABLE, Finding
from safegen_ros.tasks.boxnet.optimal import parallelism
from safegen_ros.tasks.boxnet.planner import FULL, PlannerOptions, plan_with_model
from safegen_ros.tasks.boxnet.prompts import Style
from safegen_ros.tasks.boxnet.reward import reward
from safegen_ros.verdict import Category

RUNS = 'runs.jsonl'

TRIALS = 4
"""Runs of each task in the paper, whose success is the share of them that solve it."""

_SEEDS_OF_A_RUN = 10_000
"""Apart are the seeds of two runs: more than a run draws answers."""


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """A run, as it is kept.

    Attributes:
        trial: which run of the task, from 0.
        finding: the name of its outcome.
        steps: of a plan that solves the task; 0 otherwise.
        parallelism: most robots at once in it.
        optimal: steps of the plan of the optimal planner; 0 for a task that has none.
        paper_steps: steps of the plan of the planner of the paper; 0 where it finds none.
        reward: as of `reward.reward`, measured by the optimal plan.
        level: what the last answer came from, such as `model` or `beam 2`; empty without one.
    """

    id: str
    split: str
    trial: int
    objects: int
    finding: str
    steps: int
    parallelism: int
    optimal: int
    paper_steps: int
    attempts: int
    reward: float
    reason: str
    answers: tuple[str, ...]
    level: str

    @property
    def solved(self) -> bool:
        """Whether the task is solved; one without a plan is by saying so."""
        wanted: str = (Finding.OK if self.optimal else Finding.REFUSED).value
        return self.finding == wanted


def spread(rows: Sequence[BoxNetRow], most: int) -> Sequence[BoxNetRow]:
    """Rows from all over a split, which is in the order of sizes and numbers of objects.

    Args:
        most: how many at most; 0 for all.
    """
    if not 0 < most < len(rows):
        return rows
    return [rows[at * len(rows) // most] for at in range(most)]


def run_rows(
    rows: Iterable[BoxNetRow],
    backend: Backend,
    sampling: Sampling,
    options: PlannerOptions,
    folder: Path,
    *,
    model: str = '',
    trials: int = TRIALS,
    at_once: int = 1,
    style: Style | None = None,
    notify: Notify = silent,
) -> list[TrialRecord]:
    """Has a model plan each task; runs that are kept in the folder are not made again.

    Args:
        sampling: how it answers; each run has its own seeds that follow from it.
        model: which one it is, such as the checksum of its weights.
        style: how a map is put to the model; that of chat models by default.

    Returns:
        The runs, in the order of the tasks.

    Raises:
        BackendError: the model cannot answer.
        SafegenError: the folder holds runs that were made otherwise.
    """
    asked = [(row, trial) for row in rows for trial in range(trials)]
    claim(folder, {'model': model, 'sampling': asdict(sampling), 'options': asdict(options)})
    path = folder / RUNS
    kept = (TrialRecord(**{**run, 'answers': tuple(run['answers'])}) for run in kept_lines(path))
    known = {(record.id, record.trial): record for record in kept}
    missing = [each for each in asked if (each[0].task.id, each[1]) not in known]
    done = len(asked) - len(missing)
    notify('runs', done, len(asked))
    ended = Event()
    one = partial(_run, backend, sampling, options, style, ended.is_set)
    pool = ThreadPoolExecutor(at_once)
    try:
        with writing(path), path.open('a', encoding='utf-8') as file:
            for made in [pool.submit(one, row, trial) for row, trial in missing]:
                record = made.result()
                file.write(json.dumps(asdict(record)) + '\n')
                file.flush()
                known[record.id, record.trial] = record
                done += 1
                notify('runs', done, len(asked))
    finally:
        ended.set()  # a stop waits neither for those under way nor for the rest
        pool.shutdown(cancel_futures=True)
    return [known[row.task.id, trial] for row, trial in asked]


def _run(
    backend: Backend,
    sampling: Sampling,
    options: PlannerOptions,
    style: Style | None,
    cancelled: Cancelled,
    row: BoxNetRow,
    trial: int,
) -> TrialRecord:
    seed = (sampling.seed + trial) * _SEEDS_OF_A_RUN
    drawn = replace(sampling, seed=seed)
    found = plan_with_model(row.task, backend, drawn, options, cancelled, style)
    judged = found.judged
    optimal = 0 if row.plan is None else len(row.plan)
    ok = judged.verdict.ok
    return TrialRecord(
        row.task.id,
        row.split,
        trial,
        len(row.task.targets),
        judged.finding.value,
        len(judged.plan) if ok else 0,
        parallelism(judged.plan) if ok else 0,
        optimal,
        row.paper_steps or 0,
        len(found.attempts),
        reward(judged, None if row.plan is None else optimal),
        '' if ok else judged.verdict.reason,
        tuple(attempt.text for attempt in found.attempts),
        found.attempts[-1].source if found.attempts else '',
    )


def compare(
    records: Sequence[TrialRecord], model: str, options: PlannerOptions, facts: Sequence[str] = ()
) -> ComparisonTable:
    """The score of runs, in all and by number of objects, beside the figures of the paper."""
    whose = model.rpartition('#')[2] or model
    how = f'mode {options.mode}, shield {options.shield}, answers at most: {options.attempts}'
    lines = list[Line]()
    by_split: dict[str, list[TrialRecord]] = {}
    for record in records:
        by_split.setdefault(record.split, []).append(record)
    for split, own in by_split.items():
        lines.append(Line(split, 'all', whose, figures(own)))
        lines += paper_lines(split, options.mode)
        for objects in sorted({record.objects for record in own}):
            part = [record for record in own if record.objects == objects]
            case = f'{objects} object{"s" * (objects != 1)}'
            lines.append(Line(split, case, whose, figures(part)))
    return ComparisonTable(
        'boxnet',
        'BoxNet: runs that solve their task',
        ('split', 'tasks', 'whose'),
        tuple(lines),
        (f'{model}: {how}', *facts),
        DIFFERENCES,
        {'options': asdict(options), 'model': model},
        tuple(asdict(replace(record, answers=())) for record in records),
        more=MORE,
        command='safegen bench boxnet eval',
    )


MORE = {
    'StepDiff': '+.2f',
    'vs optimal': '+.2f',
    'at once': '.2f',
    UNREACHABLE: '.1f',
    COLLISION: '.1f',
    INCOMPLETE: '.1f',
    'answers': '.2f',
    'reward': '.3f',
}
"""Further columns: steps above those of either planner and robots at once, of solved runs; the
kinds of failures of the paper [% of runs]; answers of a run; the mean reward."""

DIFFERENCES = (
    'The paper has other tasks, planners and models; its data and code are not public. '
    'Tasks, planner and rules here follow its text.',
    'StepDiff is measured by our planner after listing 1 of the paper, over tasks that it solves.',
    'The paper does not tell how many tasks UNSEENMAP has, which leaves its n out.',
    'The paper draws one answer, of a plan or of each step, which nothing checks before it is '
    'done; so do we with 1 attempt and the shield plain.',
    'In BoxNet3D the paper judges by MuJoCo; here the depth that is named does.',
    'The paper has no kind for answers that cannot be read, which count as incomplete, nor for '
    'moves that cannot be begun, which count as unreachable.',
    'Runs of one task end alike, so n and the intervals are of tasks.',
)


def figures(records: Sequence[TrialRecord]) -> Figures:
    """Success, failures and means of runs, as many as there are tasks: those of one are alike."""
    tally = Tally.of(Category.SUCCESS if record.solved else _category(record) for record in records)
    solved = [record for record in records if record.solved and record.optimal]
    more: dict[str, float | str] = {
        'answers': fmean(record.attempts for record in records),
        'reward': fmean(record.reward for record in records),
    }
    for outcome in (UNREACHABLE, COLLISION, INCOMPLETE):
        failed = [r for r in records if not r.solved and Finding(r.finding).outcome == outcome]
        more[outcome] = 100 * len(failed) / len(records)
    if solved:
        more['vs optimal'] = fmean(r.steps - r.optimal for r in solved)
        more['at once'] = fmean(r.parallelism for r in solved)
    known = [record for record in solved if record.paper_steps]
    if known:
        more['StepDiff'] = fmean(r.steps - r.paper_steps for r in known)
    return replace(Figures.of(tally, more), trials=len({record.id for record in records}))


def _category(record: TrialRecord) -> Category:
    found = Finding(record.finding)
    # A plan for a task without one is impossible; a refusal is not a solution elsewhere.
    return Category.GOAL_NOT_SATISFIED if found is Finding.OK else found.category


@dataclass(frozen=True, slots=True)
class _Told:
    """The figures of the paper for a model: for `full`, then for `next`."""

    success: tuple[float, float]
    step_diff: tuple[float, float]
    at_once: tuple[float, float] | None = None
    failures: tuple[tuple[float, float, float], tuple[float, float, float]] | None = None


PAPER: Mapping[str, Mapping[str, _Told]] = {
    'test': {
        'GPT-5': _Told((52, 44), (0.78, 0.13), (1.52, 1.61)),
        'Qwen2.5-3B-SFT': _Told((34, 30), (0.11, -0.04), (1.51, 1.39), ((37, 24, 5), (18, 30, 22))),
        'Qwen2.5-3B-RL': _Told((58, 68), (-0.65, 0.23), (1.53, 1.5), ((23, 15, 4), (2, 11, 19))),
        'Qwen3-4B-SFT': _Told((45, 31), (-0.12, -0.15), (1.92, 1.35), ((36, 17, 2), (11, 31, 27))),
        'Qwen3-4B-RL': _Told((87, 75), (-0.84, -0.64), (1.73, 1.64), ((6, 5, 2), (3, 7, 15))),
    },
    'randrob': {
        'Qwen2.5-3B-RL': _Told((58, 71), (-0.04, 1.24)),
        'Qwen3-4B-SFT': _Told((48, 41), (0.03, -0.03)),
        'Qwen3-4B-RL': _Told((79, 75), (-0.40, -0.15)),
    },
    'newcoord': {
        'Qwen2.5-3B-RL': _Told((55, 68), (-0.32, 1.04)),
        'Qwen3-4B-SFT': _Told((43, 37), (-0.03, 0.15)),
        'Qwen3-4B-RL': _Told((87, 69), (-0.39, 0.09)),
    },
    'test3d': {
        'GPT-5': _Told((31, 39), (0.29, 0.37), (1.34, 1.21)),
        'Qwen2.5-3B-SFT': _Told((27, 39), (-0.07, -0.05), (1.27, 1.39)),
        'Qwen2.5-3B-RL': _Told((42, 48), (-0.15, -0.14), (1.33, 1.49)),
        'Qwen3-4B-SFT': _Told((37, 43), (0.09, -0.11), (1.32, 1.48)),
        'Qwen3-4B-RL': _Told((45, 53), (-0.25, -0.29), (1.39, 1.56)),
    },
    'unseenmap': {
        'Qwen2.5-3B-RL': _Told((35, 39), (0.05, 0.14)),
        'Qwen3-4B-SFT': _Told((30, 32), (0.11, -0.05)),
        'Qwen3-4B-RL': _Told((40, 42), (-0.24, -0.11)),
    },
}
"""Tables 2, 3 and 8 [%]; tables 6 and 7 have other successes for the same models."""

PAPER_REFUSALS = {'Qwen2.5-3B-RL*': 96.0, 'Qwen3-4B-RL*': 98.0}
"""Table 9: refused of 50 unsolvable tasks by models that were trained for it, in FULLPLAN [%]."""

_PAPER_TASKS = {'test': 250, 'randrob': 200, 'newcoord': 250, 'test3d': 160, 'unseenmap': 0}
"""Tasks of each; the paper does not state the last."""


def paper_lines(split: str, mode: str) -> Iterator[Line]:
    """The figures of the paper for its models on a split."""
    if (split, mode) == ('test_unsolvable', FULL):
        for name, refused in PAPER_REFUSALS.items():
            yield Line(split, 'all', f'paper: {name}', Figures(50, refused, {}))
    side = 0 if mode == FULL else 1
    for name, told in PAPER.get(split, {}).items():
        more: dict[str, float | str] = {'StepDiff': told.step_diff[side]}
        if told.at_once is not None:
            more['at once'] = told.at_once[side]
        if told.failures is not None:
            more |= zip((UNREACHABLE, COLLISION, INCOMPLETE), told.failures[side], strict=True)
        count = TRIALS * _PAPER_TASKS[split]
        yield Line(split, 'all', f'paper: {name}', Figures(count, told.success[side], {}, more))

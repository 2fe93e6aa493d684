# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Speed of BoxNet: `safegen bench boxnet speed`."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice

from safegen_ros.benchmarks.measurement import Measurement, Notify, Report, timed
from safegen_ros.datasets.boxnet.draw import tasks
from safegen_ros.tasks.boxnet.astar import plan_as_paper
from safegen_ros.tasks.boxnet.geometry import UNIT
from safegen_ros.tasks.boxnet.model import IdleArms, Move, State, Step, Task
from safegen_ros.tasks.boxnet.optimal import solve
from safegen_ros.tasks.boxnet.verifier import take_step

MOST_STEP_MS = 0.5
MOST_MEDIAN_S = 1.0
SIZES = range(2, 7)
OBJECTS = range(1, 6)
"""Sides of the square maps of the paper's test set, and how many objects are on them."""


def measure_boxnet(count: int, checks: int, seed: int, notify: Notify) -> Report:
    """Takes all figures."""
    drawn = [
        task
        for side in SIZES
        for objects in OBJECTS
        for task in islice(tasks((side, side), objects, str(seed), held_out=True), count)
    ]
    figures = (*_steps(checks, drawn[-1]), *_solves(drawn, notify))
    settings = {'tasks': count, 'checks': checks, 'seed': seed}
    return Report('boxnet', settings, figures, verb='bench boxnet speed')


def all_move(task: Task) -> Step:
    """A step of every robot in which no arms touch, so that none of them is left unlooked at."""
    down = -UNIT // 2
    return tuple(
        Move(robot, tip, (tip[0], tip[1] + down), False)
        for robot, tip in enumerate(task.start.tips)
    )


def _steps(checks: int, task: Task) -> Iterator[Measurement]:
    modes: tuple[tuple[IdleArms, Step, str], ...] = (
        ('ignore', all_move(task), 'all of them move'),
        ('block', all_move(task)[::2], 'every other one moves, the rest are in the way'),
    )
    for idle, step, note in modes:
        take = partial(take_step, replace(task, idle_arms=idle), task.start, step)
        if not isinstance(take(), State):
            raise RuntimeError('the step of the benchmark is refused, so that less is checked')
        _, seconds = timed(take, checks)
        yield Measurement(
            f'one step, {len(task.bases)} robots, idle arms: {idle}', seconds * 1e3 / checks, 'ms',
            MOST_STEP_MS, at_least=False, note=note,
        )  # fmt: skip


def _solves(drawn: Sequence[Task], notify: Notify) -> list[Measurement]:
    times: list[float] = []
    paper_times: list[float] = []
    longer: list[int] = []
    certified = 0
    for number, task in enumerate(drawn):
        best, seconds = timed(partial(solve, task))
        times.append(seconds)
        certified += best.certified
        plan, seconds = timed(partial(plan_as_paper, task))
        paper_times.append(seconds)
        if plan is not None:
            longer.append(len(plan) - len(best.plan))
        notify('tasks', number + 1, len(drawn))
    count = f'{len(drawn)} tasks of 2 x 2 to 6 x 6, 1 to 5 objects'
    solved = f'{len(longer)} of {len(drawn)} tasks solved'
    return [
        Measurement(
            'optimal planner: median', statistics.median(times), 's', MOST_MEDIAN_S,
            at_least=False, note=count,
        ),
        Measurement('optimal planner: most', max(times), 's'),
        Measurement('optimal planner: plans proved shortest', 100 * certified / len(drawn), '%'),
        Measurement('planner of the paper: median', statistics.median(paper_times), 's'),
        Measurement('planner of the paper: most', max(paper_times), 's', note=solved),
        Measurement(
            'planner of the paper: steps above the optimal planner, mean',
            statistics.fmean(longer), 'steps',
        ),
    ]  # fmt: skip

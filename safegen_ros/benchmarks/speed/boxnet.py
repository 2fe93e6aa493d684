# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen bench boxnet`: how long a step takes to check, and a task to solve.

All times are processor time of this process.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import islice

from safegen_ros.benchmarks.speed.corpus import Notify
from safegen_ros.benchmarks.speed.report import Measurement, Report
from safegen_ros.datasets.boxnet.draw import tasks
from safegen_ros.tasks.boxnet.astar import plan_as_paper
from safegen_ros.tasks.boxnet.geometry import UNIT
from safegen_ros.tasks.boxnet.model import Move, State, Step, Task
from safegen_ros.tasks.boxnet.optimal import solve
from safegen_ros.tasks.boxnet.verifier import IdleArms, take_step

MOST_STEP_MS = 0.5
MOST_MEDIAN_S = 1.0
SIZES = range(2, 7)
OBJECTS = range(1, 6)
"""Sides of the square maps of the paper's test set, and how many objects are on them."""


@dataclass(frozen=True, slots=True)
class BoxnetSpeedSettings:
    """What `safegen bench boxnet` was asked.

    Attributes:
        tasks: of each size and number of objects; the test set of the paper has 10.
        checks: how often each step is checked.
        seed: of the tasks.
    """

    tasks: int
    checks: int
    seed: int


def measure(settings: BoxnetSpeedSettings, notify: Notify) -> Report:
    """Takes all figures.

    Args:
        settings: how much to measure.
        notify: told of the progress.
    """
    drawn = [
        task
        for side in SIZES
        for objects in OBJECTS
        for task in islice(
            tasks((side, side), objects, str(settings.seed), held_out=True), settings.tasks
        )
    ]
    found = [*_steps(settings, drawn[-1]), *_solves(drawn, notify)]
    return Report('boxnet', asdict(settings), tuple(found))


def all_move(task: Task) -> Step:
    """A step of every robot in which no arms touch, so that none of them is left unlooked at."""
    down = -UNIT // 2
    return tuple(
        Move(robot, tip, (tip[0], tip[1] + down), False)
        for robot, tip in enumerate(task.start.tips)
    )


def _steps(settings: BoxnetSpeedSettings, task: Task) -> list[Measurement]:
    modes: tuple[tuple[IdleArms, Step, str], ...] = (
        ('ignore', all_move(task), 'all of them move'),
        ('block', all_move(task)[::2], 'every other one moves, the rest are in the way'),
    )
    found = []
    for idle, step, note in modes:
        begun = time.process_time()
        for _ in range(settings.checks):
            if not isinstance(take_step(task, task.start, step, idle), State):
                raise RuntimeError('the step of the benchmark is refused, so that less is checked')
        each_ms = (time.process_time() - begun) * 1e3 / settings.checks
        found.append(
            Measurement(
                f'one step, {len(task.bases)} robots, idle arms: {idle}', each_ms, 'ms',
                MOST_STEP_MS, at_least=False, note=note,
            )
        )  # fmt: skip
    return found


def _solves(drawn: Sequence[Task], notify: Notify) -> list[Measurement]:
    times: list[float] = []
    paper_times: list[float] = []
    longer: list[int] = []
    certified = 0
    for number, task in enumerate(drawn):
        begun = time.process_time()
        best = solve(task)
        times.append(time.process_time() - begun)
        certified += best.certified
        begun = time.process_time()
        plan = plan_as_paper(task)
        paper_times.append(time.process_time() - begun)
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

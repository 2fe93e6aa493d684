# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The commands of `safegen bench boxnet` for arms of real shape, and how the worlds differ."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from safegen_ros.cli.failures import ExitStatus, one_of
from safegen_ros.terminal import Console, table

if TYPE_CHECKING:
    from safegen_ros.tasks.boxnet.model import Task
    from safegen_ros.tasks.boxnet.verifier import StepRules

DEPTHS = ('analytic', 'kinematic', 'physics')

Depth = Annotated[
    str,
    typer.Option(
        help='depth of BoxNet3D: analytic (rules), kinematic (arms of real shape) or physics '
        '(MuJoCo)'
    ),
]


def with_depth(task: Task, depth: str) -> Task:
    """A task whose steps are judged at a depth; those of BoxNet2D have but one."""
    from safegen_ros.tasks.boxnet.reader import is_spatial

    one_of(depth, DEPTHS)
    if not is_spatial(task):
        return task
    return replace(task, rules=_rules(depth))


def _rules(depth: str) -> StepRules:
    from safegen_ros.tasks.boxnet.spatial.depth import ANALYTIC
    from safegen_ros.tasks.boxnet.spatial.kinematic import KINEMATIC

    if depth != 'physics':
        return ANALYTIC if depth == 'analytic' else KINEMATIC
    from safegen_ros.cells.motion import Physics

    return Physics()


def run(
    task: Annotated[Path, typer.Argument(dir_okay=False, help='task of BoxNet3D in JSON')],
    answer: Annotated[
        Path | None,
        typer.Argument(dir_okay=False, help='plan to execute (default: solve the task)'),
    ] = None,
    id: Annotated[
        str, typer.Option('--id', help='ID of the task in the file (default: the first)')
    ] = '',
    seed: Annotated[int, typer.Option(min=0, help='seed of the motion planner')] = 0,
    film: Annotated[
        Path | None, typer.Option(help='video file of the run, such as run.mp4')
    ] = None,
) -> None:
    """Execute a plan in MuJoCo and prove every step again before it."""
    from safegen_ros.cells.box_cell import BoxCell
    from safegen_ros.cells.world import CellSample
    from safegen_ros.goals.files import read_text
    from safegen_ros.paths import data_path
    from safegen_ros.tasks.boxnet.model import plan_json
    from safegen_ros.tasks.boxnet.optimal import solve
    from safegen_ros.tasks.boxnet.reader import is_spatial, read_task
    from safegen_ros.tasks.boxnet.verifier import verify

    asked = with_depth(read_task(data_path(task), id), 'kinematic')
    if not is_spatial(asked):
        raise typer.BadParameter(f'{task}: has arms without a shape: name a task of BoxNet3D')
    text = read_text(answer, 'answer') if answer else plan_json(solve(asked).plan)
    judged = verify(asked, text)
    print(f'{judged.verdict.category.name}: {judged.verdict.reason}')
    if not judged.verdict.ok:
        raise typer.Exit(ExitStatus.FAILED)
    samples = list[CellSample]()
    with BoxCell(asked, seed=seed, sample=samples.append) as cell:
        for number, step in enumerate(judged.plan, 1):
            prepared = cell.prepare(step)
            state = cell.run(prepared)
            told = 'as proved' if state == prepared.expected else 'NOT as proved'
            print(f'step {number}: {prepared.way.kind}, {prepared.way.duration:.1f} s, ends {told}')
            if state != prepared.expected:
                raise typer.Exit(ExitStatus.FAILED)
    if film is not None:
        from safegen_ros.cells.pictures import write_film

        print(f'{film}: {write_film(asked, samples, film)} frames')


def compare(
    arm: Annotated[str, typer.Option(help='ur5e or mycobot_280')] = 'ur5e',
    steps: Annotated[int, typer.Option(min=1, help='number of random steps')] = 300,
    tasks: Annotated[int, typer.Option(min=0, help='number of tasks with plans to judge')] = 30,
    seed: Annotated[int, typer.Option(min=0, help='seed of steps, tasks and motion planner')] = 0,
) -> None:
    """Judge random steps and plans at all depths of BoxNet3D, and explain differences."""
    from safegen_ros.benchmarks.boxnet.spatial import (
        PLANNED,
        agreement,
        clearance_text,
        planned,
        random_cases,
    )
    from safegen_ros.cli.progress import stages
    from safegen_ros.robot.arms import FAMILIES

    one_of(arm, FAMILIES)
    console = Console()
    with stages(console) as notify:
        found = agreement(random_cases(arm, steps, seed, notify=notify))
        plans = planned(arm, tasks, seed, notify) if tasks else []
    console.print(f'{clearance_text(FAMILIES[arm])}; seed {seed}', soft_wrap=True, highlight=False)
    rows = [(what, str(count)) for what, count in found]
    console.print(table(f'{steps} random steps', ('',), ('steps',), rows))
    if plans:
        console.print(table('plans', ('planner, depth',), PLANNED, plans))

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen eval figure6`: makes the figure, and prints the result of both plans."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from safegen_ros.cli.evaluation import MODEL, Budget, Device, Model, Seed, folder_of
from safegen_ros.paths import data_path, runs_dir
from safegen_ros.terminal import Console, table

if TYPE_CHECKING:
    from safegen_ros.benchmarks.pddl3.figure6 import Side


def figure6(
    model: Model = MODEL,
    problem: Annotated[
        Path, typer.Option(help='Blocksworld problem with a constraint about the cell')
    ] = Path('examples/reach_behind.pddl'),
    scene: Annotated[Path, typer.Option(help='YAML of the cell')] = Path(
        'config/figure6_scene.yaml'
    ),
    time_budget: Budget = 120.0,
    seed: Seed = 0,
    device: Device = 'auto',
    out: Annotated[
        Path | None,
        typer.Option(file_okay=False, help='folder for all files (default: a new one in runs/)'),
    ] = None,
) -> None:
    """On the twin, a plan that breaks its constraint collides; a proved plan does not."""
    from safegen_ros.benchmarks.pddl3.figure6 import figure6, write_figure6
    from safegen_ros.benchmarks.subjects import load_subject
    from safegen_ros.pddl.text_files import read_text
    from safegen_ros.robot.scene import load_scene
    from safegen_ros.tasks.pddl3.task import load_task

    task = load_task(read_text(data_path(problem), 'problem'), problem_source=str(problem))
    cell, subject = load_scene(data_path(scene)), load_subject(folder_of(model), device)
    sides = figure6(task, cell, subject, seed, time_budget)
    folder = out or runs_dir() / f'figure6-{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}'
    about = {
        'problem': problem.name, 'scene': scene.name, 'seed': seed, 'model': subject.as_dict()
    }  # fmt: skip
    paths = write_figure6(sides, cell, about, folder)
    console = Console()
    console.print(_table(sides))
    for side in sides:
        console.print(f'[bold]{side.title}[/]: {side.rehearsal.verdict.reason or "done"}')
    console.print(f'written: {" ".join(map(str, paths))}', soft_wrap=True)


def _table(sides: tuple[Side, Side]) -> Table:
    rows = [
        (
            side.title, side.verdict.category.name, side.rehearsal.verdict.category.name,
            side.hits[0] if side.hits else 'none', str(len(side.plan)),
            f'{side.rehearsal.simulated_s:.1f}',
            f'{side.rehearsal.simulated_s / side.rehearsal.wall_s:.0f} x',
        )
        for side in sides
    ]  # fmt: skip
    words = ('plan', 'validator', 'twin', 'unexpected contact')
    title = 'Two plans for one goal, on the physics of the twin'
    return table(title, words, ('steps', 'arm [s]', 'speed'), rows)

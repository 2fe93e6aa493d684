# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen bench faults`: an emulated arm misbehaves at random under the real driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from safegen_ros.cli.failures import EXIT_FAILED
from safegen_ros.terminal import Console

if TYPE_CHECKING:
    from safegen_ros.robot.emulator.fault_runs import FaultRun


def faults(
    runs: Annotated[int, typer.Option(min=1, help='random faults, all kinds in turn')] = 200,
    jobs: Annotated[int, typer.Option(min=1, max=32, help='runs at once; most of them wait')] = 4,
    seed: Annotated[int, typer.Option(min=0, help='of the first run')] = 0,
) -> None:
    """Whether each fault of an emulated arm ends in a stop, or well; and how soon a stop holds."""
    from safegen_ros.robot.emulator.fault_runs import run_all
    from safegen_ros.robot.scene import load_scene

    console = Console()

    def notify(run: FaultRun) -> None:
        if run.ended == 'wrong':
            console.print(f'seed {run.seed}, {run.fault.name}: {run.message}', markup=False)

    with console.status(f'{runs} runs, about {10 * runs // jobs} s'):
        found = run_all(load_scene(), range(seed, seed + runs), jobs, notify)
    console.print(_table(found), highlight=False)
    for line in summary(found):
        console.print(line, highlight=False, soft_wrap=True)
    if any(run.ended == 'wrong' for run in found):
        raise typer.Exit(EXIT_FAILED)


def summary(found: list[FaultRun]) -> list[str]:
    """The figures over all runs, each as a sentence."""
    from safegen_ros.robot.emulator.fault_runs import STOP_LIMIT

    good = sum(run.ended != 'wrong' for run in found)
    lines = [f'ended in a stop or well: {good}/{len(found)} ({100 * good / len(found):.1f} %)']
    late = [1000 * run.last_motion for run in found if run.last_motion is not None]
    if late:
        lines.append(
            f'stop to the last motion command at the arm: at most {max(late):.1f} ms over '
            f'{len(late)} stops (limit {1000 * STOP_LIMIT:.0f} ms)'
        )
    frames = sorted(1000 * run.stop_frame for run in found if run.stop_frame is not None)
    if frames:
        lines.append(
            f'stop to the stop command at the arm: median {frames[len(frames) // 2]:.1f} ms, at '
            f'most {frames[-1]:.1f} ms over {len(frames)} stops'
        )
    return lines


def _table(found: list[FaultRun]) -> Table:
    table = Table('fault', 'runs', 'done', 'stopped', 'wrong', box=None)
    for name in dict.fromkeys(run.fault.name for run in found):
        ended = [run.ended for run in found if run.fault.name == name]
        counts = [ended.count(word) for word in ('done', 'stopped', 'wrong')]
        table.add_row(name, str(len(ended)), *map(str, counts))
    return table

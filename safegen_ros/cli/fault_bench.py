# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen bench faults`: random faults of an emulated arm, its cable and its agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from safegen_ros.cli.failures import EXIT_FAILED
from safegen_ros.terminal import Console, table

if TYPE_CHECKING:
    from rich.table import Table

    from safegen_ros.benchmarks.stack.fault_runs import FaultRun


def faults(
    runs: Annotated[int, typer.Option(min=1, help='random faults, all kinds in turn')] = 200,
    jobs: Annotated[int, typer.Option(min=1, max=32, help='runs at once; most of them wait')] = 4,
    seed: Annotated[int, typer.Option(min=0, help='of the first run')] = 0,
) -> None:
    """Random faults of an emulated arm, its cable and its agent: does each end in a stop?

    After each stop nothing may move or be powered before a reset, and the repaired arm must move
    after it.
    """
    from safegen_ros.benchmarks.stack.fault_runs import run_all
    from safegen_ros.robot.scene import load_scene

    console = Console()

    def notify(run: FaultRun) -> None:
        if run.ended == 'wrong':
            what = f'seed {run.seed}, {run.fault} over {run.transport}: {run.message}'
            console.print(what, markup=False)

    with console.status(f'{runs} runs, about {15 * runs // jobs} s'):
        found = run_all(load_scene(), range(seed, seed + runs), jobs, notify)
    console.print(_table(found), highlight=False)
    for line in summary(found):
        console.print(line, highlight=False, soft_wrap=True)
    if any(run.ended == 'wrong' for run in found):
        raise typer.Exit(EXIT_FAILED)


def summary(found: list[FaultRun]) -> list[str]:
    """The figures over all runs, each as a sentence."""
    stopped = sum(bool(run.message) for run in found)
    good = sum(run.ended != 'wrong' for run in found)
    transports = ', '.join(
        f'{sum(run.transport == name for run in found)} over {name}'
        for name in dict.fromkeys(sorted(run.transport for run in found))
    )
    lines = [
        f'{len(found)} runs: {transports}',
        f'ended in a stop or well: {good}/{len(found)} ({100 * good / len(found):.1f} %)',
        f'motions after {stopped} stops: {sum(run.motions for run in found)}',
        f'self-resumes before a reset: {sum(run.resumes for run in found)}',
    ]
    frames = sorted(1000 * run.stop_frame for run in found if run.stop_frame is not None)
    if frames:
        lines.append(
            f'stop to the stop command at the arm: median {frames[len(frames) // 2]:.1f} ms, at '
            f'most {frames[-1]:.1f} ms over {len(frames)} stops'
        )
    return lines


def _table(found: list[FaultRun]) -> Table:
    words = ('done', 'stopped', 'wrong')
    rows = []
    for name in dict.fromkeys(run.fault for run in found):
        ended = [run.ended for run in found if run.fault == name]
        rows.append((name, str(len(ended)), *(str(ended.count(word)) for word in words)))
    return table('', ('fault',), ('runs', *words), rows)

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The verbs for the model: train it, and measure it on problems that it has not seen."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from safegen_ros.paths import data_path


def train(
    config: Annotated[Path, typer.Option(help='recipe, such as config/train/mini.yaml')],
    out: Annotated[Path, typer.Option(help='folder for checkpoints, metrics and the model')],
    resume: Annotated[bool, typer.Option(help='go on from the checkpoint in that folder')] = False,
) -> None:
    """Train a model from scratch on problems that are generated and solved on the way."""
    from safegen_ros.training.sft import train as run

    print(f'model: {run(data_path(config), out, resume)}')


def evaluate(
    model: Annotated[str, typer.Option(help='model folder')] = 'models/safegen-mini',
    problems: Annotated[int, typer.Option(min=1, help='how many unseen problems')] = 200,
    seed: Annotated[int, typer.Option(help='seed of the problems and of the sampling')] = 0,
    modes: Annotated[
        list[str] | None,
        typer.Option('--mode', help='greedy, sampled, feedback, resample, untrained; default all'),
    ] = None,
    json: Annotated[Path | None, typer.Option(help='also write the figures here')] = None,
) -> None:
    """Print how often the model's plans are proved, on problems that training never saw."""
    from safegen_ros.evaluation.evaluate import MODES
    from safegen_ros.evaluation.evaluate import evaluate as measure
    from safegen_ros.evaluation.problems import draw_problems
    from safegen_ros.evaluation.tables import print_report

    chosen = tuple(modes or MODES)
    unknown = [mode for mode in chosen if mode not in MODES]
    if unknown:
        raise typer.BadParameter(f'{unknown[0]!r} is none of {" ".join(MODES)}')
    console = Console()
    with Progress(console=console, transient=True) as progress:
        bars = {mode: progress.add_task(mode, total=None) for mode in chosen}
        report = measure(
            data_path(model),
            draw_problems(problems, seed),
            seed,
            modes=chosen,
            notify=lambda mode, done, total: progress.update(
                bars[mode], completed=done, total=total
            ),
        )
    print_report(report, console)
    if json is not None:
        report.write(json)

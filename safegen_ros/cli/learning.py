# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen train`: trains a model from a recipe."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from safegen_ros.paths import data_path

train_app = typer.Typer(no_args_is_help=True)

Config = Annotated[Path, typer.Option(help='recipe, such as config/train/mini.yaml')]
Out = Annotated[Path, typer.Option(help='folder for checkpoints, metrics and the model')]
Resume = Annotated[bool, typer.Option('--resume', help='resume from the last checkpoint there')]
ReportTo = Annotated[
    list[str] | None,
    typer.Option(help='report to tensorboard, wandb or another tracker, too; may be repeated'),
]


@train_app.command()
def sft(config: Config, out: Out, resume: Resume = False, report_to: ReportTo = None) -> None:
    """Learn from the plans of a dataset."""
    _train('sft', config, out, resume, report_to)


@train_app.command()
def grpo(config: Config, out: Out, resume: Resume = False, report_to: ReportTo = None) -> None:
    """Learn from the verdicts on the model's own plans."""
    _train('grpo', config, out, resume, report_to)


def _train(stage: str, config: Path, out: Path, resume: bool, report_to: list[str] | None) -> None:
    from safegen_ros.training.config import load_config

    recipe = data_path(config)
    load_config(recipe)  # a mistake is reported before imports of many seconds
    from safegen_ros.training.run import train

    model = train(recipe, out, resume, stage, report_to or ())
    if os.environ.get('RANK', '0') == '0':  # of the processes of `accelerate launch`
        print(f'model: {model}')
        print(f'next: safegen eval model --model {model}, safegen up sim model:={model}')

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The folder of a run: its recipe, and the checkpoints that were written to their end."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from safegen_ros.paths import write_durably
from safegen_ros.training.arguments import CHECKPOINTS
from safegen_ros.training.config import ConfigError, TrainConfig

RECIPE = 'recipe.json'

_STATE = 'trainer_state.json'  # written last
_FIXED = ('stage', 'seed', 'model', 'data', 'grpo')


def prepare_folder(config: TrainConfig, out: Path, *, resume: bool) -> None:
    """Makes the folder of a run, or finds that it holds the same run, and keeps the recipe there.

    Raises:
        ConfigError: it holds a run and `resume` is off, it holds another run, or it cannot be
            written.
    """
    recipe = out / RECIPE
    values = config.as_dict()
    if recipe.exists():
        if not resume:
            raise ConfigError(f'{out} holds a run: resume it (--resume), or give an empty folder')
        if _lasting(_read(recipe)) != _lasting(json.loads(json.dumps(values))):
            raise ConfigError(f'{recipe}: another recipe made this run: resume with that one')
    try:
        out.mkdir(parents=True, exist_ok=True)
        write_durably(recipe, json.dumps(values, indent=2) + '\n')
    except OSError as error:
        raise ConfigError(f'{out}: cannot be written: {error.strerror}: give a folder') from error


def _read(path: Path) -> dict[str, Any]:
    try:
        values: dict[str, Any] = json.loads(path.read_text(encoding='utf-8'))
    except (OSError, ValueError) as error:
        raise ConfigError(f'{path}: is damaged: {error}: start in an empty folder') from error
    return values


def _lasting(recipe: dict[str, Any]) -> dict[str, Any]:
    """The part of a recipe that must not change in the middle of a run."""
    return {key: recipe.get(key) for key in _FIXED}


def last_checkpoint(out: Path) -> Path | None:
    """The last checkpoint of a run that is whole."""
    return next((folder for folder in reversed(_found(out)) if _is_whole(folder)), None)


def remove_partial(out: Path) -> None:
    """Removes checkpoints that a kill or a full disk left half written."""
    for folder in _found(out):
        if not _is_whole(folder):
            shutil.rmtree(folder)


def step_of(checkpoint: Path | None) -> int:
    """The optimizer steps that a checkpoint holds; 0 without one."""
    return 0 if checkpoint is None else _number(checkpoint)


def is_finished(checkpoint: Path, config: TrainConfig) -> bool:
    """Whether a checkpoint is the end of the budget; the trainer would go a step beyond it."""
    state = _read(checkpoint / _STATE)
    if config.budget.steps:
        return bool(state['global_step'] >= config.budget.steps)
    return bool(state['epoch'] >= config.budget.epochs)


def _found(out: Path) -> list[Path]:
    """All checkpoints, the latest last."""
    return sorted((out / CHECKPOINTS).glob('checkpoint-*'), key=_number)


def _number(folder: Path) -> int:
    return int(folder.name.removeprefix('checkpoint-'))


def _is_whole(folder: Path) -> bool:
    """Whether every file of a checkpoint can be read, without reading it all."""
    weights = sorted(folder.glob('*.safetensors'))
    others = [folder / 'optimizer.pt', folder / 'scheduler.pt']
    try:
        state = json.loads((folder / _STATE).read_text(encoding='utf-8'))
        for path in weights:
            with safe_open(path, framework='pt'):
                pass
    except (OSError, ValueError, SafetensorError):
        return False
    return 'global_step' in state and bool(weights) and all(map(zipfile.is_zipfile, others))

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A training run: from a recipe to a folder with a model, through any number of kills."""

from __future__ import annotations

import ctypes
import json
import shutil
import sys
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import torch
from accelerate import PartialState
from safetensors import SafetensorError, safe_open
from transformers import PrinterCallback, TrainerCallback
from transformers.integrations import (
    TensorBoardCallback,
    get_reporting_integration_callbacks,
)

from safegen_ros.errors import SafegenError
from safegen_ros.paths import write_durably
from safegen_ros.training.arguments import CHECKPOINTS
from safegen_ros.training.config import ConfigError, TrainConfig, load_config
from safegen_ros.training.export import MODEL, export_model
from safegen_ros.training.metrics import METRICS, Bar, MetricsWriter, draw_metrics, forget_after
from safegen_ros.training.sft import sft_trainer
from safegen_ros.training.world import TrainingWorld

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
    """Removes checkpoints that a kill or a full disk left half written, without a state."""
    for folder in _found(out):
        if not (folder / _STATE).exists():
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
    try:
        state = json.loads((folder / _STATE).read_text(encoding='utf-8'))
        for path in folder.glob('*.safetensors'):
            with safe_open(path, framework='pt'):
                pass
    except (OSError, ValueError, SafetensorError):
        return False
    parts = [*folder.glob('*.pt')]
    return 'global_step' in state and bool(parts) and all(map(zipfile.is_zipfile, parts))


_INTACT = 'the last checkpoint is intact'
_LESS = 'lower optimizer.batch and raise optimizer.accumulate by as much, then resume'
_ROOM = 'make room, then resume'

_CPU_MEMORY = "can't allocate memory"  # of torch's allocator for the CPU
_WRITERS = ('PytorchStreamWriter', 'unexpected pos', 'open file failed')  # of torch.save


@contextmanager
def named_failures(out: Path) -> Iterator[None]:
    """Turns a lack of memory or disk into a `SafegenError`."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise SafegenError(
            f'the GPU has too little memory: {_INTACT}: {_LESS} ({error})'
        ) from error
    except MemoryError as error:
        raise SafegenError(f'there is too little memory: {_INTACT}: {_LESS}') from error
    except OSError as error:
        place = error.filename or out
        raise SafegenError(f'{place}: {error.strerror or error}: {_INTACT}: {_ROOM}') from error
    except SafetensorError as error:
        raise SafegenError(
            f'{out}: weights cannot be written: {error}: {_INTACT}: {_ROOM}'
        ) from error
    except RuntimeError as error:
        text = str(error)
        if _CPU_MEMORY in text:
            raise SafegenError(f'there is too little memory: {_INTACT}: {_LESS}') from error
        if any(writer in text for writer in _WRITERS):
            first = text.splitlines()[0]
            raise SafegenError(f'{out}: cannot be written: {first}: {_INTACT}: {_ROOM}') from error
        raise


# Of malloc.h.
_M_TRIM_THRESHOLD = -1
_M_MMAP_MAX = -4


def train(
    config_path: str | Path,
    out_dir: str | Path,
    resume: bool = False,
    stage: str = '',
    report_to: Sequence[str] = (),
) -> Path:
    """Trains a model and exports it.

    Under `accelerate launch` every process calls it; the first one writes.

    Args:
        config_path: the recipe, see `TrainConfig`.
        out_dir: receives the checkpoints, `metrics.jsonl` with its picture, and the model under
            `model/`.
        resume: go on from the last whole checkpoint in `out_dir`; the budget of the recipe may
            have grown since.
        stage: the stage that the recipe must be of; empty for any.
        report_to: experiment trackers of transformers, such as tensorboard and wandb.

    Returns:
        The folder of the model.

    Raises:
        ConfigError: the recipe cannot be used, or the folder holds another run.
        SafegenError: the dataset or the model cannot be used, or memory or disk ran out.
    """
    config = load_config(config_path)
    if stage and config.stage != stage:
        raise ConfigError(
            f'{config_path}: is a recipe of stage {config.stage}: use train {config.stage}'
        )
    out = Path(out_dir)
    others = [_tracker(name, out) for name in report_to]
    if config.threads:
        torch.set_num_threads(config.threads)
    _keep_memory()
    # About calls of the libraries to one another.
    warnings.simplefilter('ignore', FutureWarning)
    processes = PartialState(cpu=not torch.cuda.is_available())
    with named_failures(out):
        if processes.is_main_process:
            prepare_folder(config, out, resume=resume)
            remove_partial(out)
            forget_after(out / METRICS, step_of(last_checkpoint(out)))
        processes.wait_for_everyone()
        checkpoint = last_checkpoint(out)
        world = world_of(config)
        trainer = _trainer(config, world, out)
        _run(trainer, config, checkpoint, out, others)
        export_model(trainer, config, world.prompt_style, out)
        if trainer.accelerator.is_main_process:
            draw_metrics(out)
        trainer.accelerator.wait_for_everyone()
    return out / MODEL


def _keep_memory() -> None:
    """Has the C library keep the memory of tensors that are freed, on a CPU.

    It would return large pieces to the system at once, and every step would ask for them again
    page by page, which took up to two fifths of the time. Elsewhere than on Linux with glibc
    nothing happens.
    """
    if torch.cuda.is_available() or not sys.platform.startswith('linux'):
        return
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL('libc.so.6')
        library.mallopt(_M_MMAP_MAX, 0)
        library.mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)


def _tracker(name: str, out: Path) -> TrainerCallback:
    """What reports to an experiment tracker; raises `ConfigError` where it is not installed."""
    try:
        [kind] = get_reporting_integration_callbacks(name)
        tracker: TrainerCallback = kind()
    except (ValueError, RuntimeError) as error:
        raise ConfigError(f'--report-to {name}: {error}: pip install {name}') from error
    if isinstance(tracker, TensorBoardCallback):
        tracker.logging_dir = tracker.logging_dir or str(out / 'tensorboard')
    return tracker


def _run(
    trainer: Any,
    config: TrainConfig,
    checkpoint: Path | None,
    out: Path,
    others: Sequence[TrainerCallback],
) -> None:
    """Trains to the end of the budget, from a checkpoint if there is one."""
    if checkpoint is not None and is_finished(checkpoint, config):
        trainer._load_from_checkpoint(str(checkpoint))
        return
    bar = Bar()
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(MetricsWriter(out / METRICS))
    for callback in (bar, *others):
        trainer.add_callback(callback)
    try:
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    finally:
        bar.end()


def _trainer(config: TrainConfig, world: TrainingWorld, out: Path) -> Any:
    if config.stage == 'grpo':
        from safegen_ros.training.grpo import grpo_trainer

        return grpo_trainer(config, world, out)
    if config.model.lora is not None and config.model.lora.shared_prefix:
        from safegen_ros.training.shared_prefix import SharedPrefixTrainer

        return SharedPrefixTrainer(config, world, out)
    return sft_trainer(config, world, out)


def world_of(config: TrainConfig) -> TrainingWorld:
    """The world of a recipe."""
    if config.data.world == 'text':
        from safegen_ros.training.text_world import TextWorld

        return TextWorld(config)
    from safegen_ros.training.pddl3_world import Pddl3World

    return Pddl3World(config)

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The training recipe, read from YAML; a key that is not known is an error."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

import yaml

from safegen_ros.errors import SafegenError


class ConfigError(SafegenError):
    """A training configuration that cannot be used."""


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """A Llama decoder trained from scratch.

    Attributes:
        width: size of the hidden state.
        layers: decoder layers.
        heads: attention heads.
        mlp: hidden size of the feed-forward part.
        context: longest sequence, in tokens.
    """

    width: int = 128
    layers: int = 6
    heads: int = 4
    mlp: int = 352
    context: int = 512


@dataclass(frozen=True, slots=True)
class DataConfig:
    """The stream of tasks, drawn while training.

    Attributes:
        chunk: tasks that are drawn, shuffled and sorted into batches at a time.
        repair_share: share of tasks whose prompt shows a failed attempt.
        validation: held-out tasks for the validation loss.
    """

    chunk: int = 4096
    repair_share: float = 0.12
    validation: int = 256


@dataclass(frozen=True, slots=True)
class OptimizerConfig:
    """AdamW with warm-up and a cosine to zero.

    Attributes:
        batch: sequences per step.
        learning_rate: highest rate.
        weight_decay: on matrices only.
        warmup_steps: steps of linear warm-up.
        clip: largest norm of the gradient.
        state_weight: weight of the auxiliary state heads, 0 leaves them out.
    """

    batch: int = 32
    learning_rate: float = 2e-3
    weight_decay: float = 0.05
    warmup_steps: int = 100
    clip: float = 1.0
    state_weight: float = 0.7


@dataclass(frozen=True, slots=True)
class BudgetConfig:
    """When to stop; the schedule is stretched over whichever limit comes first.

    Attributes:
        steps: optimizer steps.
        wall_minutes: wall-clock minutes, 0 for no limit. With a limit the result depends on the
            speed of the machine; without one it depends on the seed only.
        checkpoint_minutes: minutes between checkpoints.
        log_steps: steps between lines of `metrics.jsonl`.
        validate_steps: steps between validations.
    """

    steps: int = 1000
    wall_minutes: float = 0.0
    checkpoint_minutes: float = 2.0
    log_steps: int = 50
    validate_steps: int = 500


@dataclass(frozen=True, slots=True)
class TrainConfig:
    """The whole recipe.

    Attributes:
        name: name of the model.
        seed: seed of the weights and of the tasks.
        threads: CPU threads.
    """

    name: str = 'safegen-mini'
    seed: int = 1
    threads: int = 1
    model: ModelConfig = field(default_factory=ModelConfig)
    data: DataConfig = field(default_factory=DataConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    budget: BudgetConfig = field(default_factory=BudgetConfig)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for the checkpoint and the training log."""
        return asdict(self)


def load_config(path: str | Path) -> TrainConfig:
    """Reads a recipe.

    Raises:
        ConfigError: the file is missing or not YAML, a key is unknown, a value has a wrong type
            or is out of range.
    """
    path = Path(path)
    try:
        data = yaml.safe_load(path.read_text(encoding='utf-8'))
    except OSError as error:
        message = f'{path}: cannot be read ({error.strerror}): give an existing file'
        raise ConfigError(message) from error
    except yaml.YAMLError as error:
        raise ConfigError(f'{path}: is not YAML: {error}') from error
    config: TrainConfig = _build(TrainConfig, data if data is not None else {}, str(path))
    _check(config, str(path))
    return config


def _build(kind: type[Any], data: Any, place: str) -> Any:
    if not isinstance(data, dict):
        raise ConfigError(f'{place}: expected keys and values, found {type(data).__name__}')
    hints = get_type_hints(kind)
    known = [item.name for item in fields(kind)]
    values = {}
    for key, value in data.items():
        if key not in known:
            raise ConfigError(f'{place}: unknown key {key!r}: known keys are {" ".join(known)}')
        wanted = hints[key]
        if is_dataclass(wanted):
            values[key] = _build(wanted, value, f'{place}: {key}')  # type: ignore[arg-type]
        elif wanted is float and isinstance(value, int) and not isinstance(value, bool):
            values[key] = float(value)
        elif type(value) is not wanted:
            raise ConfigError(f'{place}: {key} must be of type {wanted.__name__}, found {value!r}')
        else:
            values[key] = value
    return kind(**values)


def _check(config: TrainConfig, place: str) -> None:
    model, data, budget = config.model, config.data, config.budget
    positive = {
        'model.width': model.width, 'model.layers': model.layers, 'model.heads': model.heads,
        'model.mlp': model.mlp, 'data.chunk': data.chunk, 'data.validation': data.validation,
        'optimizer.batch': config.optimizer.batch, 'budget.steps': budget.steps,
        'optimizer.learning_rate': config.optimizer.learning_rate, 'threads': config.threads,
        'budget.log_steps': budget.log_steps, 'budget.validate_steps': budget.validate_steps,
    }  # fmt: skip
    for key, value in positive.items():
        if value <= 0:
            raise ConfigError(f'{place}: {key} must be greater than 0, found {value}')
    if model.width % (2 * model.heads):
        raise ConfigError(f'{place}: model.width must be a multiple of twice model.heads')
    if data.chunk % config.optimizer.batch:
        raise ConfigError(f'{place}: data.chunk must be a multiple of optimizer.batch')
    if not 0 <= data.repair_share <= 1:
        raise ConfigError(f'{place}: data.repair_share must be between 0 and 1')

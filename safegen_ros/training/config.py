# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The training recipe, read from YAML; a key that is not known is an error.

The defaults of the optimizer are those of table V of SafeGen-LLM for SFT, where it gives them.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import yaml

from safegen_ros.errors import SafegenError
from safegen_ros.tasks.pddl3.domains.folders import domain_folders
from safegen_ros.tasks.pddl3.formats import FORMATS

Schedule = Literal['cosine', 'warmup_stable_decay', 'constant']


class ConfigError(SafegenError):
    """A training configuration that cannot be used."""


@dataclass(frozen=True, slots=True)
class NetworkConfig:
    """A Llama decoder that is trained on the words of `prompts.words`.

    Attributes:
        width: size of the hidden state.
        layers: decoder layers.
        heads: attention heads.
        mlp: hidden size of the feed-forward part.
        context: longest sequence [tokens].
        state_weight: weight of the state heads in the loss, 0 leaves them out (see `StateHeads`).
        compiled: whether the layers are compiled by `torch.compile`, which needs a C++ compiler
            and half a minute at the start, and is two to three times as fast after it.
        start: folder of a model of this shape whose weights it begins with; empty for random ones.
    """

    width: int = 128
    layers: int = 4
    heads: int = 4
    mlp: int = 352
    context: int = 512
    state_weight: float = 0.5
    compiled: bool = False
    start: str = ''


@dataclass(frozen=True, slots=True)
class LoraConfig:
    """Low-rank adapters on all linear layers of a model (SafeGen-LLM table V)."""

    rank: int = 32
    alpha: int = 64
    dropout: float = 0.05


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """What is trained: a model from a folder, or a new network.

    Attributes:
        base: folder of a `transformers` model; empty for a new network.
        network: the new network; None when there is a base.
        lora: adapters instead of all weights; None for all weights.
        four_bit: whether the base is loaded in 4 bits (QLoRA), which needs CUDA.
    """

    base: str = ''
    network: NetworkConfig | None = None
    lora: LoraConfig | None = None
    four_bit: bool = False


@dataclass(frozen=True, slots=True)
class DataConfig:
    """What to learn from.

    Attributes:
        world: `pddl3` for planning problems; `text` for any pairs of texts, see `text_world`.
        folder: a dataset as `safegen dataset build` writes it, or of a text world.
        tokens: of a new network in a text world: `text` keeps every character, `words` has one
            token for what stands between blanks.
        style: of a new network in a text world: what `safegen.json` says of how it is asked.
        reward: in a text world, what GRPO asks for the worth of an answer, as `MODULE:FUNCTION`.
        formats: how often each format is taken, compared with the others.
        repair_share: share of the SFT examples whose prompt shows a failed attempt.
        validation: problems of the test split for the validation loss; 0 for none.
        shares: how often SFT takes each domain, or group, compared with the others; 1 where it is
            not named. GRPO takes all equally often.
    """

    world: Literal['pddl3', 'text'] = 'pddl3'
    folder: str = 'data/safegen-bench'
    tokens: Literal['text', 'words'] = 'text'
    style: str = 'text'
    reward: str = ''
    formats: dict[str, float] = field(default_factory=lambda: {'pddl': 1.0})
    repair_share: float = 0.0
    validation: int = 64
    shares: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OptimizerConfig:
    """How weights are changed.

    Attributes:
        method: AdamW for all weights, or Muon for the matrices of a new network.
        batch: sequences per device and forward pass.
        accumulate: forward passes per step.
        learning_rate: highest rate.
        schedule: what follows the warm-up.
        warmup: steps of linear warm-up; below 1 a share of all.
        decay: share of the steps that a `warmup_stable_decay` takes to come to zero.
        weight_decay: on matrices only.
        beta2: decay of the second moment.
        clip: largest norm of the gradient.
        precision: of the arithmetic; bfloat16 is slow on CPUs without AMX. With adapters also
            that of the base.
    """

    method: Literal['adamw', 'muon'] = 'adamw'
    batch: int = 4
    accumulate: int = 2
    learning_rate: float = 2e-4
    schedule: Schedule = 'cosine'
    warmup: float = 0.1
    decay: float = 0.2
    weight_decay: float = 0.05
    beta2: float = 0.999
    clip: float = 1.0
    precision: Literal['float32', 'bfloat16'] = 'float32'


@dataclass(frozen=True, slots=True)
class BudgetConfig:
    """How long to train, and what to write on the way.

    Attributes:
        steps: optimizer steps; 0 to count epochs.
        epochs: passes over the examples, when steps is 0.
        max_length: longest sequence that is read [tokens].
        log_steps: steps between lines of the metrics.
        save_steps: steps between checkpoints, and between validations.
    """

    steps: int = 0
    epochs: float = 3.0
    max_length: int = 4096
    log_steps: int = 50
    save_steps: int = 500


@dataclass(frozen=True, slots=True)
class GrpoConfig:
    """Group relative policy optimisation (SafeGen-LLM section IV-C, tables V to VII).

    Attributes:
        generations: completions of each prompt.
        temperature: of the sampling.
        top_p: share of the probability that is kept at each token.
        kl: weight of the divergence from the model at the start.
        max_completion: longest completion [tokens].
        rewards: bounds of the reward intervals, see `reward.Intervals`.
        curriculum: share of training, then shares of easy, medium and hard problems, by phase.
        vllm: whether completions come from vLLM where it is installed.
    """

    generations: int = 8
    temperature: float = 0.6
    top_p: float = 1.0
    kl: float = 0.01
    max_completion: int = 1024
    rewards: tuple[float, ...] = (-1.0, -0.9, -0.6, -0.5, -0.2, -0.1, 0.4, 1.0)
    curriculum: tuple[tuple[float, float, float, float], ...] = (
        (0.3, 0.70, 0.25, 0.05),
        (0.7, 0.40, 0.40, 0.20),
        (1.0, 0.20, 0.40, 0.40),
    )
    vllm: bool = False


@dataclass(frozen=True, slots=True)
class TrainConfig:
    """The whole recipe.

    Attributes:
        name: name of the model.
        stage: supervised, or reinforcement learning with verified plans.
        seed: seed of the weights, of the order of examples and of the sampling.
        threads: CPU threads; 0 for all.
    """

    name: str = 'safegen'
    stage: Literal['sft', 'grpo'] = 'sft'
    seed: int = 1
    threads: int = 0
    model: ModelConfig = field(default_factory=ModelConfig)
    data: DataConfig = field(default_factory=DataConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    budget: BudgetConfig = field(default_factory=BudgetConfig)
    grpo: GrpoConfig | None = None

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
    except RecursionError as error:
        raise ConfigError(f'{path}: is nested too deeply: flatten it') from error
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f'{path}: is not YAML: {error}') from error
    config: TrainConfig = _build(TrainConfig, data if data is not None else {}, str(path))
    for fault in _faults(config):
        raise ConfigError(f'{path}: {fault}')
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
        values[key] = _value(hints[key], value, f'{place}: {key}')
    return kind(**values)


def _value(wanted: Any, value: Any, place: str) -> Any:
    """A value of YAML as what a field wants."""
    if isinstance(wanted, UnionType):  # of a section and None
        section = next(part for part in get_args(wanted) if part is not type(None))
        return None if value is None else _value(section, value, place)
    if is_dataclass(wanted):
        return _build(wanted, value, place)  # type: ignore[arg-type]
    if get_origin(wanted) is Literal:
        if value not in get_args(wanted):
            known = ' '.join(get_args(wanted))
            raise ConfigError(f'{place} must be one of {known}, found {reprlib.repr(value)[:200]}')
        return value
    if get_origin(wanted) is tuple:
        if not isinstance(value, list):
            raise ConfigError(f'{place} must be a list, found {reprlib.repr(value)[:200]}')
        inner = get_args(wanted)
        each = inner[:1] * len(value) if inner[-1] is Ellipsis else inner
        if len(each) != len(value):
            raise ConfigError(
                f'{place} must have {len(each)} items, found {reprlib.repr(value)[:200]}'
            )
        return tuple(_value(kind, item, place) for kind, item in zip(each, value, strict=True))
    if get_origin(wanted) is dict:
        if not isinstance(value, dict):
            raise ConfigError(
                f'{place}: expected keys and values, found {reprlib.repr(value)[:200]}'
            )
        return {str(k): _value(get_args(wanted)[1], v, f'{place}: {k}') for k, v in value.items()}
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not wanted:
        raise ConfigError(
            f'{place} must be of type {wanted.__name__}, found {reprlib.repr(value)[:200]}'
        )
    return value


def _faults(config: TrainConfig) -> Iterator[str]:
    """What is wrong with a recipe, beside types."""
    model, data, optimizer, budget = config.model, config.data, config.optimizer, config.budget
    positive: dict[str, float] = {
        'optimizer.batch': optimizer.batch, 'optimizer.accumulate': optimizer.accumulate,
        'optimizer.learning_rate': optimizer.learning_rate, 'optimizer.clip': optimizer.clip,
        'budget.max_length': budget.max_length, 'budget.log_steps': budget.log_steps,
        'budget.save_steps': budget.save_steps,
        'budget.steps or budget.epochs': budget.steps or budget.epochs,
        'data.formats': min(data.formats.values(), default=0),
        'data.shares': min(data.shares.values(), default=1),
    }  # fmt: skip
    network = model.network
    if network is not None:
        positive |= {f'model.network.{name}': getattr(network, name)
                     for name in ('width', 'layers', 'heads', 'mlp', 'context')}  # fmt: skip
    for key, value in positive.items():
        if value <= 0:
            yield f'{key} must be greater than 0, found {value}'
    for form in data.formats:
        if form not in FORMATS:
            yield f'data.formats: there is no format {form!r}: use {" ".join(FORMATS)}'
    for domain in data.shares if data.world == 'pddl3' else ():
        if domain not in domain_folders():
            yield f'data.shares: there is no domain {domain!r}: use {" ".join(domain_folders())}'
    if bool(model.base) == (network is not None):
        yield 'model: give either base, the folder of a model, or network, a new one'
    if network is not None and network.width % (2 * network.heads):
        yield 'model.network.width must be a multiple of twice model.network.heads'
    if network is not None and (model.lora is not None or model.four_bit):
        yield 'model: a new network is trained whole: leave lora and four_bit out'
    if network is None and optimizer.method == 'muon':
        yield 'optimizer.method muon is for a new network: use adamw'
    if model.four_bit and model.lora is None:
        yield 'model: weights of 4 bits cannot be trained: add lora'
    if not 0 <= data.repair_share <= 1:
        yield 'data.repair_share must be between 0 and 1'
    if optimizer.schedule == 'warmup_stable_decay' and not budget.steps:
        yield 'optimizer.schedule warmup_stable_decay needs budget.steps'
    if config.stage == 'grpo':
        yield from _grpo_faults(config)


def _grpo_faults(config: TrainConfig) -> Iterator[str]:
    grpo = config.grpo
    if not config.model.base:
        yield 'stage grpo starts from a model: give model.base'
    if grpo is None:
        yield 'stage grpo needs a section grpo: write `grpo: {}` for the defaults'
        return
    if grpo.generations < 2:
        yield 'grpo.generations must be at least 2, since rewards are compared within a group'
    if config.optimizer.batch * config.optimizer.accumulate % grpo.generations:
        yield 'grpo.generations must divide optimizer.batch times optimizer.accumulate'
    if not config.budget.steps:
        yield 'stage grpo needs budget.steps, by which the curriculum goes'
    if config.budget.max_length <= grpo.max_completion:
        yield 'budget.max_length holds prompt and completion: raise it above grpo.max_completion'
    if list(grpo.rewards) != sorted(set(grpo.rewards)) or len(grpo.rewards) != 8:
        yield 'grpo.rewards must be 8 numbers, each greater than the one before'
    ends = [phase[0] for phase in grpo.curriculum]
    if not ends or ends != sorted(set(ends)) or ends[-1] != 1:
        yield 'grpo.curriculum must end phases at growing shares of training, the last at 1'
    if any(min(phase[1:]) < 0 or sum(phase[1:]) <= 0 for phase in grpo.curriculum):
        yield 'grpo.curriculum must give each phase shares that are not negative'

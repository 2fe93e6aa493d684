# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The training recipe, read from YAML; a key that is not known is an error.

The defaults of the optimizer are those of table V of SafeGen-LLM for SFT, where it gives them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from safegen_ros.errors import UsageError
from safegen_ros.schema import Rule, SchemaReader, between, yaml_document
from safegen_ros.tasks.pddl3.domains.folders import domain_folders
from safegen_ros.tasks.pddl3.formats import FORMATS

Count = Annotated[int, between(1)]
Positive = Annotated[float, Rule(lambda value: value > 0, 'take a number greater than 0')]
Schedule = Literal['cosine', 'warmup_stable_decay', 'constant']


class ConfigError(UsageError):
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
        start: folder of a model of this shape, or with fewer layers, whose weights it begins with;
            empty for random ones.
    """

    width: Count = 128
    layers: Count = 4
    heads: Count = 4
    mlp: Count = 352
    context: Count = 512
    state_weight: float = 0.5
    compiled: bool = False
    start: str = ''


@dataclass(frozen=True, slots=True)
class LoraConfig:
    """Low-rank adapters on all linear layers of a model (SafeGen-LLM table V).

    Attributes:
        rank: of each.
        alpha: their weight is `alpha / rank`.
        dropout: share of their inputs that is left out while they learn.
        start: folder of adapters to begin with; empty for new ones.
        merged: whether the model that comes of it has them in its weights; if not, its folder
            holds the adapters alone.
        shared_prefix: whether what the prompts of a batch have in common is read once, which is
            what makes training affordable on a CPU (see `shared_prefix`); with GRPO each part of a
            batch is one group.
    """

    rank: int = 32
    alpha: int = 64
    dropout: float = 0.05
    start: str = ''
    merged: bool = True
    shared_prefix: bool = False


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The trained model: from a folder, or a new network.

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
        folder: a dataset as `safegen data build` writes it, or of a text world.
        style: in a text world, the entry of `safegen.json` for the form of the prompt.
        reward: in a text world, what GRPO asks for the worth of an answer, as `MODULE:FUNCTION`.
        formats: how often each format is taken, compared with the others.
        repair_share: share of the prompts that show a failed attempt.
        rare: how much more often SFT of a new network takes problems of rare sizes: the weight of
            one is the number of those in its domain with as many objects, to the power of minus it.
        validation: problems of the test split for the validation loss; 0 for none.
        shares: how often SFT takes each domain, or group, compared with the others; 1 where it is
            not named. GRPO takes all equally often.
    """

    world: Literal['pddl3', 'text'] = 'pddl3'
    folder: str = 'data/safegen-bench'
    style: str = 'text'
    reward: str = ''
    formats: dict[str, Positive] = field(default_factory=lambda: {'pddl': 1.0})
    repair_share: Annotated[float, between(0, 1)] = 0.0
    rare: Annotated[float, between(0, 1)] = 0.0
    validation: int = 64
    shares: dict[str, Positive] = field(default_factory=dict)


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
    batch: Count = 4
    accumulate: Count = 2
    learning_rate: Positive = 2e-4
    schedule: Schedule = 'cosine'
    warmup: float = 0.1
    decay: float = 0.2
    weight_decay: float = 0.05
    beta2: float = 0.999
    clip: Positive = 1.0
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

    steps: Annotated[int, between(0)] = 0
    epochs: Annotated[float, between(0)] = 3.0
    max_length: Count = 4096
    log_steps: Count = 50
    save_steps: Count = 500


@dataclass(frozen=True, slots=True)
class GrpoConfig:
    """Group relative policy optimisation (SafeGen-LLM section IV-C, tables V to VII).

    Attributes:
        generations: completions of each prompt, whose rewards are compared.
        temperature: of the sampling.
        top_p: share of the probability that is kept at each token.
        kl: weight of the divergence from the model at the start.
        max_completion: longest completion [tokens].
        rewards: bounds of the reward intervals, see `reward.Intervals`.
        curriculum: share of training, then shares of easy, medium and hard problems, by phase.
        vllm: whether completions come from vLLM where it is installed.
    """

    generations: Annotated[int, between(2)] = 8
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
    data = yaml_document(Path(path), ConfigError)
    file = SchemaReader(str(path), ConfigError)
    config = file.read(TrainConfig, data if data is not None else {})
    file.choices(config.data.formats, 'data.formats', FORMATS)
    if config.data.world == 'pddl3':
        file.choices(config.data.shares, 'data.shares', domain_folders())
    for wrong, message in (*_rules(config), *_grpo_rules(config, config.grpo)):
        if wrong:
            raise ConfigError(f'{path}: {message}')
    return config


def _rules(config: TrainConfig) -> Iterator[tuple[bool, str]]:
    """Settings to refuse, besides types and ranges, each with its message."""
    model, network, budget = config.model, config.model.network, config.budget
    yield not config.data.formats, 'data.formats: name a format'
    yield not budget.steps and not budget.epochs, 'budget.steps or budget.epochs must be above 0'
    yield (
        bool(model.base) == (network is not None),
        'model: give either base, the folder of a model, or network, a new one',
    )
    if network is not None:
        yield (
            bool(network.width % (2 * network.heads)),
            'model.network.width must be a multiple of twice model.network.heads',
        )
        yield (
            model.lora is not None or model.four_bit,
            'model: a new network is trained whole: leave lora and four_bit out',
        )
    yield (
        network is None and config.optimizer.method == 'muon',
        'optimizer.method muon is for a new network: use adamw',
    )
    yield (
        model.four_bit and model.lora is None,
        'model: weights of 4 bits cannot be trained: add lora',
    )
    yield (
        config.optimizer.schedule == 'warmup_stable_decay' and not budget.steps,
        'optimizer.schedule warmup_stable_decay needs budget.steps',
    )


def _grpo_rules(config: TrainConfig, grpo: GrpoConfig | None) -> Iterator[tuple[bool, str]]:
    if config.stage != 'grpo':
        return
    yield not config.model.base, 'stage grpo starts from a model: give model.base'
    if grpo is None:
        yield True, 'stage grpo needs a section grpo: write `grpo: {}` for the defaults'
        return
    yield (
        bool(config.optimizer.batch * config.optimizer.accumulate % grpo.generations),
        'grpo.generations must divide optimizer.batch times optimizer.accumulate',
    )
    lora = config.model.lora
    yield (
        lora is not None and lora.shared_prefix and config.optimizer.batch != grpo.generations,
        'model.lora.shared_prefix needs optimizer.batch equal to grpo.generations',
    )
    yield (
        lora is not None and lora.shared_prefix and bool(grpo.kl or grpo.vllm),
        'model.lora.shared_prefix goes with grpo.kl 0 and without grpo.vllm',
    )
    yield not config.budget.steps, 'stage grpo needs budget.steps, by which the curriculum goes'
    yield (
        config.budget.max_length <= grpo.max_completion,
        'budget.max_length holds prompt and completion: raise it above grpo.max_completion',
    )
    yield (
        list(grpo.rewards) != sorted(set(grpo.rewards)) or len(grpo.rewards) not in (8, 9),
        'grpo.rewards must be 8 or 9 numbers, each greater than the one before',
    )
    ends = [phase[0] for phase in grpo.curriculum]
    yield (
        not ends or ends != sorted(set(ends)) or ends[-1] != 1,
        'grpo.curriculum must end phases at growing shares of training, the last at 1',
    )
    yield (
        any(min(phase[1:]) < 0 or sum(phase[1:]) <= 0 for phase in grpo.curriculum),
        'grpo.curriculum must give each phase shares that are not negative',
    )

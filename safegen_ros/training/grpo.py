# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Group relative policy optimisation with TRL (SafeGen-LLM section IV-C).

The model writes several answers to each prompt; each earns what its world says it is worth (a plan
by the verdict on it, see `reward`), and the model learns to prefer those that earn more than the
mean of their group.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from trl import GRPOConfig as TrlConfig
from trl import GRPOTrainer

from safegen_ros.training.arguments import (
    RecipeRates,
    adapted_model,
    adapters,
    model_arguments,
    shared_arguments,
)
from safegen_ros.training.base import base_tokenizer, check_base
from safegen_ros.training.config import ConfigError, GrpoConfig, TrainConfig
from safegen_ros.training.samplers import CurriculumSampler, Shape
from safegen_ros.training.world import TrainingWorld


class CurriculumTrainer(RecipeRates, GRPOTrainer):
    """Takes its prompts in the order of a `CurriculumSampler`.

    Args:
        order: makes the sampler from how the trainer reads.
    """

    def __init__(self, order: Callable[[Shape], CurriculumSampler], **more: Any) -> None:
        self._order = order
        super().__init__(**more)

    def _get_train_sampler(self, dataset: Any = None) -> CurriculumSampler:
        args: Any = self.args
        repeats = self.num_iterations * args.steps_per_generation
        return self._order(
            Shape(
                prompts=args.generation_batch_size // self.num_generations,
                generations=self.num_generations,
                repeats=repeats,
                batches=-(-args.max_steps * args.gradient_accumulation_steps // repeats),
            )
        )


def grpo_trainer(config: TrainConfig, world: TrainingWorld, out: Path) -> GRPOTrainer:
    """The trainer of a recipe of stage `grpo`.

    The base is given as a path: TRL loads the model that the divergence is measured from by the
    name of the base, and one that was handed over in memory would be measured from something else.

    Completions that meet `max_completion` count like all others (`mask_truncated_completions` is
    off): they are judged as far as they go, as in serving, and a model that never ends its plan
    would otherwise never hear of it.

    Adapters that a recipe starts from go on being trained; then no divergence can be measured.

    Raises:
        ConfigError: the recipe wants what there is not, or no prompt is short enough.
        SafegenError: the dataset or the model cannot be used.
    """
    grpo = config.grpo or GrpoConfig()
    if grpo.vllm and importlib.util.find_spec('vllm') is None:
        raise ConfigError(
            'grpo.vllm: vLLM is not installed: install a version that TRL supports, or set it to '
            'false'
        )
    start = config.model.lora.start if config.model.lora else ''
    if start and grpo.kl:
        raise ConfigError(
            'grpo.kl: TRL measures the divergence from the base without model.lora.start: write 0'
        )
    base = Path(config.model.base)
    check_base(base, config.budget.max_length)
    tokenizer = base_tokenizer(base)
    optimizer = config.optimizer
    devices = int(os.environ.get('WORLD_SIZE', '1'))  # set by `accelerate launch`
    answers = config.budget.steps * optimizer.batch * optimizer.accumulate * devices
    prompts = world.prompts(tokenizer, answers // grpo.generations)
    arguments = TrlConfig(
        **shared_arguments(config, out),
        model_init_kwargs=None if start else model_arguments(config),
        loss_type='grpo',
        beta=grpo.kl,
        num_generations=grpo.generations,
        temperature=grpo.temperature,
        top_p=grpo.top_p,
        top_k=0,
        max_completion_length=grpo.max_completion,
        mask_truncated_completions=False,
        scale_rewards='group',
        # A cache that grows is copied for each token, which takes most of the time on a CPU. On a
        # GPU one of a fixed size is compiled for each length of prompts, which takes longer.
        cache_implementation=None if torch.cuda.is_available() else 'static',
        use_vllm=grpo.vllm,
        vllm_mode='colocate',
    )
    return CurriculumTrainer(
        lambda shape: CurriculumSampler(
            prompts.groups,
            prompts.buckets,
            prompts.weights,
            grpo.curriculum,
            shape,
            config.seed,
        ),
        model=adapted_model(config) if start else config.model.base,
        args=arguments,
        reward_funcs=prompts.reward,
        train_dataset=Dataset.from_list(prompts.asked),
        processing_class=tokenizer,
        peft_config=None if start else adapters(config),
    )

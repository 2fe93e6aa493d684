# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Group relative policy optimisation with TRL (SafeGen-LLM section IV-C).

The model writes several plans for each problem; each earns what its verdict is worth (`reward`),
and the model learns to prefer those that earn more than the mean of their group.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset
from trl import GRPOConfig as TrlConfig
from trl import GRPOTrainer

from safegen_ros.training.arguments import adapters, model_arguments, shared_arguments
from safegen_ros.training.base import base_tokenizer, check_base
from safegen_ros.training.config import ConfigError, GrpoConfig, TrainConfig
from safegen_ros.training.corpus import token_count, training_rows
from safegen_ros.training.curriculum import CurriculumSampler, Shape
from safegen_ros.training.pairs import for_all_rows, instruction_pairs
from safegen_ros.training.resuming import RecipeRates
from safegen_ros.training.reward import Intervals, plan_reward
from safegen_ros.worlds.pddl3.dataset.rows import Row
from safegen_ros.worlds.pddl3.prompts.styles import PromptStyle, load_style


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


def grpo_trainer(config: TrainConfig, out: Path) -> GRPOTrainer:
    """The trainer of a recipe of stage `grpo`.

    The base is given as a path: TRL loads the model that the divergence is measured from by the
    name of the base, and one that was handed over in memory would be measured from something else.

    Completions that meet `max_completion` count like all others (`mask_truncated_completions` is
    off): they are judged as far as they go, as in serving, and a model that never ends its plan
    would otherwise never hear of it.

    Raises:
        ConfigError: the recipe wants what there is not, or no prompt is short enough.
        SafegenError: the dataset or the model is no good.
    """
    grpo = config.grpo or GrpoConfig()
    if grpo.vllm and importlib.util.find_spec('vllm') is None:
        raise ConfigError(
            'grpo.vllm: vLLM is not installed: install a version that TRL supports, or set it to '
            'false'
        )
    base = Path(config.model.base)
    check_base(base, config.budget.max_length)
    tokenizer, style = base_tokenizer(base), load_style(base)
    optimizer = config.optimizer
    devices = int(os.environ.get('WORLD_SIZE', '1'))  # set by `accelerate launch`
    answers = config.budget.steps * optimizer.batch * optimizer.accumulate * devices
    asked = answers // grpo.generations
    rows = enough_rows(training_rows(config), asked, config.seed)
    prompts = _prompts(rows, style, tokenizer, config, grpo)
    arguments = TrlConfig(
        **shared_arguments(config, out),
        model_init_kwargs=model_arguments(config),
        loss_type='grpo',
        beta=grpo.kl,
        num_generations=grpo.generations,
        temperature=grpo.temperature,
        top_p=grpo.top_p,
        top_k=0,
        max_completion_length=grpo.max_completion,
        mask_truncated_completions=False,
        scale_rewards='group',
        # A cache that grows is copied for each token, which takes most of the time on a CPU.
        cache_implementation='static',
        use_vllm=grpo.vllm,
        vllm_mode='colocate',
    )
    return CurriculumTrainer(
        lambda shape: CurriculumSampler(
            [rows[p['number']].domain for p in prompts],
            [rows[p['number']].bucket for p in prompts],
            [p['weight'] for p in prompts],
            grpo.curriculum,
            shape,
            config.seed,
        ),
        model=config.model.base,
        args=arguments,
        reward_funcs=plan_reward(rows, style, Intervals(grpo.rewards)),
        train_dataset=Dataset.from_list(
            [{'prompt': p['prompt'], 'number': p['number']} for p in prompts]
        ),
        processing_class=tokenizer,
        peft_config=adapters(config),
    )


def enough_rows(rows: Sequence[Row], asked: int, seed: int) -> list[Row]:
    """Some rows of each domain, twice as many as are asked for, so that buckets can be chosen.

    To make the prompts of all rows of a large dataset takes longer than to train on a few.

    Args:
        rows: the rows.
        asked: how many prompts the whole run reads.
        seed: of the choice.

    Returns:
        The rows in their order; those of a domain are all there when there are few.
    """
    domains = sorted({row.domain for row in rows})
    most = -(-2 * asked // len(domains))
    chosen: list[int] = []
    for place, domain in enumerate(domains):
        own = [number for number, row in enumerate(rows) if row.domain == domain]
        rng = np.random.default_rng([seed, place])
        chosen += own if len(own) <= most else rng.choice(own, most, replace=False).tolist()
    return [rows[number] for number in sorted(chosen)]


def _prompts(
    rows: list[Row], style: PromptStyle, tokenizer: Any, config: TrainConfig, grpo: GrpoConfig
) -> list[dict[str, Any]]:
    """The prompts that leave room for a completion, each with the number of its row."""
    room = config.budget.max_length - grpo.max_completion
    make = partial(instruction_pairs, style=style, formats=config.data.formats)
    found = [
        {'prompt': pair.prompt, 'number': number, 'weight': pair.weight}
        for number, pairs in enumerate(for_all_rows(make, rows))
        for pair in pairs
        if token_count(tokenizer, pair.prompt, asking=True) <= room
    ]
    if not found:
        raise ConfigError(
            f'no prompt has at most {room} tokens, which is budget.max_length less '
            'grpo.max_completion: raise the one or lower the other'
        )
    return found

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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from torch import Tensor
from torch.nn import functional
from trl import GRPOConfig as TrlConfig
from trl import GRPOTrainer
from trl.trainer.utils import pad

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
from safegen_ros.training.shared_prefix import causal_attention, shared_cache
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


class SharedPromptTrainer(CurriculumTrainer):
    """Reads the prompt of a group once for all its answers, which a CPU needs.

    The answers to all prompts of a step are written at once; each part of a batch is one group.
    """

    _buffered_inputs: list[dict[str, Any]]

    def _base(self, model: Any) -> Any:
        return self.accelerator.unwrap_model(model).get_base_model()

    def _prepare_inputs(self, generation_batch: Any) -> Any:
        part = self._step % self.args.steps_per_generation
        inputs = super()._prepare_inputs(generation_batch)
        if self.model.training and not part:
            # They come in a random order.
            self._buffered_inputs = by_prompt(self._buffered_inputs)
            inputs = self._buffered_inputs[0]
        return inputs

    def _generate_single_turn(
        self, prompt_ids: list[list[int]], images: Any, more: Any, num_generations: int, *_: Any
    ) -> tuple[list[list[int]], None]:
        device = self.accelerator.device
        model, prompts = (
            self._base(self.model),
            [torch.tensor(e, device=device) for e in prompt_ids],
        )
        ids = pad(prompts, self._tokenizer.pad_token_id, padding_side='left')
        mask = pad([torch.ones_like(each) for each in prompts], 0, padding_side='left')
        adapted = self.accelerator.unwrap_model(self.model)
        # Merged, or each token would be multiplied by the adapters, too. Subtracting them again
        # would leave rounding errors in the base.
        frozen = [each for each in adapted.parameters() if not each.requires_grad]
        before = [each.clone() for each in frozen]
        adapted.merge_adapter()
        try:
            with torch.no_grad():
                found = model.generate(
                    input_ids=ids,
                    attention_mask=mask,
                    past_key_values=shared_cache(
                        model, [each[:-1] for each in prompts[::num_generations]]
                    ),
                    generation_config=self.generation_config,
                )
        finally:
            adapted.unmerge_adapter()
            for each, kept in zip(frozen, before, strict=True):
                each.data.copy_(kept)
        ends = torch.tensor(self.eos_token_ids, device=device)
        answers = found[:, ids.shape[1] :]
        # Up to the first token that ends an answer, with it.
        ended = torch.isin(answers, ends).long()
        kept = ended.cumsum(dim=1) - ended == 0
        return [row[own].tolist() for row, own in zip(answers, kept, strict=True)], None

    def _get_per_token_logps_and_entropies(
        self, model: Any, input_ids: Tensor, attention_mask: Tensor, logits_to_keep: int, **_: Any
    ) -> tuple[Tensor, Tensor, None]:
        """The log-probability of each token of the answers, and the entropy before it [nat].

        Args:
            input_ids: shape (answers, prompt + answer), with the prompt of a group, which is padded
                on the left, and its answers, padded on the right.
            attention_mask: likewise, 0 where padded.
            logits_to_keep: tokens of an answer with the padding.

        Returns:
            Two tensors of shape (answers, `logits_to_keep`), 0 where all answers are padded.
        """
        base = self._base(model)
        first, last = int(attention_mask[0].argmax()), input_ids.shape[1] - logits_to_keep
        longest = int(attention_mask[:, last:].sum(1).max())
        cache = shared_cache(base, [input_ids[0, first : last - 1]])
        rest = input_ids[:, last - 1 : last + longest]
        hidden = base.model(input_ids=rest, past_key_values=cache, use_cache=True)
        logits = base.lm_head(hidden.last_hidden_state[:, :-1]).float()
        likely = logits.div_(self.temperature).log_softmax(-1)
        with torch.no_grad():
            entropies = torch.stack([-(row.exp() * row).sum(-1) for row in likely])
        own = likely.gather(-1, rest[:, 1:, None]).squeeze(-1)
        room = (0, logits_to_keep - longest)
        return functional.pad(own, room), functional.pad(entropies, room), None


def by_prompt(parts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Parts of a batch with the rows of each prompt together, in as many parts as before.

    Args:
        parts: tensors by name, `prompt_ids` among them; all with dimensions have a row of each
            answer in the first one.
    """
    _, number = torch.cat([each['prompt_ids'] for each in parts]).unique(dim=0, return_inverse=True)
    order = number.argsort(stable=True).chunk(len(parts))
    whole = {
        name: torch.cat([each[name] for each in parts])
        for name, value in parts[0].items()
        if isinstance(value, Tensor) and value.dim()
    }
    return [
        {**part, **{name: value[rows] for name, value in whole.items()}}
        for part, rows in zip(parts, order, strict=True)
    ]


def grpo_trainer(config: TrainConfig, world: TrainingWorld, out: Path) -> GRPOTrainer:
    """The trainer of a recipe of stage `grpo`.

    Without a shared prefix the base is given as a path: TRL loads the model that the divergence is
    measured from by the name of the base, and one that was handed over in memory would be measured
    from something else.

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
    lora = config.model.lora
    start, shared = (lora.start, lora.shared_prefix) if lora else ('', False)
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
        model_init_kwargs=None if start or shared else model_arguments(config),
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
        cache_implementation=None if torch.cuda.is_available() or shared else 'static',
        use_vllm=grpo.vllm,
        vllm_mode='colocate',
    )
    model: Any = config.model.base
    if shared:
        model = adapted_model(config, attn_implementation=causal_attention.__name__)
    elif start:
        model = adapted_model(config)
    return (SharedPromptTrainer if shared else CurriculumTrainer)(
        lambda shape: CurriculumSampler(
            prompts.groups,
            prompts.buckets,
            prompts.weights,
            grpo.curriculum,
            shape,
            config.seed,
        ),
        model=model,
        args=arguments,
        reward_funcs=prompts.reward,
        train_dataset=Dataset.from_list(prompts.asked),
        processing_class=tokenizer,
        peft_config=None if start or shared else adapters(config),
    )

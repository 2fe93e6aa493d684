# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Supervised fine-tuning with TRL (SafeGen-LLM section IV-B), of a model or of a new network.

The loss is that of equation 4: the negative log-likelihood of the answer, a plan, given the task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from torch import nn
from torch.optim import AdamW, Muon, Optimizer
from trl import SFTConfig, SFTTrainer

from safegen_ros.training.arguments import (
    RecipeRates,
    adapters,
    model_arguments,
    shared_arguments,
    validation_arguments,
)
from safegen_ros.training.base import base_tokenizer, check_base, check_compiler
from safegen_ros.training.config import NetworkConfig, TrainConfig
from safegen_ros.training.network import Losses, TaughtDecoder, decoder_config
from safegen_ros.training.samplers import BalancedSampler
from safegen_ros.training.world import Material, TrainingWorld


class MuonWithAdamW(Optimizer):
    """One optimizer of two: `torch.optim.Muon` takes matrices only.

    Embeddings count as everything else, as the authors of Muon advise. The steps of Muon are
    scaled to those of AdamW, so that both have one learning rate and one weight decay.

    Args:
        parameters: of the network, by name.
        weight_decay: on matrices only.
        betas: decays of AdamW's moments.
    """

    def __init__(
        self,
        parameters: Iterable[tuple[str, nn.Parameter]],
        lr: float,
        weight_decay: float,
        betas: tuple[float, float],
    ) -> None:
        matrices: list[nn.Parameter] = []
        others: list[nn.Parameter] = []
        for name, parameter in parameters:
            is_matrix = parameter.ndim == 2 and 'embed' not in name and 'head' not in name
            (matrices if is_matrix else others).append(parameter)
        self._parts: tuple[Optimizer, ...] = (
            Muon(matrices, lr, weight_decay, adjust_lr_fn='match_rms_adamw'),
            AdamW(others, lr, betas, weight_decay=0.0, fused=True),
        )
        super().__init__([{'params': [*matrices, *others]}], {'lr': lr})
        self._share_groups()

    def _share_groups(self) -> None:
        """Lets schedulers, which set the rate of each group, reach the groups of the parts."""
        self.param_groups = [group for part in self._parts for group in part.param_groups]

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step of both."""
        loss = closure() if closure is not None else None
        for part in self._parts:
            part.step()
        return loss

    def state_dict(self) -> dict[str, Any]:
        """The states of both."""
        return {'parts': [part.state_dict() for part in self._parts]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes up the states of both."""
        for part, state in zip(self._parts, state_dict['parts'], strict=True):
            part.load_state_dict(state)
        self._share_groups()


class BalancedTrainer(RecipeRates, SFTTrainer):
    """Takes its examples in the order of a `BalancedSampler`.

    Args:
        order: makes the sampler from the number of examples of a step.
    """

    def __init__(self, order: Callable[[int], BalancedSampler], **more: Any) -> None:
        self._order = order
        super().__init__(**more)

    def _get_train_sampler(self, train_dataset: Any = None) -> BalancedSampler:
        return self._order(self._train_batch_size * self.args.gradient_accumulation_steps)


class LossesTrainer(BalancedTrainer):
    """Reports how well words and whole plans are known, beside the loss."""

    # By `compute_loss`, with the words of all parts of the batch.
    loss_is_scaled_for_ga: bool | None = True
    model_accepts_loss_kwargs: bool
    state_weight = 0.0

    def __init__(
        self,
        order: Callable[[int], Any],
        data: tuple[list[dict[str, Any]], list[dict[str, Any]]],
        arguments: Mapping[str, Any],
        validation: Mapping[str, Any],
        **more: Any,
    ) -> None:
        """Has a sampler, examples to train on and to validate with, and arguments for both."""
        train, held_out = data
        super().__init__(
            order,
            args=SFTConfig(
                **arguments,
                max_length=None,
                remove_unused_columns=False,
                dataset_kwargs={'skip_prepare_dataset': True},
                prediction_loss_only=True,
                **validation,
            ),
            train_dataset=Dataset.from_list(train),
            eval_dataset=Dataset.from_list(held_out) if held_out else None,
            **more,
        )
        self.model_accepts_loss_kwargs = True  # makes the trainer count the words of a batch

    def losses(self, model: Any, inputs: dict[str, Any]) -> Losses:
        """The losses of a batch."""
        found: Losses = model(**inputs)
        return found

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        """The mean loss of the words of the plans, and of the state heads while training.

        The mean is over the words of all parts of the batch, so that a batch in parts, or on
        several devices, teaches the same as a whole one.
        """
        losses = self.losses(model, inputs)
        words = losses.count if num_items_in_batch is None else num_items_in_batch
        if num_items_in_batch is not None and self.args.average_tokens_across_devices:
            words = words / self.accelerator.num_processes
        mode = 'train' if self.model.training else 'eval'
        metrics = self._metrics[mode]
        metrics['word_loss'].append(losses.words.item() / losses.count)
        metrics['word_accuracy'].append(losses.right / losses.count)
        metrics['plan_accuracy'].append(losses.whole / len(inputs['input_ids']))
        loss = losses.words / words
        if mode == 'train' and 'states' in inputs:
            metrics['state_loss'].append(losses.states.item() / losses.count)
            loss = loss + self.state_weight * losses.states / words
        return (loss, {'loss': loss}) if return_outputs else loss


class WordTrainer(LossesTrainer):
    """Trains a new network on the words of its world, with its state heads."""

    def __init__(self, material: Material, config: TrainConfig, out: Path) -> None:
        network = config.model.network or NetworkConfig()
        if network.compiled:
            check_compiler()
        self.state_weight = network.state_weight
        torch.manual_seed(config.seed)
        model = TaughtDecoder(
            decoder_config(network, len(material.tokenizer)),
            material.atoms,
            compiled=network.compiled,
        )
        if network.start:
            model.start_from(Path(network.start))
        super().__init__(
            lambda batch: BalancedSampler(
                material.groups,
                [len(item['input_ids']) for item in material.items],
                [item['weight'] for item in material.items],
                batch,
                config.seed,
                config.data.shares,
            ),
            (material.items, material.validation),
            shared_arguments(config, out),
            validation_arguments(config, material.validation),
            model=model,
            data_collator=material.collate,
            processing_class=material.tokenizer,
        )
        self._recipe = config.optimizer

    def create_optimizer(self, model: Any = None) -> Any:
        """The optimizer of the recipe."""
        if self._recipe.method == 'adamw':
            return super().create_optimizer(model)
        self.optimizer = MuonWithAdamW(
            self.model.named_parameters(),
            self._recipe.learning_rate,
            self._recipe.weight_decay,
            (self.args.adam_beta1, self._recipe.beta2),
        )
        return self.optimizer


def sft_trainer(config: TrainConfig, world: TrainingWorld, out: Path) -> SFTTrainer:
    """The trainer of a recipe of stage `sft`.

    Raises:
        SafegenError: the dataset or the model cannot be used.
    """
    if config.model.network is not None:
        return WordTrainer(world.material(), config, out)
    base = Path(config.model.base)
    check_base(base, config.budget.max_length)
    tokenizer = base_tokenizer(base)
    train, validation = world.pairs(tokenizer)
    arguments = SFTConfig(
        **shared_arguments(config, out),
        max_length=config.budget.max_length,
        model_init_kwargs=model_arguments(config),
        **validation_arguments(config, validation),
    )
    return BalancedTrainer(
        lambda batch: BalancedSampler(
            [pair['group'] for pair in train],
            [pair['tokens'] for pair in train],
            [pair['weight'] for pair in train],
            batch,
            config.seed,
            config.data.shares,
        ),
        model=config.model.base,
        args=arguments,
        train_dataset=_dataset(train),
        eval_dataset=_dataset(validation) if validation else None,
        processing_class=tokenizer,
        peft_config=adapters(config),
    )


def _dataset(pairs: list[dict[str, Any]]) -> Dataset:
    columns = ('prompt', 'completion')
    return Dataset.from_list([{name: pair[name] for name in columns} for pair in pairs])

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A recipe in the words of transformers, PEFT and TRL."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, PeftModel, TaskType, get_peft_model
from transformers import AutoModelForCausalLM

from safegen_ros.llm.model_folder import LOCAL, nf4
from safegen_ros.training.config import ConfigError, TrainConfig

CHECKPOINTS = 'checkpoints'
"""Folder of the checkpoints in the folder of a run."""


def shared_arguments(config: TrainConfig, out: Path) -> dict[str, Any]:
    """The arguments that SFT and GRPO have in common."""
    optimizer, budget, lora = config.optimizer, config.budget, config.model.lora
    gpu = torch.cuda.is_available()
    schedule = {}
    if optimizer.schedule == 'warmup_stable_decay':
        schedule['num_decay_steps'] = math.ceil(optimizer.decay * budget.steps)
    return {
        'output_dir': str(out / CHECKPOINTS),
        'seed': config.seed,
        'per_device_train_batch_size': optimizer.batch,
        'gradient_accumulation_steps': optimizer.accumulate,
        'learning_rate': optimizer.learning_rate,
        'lr_scheduler_type': optimizer.schedule,
        'lr_scheduler_kwargs': schedule,
        'warmup_steps': optimizer.warmup,
        'weight_decay': optimizer.weight_decay,
        'adam_beta2': optimizer.beta2,
        'max_grad_norm': optimizer.clip,
        'bf16': optimizer.precision == 'bfloat16',
        'max_steps': budget.steps or -1,
        'num_train_epochs': budget.epochs,
        'logging_steps': budget.log_steps,
        'save_steps': budget.save_steps,
        'save_total_limit': 2,
        'report_to': 'none',
        'disable_tqdm': True,  # `run` shows its own bar
        'activation_checkpointing': lora is not None and gpu and not lora.shared_prefix,
        'use_cpu': not gpu,
        'dataloader_pin_memory': gpu,
        'ddp_find_unused_parameters': False,
        'fsdp': os.environ.get('ACCELERATE_USE_FSDP') == 'true',  # version 2; accelerate takes 1
        'fsdp_config': {'state_dict_type': 'SHARDED_STATE_DICT'},
    }


def validation_arguments(config: TrainConfig, validation: Sequence[Any]) -> dict[str, Any]:
    """The arguments for measuring the loss on problems that are not trained on."""
    return {
        'eval_strategy': 'steps' if validation else 'no',
        'eval_steps': config.budget.save_steps,
        'per_device_eval_batch_size': config.optimizer.batch,
    }


def model_arguments(config: TrainConfig) -> dict[str, Any]:
    """How the base is loaded.

    Weights that are trained whole stay in single precision, since a step is smaller than the
    resolution of bfloat16; the arithmetic is in the precision of the recipe all the same.

    Raises:
        ConfigError: 4 bits are asked for where there is no CUDA.
    """
    found: dict[str, Any] = {
        'dtype': 'float32' if config.model.lora is None else config.optimizer.precision,
        **LOCAL,
    }
    if config.model.four_bit:
        if not torch.cuda.is_available():
            raise ConfigError(
                'model.four_bit needs CUDA, and torch finds no GPU: set it to false, or train on '
                'a machine with one'
            )
        found['quantization_config'] = nf4(torch)
    return found


def adapters(config: TrainConfig) -> LoraConfig | None:
    """The low-rank adapters of a recipe, if it has some."""
    lora = config.model.lora
    if lora is None:
        return None
    return LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules='all-linear',
        task_type=TaskType.CAUSAL_LM,
    )


def adapted_model(config: TrainConfig, **how: Any) -> PeftModel:
    """The base with the adapters that are trained: new ones, or those the recipe begins with.

    Args:
        how: more arguments of the loader of the base.

    Raises:
        ConfigError: several processes would train without telling each other.
    """
    shared = config.model.lora is not None and config.model.lora.shared_prefix
    if shared and int(os.environ.get('WORLD_SIZE', '1')) > 1:
        raise ConfigError('model.lora.shared_prefix is for one process: set it to false')
    torch.manual_seed(config.seed)
    base = AutoModelForCausalLM.from_pretrained(
        config.model.base, use_safetensors=True, **{**LOCAL, **model_arguments(config), **how}
    )
    start = config.model.lora.start if config.model.lora else ''
    if start:
        return PeftModel.from_pretrained(base, start, is_trainable=True)
    return get_peft_model(base, adapters(config))


class RecipeRates:
    """A mixin for trainers whose resumed runs go by the optimizer section of their recipe.

    The states of optimizer and scheduler that a checkpoint holds have the rates in them that it
    was made with, and loading it would bring those back.
    """

    optimizer: Any
    lr_scheduler: Any

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        wanted = [
            {name: value for name, value in group.items() if name != 'params'}
            for group in self.optimizer.param_groups
        ]
        super()._load_optimizer_and_scheduler(checkpoint)  # type: ignore[misc]
        if checkpoint is None:
            return
        scheduler = getattr(self.lr_scheduler, 'scheduler', self.lr_scheduler)
        scheduler.base_lrs = [group['initial_lr'] for group in wanted]
        shares = [share(scheduler.last_epoch) for share in scheduler.lr_lambdas]
        rates = [rate * share for rate, share in zip(scheduler.base_lrs, shares, strict=True)]
        scheduler._last_lr = rates  # what is reported
        for group, own, rate in zip(self.optimizer.param_groups, wanted, rates, strict=True):
            group.update(own, lr=rate)

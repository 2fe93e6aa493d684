# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a resumed run takes from its checkpoint, and what from its recipe."""

from __future__ import annotations

from typing import Any


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

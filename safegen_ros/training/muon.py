# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Muon for the matrices of a network, AdamW for everything else."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn
from torch.optim import AdamW, Muon, Optimizer


class MuonWithAdamW(Optimizer):
    """One optimizer of two: `torch.optim.Muon` takes matrices only.

    Embeddings count as everything else, as the authors of Muon advise. The steps of Muon are
    scaled to those of AdamW, so that both have one learning rate and one weight decay.

    Args:
        parameters: of the network, by name.
        lr: learning rate.
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

    @torch.no_grad()
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

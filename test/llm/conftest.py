# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A complete model folder with random weights, made once per process."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope='session')
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from safegen_ros.training.config import ModelConfig, TrainConfig
    from safegen_ros.training.export import export_model
    from safegen_ros.training.network import build_decoder

    config = TrainConfig(model=ModelConfig(width=32, layers=1, heads=2, mlp=64))
    folder = tmp_path_factory.mktemp('tiny')
    return export_model(build_decoder(config.model, seed=3), config, folder)

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the tests of training share; all of it is read only."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.training_small import SHORT, train, write_dataset, write_recipe


@pytest.fixture(scope='session')
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four domains, 24 rows each to train on and 6 for tests."""
    return write_dataset(tmp_path_factory.mktemp('training') / 'data', 24, 6)


@pytest.fixture(scope='session')
def short_run(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the run of the short recipe, unbroken."""
    folder = tmp_path_factory.mktemp('short')
    recipe = write_recipe(
        folder / 'short.yaml', SHORT, data__folder=str(dataset), optimizer__method='muon'
    )
    train(recipe, folder / 'run')
    return folder / 'run'

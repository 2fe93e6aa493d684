# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A small dataset that several tests read."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.datasets_small import silent, small_recipe

from safegen_ros.datasets.pddl3.build import build
from safegen_ros.datasets.workers import HERE


@pytest.fixture(scope='session')
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the small dataset; read only."""
    folder = tmp_path_factory.mktemp('dataset') / 'small'
    assert build(folder, small_recipe(), HERE, silent)
    return folder

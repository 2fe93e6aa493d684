# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A model that is made once."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.scripted_model import tiny_model


@pytest.fixture(scope='session')
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny model that was not trained."""
    return tiny_model(tmp_path_factory.mktemp('models') / 'tiny')

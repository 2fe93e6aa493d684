# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A clean copy of the repository to build in, so that no test writes into the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INHERITED = (
    '_ROS_WHEELS_BOOTSTRAP_COMPLETE', 'AMENT_PREFIX_PATH', 'CMAKE_PREFIX_PATH',
    'COLCON_PREFIX_PATH', 'LD_LIBRARY_PATH', 'PYTHONPATH', 'VIRTUAL_ENV',
)  # fmt: skip


@pytest.fixture(scope='session')
def root() -> Path:
    return ROOT


@pytest.fixture(scope='session')
def clean_environment() -> dict[str, str]:
    """The environment without what this interpreter's ROS set-up left in it."""
    return {name: value for name, value in os.environ.items() if name not in INHERITED}


@pytest.fixture(scope='module')
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What git has, or would take, of the working tree: nothing that was built is in it."""
    listing = subprocess.run(
        ['git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard'],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    target = tmp_path_factory.mktemp('source')
    for name in filter(None, listing.stdout.decode().split('\0')):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    return target

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An executor of an overlay takes the table of that overlay, whatever else is installed."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from support.overlays import configured


@pytest.fixture
def overlay(copy: Path, tmp_path: Path) -> Path:
    """What colcon installs, without its build."""
    site, share = tmp_path / 'ws/lib/python3.11/site-packages', tmp_path / 'ws/share'
    shutil.copytree(copy / 'safegen_ros', site / 'safegen_ros')
    shutil.copytree(copy / 'config', share / 'safegen_ros/config')
    (share / 'ament_index/resource_index/packages').mkdir(parents=True)
    (share / 'ament_index/resource_index/packages/safegen_ros').touch()
    return tmp_path / 'ws'


@pytest.mark.nightly
def test_the_executor_takes_the_table_of_its_overlay(
    overlay: Path, ros_domain: int, clean_environment: dict[str, str], tmp_path: Path
) -> None:
    environment = {
        **clean_environment,
        'ROS_DOMAIN_ID': str(ros_domain),
        'AMENT_PREFIX_PATH': os.pathsep.join((str(overlay), sys.prefix)),
        'PYTHONPATH': str(overlay / 'lib/python3.11/site-packages'),
    }
    answer, scene = configured('', environment, tmp_path)
    assert answer.strip() == 'SUCCESS'
    assert Path(scene) == overlay / 'share/safegen_ros/config/scene.yaml'

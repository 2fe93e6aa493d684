# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The weights of safegen_ros as a package of their own: `pip install ./models`."""

from __future__ import annotations

from pathlib import Path

from setuptools import setup

FOLDERS = sorted({path.parent for path in Path().glob('safegen-*/**/*') if path.is_file()})

setup(
    name='safegen_ros_models',
    version='0.2.0',
    description='Small planning models of safegen_ros',
    maintainer='The safegen_ros maintainers',
    maintainer_email='safegen-ros@users.noreply.github.com',
    license='Apache-2.0',
    packages=[],
    data_files=[
        (f'share/safegen_ros/models/{folder}', [str(p) for p in folder.iterdir() if p.is_file()])
        for folder in FOLDERS
    ],
)

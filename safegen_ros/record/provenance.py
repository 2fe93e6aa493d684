# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which software made a run."""

from __future__ import annotations

import platform
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

DISTRIBUTIONS = (
    'safegen-ros',
    'safegen-msgs',
    'ros-rclpy',
    'ros-rmw-fastrtps-cpp',
    'torch',
    'transformers',
    'mujoco',
    'numpy',
)


def versions() -> dict[str, str]:
    """Version by name of this interpreter, the system and the installed packages that matter."""
    found = {'python': platform.python_version(), 'system': platform.platform()}
    for name in DISTRIBUTIONS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def source_commit(folder: Path) -> str:
    """Commit of a checkout, with '+changes' when files differ from it; empty outside of one."""
    git = shutil.which('git')
    if git is None:
        return ''

    def ask(*words: str) -> str | None:
        command = [git, '-C', str(folder), *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
        return done.stdout.strip() if done.returncode == 0 else None

    # A folder inside somebody else's checkout, such as a virtual environment, is not that source.
    top = ask('rev-parse', '--show-toplevel')
    commit = ask('rev-parse', '--verify', 'HEAD')
    if not commit or top is None or Path(top) != folder.resolve():
        return ''
    return f'{commit}+changes' if ask('status', '--porcelain') else commit

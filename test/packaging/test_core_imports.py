# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The core runs on a machine that has neither ROS nor torch nor MuJoCo."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = ('errors', 'verdict', 'pddl', 'verify', 'search', 'tasks', 'planning', 'api',
        'datasets')  # fmt: skip
BLOCKED = ('rclpy', 'torch', 'mujoco', 'transformers', 'serial', 'safegen_msgs')

SCRIPT = """
import importlib, json, pkgutil, sys

root, top, blocked = sys.argv[1], sys.argv[2], set(sys.argv[3:])

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in blocked:
            raise ImportError('blocked: ' + name)
        return None

sys.meta_path.insert(0, Blocker())
sys.path.insert(0, root)
module = importlib.import_module('safegen_ros.' + top)
names = [module.__name__]
if hasattr(module, '__path__'):
    def stop(name):
        raise ImportError(name)
    for info in pkgutil.walk_packages(module.__path__, module.__name__ + '.', onerror=stop):
        importlib.import_module(info.name)
        names.append(info.name)
print(json.dumps(names))
"""


def run(top: str, *blocked: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, '-c', SCRIPT, str(ROOT), top, *blocked],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize('top', CORE)
def test_core_imports_without_heavy_packages(top: str) -> None:
    result = run(top, *BLOCKED)
    assert result.returncode == 0, result.stderr
    imported = json.loads(result.stdout.splitlines()[-1])
    files = [ROOT / 'safegen_ros' / f'{top}.py', *(ROOT / 'safegen_ros' / top).rglob('*.py')]
    assert len(imported) == len([path for path in files if path.is_file()])


def test_the_blocker_blocks() -> None:
    result = run('nodes', *BLOCKED)
    assert result.returncode != 0
    assert 'blocked: ' in result.stderr

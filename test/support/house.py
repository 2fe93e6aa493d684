# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""scripts/house.py as a module."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

_spec = importlib.util.spec_from_file_location(
    'house_script', Path(__file__).parents[2] / 'scripts' / 'house.py'
)
assert _spec is not None
assert _spec.loader is not None
house = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = house
_spec.loader.exec_module(house)

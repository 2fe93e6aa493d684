# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A recipe of a small dataset, and what tests do with datasets."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from safegen_ros.datasets.pddl3.recipe import Recipe, domain_recipe, recipe_of
from safegen_ros.tasks.pddl3.domains import kits

QUOTAS = {'train': 8, 'test': 2, 'test_family': 2, 'test_renamed': 2}
WEIGHTS = {
    'ferry': {'stop-before-delivery': 4, 'express': 2, 'closed-later': 1, 'delivery-order': 1},
    'spanner': {'tightening-order': 3, 'urgent-nut': 1, 'used-first': 1, 'taken-at-once': 1},
}
HELD_OUT = {'ferry': ('closed-later', 'delivery-order'), 'spanner': ('taken-at-once',)}


def small_recipe(**changes: Any) -> Recipe:
    """Ferry and Spanner, 28 rows; fields may be given other values."""
    domains = {
        name: replace(
            domain_recipe(kits()[name], QUOTAS, 0.5, held_out),  # type: ignore[arg-type]
            weights=WEIGHTS[name],
        )
        for name, held_out in HELD_OUT.items()
    }
    values = json.loads(Recipe('small', 3, domains, block_size=5).to_json())
    return recipe_of({**values, **changes}, 'small recipe')


def silent(stage: str, done: int, total: int) -> None:
    """A listener that does not care."""


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, plots apart."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob('*'))
        if path.is_file() and path.suffix != '.png'
    }

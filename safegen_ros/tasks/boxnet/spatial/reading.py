# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reads a task of BoxNet3D from the values of its JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from safegen_ros.tasks.boxnet.model import BoxnetError, State, points_of
from safegen_ros.tasks.boxnet.spatial.model import SpatialTask


def task_of_values(values: Mapping[str, Any], source: str) -> SpatialTask:
    """A task; identifier and sizes are looked at before.

    Args:
        values: of its fields.
        source: where it is from, for messages.

    Raises:
        BoxnetError: it is none.
    """
    if not isinstance(values['arm'], str):
        raise BoxnetError(f'{source}: arm: must be a text')
    objects, targets, bases, tips = (
        points_of(values[name], f'{source}: {name}')
        for name in ('objects', 'targets', 'bases', 'tips')
    )
    try:
        return SpatialTask(
            values['id'], values['width'], values['height'], bases, State(tips, objects), targets,
            values['arm'],
        )  # fmt: skip
    except BoxnetError as error:
        raise BoxnetError(f'{source}: {error.message}') from None

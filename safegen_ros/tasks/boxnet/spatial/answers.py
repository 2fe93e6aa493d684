# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reads a move as planners of BoxNet3D write it: where to, and whether a box is taken along."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from safegen_ros.tasks.boxnet.answers import coordinate, unreadable
from safegen_ros.tasks.boxnet.geometry import Point
from safegen_ros.tasks.boxnet.model import Move

_MOVE = re.compile(r'\s*(?:Move\s+)?\[([^\[\],]*),([^\[\],]*)\]\s*(?:,|\s)\s*(True|False)\s*')
_FORM = '"Move [x, y], True" or "Move [x, y], False"'
_LONGEST = 200


def follow_tips(
    tips: Sequence[Point], make: Callable[[int, Point, Point, bool], Move]
) -> Callable[[Any, int, str, int], Move]:
    """Reads moves in their order; each begins where the one before it of its robot has ended.

    Args:
        tips: where the arms are before the first move.
        make: a move from a robot, its start, its end, and whether it carries.
    """
    now = list(tips)

    def read(said: Any, robot: int, place: str, at: int) -> Move:
        match = _MOVE.fullmatch(said) if isinstance(said, str) and len(said) <= _LONGEST else None
        if match is None:
            raise unreadable(f'{place}: is not a move: write {_FORM}', at, robot=robot)
        end = coordinate(match[1], place, at), coordinate(match[2], place, at)
        start, now[robot] = now[robot], end
        return make(robot, start, end, match[3] == 'True')

    return read

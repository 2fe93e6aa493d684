# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A map of BoxNet3D without anything on it, from which tasks are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from safegen_ros.robot.families.known import FAMILIES
from safegen_ros.tasks.boxnet.geometry import UNIT, Point
from safegen_ros.tasks.boxnet.model import State
from safegen_ros.tasks.boxnet.spatial.model import SpatialTask, middles, rest_place


@dataclass(frozen=True)
class SpatialMap:
    """A map for arms of one kind.

    Attributes:
        size: cells along x and y.
        arm: kind of the arms, a key of `FAMILIES`.
    """

    size: tuple[int, int]
    arm: str

    @property
    def side(self) -> int:
        """Of a cell [um]."""
        return round(FAMILIES[self.arm].cell * UNIT)

    @property
    def points(self) -> tuple[Point, ...]:
        """The middle of each cell, where boxes and targets are put."""
        return middles(self.size, self.side)

    def task(
        self, bases: Sequence[Point], places: Sequence[Point], targets: Sequence[Point]
    ) -> SpatialTask:
        """A task with robots at rest."""
        rest = FAMILIES[self.arm].rest
        tips = tuple(rest_place(base, rest) for base in bases)
        start = State(tips, tuple(places))
        return SpatialTask('', *self.size, tuple(bases), start, tuple(targets), self.arm)

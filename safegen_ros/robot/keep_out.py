# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Boxes that neither the arm nor what it carries may enter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

Point = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class KeepOut:
    """A box along the axes of `base_link`.

    Attributes:
        low: its lowest corner [m].
        high: its highest corner [m].
    """

    KIND: ClassVar[str] = 'keep-out box'

    name: str
    low: Point
    high: Point

    @property
    def centre(self) -> Point:
        """Its middle [m]."""
        x, y, z = ((a + b) / 2 for a, b in zip(self.low, self.high, strict=True))
        return x, y, z

    @property
    def half_size(self) -> Point:
        """Half of its edges [m]."""
        x, y, z = ((b - a) / 2 for a, b in zip(self.low, self.high, strict=True))
        return x, y, z

    def __str__(self) -> str:
        return f'{self.KIND} {self.name}'

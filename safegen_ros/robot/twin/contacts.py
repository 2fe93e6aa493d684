# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What touches what, and whether it should: the twin's collision rules.

Two bodies may touch when they touched at the start of the phase, or when the phase expects it (the
cup and the block it picks, the carried block and its support). Any other pair with more than 0.1 mm
of penetration, or 2 N, is a collision, and so is a crushed pair that is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safegen_ros.errors import RobotError
from safegen_ros.robot.arm import TABLE, ContactPair
from safegen_ros.robot.pose import KeepOut

#: Penetration from which an unexpected contact counts [m]; resting contacts stay below it.
PENETRATION = 1e-4
#: Normal force from which it counts however shallow it is [N]; a block weighs 0.2 N.
TOUCH_FORCE = 2.0
#: Normal force from which an expected contact counts as a crush [N]. Picking presses with 7 to
#: 17 N, wrong actions were measured at 54 to 58 N.
CRUSH_FORCE = 20.0


@dataclass(frozen=True, slots=True)
class Collision:
    """A contact that should not be.

    Attributes:
        pair: names of both bodies: blocks, arm links, `TOOL` or `TABLE`.
        penetration: deepest point [m].
        force: sum of the normal forces of the pair [N].
        crush: whether the pair was allowed and only the force is wrong.
    """

    pair: ContactPair
    penetration: float
    force: float
    crush: bool

    def __str__(self) -> str:
        one, other = (name.strip('<>') for name in self.pair)
        what = 'is crushed against' if self.crush else 'hits'
        return f'{one} {what} {other} ({self.force:.1f} N, {self.penetration * 1e3:.2f} mm deep)'


class CollisionError(RobotError):
    """The arm or what it carries touched what it should not, and holds."""

    def __init__(self, message: str, collision: Collision) -> None:
        super().__init__(message)
        self.collision = collision


@dataclass(frozen=True, slots=True)
class Contact:
    """Two bodies that came together, at their worst.

    Attributes:
        pair: names of both bodies, as of `Collision`.
        force: highest sum of the normal forces of the pair [N].
        penetration: deepest point [m].
        expected: whether the phase expected it.
    """

    pair: ContactPair
    force: float
    penetration: float
    expected: bool


class ContactRules:
    """Which pairs of a model may touch in the current phase.

    Args:
        names: by geom id, the body that the geom counts as; `TABLE`, `TOOL`, a block, or a link.
    """

    def __init__(self, names: list[str], blocks: Iterable[str]) -> None:
        self._index = {name: index for index, name in enumerate(dict.fromkeys(names))}
        self._names = list(self._index)
        self._of_geom = np.array([self._index[name] for name in names])
        self._resting = {*blocks, TABLE}
        square = (len(self._names),) * 2
        self._allowed = np.zeros(square, dtype=bool)
        self._rested = np.zeros(square, dtype=bool)
        self._force = np.zeros(square)
        self._depth = np.zeros(square)

    def begin(self, data: Any, expected: Iterable[ContactPair]) -> None:
        """Starts a phase: allows what rests together now, and the given pairs."""
        self._allowed[:] = False
        for one, other in zip(*self._pairs(data), strict=True):
            if self._names[one] in self._resting and self._names[other] in self._resting:
                self._allow(one, other)
        self._rested = self._allowed.copy()
        for first, second in expected:
            self._allow(self._index[first], self._index[second])

    def first_collision(self, data: Any) -> Collision | None:
        """The worst contact against the rules, or None; vectorised, as it runs all the time."""
        contact = data.contact
        if not len(contact.dist):
            return None
        one, other = self._pairs(data)
        allowed = self._allowed[one, other]
        force = self._pair_forces(data, one, other)
        np.maximum.at(self._force, (one, other), force)
        np.maximum.at(self._depth, (one, other), -contact.dist)
        touches = (contact.dist < -PENETRATION) | (force > TOUCH_FORCE)
        wrong = np.where(allowed, force > CRUSH_FORCE, touches)
        if not wrong.any():
            return None
        worst = int(np.argmax(np.where(wrong, force, -1.0)))
        return Collision(
            self._pair(one[worst], other[worst]), -float(contact.dist[worst]),
            float(force[worst]), bool(allowed[worst]),
        )  # fmt: skip

    def take_contacts(self) -> tuple[Contact, ...]:
        """What came together since the last call, the hardest first; not what only rested."""
        touched = (self._force > 0) & ~self._rested
        found = [
            Contact(
                self._pair(one, other), float(self._force[one, other]),
                float(self._depth[one, other]), bool(self._allowed[one, other]),
            )
            for one, other in zip(*np.nonzero(touched), strict=True)
        ]  # fmt: skip
        self._force[:] = self._depth[:] = 0.0
        return tuple(sorted(found, key=lambda contact: -contact.force))

    def _pair(self, one: int, other: int) -> ContactPair:
        first, second = self._names[one], self._names[other]
        return (second, first) if self._rank(first) > self._rank(second) else (first, second)

    def _rank(self, name: str) -> int:
        """What moves comes first in a sentence: the arm, then blocks, then the table."""
        fixed = name == TABLE or name.startswith(f'<{KeepOut.KIND}')
        return 2 if fixed else int(name in self._resting)

    def _allow(self, one: int, other: int) -> None:
        self._allowed[one, other] = self._allowed[other, one] = True

    def _pairs(self, data: Any) -> tuple[NDArray[np.int_], NDArray[np.int_]]:
        geoms = self._of_geom[data.contact.geom]
        ordered = np.sort(geoms, axis=1) if len(geoms) else geoms.reshape(0, 2)
        return ordered[:, 0], ordered[:, 1]

    def _pair_forces(
        self, data: Any, one: NDArray[np.int_], other: NDArray[np.int_]
    ) -> NDArray[np.float64]:
        """For each contact, the normal force [N] summed over all contacts of the same pair."""
        address = data.contact.efc_address
        single = (
            np.where(address >= 0, data.efc_force[np.maximum(address, 0)], 0.0)
            if len(data.efc_force)
            else np.zeros(len(address))
        )
        keys = one * len(self._names) + other
        sums = np.bincount(keys, weights=single)
        return np.asarray(sums[keys], dtype=np.float64)

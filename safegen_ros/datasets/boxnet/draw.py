# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Draws tasks by chance: the paper's robots, robots anywhere, points anywhere, and unsolvable."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import product
from random import Random

from safegen_ros.robot.arms import FAMILIES
from safegen_ros.tasks.boxnet.astar import certificate, connected
from safegen_ros.tasks.boxnet.geometry import UNIT, Point
from safegen_ros.tasks.boxnet.model import State, Task, rest_tip, sites
from safegen_ros.tasks.boxnet.spatial import SpatialTask
from safegen_ros.tasks.boxnet.spatial.model import middles, rest_place

Size = tuple[int, int]
"""Cells along x and y."""

GRID, OCCUPIED, RANDOM_ROBOTS, MOVED_POINTS, UNSOLVABLE = VARIANTS = (
    'grid',
    'occupied targets',
    'random robots',
    'moved points',
    'unsolvable',
)
"""Robots at all inner joints (the paper's default); the same with an object at a target of another;
robots at random joints that are connected and solve the task (RANDROB); the first with objects and
targets moved (NEWCOORD); and robots at random joints that do not solve it (appendix C.4)."""

_HELD_OUT = 8
"""One of so many tasks is for tests, by the digest of its content."""

_TRIES = 2000
"""Draws without a new task after which the tasks count as exhausted."""

_OFFSET = 20
"""Most that a point is moved along x and y [hundredth of a cell]."""


def inner_joints(size: Size) -> tuple[Point, ...]:
    """The joints of the grid that are not on the border, where the paper puts its robots [cell]."""
    width, height = size
    return tuple((x, y) for x in range(1, width) for y in range(1, height))


def tasks(
    size: Size,
    objects: int,
    seed: str,
    *,
    variant: str = GRID,
    held_out: bool = False,
    arm: str = '',
) -> Iterator[Task]:
    """Different tasks of one size, until there are none left or many draws bring nothing new.

    Args:
        size: of the map, 2 cells along each side at least.
        variant: one of `VARIANTS`.
        held_out: whether those for tests are drawn, or those for training; no task is both.
        arm: kind of the arms of BoxNet3D, a key of `FAMILIES`; empty for BoxNet2D.
    """
    label = f'{size[0]}x{size[1]}-{objects}'
    map = EmptyMap(size, arm)
    if objects >= len(map.points):
        return  # nothing could be moved
    random = Random(f'{seed} {label} {variant} {held_out}{arm}')  # noqa: S311  # no secret
    if variant == MOVED_POINTS:
        base = tasks(size, objects, seed, held_out=held_out, arm=arm)
        yield from (_moved(task, random) for task in base)
        return
    seen = set[str]()
    misses = 0
    while misses < _TRIES:
        misses += 1
        task = _draw(map, objects, random, variant not in (GRID, OCCUPIED))
        free = not {*task.targets} & {*task.start.objects}
        key = task.to_json()
        for_tests = sha256(key.encode()).digest()[0] % _HELD_OUT == 0
        if key in seen or for_tests != held_out or (variant == OCCUPIED and free):
            continue
        proof = certificate(task)
        wanted = proof is not None if variant == UNSOLVABLE else proof is None
        if not wanted or (variant == RANDOM_ROBOTS and not connected(task.bases, task.side)):
            continue
        seen.add(key)
        misses = 0
        yield replace(task, id=f'{label}-{len(seen):05d}')


def _draw(map: EmptyMap, objects: int, random: Random, anywhere: bool) -> Task:
    bases = tuple((x * map.side, y * map.side) for x, y in inner_joints(map.size))
    if anywhere:
        joints = [
            (x * map.side, y * map.side) for x, y in product(*(range(n + 1) for n in map.size))
        ]
        bases = tuple(sorted(random.sample(joints, len(bases))))
    while True:
        places = tuple(random.sample(map.points, objects))
        targets = tuple(random.sample(map.points, objects))
        if all(place != target for place, target in zip(places, targets, strict=True)):
            return map.task(bases, places, targets)


@dataclass(frozen=True)
class EmptyMap:
    """A map without anything on it.

    Attributes:
        size: cells along x and y.
        arm: kind of the arms of BoxNet3D, a key of `FAMILIES`; empty for BoxNet2D.
    """

    size: Size
    arm: str

    @property
    def side(self) -> int:
        """The side of a cell [cell / UNIT]."""
        return round(FAMILIES[self.arm].cell * UNIT) if self.arm else UNIT

    @property
    def points(self) -> tuple[Point, ...]:
        """Where objects and targets are put."""
        return middles(self.size, self.side) if self.arm else sites(*self.size)

    def task(
        self, bases: tuple[Point, ...], places: tuple[Point, ...], targets: tuple[Point, ...]
    ) -> Task:
        """A task with robots at rest."""
        if not self.arm:
            tips = tuple(rest_tip(self.size, base) for base in bases)
            return Task('', *self.size, bases, State(tips, places), targets)
        tips = tuple(rest_place(base, FAMILIES[self.arm].rest) for base in bases)
        return SpatialTask('', *self.size, bases, State(tips, places), targets, self.arm)


def _moved(task: Task, random: Random) -> Task:
    def moved(point: Point) -> Point:
        x, y = (
            at + random.randint(-_OFFSET, _OFFSET) * task.side // 100 for at in point
        )  # cells are kept: the points of a cell are 0.25 away from its sides
        return x, y

    places = tuple(map(moved, task.start.objects))
    targets = tuple(map(moved, task.targets))
    return replace(task, start=State(task.start.tips, places), targets=targets)

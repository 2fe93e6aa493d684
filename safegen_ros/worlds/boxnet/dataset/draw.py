# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Draws tasks by chance: the paper's robots, robots anywhere, points anywhere, and unsolvable."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from itertools import product
from random import Random

from safegen_ros.worlds.boxnet.astar import rest_tip
from safegen_ros.worlds.boxnet.geometry import UNIT, Point
from safegen_ros.worlds.boxnet.model import State, Task, sites
from safegen_ros.worlds.boxnet.routes import certificate, connected

Size = tuple[int, int]
"""Cells along x and y."""

GRID, RANDOM_ROBOTS, MOVED_POINTS, UNSOLVABLE = (
    'grid',
    'random robots',
    'moved points',
    'unsolvable',
)
VARIANTS = (GRID, RANDOM_ROBOTS, MOVED_POINTS, UNSOLVABLE)
"""Robots at all inner joints (the paper's default); robots at random joints that are connected and
solve the task (RANDROB); the first with objects and targets moved (NEWCOORD); and robots at random
joints that do not solve it (appendix C.4)."""

_HELD_OUT = 8
"""One of so many tasks is for tests, by the digest of what it is."""

_TRIES = 2000
"""Draws without a new task after which there is taken to be none."""

_OFFSET = 20
"""Most that a point is moved along x and y [hundredth of a cell]."""


def inner_joints(size: Size) -> tuple[Point, ...]:
    """The joints of the grid that are not on the border: where the paper puts its robots."""
    width, height = size
    return tuple((x * UNIT, y * UNIT) for x in range(1, width) for y in range(1, height))


def tasks(
    size: Size, objects: int, seed: str, *, variant: str = GRID, held_out: bool = False
) -> Iterator[Task]:
    """Different tasks of one size, until there are none left or many draws bring nothing new.

    Args:
        size: of the map, 2 cells along each side at least.
        objects: how many.
        seed: the same seed draws the same tasks.
        variant: one of `VARIANTS`.
        held_out: whether those for tests are drawn, or those for training; no task is both.
    """
    label = f'{size[0]}x{size[1]}-{objects}'
    random = Random(f'{seed} {label} {variant} {held_out}')  # noqa: S311  # no secret
    if variant == MOVED_POINTS:
        base = tasks(size, objects, seed, held_out=held_out)
        yield from (_moved(task, random) for task in base)
        return
    seen = set[str]()
    misses = 0
    while misses < _TRIES:
        misses += 1
        task = _draw(size, objects, random, variant != GRID)
        key = task.to_json()
        digest = sha256(key.encode()).digest()[0]
        if key in seen or (digest % _HELD_OUT == 0) != held_out:
            continue
        proof = certificate(task)
        wanted = proof is not None if variant == UNSOLVABLE else proof is None
        if not wanted or (variant == RANDOM_ROBOTS and not connected(task.bases)):
            continue
        seen.add(key)
        misses = 0
        yield _named(task, f'{label}-{len(seen):05d}')


def _draw(size: Size, objects: int, random: Random, anywhere: bool) -> Task:
    bases = inner_joints(size)
    if anywhere:
        joints = [(x * UNIT, y * UNIT) for x, y in product(*(range(side + 1) for side in size))]
        bases = tuple(sorted(random.sample(joints, len(bases))))
    tips = tuple(rest_tip(size, base) for base in bases)
    points = sites(*size)
    while True:
        places = tuple(random.sample(points, objects))
        targets = tuple(random.sample(points, objects))
        if all(place != target for place, target in zip(places, targets, strict=True)):
            return Task('', *size, bases, State(tips, places), targets)


def _moved(task: Task, random: Random) -> Task:
    def moved(point: Point) -> Point:
        x, y = (
            at + random.randint(-_OFFSET, _OFFSET) * UNIT // 100 for at in point
        )  # cells are kept: the points of a cell are 0.25 away from its sides
        return x, y

    places = tuple(map(moved, task.start.objects))
    targets = tuple(map(moved, task.targets))
    return Task(
        task.id, task.width, task.height, task.bases, State(task.start.tips, places), targets
    )


def _named(task: Task, name: str) -> Task:
    return Task(name, task.width, task.height, task.bases, task.start, task.targets)

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which robots can pass an object on to which, how often it must be carried, and whether at all.

Bases are at whole numbers and a reach is an open square of half width 1. Two reaches overlap
exactly where bases differ by at most 1 in x and in y, and then they share a whole cell of the map.
What is said here of the four points of each cell therefore holds for all points.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from safegen_ros.tasks.boxnet.geometry import UNIT, Point, point_text
from safegen_ros.tasks.boxnet.model import Task, object_name, robot_name

FAR = 10**6
"""Number of carries where no number is enough."""


@dataclass(frozen=True, slots=True)
class Unsolvable:
    """Why no plan moves an object to its target, whatever the points that are used.

    Attributes:
        object: its index.
        carriers: all robots that it can ever be handed to, closed under handing over.
        reason: the same in words.
    """

    object: int
    carriers: frozenset[int]
    reason: str


def certificate(task: Task) -> Unsolvable | None:
    """What proves that a task has no plan; None where it has one.

    Where idle arms are ignored, robots may act one after the other, so that a task is solvable
    exactly when each object can be handed on to a robot that reaches its target.
    """
    for index, (place, target) in enumerate(zip(task.start.objects, task.targets, strict=True)):
        if place == target:
            continue
        carriers = _carriers(task, place)
        if not any(task.reaches(robot, target) for robot in carriers):
            names = ', '.join(map(robot_name, sorted(carriers)))
            who = (
                f'it can only ever get to {names}, none of which reaches {point_text(target)}'
                if carriers
                else f'no robot reaches it at {point_text(place)}'
            )
            return Unsolvable(index, carriers, f'{object_name(index)} cannot be brought: {who}')
    return None


def proves(found: Unsolvable, task: Task) -> bool:
    """Whether a certificate holds, checked without the search that made it."""
    place, target = task.start.objects[found.object], task.targets[found.object]
    every = range(len(task.bases))
    return (
        place != target
        and all(robot in found.carriers for robot in every if task.reaches(robot, place))
        and all(task.neighbours[robot] <= found.carriers for robot in found.carriers)
        and not any(task.reaches(robot, target) for robot in found.carriers)
    )


def connected(bases: Iterable[Point], side: int = UNIT) -> bool:
    """Whether an object can be handed on from each robot to each other one.

    Args:
        bases: of the robots.
        side: of a cell, in the unit of coordinates.
    """
    rest = set(bases)
    front = [rest.pop()]
    while front:
        x, y = front.pop()
        near = {b for b in rest if abs(b[0] - x) <= side and abs(b[1] - y) <= side}
        front += near
        rest -= near
    return not rest


def _carriers(task: Task, place: Point) -> frozenset[int]:
    found = {robot for robot in range(len(task.bases)) if task.reaches(robot, place)}
    front = list(found)
    while front:
        fresh = task.neighbours[front.pop()] - found
        found |= fresh
        front += fresh
    return frozenset(found)


class Routes:
    """The points of a task with who reaches them, and how far each is from the targets."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.points = list(dict.fromkeys((*task.points, *task.start.objects, *task.targets)))
        self.reach = [
            [point for point in self.points if task.reaches(robot, point)]
            for robot in range(len(task.bases))
        ]
        self.robots: dict[Point, list[int]] = {point: [] for point in self.points}
        for robot, points in enumerate(self.reach):
            for point in points:
                self.robots[point].append(robot)

    @cached_property
    def carries(self) -> list[dict[Point, int]]:
        """For each object the least number of carries from a point to its target; or `FAR`."""
        return [self._carries(target) for target in self.task.targets]

    def _carries(self, target: Point) -> dict[Point, int]:
        found = {target: 0}
        front, done = [target], set[int]()
        while front:
            behind = list[Point]()
            for point in front:
                for robot in self.robots[point]:
                    if robot in done:
                        continue
                    done.add(robot)
                    fresh = [each for each in self.reach[robot] if each not in found]
                    found |= dict.fromkeys(fresh, found[point] + 1)
                    behind += fresh
            front = behind
        return {point: found.get(point, FAR) for point in self.points}

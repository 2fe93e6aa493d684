# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Tasks and plans turned, mirrored and moved: reach and collisions stay what they are."""

from __future__ import annotations

from itertools import product

from safegen_ros.tasks.boxnet.geometry import Point
from safegen_ros.tasks.boxnet.model import Move, Plan, State, Task

Turn = tuple[bool, bool, bool]
"""Whether x is mirrored, whether y is, and whether x and y are swapped after that."""

TURNS: tuple[Turn, ...] = tuple((a, b, c) for a, b, c in product((False, True), repeat=3))
"""The eight symmetries of a square."""


class Turned:
    """A task as it looks after a turn, with states and plans of it.

    Args:
        task: of BoxNet2D.
        turn: how it is turned.
        away: how far it is then moved from the corner, in whole cells.

    Attributes:
        task: the new task, with its robots in the order of their bases; its map reaches to the
            corner.
    """

    def __init__(self, task: Task, turn: Turn, away: Point = (0, 0)) -> None:
        self._turn, self._away = turn, away
        self._far = task.width * task.side, task.height * task.side
        bases = self._points(task.bases)
        self._order = sorted(range(len(bases)), key=bases.__getitem__)
        corners = [self._point((x, y)) for x in (0, self._far[0]) for y in (0, self._far[1])]
        width, height = (max(corner[axis] for corner in corners) for axis in (0, 1))
        self.task = Task(
            task.id,
            width // task.side,
            height // task.side,
            tuple(sorted(bases)),
            self.state(task.start),
            self._points(task.targets),
        )

    def state(self, state: State) -> State:
        """A state after the turn."""
        tips = self._points(state.tips)
        return State(tuple(tips[robot] for robot in self._order), self._points(state.objects))

    def plan(self, plan: Plan) -> Plan:
        """A plan after the turn; it does what it did before."""
        return tuple(tuple(map(self._move, step)) for step in plan)

    def _move(self, move: Move) -> Move:
        robot = self._order.index(move.robot)
        return Move(robot, self._point(move.start), self._point(move.end), move.carry)

    def _points(self, points: tuple[Point, ...]) -> tuple[Point, ...]:
        return tuple(map(self._point, points))

    def _point(self, point: Point) -> Point:
        x, y = (
            far - at if mirrored else at
            for at, far, mirrored in zip(point, self._far, self._turn[:2], strict=True)
        )
        if self._turn[2]:
            x, y = y, x
        return x + self._away[0], y + self._away[1]

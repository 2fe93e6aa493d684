# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A task of BoxNet2D, its states, and what its robots can be told to do."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NoReturn, Protocol

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.tasks.boxnet.findings import Fault
from safegen_ros.tasks.boxnet.geometry import UNIT, Point, distance, point_text

LARGEST = 20
"""Cells along a side of the largest map, and objects of the fullest."""

IdleArms = Literal['ignore', 'block']
"""Whether the arm of a robot that does nothing in a step is in the way of the others. The plan that
the paper prints (listing 10) touches such arms in six of its eight steps, so it ignores them."""

SPEED = 0.5
"""Speed of the tip of an arm [cell/time]."""


class BoxnetError(SafegenError):
    """An invalid task; the message has the place and the fix."""

    def __init__(self, message: str) -> None:
        super().__init__(message, ErrorCode.BAD_PDDL)


@dataclass(frozen=True, slots=True)
class Move:
    """What one robot does in a step.

    Attributes:
        start: where its tip is said to be.
        end: where its tip goes, in a straight line.
        carry: whether it takes the object along that is at its tip.
    """

    robot: int
    start: Point
    end: Point
    carry: bool

    @property
    def text(self) -> str:
        """The value in the JSON of an answer."""
        return f'{point_text(self.start)} -> {point_text(self.end)}, {self.carry}'


Step = tuple[Move, ...]
"""What happens at once: one move at most for each robot; the others do nothing."""

Plan = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class State:
    """Where things are."""

    tips: tuple[Point, ...]
    objects: tuple[Point, ...]


def robot_name(index: int) -> str:
    """What a robot is called in texts."""
    return f'Robot {index}'


def object_name(index: int) -> str:
    """What an object is called in texts."""
    return f'Object {index}'


class StepJudge(Protocol):
    """What decides of a step; see `verifier.StepRules`."""

    def take_step(self, task: Any, state: State, step: Sequence[Move]) -> State | Fault:
        """The state after a step, or what keeps it from being taken."""

    def arms_touch(self, task: Any, one: Move, other: Move) -> bool:
        """Whether two robots that move at once collide; both moves are within reach."""


@dataclass(frozen=True)
class Task:
    """A map with its robots, objects and targets.

    Attributes:
        width: cells along x.
        height: cells along y.
        bases: of the robots, on joints of the grid.
        idle_arms: how its steps are judged; not part of the task. Arms with a shape are in the way.

    Raises:
        BoxnetError: it is not a task: see the message.
    """

    id: str
    width: int
    height: int
    bases: tuple[Point, ...]
    start: State
    targets: tuple[Point, ...]
    idle_arms: IdleArms = field(default='ignore', compare=False, repr=False, kw_only=True)

    is_flat = True
    apart = 1
    """Two objects meet when they are closer [cell / UNIT]."""
    hold_rule = 'at'
    """In words, where an object is that an arm can carry, before "its arm"."""

    @property
    def judges(self) -> tuple[Task, ...]:
        """The task by all rules that a step has to pass."""
        return (self,)

    def __post_init__(self) -> None:
        for name, value in (('width', self.width), ('height', self.height)):
            self._need(1 <= value <= LARGEST, f'{name} is {value}', f'take 1 to {LARGEST}')
        objects, tips = self.start.objects, self.start.tips
        self._need(
            1 <= len(objects) <= LARGEST and len(objects) == len(self.targets),
            f'there are {len(objects)} objects and {len(self.targets)} targets',
            f'give 1 to {LARGEST} objects, each with a target',
        )
        self._need(
            1 <= len(self.bases) == len(tips),
            f'there are {len(self.bases)} bases and {len(tips)} tips',
            'give a robot at least, each with a base and a tip',
        )
        for what, points in (('objects', objects), ('targets', self.targets)):
            self._need(len(set(points)) == len(points), f'two {what} are at one place', 'part them')
        self._need(
            len(set(self.bases)) == len(self.bases), 'two bases are at one joint', 'part them'
        )
        beyond = [point for point in (*self.targets, *self.bases) if not self._inside(point)]
        # No rule keeps an arm at the border of the map from putting an object beyond it.
        robots = range(len(self.bases))
        beyond += [
            point
            for point in objects
            if not self._inside(point) and not any(self.reaches(each, point) for each in robots)
        ]
        if beyond:
            self._refuse(f'{point_text(beyond[0])} is outside of the map', 'move it inside')
        for robot, base in enumerate(self.bases):
            if base[0] % self.side or base[1] % self.side:
                self._refuse(
                    f'base {point_text(base)} is at no joint of the grid',
                    f'use multiples of {self.side / UNIT:g}',
                )
            if not self.reaches(robot, tips[robot]):
                self._refuse(
                    f'the tip {point_text(tips[robot])} is out of reach of {robot_name(robot)}',
                    f'put it where {self.reach_rule}',
                )

    def _inside(self, point: Point) -> bool:
        return all(0 <= at <= n * self.side for at, n in zip(point, self.size, strict=True))

    def _need(self, holds: bool, what: str, cure: str) -> None:
        if not holds:
            self._refuse(what, cure)

    def _refuse(self, what: str, cure: str) -> NoReturn:
        raise BoxnetError(f'{self.id}: {what}: {cure}')

    @property
    def size(self) -> tuple[int, int]:
        """Cells along x and y."""
        return self.width, self.height

    @property
    def side(self) -> int:
        """The side of a cell [cell / UNIT]."""
        return UNIT

    @property
    def reach_rule(self) -> str:
        """In words, where the tip of an arm can be."""
        return 'it is less than 1 away from its base in x and in y'

    @property
    def rules(self) -> StepJudge | None:
        """What decides of a step; None where the rules of BoxNet2D do."""
        return None

    def aligned(self, state: State, tip: Point) -> int | None:
        """The object at a tip, which the arm would carry."""
        return state.objects.index(tip) if tip in state.objects else None

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """Where a planner puts objects and arms, beside places of objects and targets."""
        return sites(self.width, self.height)

    def rest_tip(self, robot: int) -> Point:
        """Where the arm of a robot is put at first."""
        return rest_tip(self.size, self.bases[robot])

    def move(self, robot: int, start: Point, end: Point, carry: bool) -> Move:
        """A move as answers in this world write it."""
        return Move(robot, start, end, carry)

    def form(self, state: State) -> Callable[[Any, int, str, int], Move] | None:
        """Reads moves that begin in a state; None where they are written as in BoxNet2D."""
        return None

    def reaches(self, robot: int, point: Point) -> bool:
        """Whether the arm of a robot can go to a point: less than 1 away in x and in y."""
        base = self.bases[robot]
        return abs(point[0] - base[0]) < UNIT and abs(point[1] - base[1]) < UNIT

    @cached_property
    def neighbours(self) -> tuple[frozenset[int], ...]:
        """For each robot the others whose arms it could ever touch: their reaches overlap."""
        return tuple(
            frozenset(
                other
                for other, (x, y) in enumerate(self.bases)
                if other != robot and abs(x - base[0]) < 2 * UNIT and abs(y - base[1]) < 2 * UNIT
            )
            for robot, base in enumerate(self.bases)
        )

    @cached_property
    def robots(self) -> dict[str, int]:
        """The index of each robot by its name."""
        return {robot_name(index): index for index in range(len(self.bases))}

    def solved(self, state: State) -> bool:
        """Whether every object is at its target."""
        return state.objects == self.targets

    def to_json(self) -> str:
        """One line of JSON."""
        values = {
            'id': self.id,
            'width': self.width,
            'height': self.height,
            'objects': _numbers(self.start.objects),
            'targets': _numbers(self.targets),
            'bases': _numbers(self.bases),
            'tips': _numbers(self.start.tips),
        }
        return json.dumps(values)


def rest_tip(size: tuple[int, int], base: Point) -> Point:
    """Where an arm is at first: a quarter to the right of its base and above, inside the map."""
    quarter = UNIT // 4
    x, y = (
        at + (quarter if at + quarter < cells * UNIT else -quarter)
        for at, cells in zip(base, size, strict=True)
    )
    return x, y


def sites(width: int, height: int) -> tuple[Point, ...]:
    """The four points of every cell of a map where the paper puts objects and arms."""
    quarter = UNIT // 4
    xs = range(quarter, width * UNIT, 2 * quarter)
    ys = range(quarter, height * UNIT, 2 * quarter)
    return tuple((x, y) for x in xs for y in ys)


def map_text(task: Task, state: State) -> str:
    """A state as the planners of the paper are shown it."""
    lines = ['Object positions:']
    lines += [f'  {object_name(n)}: {point_text(p)}' for n, p in enumerate(state.objects)]
    lines += ['Target positions:']
    lines += [f'  {object_name(n)} target: {point_text(p)}' for n, p in enumerate(task.targets)]
    lines += ['Robot positions:']
    lines += [
        f'  {robot_name(n)}: base {point_text(base)}, arm {point_text(tip)}'
        for n, (base, tip) in enumerate(zip(task.bases, state.tips, strict=True))
    ]
    return '\n'.join(lines)


def observation(task: Task, state: State) -> str:
    """The picture before each step."""
    return f'<observation>\n{map_text(task, state)}\n</observation>'


def plan_json(plan: Iterable[Step]) -> str:
    """A plan as answers write it, a step on a line."""
    return f'[{", ".join(map(step_json, plan))}]'.replace('}, {', '},\n {')


def step_json(step: Step) -> str:
    """One step as answers write it."""
    return json.dumps({robot_name(move.robot): move.text for move in step})


def duration(plan: Iterable[Step]) -> float:
    """Nominal time of a plan: that of the longest way of each step, at `SPEED`."""
    longest = (max((distance(m.start, m.end) for m in step), default=0.0) for step in plan)
    return sum(longest) / SPEED


def _numbers(points: Iterable[Point]) -> list[list[float]]:
    return [[x / UNIT, y / UNIT] for x, y in points]

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The reference planner of the paper (listing 1), with its pruning; neither complete nor optimal.

Its heuristic, a root of summed distances, has little to do with the number of steps, and its moves
only ever bring objects closer to their targets. What the listing leaves open is chosen so: the
quality of a placement is the squared distance to the target in half cells, which is how far the
points of a cell are apart; the places of an object are these points and its target; an arm without
better use goes to where it is put at first.

`Routes` says which robots can pass an object on to which, how often it must be carried, and whether
at all. Bases are at whole numbers and a reach is an open square of half width 1. Two reaches
overlap exactly where bases differ by at most 1 in x and in y, and then they share a whole cell of
the map. A property of the four points of each cell therefore holds for all points.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from random import Random

from safegen_ros.errors import Canceled, ErrorCode, SafegenError
from safegen_ros.llm.backend import never
from safegen_ros.tasks.boxnet.geometry import UNIT, Point, distance, point_text
from safegen_ros.tasks.boxnet.model import Move, Plan, State, Step, Task, object_name, robot_name
from safegen_ros.tasks.boxnet.verifier import arms_touch, judge, take_step

MOST_EXPANSIONS = 1000
MOST_SUCCESSORS = 20
MOST_AT_ONCE = 4


def plan_as_paper(
    task: Task, seed: int = 0, most: int = MOST_EXPANSIONS, over: Callable[[], bool] = never
) -> Plan | None:
    """The plan that the reference planner of the paper finds; None where it finds none.

    Args:
        seed: of the choice between equally good states.
        most: states that are looked at.
        over: asked again and again: whether to stop.

    Raises:
        Canceled: `over` said so.
    """
    return _Search(task, seed).run(most, over)


def stop_if(over: Callable[[], bool], task: Task) -> None:
    """Raises `Canceled` where a search is to stop."""
    if over():
        raise Canceled(f'{task.id}: the search for a plan was given up')


class _Search:
    def __init__(self, task: Task, seed: int) -> None:
        self.task = task
        self.random = Random(seed)  # noqa: S311  # no secret
        self.routes = Routes(task)
        self.rest = [task.rest_tip(robot) for robot in range(len(task.bases))]

    def run(self, most: int, over: Callable[[], bool]) -> Plan | None:
        start = self.task.start
        steps = {start: 0}
        came: dict[State, tuple[State, Step]] = {}
        closed = set[State]()
        front = [(self._heuristic(start.objects), 0.0, start)]
        for _ in range(most):
            stop_if(over, self.task)
            while front and front[0][-1] in closed:
                heapq.heappop(front)
            if not front:
                return None
            state = heapq.heappop(front)[-1]
            closed.add(state)
            if self.task.solved(state):
                return _path(came, state)
            for step, after in self._successors(state):
                cost = steps[state] + 1
                if after in closed or cost >= steps.get(after, most):
                    continue
                steps[after], came[after] = cost, (state, step)
                key = cost + self._heuristic(after.objects)
                heapq.heappush(front, (key, self.random.random(), after))
        return None

    def _quality(self, index: int, place: Point) -> float:
        return (2 * distance(place, self.task.targets[index]) * UNIT / self.task.side) ** 2

    def _heuristic(self, objects: Sequence[Point]) -> float:
        return math.sqrt(sum(self._quality(n, place) for n, place in enumerate(objects)))

    def _moves(self, robot: int, state: State) -> list[Move]:
        """What one robot may do."""
        tip = state.tips[robot]
        found: list[Move] = []
        for index, place in enumerate(state.objects):
            if place == self.task.targets[index] or not self.task.reaches(robot, place):
                continue
            now = self._quality(index, place)
            better = [p for p in self.routes.reach[robot] if self._quality(index, p) < now]
            if not better:
                if tip != self.rest[robot]:
                    found.append(self.task.move(robot, tip, self.rest[robot], False))
            elif tip == place:
                found += [self.task.move(robot, tip, point, True) for point in better]
            else:
                found.append(self.task.move(robot, tip, place, False))
        return list(dict.fromkeys(found))

    def _successors(self, state: State) -> list[tuple[Step, State]]:
        """The best steps that can be taken: the nearest to the goal, then with most carries."""
        moves = [self._moves(robot, state) for robot in range(len(state.tips))]
        active = sum(map(bool, moves))
        most = min(MOST_AT_ONCE, len(state.objects), active) if active > 1 else active
        carries = [[m for m in own if m.carry] for own in moves]
        others = [[m for m in own if not m.carry] for own in moves]
        held = [
            (self._heuristic(_carried(state, step)), -len(step), step)
            for size in range(most + 1)
            for step in self._together((), carries, size)
        ]
        held.sort(key=lambda each: each[:2])
        found: list[tuple[Step, State]] = []
        for (_, negative), alike in groupby(held, key=lambda each: each[:2]):
            begun = [step for *_, step in alike]
            for more in range(most + negative, -1, -1):
                for step in begun:
                    for whole in self._together(step, others, more):
                        after = take_step(self.task, state, whole) if whole else None
                        if isinstance(after, State):
                            found.append((whole, after))
                        if len(found) == MOST_SUCCESSORS:
                            return found
        return found

    def _together(self, begun: Step, moves: list[list[Move]], count: int) -> Iterator[Step]:
        """A step with so many more moves of other robots, no arms of which touch."""
        if count == 0:
            yield begun
            return
        busy = {move.robot for move in begun}
        for robot in range(len(moves) - count + 1):
            if robot in busy:
                continue
            for move in moves[robot]:
                if not any(arms_touch(self.task, move, other) for other in begun):
                    later: list[list[Move]] = [[] for _ in range(robot + 1)]
                    rest = later + moves[robot + 1 :]
                    yield from self._together((*begun, move), rest, count - 1)


def _carried(state: State, step: Step) -> list[Point]:
    ends = {move.start: move.end for move in step}
    return [ends.get(place, place) for place in state.objects]


def _path(came: dict[State, tuple[State, Step]], state: State) -> Plan:
    steps: list[Step] = []
    while state in came:
        state, step = came[state]
        steps.append(step)
    return tuple(reversed(steps))


FAR = 10**6
"""Number of carries where no number is enough."""


@dataclass(frozen=True, slots=True)
class UnsolvableMap:
    """Why no plan moves an object to its target, whatever the points that are used.

    Attributes:
        carriers: all robots that it can ever be handed to, closed under handing over.
        reason: the same in words.
    """

    object: int
    carriers: frozenset[int]
    reason: str


def certificate(task: Task) -> UnsolvableMap | None:
    """What proves that a task has no plan; None where it has one.

    Where idle arms are ignored, robots may act one after the other. So a task is solvable exactly
    when each object can be handed to a robot that reaches its target.
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
            return UnsolvableMap(index, carriers, f'{object_name(index)} cannot be brought: {who}')
    return None


def proves(found: UnsolvableMap, task: Task) -> bool:
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


class NoPlan(SafegenError):
    """There is no plan, or none was found; the code says which."""


@dataclass(frozen=True, slots=True)
class MapSolution:
    """A plan with the known facts about its length.

    Attributes:
        lower_bound: no plan has fewer steps.
    """

    plan: Plan
    lower_bound: int

    @property
    def certified(self) -> bool:
        """Whether it is proved that no plan has fewer steps."""
        return len(self.plan) == self.lower_bound


def checked(task: Task, plan: Plan | None, bound: int, tried: int) -> MapSolution:
    """A plan that was found, with its bound.

    Args:
        plan: None where none was found.
        bound: no plan has fewer steps.
        tried: plans of up to so many steps were looked for.

    Raises:
        NoPlan: there is none, or the verifier refuses it.
    """
    if plan is None:
        raise NoPlan(
            f'{task.id}: no plan within {tried} steps was found: allow more nodes',
            ErrorCode.ATTEMPTS_EXHAUSTED,
        )
    verdict = judge(task, plan).verdict
    if not verdict.ok:
        raise NoPlan(
            f'{task.id}: the search planner and the verifier disagree: {verdict.reason}',
            ErrorCode.PLAN_REFUSED,
        )
    return MapSolution(plan, bound)

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plans of few steps for BoxNet3D, and a bound that no plan goes below.

The number of steps is raised from the bound until a plan is found. The search goes depth first over
steps in which arms fetch boxes, carry them, or go out of the way to where they rest. That leaves
moves out, so that only a plan as long as the bound is proved to be the shortest.

A box is handed over by putting it down. The arm that has put it down leaves in a separate step, and
the other comes in a further one, since two tips at one box would collide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from safegen_ros.tasks.boxnet.astar import FAR, Routes, stop_if
from safegen_ros.tasks.boxnet.model import Move, Plan, State, Step
from safegen_ros.tasks.boxnet.spatial import SpatialTask
from safegen_ros.tasks.boxnet.spatial.depth import Analytic
from safegen_ros.tasks.boxnet.verifier import arms_touch, take_step

MOST_NODES = 8_000
"""Steps that are looked at for each number of steps."""

RESTARTS = 4
"""Searches for each number of steps, each in another order."""

_MORE = 16
"""Steps above the bound that are tried."""


def shortest_spatial(task: SpatialTask, over: Callable[[], bool]) -> tuple[Plan | None, int, int]:
    """A plan of few steps, if one is found, the bound of every plan, and the most steps tried.

    Args:
        over: asked again and again: whether to stop.

    Raises:
        Canceled: `over` said so.
    """
    bounds = Bounds(task)
    bound = bounds.of(task.start)
    return _shortest(bounds, bound, over), bound, bound + _MORE - 1


class Bounds:
    """The least number of steps that are left in a state, whatever is done."""

    def __init__(self, task: SpatialTask) -> None:
        self.task = task
        self.routes = Routes(task)
        # At the other depths it is not proved that two tips at one box collide.
        self._handing_over = 2 if isinstance(task.rules, Analytic) else 0
        self._reach = {point: frozenset(self.routes.robots[point]) for point in self.routes.points}

    def reach(self, point: tuple[int, int]) -> frozenset[int]:
        """The robots that reach a point."""
        if point not in self._reach:
            robots = range(len(self.task.bases))
            self._reach[point] = frozenset(r for r in robots if self.task.reaches(r, point))
        return self._reach[point]

    def carries(self, index: int, place: tuple[int, int]) -> int:
        """The least number of robots that a box goes through from a place to its target."""
        known = self.routes.carries[index]
        if place in known:
            return known[place]
        ends = (each for each, count in known.items() if self.reach(place) & self.reach(each))
        return min((known[end] + (known[end] == 0) for end in ends), default=FAR)

    def of(self, state: State) -> int:
        """The heuristic of a state."""
        ready = [self.task.aligned(state, tip) for tip in state.tips]
        most = 0
        needed: dict[int, int] = {}
        pairs = zip(state.objects, self.task.targets, strict=True)
        for index, (place, target) in enumerate(pairs):
            if place == target:
                continue
            count = self.carries(index, place)
            fetched = index in ready
            most = max(most, count + self._handing_over * (count - 1) + (not fetched))
            only = [
                robots for robots in (self.reach(place), self.reach(target)) if len(robots) == 1
            ]
            for robot in frozenset().union(*only):
                needed[robot] = needed.get(robot, 0) + 1
        # Between two carries of one robot it goes to the other box.
        alone = (2 * count - (ready[robot] is not None) for robot, count in needed.items())
        return max(most, *alone, 0) if needed else most


def _shortest(bounds: Bounds, bound: int, over: Callable[[], bool]) -> Plan | None:
    for steps in range(bound, bound + _MORE):
        for seed in range(RESTARTS):
            stop_if(over, bounds.task)
            search = _Search(bounds, MOST_NODES // RESTARTS, seed)
            plan = search.within(bounds.task.start, steps)
            if plan is not None:
                return plan
            if search.nodes <= search.most:
                break  # all was looked at: another order finds no more
    return None


class _Search:
    def __init__(self, bounds: Bounds, most: int, seed: int) -> None:
        self.task, self.bounds = bounds.task, bounds
        self.random = Random(seed)  # noqa: S311  # no secret
        self.most, self.nodes = most, 0
        self.failed: dict[State, int] = {}

    def within(self, state: State, steps: int) -> Plan | None:
        """A plan of at most so many steps; None where none is found."""
        if self.task.solved(state):
            return ()
        if self.bounds.of(state) > steps or self.failed.get(state, -1) >= steps:
            return None
        for step in self._steps(state):
            self.nodes += 1
            if self.nodes > self.most:
                return None
            reached = take_step(self.task, state, step)
            if isinstance(reached, State):
                rest = self.within(reached, steps - 1)
                if rest is not None:
                    return (step, *rest)
        self.failed[state] = steps
        return None

    def _steps(self, state: State) -> Iterator[Step]:
        """Steps of moves that bring something about, those in which most robots move first."""
        moves = [self._moves(state, robot) for robot in range(len(state.tips))]
        busy = [each for each in moves if each]
        self.random.shuffle(busy)
        yield from (step for step in self._together((), busy) if step)

    def _together(self, begun: Step, rest: list[list[Move]]) -> Iterator[Step]:
        if not rest:
            yield begun
            return
        for move in rest[0]:
            if not any(arms_touch(self.task, move, other) for other in begun):
                yield from self._together((*begun, move), rest[1:])
        yield from self._together(begun, rest[1:])

    def _moves(self, state: State, robot: int) -> list[Move]:
        """What one robot may do, the best first."""
        task, tip, rest = self.task, state.tips[robot], self.task.rest_tip(robot)
        reach = self.bounds.routes.reach[robot]
        held = task.aligned(state, tip)
        found = list[Move]()
        if held is not None and state.objects[held] != task.targets[held]:
            left = self.bounds.carries(held, state.objects[held])
            ends = [end for end in reach if end != tip and end not in state.objects]
            self.random.shuffle(ends)
            ends.sort(key=lambda end: self.bounds.carries(held, end))
            ends = [end for end in ends if self.bounds.carries(held, end) <= left]
            found += [task.move(robot, tip, end, True) for end in ends]
        for index, place in enumerate(state.objects):
            if index == held or place == task.targets[index] or not task.reaches(robot, place):
                continue
            left = self.bounds.carries(index, place)
            if any(self.bounds.carries(index, end) < left for end in reach):
                found.append(task.move(robot, tip, place, False))
        if tip != rest:
            found.append(task.move(robot, tip, rest, False))
        return found

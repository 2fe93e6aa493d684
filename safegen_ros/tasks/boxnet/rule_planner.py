# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A planner whose every step follows from the map by a few plain rules, for a small model to learn.

Plans of the fewest steps hang on searches that a small network cannot repeat. Here each object, in
the order of their numbers, gets its next move, whatever came before: an arm goes to it, or carries
it as near to its target as it can. Two arms that could ever touch move at once only where a line
half way between their bases parts them. So a step is the same function of the map in every plan, no
two arms can collide, and plans have some steps more than they must. In BoxNet3D arms that do
nothing are in the way: there an arm without a move goes to where it rests, and moves are made at
once where the rules of the world take them.
"""

from __future__ import annotations

from collections.abc import Iterator

from safegen_ros.tasks.boxnet.astar import FAR, Routes
from safegen_ros.tasks.boxnet.geometry import Point
from safegen_ros.tasks.boxnet.model import Move, Plan, State, Step, Task
from safegen_ros.tasks.boxnet.verifier import take_step

MOST_STEPS = 60
"""After which a plan is given up."""


class RulePlanner:
    """The rules for one task.

    Args:
        task: where its objects and arms are at first plays no part.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self._routes = Routes(task)

    def plan(self, state: State) -> Plan | None:
        """All steps from a state on; None where there is no plan, or none by these rules."""
        steps = list[Step]()
        while not self._task.solved(state):
            step = self.step(state)
            after = take_step(self._task, state, step)
            if not step or not isinstance(after, State) or len(steps) == MOST_STEPS:
                return None
            steps.append(step)
            state = after
        return tuple(steps)

    def step(self, state: State) -> Step:
        """The next step."""
        return tuple(move for move, made in self.weighed(state) if made)

    def weighed(self, state: State) -> list[tuple[Move, bool]]:
        """A move at most for each object, in their order, and whether it is made in this step."""
        found = list[tuple[Move, bool]]()
        for index, (place, target) in enumerate(
            zip(state.objects, self._task.targets, strict=True)
        ):
            if place == target:
                continue
            best = min(self._options(index, state), default=None)
            if best is None:
                continue
            *_, robot, end = best
            tip = state.tips[robot]
            carry = tip == place
            self._weigh(self._task.move(robot, tip, end if carry else place, carry), state, found)
        known = {move.robot for move, _ in found}
        for robot, tip in enumerate(() if self._task.is_flat else state.tips):
            rest = self._task.rest_tip(robot)
            if tip != rest and robot not in known:
                self._weigh(self._task.move(robot, tip, rest, False), state, found)
        return found

    def _weigh(self, move: Move, state: State, found: list[tuple[Move, bool]]) -> None:
        begun = tuple(each for each, made in found if made)
        if self._task.is_flat:
            may = all(self._apart(move, each) for each in begun)
        else:
            may = isinstance(take_step(self._task, state, (*begun, move)), State)
        found.append((move, may))

    def _options(self, index: int, state: State) -> Iterator[tuple[bool, int, int, int, Point]]:
        """Who could bring an object on and to where, the best first when sorted.

        An arm that is there already, then the way that ends closest to the target, then the robot
        that stands closest to it.
        """
        place, target = state.objects[index], self._task.targets[index]
        carries = self._routes.carries[index]
        needed = carries.get(place, FAR)
        free = set(self._routes.points) - set(state.objects)
        if needed == 1 and target not in free:
            if index != min(self._ring(index, state), default=None):
                return  # the robot there goes first
            ends = [end for end in free if carries[end] <= 1 and end not in self._task.targets]
        else:
            ends = [end for end in free if carries[end] < needed]
        for robot in self._routes.robots.get(place, ()):
            base, busy = self._task.bases[robot], state.tips[robot] != place
            for end in ends:
                if self._task.reaches(robot, end):
                    yield busy, _apart(end, target), _apart(base, target), robot, end

    def _ring(self, index: int, state: State) -> frozenset[int]:
        """The objects that wait for each other in a ring with this one; empty without a ring."""
        holders = {place: number for number, place in enumerate(state.objects)}
        ring, at = {index}, index
        while (following := holders.get(self._task.targets[at])) is not None:
            if following == index:
                return frozenset(ring)
            if (
                following in ring
                or self._routes.carries[following].get(state.objects[following], FAR) > 1
            ):
                return frozenset()
            ring.add(following)
            at = following
        return frozenset()

    def _apart(self, one: Move, other: Move) -> bool:
        """Whether two robots cannot touch: far from each other, or parted by a line half way."""
        if one.robot == other.robot:
            return False
        if other.robot not in self._task.neighbours[one.robot]:
            return True
        bases = self._task.bases[one.robot], self._task.bases[other.robot]
        return any(self._parted(axis, bases, one, other) for axis in (0, 1))

    @staticmethod
    def _parted(axis: int, bases: tuple[Point, Point], one: Move, other: Move) -> bool:
        a, b = bases[0][axis], bases[1][axis]
        if a > b:
            a, b, one, other = b, a, other, one
        low = max(one.start[axis], one.end[axis])
        high = min(other.start[axis], other.end[axis])
        return a < b and 2 * low < a + b < 2 * high


def _apart(one: Point, other: Point) -> int:
    return (one[0] - other[0]) ** 2 + (one[1] - other[1]) ** 2

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plans of the fewest steps, with a proof of that where one is found.

The number of steps is raised until a plan is found. The search goes forward over carries only: that
an arm goes to where an object will be is put into an earlier step once the object is carried from
there. So arms wait where they are needed, and a hand-over costs no extra step.

The same search with arms that cannot collide and objects that can share a place gives a lower
bound: then it does not matter which point of a cell is used, nor when an arm moves without an
object, so that nothing is left out. A plan of that many steps is optimal, and `certified` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import TypeVar

from safegen_ros.errors import ErrorCode
from safegen_ros.llm.backend import never
from safegen_ros.tasks.boxnet.astar import (
    FAR,
    MOST_EXPANSIONS,
    MapSolution,
    NoPlan,
    Routes,
    certificate,
    checked,
    plan_as_paper,
    stop_if,
)
from safegen_ros.tasks.boxnet.geometry import Point, distance
from safegen_ros.tasks.boxnet.model import Move, Plan, Task
from safegen_ros.tasks.boxnet.reader import is_spatial
from safegen_ros.tasks.boxnet.verifier import arms_touch

MOST_NODES = 20_000
"""Nodes of the searches for each number of steps."""

RESTARTS = 20
"""Searches for each number of steps, each in another order; what one misses, another may find."""

_MORE = 24
"""Lengths of plans that are tried, from the lower bound on."""

_EXPANSIONS = 200
"""Settings of the planner of the paper, asked, too, where the plan may not be the shortest."""

_Item = TypeVar('_Item')


def solve(task: Task, *, over: Callable[[], bool] = never) -> MapSolution:
    """A plan of few steps, of the fewest where `certified`; idle arms are ignored.

    Args:
        over: asked again and again: whether to stop.

    Raises:
        NoPlan: there is none (`UNSOLVABLE`), or none was found (`ATTEMPTS_EXHAUSTED`).
        Canceled: `over` said so.
    """
    proof = certificate(task)
    if proof is not None:
        raise NoPlan(f'{task.id}: {proof.reason}: no plan solves it', ErrorCode.UNSOLVABLE)
    if is_spatial(task):
        from safegen_ros.tasks.boxnet.spatial.planning import shortest_spatial

        plan, bound, tried = shortest_spatial(task, over)
        most = MOST_EXPANSIONS
    else:
        routes = Routes(task)
        bound = _lower_bound(routes, over)
        tried, most = bound + _MORE - 1, _EXPANSIONS
        plan = _shortest(routes, range(bound, tried + 1), over)
    if plan is None or len(plan) > bound:
        other = plan_as_paper(task, most=most, over=over)
        if other is not None and (plan is None or len(other) < len(plan)):
            plan = other
    return checked(task, plan, bound, tried)


def _shortest(routes: Routes, lengths: range, over: Callable[[], bool]) -> Plan | None:
    for steps in lengths:
        for seed in range(RESTARTS):
            stop_if(over, routes.task)
            search = _Search(routes, steps, MOST_NODES // RESTARTS, seed=seed)
            if search.found():
                return search.plan()
    return None


def _lower_bound(routes: Routes, over: Callable[[], bool]) -> int:
    """The fewest steps if nothing could collide; fewer where the search for them grows too long."""
    task = routes.task
    pairs = enumerate(task.start.objects)
    bound = max(
        routes.carries[n][place] + (place != task.targets[n] and place not in task.start.tips)
        for n, place in pairs
    )
    while True:
        stop_if(over, routes.task)
        search = _Search(routes, bound, MOST_NODES, free=True)
        if search.found() or search.nodes > MOST_NODES:
            return bound
        bound += 1


@dataclass(slots=True)
class _Carry:
    robot: int
    object: int
    end: Point
    move: Move
    fetch: Move | None
    fetched: int


class _Search:
    """Depth first over the carries of each step in turn, for a given number of steps.

    Args:
        most_nodes: after which it gives up.
        seed: of the order in which equally good ways are tried.
        free: whether nothing collides; then it gives up only at its limit of nodes.
    """

    def __init__(
        self, routes: Routes, steps: int, most_nodes: int, *, seed: int = 0, free: bool = False
    ) -> None:
        self.random = Random(seed)  # noqa: S311  # no secret
        self.routes, self.task, self.steps, self.free = routes, routes.task, steps, free
        # An object that is in the way must be put aside at times; its robot may be needed, too.
        self.patience = (1.0, 0.0, 0.8, 0.5)[seed % 4]
        self.most_nodes, self.nodes = most_nodes, 0
        self.places = list(routes.task.start.objects)
        self.tips = list(routes.task.start.tips)
        self.last = [-1] * len(self.tips)  # the step in which each robot moved last
        self.moves: list[list[Move]] = [[] for _ in range(steps)]
        self.failed = set[tuple[object, ...]]()
        # The first search takes all that is equally good in one order, so that alike tasks get
        # alike plans; a model learns those sooner.
        self.tidy = seed == 0
        self.robots = {place: self._order(robots) for place, robots in routes.robots.items()}
        self.ends = [self._ends(robot) for robot in range(len(self.tips))]

    def found(self) -> bool:
        """Whether there is a plan of so many steps, as far as this search can show."""
        return self._step(0)

    def plan(self) -> Plan:
        """The plan that was found."""
        steps = (tuple(sorted(step, key=lambda move: move.robot)) for step in self.moves)
        return tuple(step for step in steps if step)

    def _ends(self, robot: int) -> list[Point]:
        """Where a robot may put objects.

        Where nothing collides a point is left out if all robots that reach it also reach another.
        """
        points = self.routes.reach[robot]
        if not self.free:
            return self._order(points)
        alike = {frozenset(self.routes.robots[point]): point for point in points}
        best = [point for own, point in alike.items() if not any(own < other for other in alike)]
        targets = [point for point in self.task.targets if point in points]
        return list(dict.fromkeys((*targets, *best)))

    def _order(self, items: list[_Item]) -> list[_Item]:
        return items if self.tidy else self.random.sample(items, len(items))

    def _left(self, index: int) -> int:
        return self.routes.carries[index][self.places[index]]

    def _step(self, now: int) -> bool:
        """Whether the steps from `now` on can be filled in."""
        left = [self._left(index) for index in range(len(self.places))]
        if not any(left):
            return True
        rest = self.steps - now
        if max(left) > rest or not self._enough(now, left):
            return False
        key = self._key(now)
        if key in self.failed:
            return False
        order = sorted((n for n, carries in enumerate(left) if carries), key=lambda n: -left[n])
        if self._objects(now, order, []):
            return True
        self.failed.add(key)
        return False

    def _key(self, now: int) -> tuple[object, ...]:
        """What the rest of the search depends on: an arm that was idle may be anywhere by now."""
        arms = (
            None if now - last > 1 else tip for tip, last in zip(self.tips, self.last, strict=True)
        )
        return (now, tuple(self.places), tuple(arms))

    def _enough(self, now: int, left: list[int]) -> bool:
        """Whether robots have the time for the objects that no other can begin or end with."""
        needed: dict[int, int] = {}
        for index, carries in enumerate(left):
            if not carries:
                continue
            first = self.routes.robots[self.places[index]]
            final = self.routes.robots[self.task.targets[index]]
            own = {each[0] for each in (first, final) if len(each) == 1}
            for robot in own:
                needed[robot] = needed.get(robot, 0) + 1
        rest = self.steps - now
        for robot, count in needed.items():
            # Each carry of another object is preceded by a way to it; the first may be behind.
            ready = now - self.last[robot] > 1 or self.tips[robot] in self.places
            if 2 * count - ready > rest:
                return False
        return True

    def _objects(self, now: int, order: list[int], chosen: list[_Carry]) -> bool:
        """Whether the objects of `order` can be carried or left now, beside what was chosen."""
        self.nodes += 1
        if self.nodes > self.most_nodes:
            return False
        if not order:
            return self._go_on(now, chosen)
        index, *others = order
        left = self._left(index)
        may_wait = self.steps - now > left
        aside: list[_Carry] = []  # to no better place
        for carry in self._carries(now, index, chosen):
            if may_wait and self.routes.carries[index][carry.end] >= left:
                aside.append(carry)
                continue
            if self._objects(now, others, [*chosen, carry]):
                return True
            if self.nodes > self.most_nodes:
                return False
        if not may_wait:
            return False
        waits_first = self.random.random() < self.patience
        if waits_first and self._objects(now, others, chosen):
            return True
        if any(self._objects(now, others, [*chosen, carry]) for carry in aside):
            return True
        return not waits_first and self._objects(now, others, chosen)

    def _go_on(self, now: int, chosen: list[_Carry]) -> bool:
        """Does what was chosen, and fills in the steps behind; undoes it where that fails."""
        before = self.places, self.tips, self.last
        self.places, self.tips, self.last = self.places[:], self.tips[:], self.last[:]
        done: list[tuple[int, Move]] = []
        fits = True
        for carry in chosen:
            if carry.fetch is not None:
                # Another way may have come into that step with this choice.
                fits = fits and self._fits(carry.fetch, carry.fetched)
                self.moves[carry.fetched].append(carry.fetch)
                done.append((carry.fetched, carry.fetch))
            self.moves[now].append(carry.move)
            done.append((now, carry.move))
            self.places[carry.object] = self.tips[carry.robot] = carry.end
            self.last[carry.robot] = now
        if fits and self._step(now + 1):
            return True
        for at, move in reversed(done):
            self.moves[at].remove(move)
        self.places, self.tips, self.last = before
        return False

    def _carries(self, now: int, index: int, chosen: list[_Carry]) -> Iterator[_Carry]:
        """The ways to carry an object now, the best first."""
        place, carries = self.places[index], self.routes.carries[index]
        rest = self.steps - now - 1
        busy = {carry.robot for carry in chosen}
        taken = set() if self.free else {*self.places, *(carry.end for carry in chosen)}
        targets = {*self.task.targets} - {self.task.targets[index]}
        options = sorted(
            (
                (carries[end], end in targets, self._short_of(index, end), robot, end)
                for robot in self.robots[place]
                if robot not in busy
                for end in self.ends[robot]
                if carries[end] <= min(rest, FAR - 1) and end != place and end not in taken
            ),
            key=lambda option: option[:3],
        )
        fetches: dict[int, list[tuple[Move | None, int]]] = {}
        for *_, robot, end in options:
            if robot not in fetches:
                fetches[robot] = list(self._fetches(robot, place, now))
            move = Move(robot, place, end, True)
            clear = self.free or not any(arms_touch(self.task, move, c.move) for c in chosen)
            if clear and fetches[robot] and self._fits(move, now):
                yield from (_Carry(robot, index, end, move, *fetch) for fetch in fetches[robot])

    def _short_of(self, index: int, end: Point) -> float:
        """How far from the target an object comes to lie, where that is to count."""
        return distance(end, self.task.targets[index]) if self.tidy else 0.0

    def _fetches(self, robot: int, place: Point, now: int) -> Iterator[tuple[Move | None, int]]:
        """How the arm of a robot may come to an object, and in which step, the latest first."""
        if self.tips[robot] == place:
            yield None, now
            return
        move = Move(robot, self.tips[robot], place, False)
        steps = (at for at in range(now - 1, self.last[robot], -1) if self._fits(move, at))
        # Where nothing collides, one is as good as the others.
        yield from ((move, at) for at in islice(steps, 1 if self.free else None))

    def _fits(self, move: Move, at: int) -> bool:
        """Whether a move touches none of those of a step."""
        return self.free or not any(arms_touch(self.task, move, other) for other in self.moves[at])


def parallelism(plan: Plan) -> int:
    """The most robots that move in one step of a plan (the paper's Para.)."""
    return max(map(len, plan), default=0)

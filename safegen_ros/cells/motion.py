# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Ways for all arms of a step at once that touch nothing in MuJoCo, and the depth that checks them.

First the arms swing as the rules say. Where that touches something, a sampling-based planner (OMPL,
RRT-Connect) looks for another way in the places and heights of all moving tips together; tools stay
straight down. Whatever way comes out is looked at once more, posture by posture.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from safegen_ros.cells.world import CollisionWorld, Touch
from safegen_ros.robot.arms.family import Floats, Place, length, swing
from safegen_ros.tasks.boxnet.findings import Fault, Finding
from safegen_ros.tasks.boxnet.geometry import meeting_text
from safegen_ros.tasks.boxnet.model import Move, State, object_name, robot_name
from safegen_ros.tasks.boxnet.spatial.depth import exactly
from safegen_ros.tasks.boxnet.spatial.kinematic import KINEMATIC, Kinematic
from safegen_ros.tasks.boxnet.spatial.model import SpatialMap
from safegen_ros.tasks.boxnet.verifier import objects_meet

MOST_LOOKS = 4000
"""Postures that the planner looks at before it gives up."""

_MOST_ASKED = 10 * MOST_LOOKS
"""How often the planner may ask whether it is to end, should it not look at anything."""

DIRECT, PLANNED = 'direct', 'planned'

_PEAK = 1.5
"""Peak speed of a smooth step, as a part of its mean."""

_ompl = threading.Lock()  # its seed belongs to the process


@dataclass(frozen=True, eq=False)
class Way:
    """How all arms move in a step.

    Attributes:
        joints: at even parts of the way, shape (n, robots, 6) [rad].
        duration: at the speed of the arms [s].
        kind: `DIRECT` or `PLANNED`.
    """

    joints: Floats
    duration: float
    kind: str


@dataclass(frozen=True, slots=True)
class Errand:
    """A step as the arms of a world are to do it.

    Attributes:
        legs: for each moving robot where its tip starts and ends, from its base [m].
        turns: for each of them by how much it may turn, the best first [rad].
        held: the box that each robot carries.
        own: for each robot the boxes that it carries or goes to.
    """

    legs: Mapping[int, tuple[Place, Place]]
    turns: Mapping[int, tuple[float, ...]]
    held: Mapping[int, int]
    own: Mapping[int, frozenset[int]]


def errand(world: CollisionWorld, state: State, step: Sequence[Move]) -> Errand:
    """What a step asks of the arms."""
    task = world.task
    legs, held = {}, {}
    for move in step:
        legs[move.robot] = (
            task.from_base(move.robot, move.start), task.from_base(move.robot, move.end)
        )  # fmt: skip
        carried = task.aligned(state, move.start) if move.carry else None
        if carried is not None:
            held[move.robot] = carried
    ends = {move.robot: move.end for move in step}
    own = {}
    for robot, tip in enumerate(state.tips):
        places = tip, ends.get(robot, tip)
        own[robot] = frozenset(
            index
            for index, at in enumerate(state.objects)
            if any((at[0] - x) ** 2 + (at[1] - y) ** 2 < task.apart**2 for x, y in places)
        )
    turns = {move.robot: KINEMATIC.turns(task, move) for move in step}
    return Errand(legs, turns, held, own)


class MotionPlanner:
    """Looks for ways in a world, whose joints and boxes it moves about while it does.

    Args:
        world: with contacts from a distance on.
        clearance: what a way keeps from everything [m].
    """

    def __init__(self, world: CollisionWorld, clearance: float, seed: int = 0) -> None:
        self.world, self.clearance, self.seed = world, clearance, seed
        self._family = world.task.family

    def way(self, joints: Floats, asked: Errand, plan: bool = True) -> Way | Touch:
        """The way of an errand from joints (robots, 6) [rad], or what the swing touches.

        Another way than the swing is looked for where `plan` is true.
        """
        found: Touch | None = None
        robots = list(asked.legs)
        turns = [asked.turns[robot] for robot in robots]
        for chosen in product(*turns):
            path = self._swing(joints, asked, dict(zip(robots, chosen, strict=True)))
            touch = self._first(path, asked)
            if touch is None:
                return Way(path, self._duration(path, asked, chosen), DIRECT)
            found = found or touch
        if found is None:
            raise ValueError('a step that no arm can take was to be planned')
        ends = (joints, self._ends(joints, asked))
        if not plan or any(self._look(each, asked) is not None for each in ends):
            return found
        for chosen in product(*turns):
            sampled = self._sampled(joints, asked, dict(zip(robots, chosen, strict=True)))
            if sampled is not None and self._first(sampled, asked) is None:
                return Way(sampled, self._duration(sampled, asked, chosen), PLANNED)
        return found

    def swung(self, joints: Floats, asked: Errand) -> Floats:
        """The way of a swing, whatever it touches, shape (n, robots, 6) [rad]."""
        turns = {robot: turns[0] for robot, turns in asked.turns.items()}
        return self._swing(joints, asked, turns)

    def _look(self, joints: Floats, asked: Errand) -> Touch | None:
        self.world.pose(joints, asked.held)
        return self.world.touches(asked.own, asked.held, self.clearance)

    def _first(self, path: Floats, asked: Errand) -> Touch | None:
        return next((each for q in path if (each := self._look(q, asked)) is not None), None)

    def _swing(self, joints: Floats, asked: Errand, turns: Mapping[int, float]) -> Floats:
        longest = max((length(*leg, turns[r]) for r, leg in asked.legs.items()), default=0.0)
        count = math.ceil(longest / self.clearance) + 2
        path = np.repeat(joints[None], count, axis=0)
        for robot, leg in asked.legs.items():
            found = swing(self._family, *leg, turns[robot], count)
            if found is None:
                raise ValueError(f'{self._family.name}: there is no way for {leg}')
            path[:, robot] = self._wound(found, joints[robot])
        return path

    def _ends(self, joints: Floats, asked: Errand) -> Floats:
        found = joints.copy()
        for robot, (_, end) in asked.legs.items():
            found[robot] = self._family.postures([end])[0]
        return found

    def _wound(self, path: Floats, joints: Floats) -> Floats:
        """A way whose first joint begins at the turn that the arm has, where its limits allow."""
        turned = path.copy()
        shift = 2 * math.pi * round((joints[0] - path[0, 0]) / (2 * math.pi))
        turned[:, 0] += shift
        return turned if self._family.within(turned).all() else path

    def _duration(self, path: Floats, asked: Errand, turns: Sequence[float]) -> float:
        legs = zip(asked.legs.values(), turns, strict=True)
        longest = max((length(*leg, turn) for leg, turn in legs), default=0.0)
        swept = np.abs(np.diff(path, axis=0)).max(axis=(1, 2), initial=0.0)
        fastest = _PEAK * float(swept.max(initial=0.0)) * len(swept) / self._family.joint_speed
        return max(longest / self._family.speed, fastest, 0.1)

    def _sampled(self, joints: Floats, asked: Errand, turns: Mapping[int, float]) -> Floats | None:
        """A way by sampling; None where none is found among `MOST_LOOKS` postures."""
        robots = list(asked.legs)
        starts, goals = [], []
        for robot in robots:
            start, end = asked.legs[robot]
            azimuth = math.atan2(start[1], start[0])
            starts += [azimuth, math.hypot(*start), 0.0]
            goals += [azimuth + turns[robot], math.hypot(*end), 0.0]
        # Angles count as long as the arc in the middle of the reach.
        scale = np.tile([sum(self._family.reach) / 2, 1.0, 1.0], len(robots))

        def postures(points: Floats) -> Floats:
            """Joints of all arms, shape (n, robots, 6); NaN where an arm cannot reach a place."""
            path = np.repeat(joints[None], len(points), axis=0)
            for at, robot in enumerate(robots):
                azimuth, radius, lifted = (points / scale)[:, 3 * at : 3 * at + 3].T
                places = np.stack([radius * np.cos(azimuth), radius * np.sin(azimuth)], axis=1)
                found = self._family.postures(places, lifted)
                if not np.isnan(found).any():
                    found[:, 0] = np.unwrap(found[:, 0])
                    found = self._wound(found, joints[robot])
                path[:, robot] = found
            return path

        def free(point: Floats) -> bool:
            q = postures(point[None])[0]
            return not np.isnan(q).any() and self._look(q, asked) is None

        low, high = self._bounds(np.array(starts), np.array(goals))
        found = rrt_connect(
            np.array(starts) * scale, np.array(goals) * scale, low * scale, high * scale, free,
            self.clearance, self.seed,
        )  # fmt: skip
        if found is None:
            return None
        path = postures(found)
        if np.isnan(path).any() or not all(self._family.within(q).all() for q in path):
            return None
        return path

    def _bounds(self, starts: Floats, goals: Floats) -> tuple[Floats, Floats]:
        """Where is looked: some way beside start and goal, and up to half a cell higher."""
        near, far = self._family.reach
        count = len(starts) // 3
        aside = np.tile([1.0, 0.0, 0.0], count)
        low, high = np.minimum(starts, goals) - aside, np.maximum(starts, goals) + aside
        low[1::3] = np.minimum(low[1::3], 0.6 * near)
        high[1::3] = np.maximum(high[1::3], 1.1 * far)
        low[2::3], high[2::3] = 0.0, 0.4 * self._family.cell
        return low, high


def rrt_connect(
    start: Floats,
    goal: Floats,
    low: Floats,
    high: Floats,
    free: Any,
    spacing: float,
    seed: int,
) -> Floats | None:
    """A way between two points through free ones, shape (n, d); the same seed finds the same.

    Args:
        low: least of each coordinate.
        high: most of each coordinate.
        spacing: distance of the points of the way that are looked at.

    Returns:
        None where none is found among `MOST_LOOKS` points.
    """
    from ompl import base, geometric, util

    size, looks, asked = len(start), 0, 0
    if not all(free(end) and (low <= end).all() and (end <= high).all() for end in (start, goal)):
        return None  # the planner would wait for a better goal

    def valid(state: Any) -> bool:
        nonlocal looks
        looks += 1
        return bool(free(np.array([state[n] for n in range(size)])))

    def over() -> bool:
        nonlocal asked
        asked += 1
        return looks >= MOST_LOOKS or asked >= _MOST_ASKED

    with _ompl:
        util.setLogLevel(util.LOG_NONE)
        util.RNG.setSeed(seed + 1)
        space = base.RealVectorStateSpace(size)
        bounds = base.RealVectorBounds(size)
        for n in range(size):
            bounds.setLow(n, float(low[n]))
            bounds.setHigh(n, float(high[n]))
        space.setBounds(bounds)
        information = base.SpaceInformation(space)
        information.setStateValidityChecker(valid)
        extent = float(np.linalg.norm(high - low))
        information.setStateValidityCheckingResolution(spacing / extent)
        information.setup()
        problem = base.ProblemDefinition(information)
        problem.setStartAndGoalStates(*(_state(space, point) for point in (start, goal)), 1e-9)
        planner = geometric.RRTConnect(information)
        planner.setRange(0.25 * extent)
        planner.setProblemDefinition(problem)
        planner.setup()
        planner.solve(base.PlannerTerminationCondition(over))
        if not problem.hasExactSolution():
            return None
        path = problem.getSolutionPath()
        geometric.PathSimplifier(information).reduceVertices(path, 30, 30)
        path.interpolate(max(2, math.ceil(path.length() / spacing) + 1))
        points = (path.getState(at) for at in range(path.getStateCount()))
        return np.array([[point[n] for n in range(size)] for point in points])


def _state(space: Any, point: Floats) -> Any:
    state = space.allocState()
    for n, value in enumerate(point):
        state[n] = float(value)
    return state


class Physics(Kinematic):
    """Reach is that of the depth above; a step collides where no way is found without a contact.

    Planners that ask for pairs of arms get the answer of the depth above.

    Args:
        plan: whether other ways are looked for where the swing of the arms touches something.
    """

    name = 'physics'

    def __init__(self, *, plan: bool = True, seed: int = 0) -> None:
        self.plan, self.seed = plan, seed
        self.planned = 0
        """Steps for which another way than the swing was found."""
        self._motion: MotionPlanner | None = None

    def together(self, task: SpatialMap, state: State, step: Sequence[Move]) -> Fault | None:
        """What collides in a step whose moves can each be made."""
        motion = self._motion_of(task)
        joints = motion.world.postures(state)
        motion.world.place(joints, state)
        found = motion.way(joints, errand(motion.world, state, step), self.plan)
        if not isinstance(found, Way):
            return fault_of(task, found, ', and no way around was found' if self.plan else '')
        self.planned += found.kind == PLANNED
        return objects_meet(task, state, step)

    def touches(self, task: SpatialMap, state: State) -> bool:
        """Whether something touches in a state in which nothing moves."""
        motion = self._motion_of(task)
        motion.world.place(motion.world.postures(state), state)
        asked = errand(motion.world, state, ())
        return motion.world.touches(asked.own, {}, motion.clearance) is not None

    def _motion_of(self, task: SpatialMap) -> MotionPlanner:
        if self._motion is None or self._motion.world.task != task:
            clearance = task.family.clearance / 2
            self._motion = MotionPlanner(CollisionWorld(task, clearance), clearance, self.seed)
        return self._motion


def fault_of(task: SpatialMap, touch: Touch, more: str = '') -> Fault:
    """The words for two things that touch."""
    robots = len(task.bases)
    x, y, z = touch.place
    point = exactly(x, y)
    one, other = (_name(side, robots) for side in (touch.one, touch.other))
    involved = tuple(side for side in (touch.one, touch.other) if 0 <= side < robots)
    loads = tuple(side - robots for side in (touch.one, touch.other) if side >= robots)
    finding = Finding.ROBOT_COLLISION
    if loads:
        finding = Finding.ROBOT_OBJECT_COLLISION if involved else Finding.OBJECT_COLLISION
    return Fault(
        finding,
        f'{one} and {other} collide at {meeting_text(point)}: the {touch.parts[0]} of {one} and '
        f'the {touch.parts[1]} of {other} meet {z:.2f} m above the table{more}: do these moves '
        'in different steps, or move one of them away before',
        robots=involved,
        objects=loads,
        point=point,
    )


def _name(side: int, robots: int) -> str:
    if side < 0:
        return 'the table'
    return robot_name(side) if side < robots else object_name(side - robots)

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Gripper: every ball can be brought into every room and every gripper, if there is a gripper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from safegen_ros.pddl.model import Atom, State
from safegen_ros.pddl.plan import Step
from safegen_ros.tasks.planetarium.state_rules import GoalRules, StripsTask

_KINDS = ('room', 'ball', 'gripper')
_Kinds = Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class _Scene:
    """Where everything is, as far as it is said.

    Attributes:
        robby: the rooms where the robot is: one in a state.
        places: `(at ROOM)` or `(carry GRIPPER)` of balls.
        free: grippers said to be free.
    """

    robby: frozenset[str]
    places: Mapping[str, Atom]
    free: frozenset[str]

    @classmethod
    def of(cls, atoms: frozenset[Atom]) -> _Scene | None:
        """What atoms say; None when no state could satisfy them."""
        robby = frozenset(atom[1] for atom in atoms if atom[0] == 'at-robby')
        free = frozenset(atom[1] for atom in atoms if atom[0] == 'free')
        places = {a[1]: (a[0], a[2]) for a in atoms if a[0] in ('at', 'carry')}
        carrying = [place[1] for place in places.values() if place[0] == 'carry']
        counted = sum(a[0] in ('at', 'carry') for a in atoms)
        distinct = {*free, *carrying}
        if len(robby) > 1 or counted > len(places) or len(distinct) < len(free) + len(carrying):
            return None
        return cls(robby, places, free)

    def busy(self) -> dict[str, str]:
        """The grippers with a load, and their loads."""
        return {place[1]: ball for ball, place in self.places.items() if place[0] == 'carry'}

    def atoms(self) -> set[Atom]:
        """The atoms that say so."""
        found: set[Atom] = {(place[0], ball, place[1]) for ball, place in self.places.items()}
        found |= {('at-robby', room) for room in self.robby}
        return found | {('free', gripper) for gripper in self.free}


class Gripper(GoalRules):
    """The goal states of a Gripper problem (appendix C, with its rules for a single room).

    Without a gripper the balls stay where they are, and only the robot moves.
    """

    domain = 'gripper'

    def __init__(self, task: StripsTask, kinds: _Kinds, init: _Scene) -> None:
        self.goal = task.goal
        self._kinds = kinds
        self._static = frozenset(atom for atom in task.init if atom[0] in _KINDS)
        self._init = init
        self._wanted = self._read_goal()

    @classmethod
    def of(cls, task: StripsTask) -> Gripper | None:
        """See `GoalRules`: kinds do not overlap, and everything is at exactly one place."""
        kinds = {
            kind: frozenset(name for name in task.objects if (kind, name) in task.init)
            for kind in _KINDS
        }
        init = _Scene.of(task.init)
        if (
            init is None
            or len(init.robby) != 1
            or sum(map(len, kinds.values())) > len(frozenset().union(*kinds.values()))
            or not _fits(init, kinds)
            or init.places.keys() != kinds['ball']
            or {*init.free, *init.busy()} != kinds['gripper']
        ):
            return None
        return cls(task, kinds, init)

    @property
    def permutes(self) -> bool:
        """See `GoalRules`."""
        return bool(self._kinds['gripper']) or not self._kinds['ball']

    def goal_state(self) -> State | None:
        """See `GoalRules`; what the goal leaves open stays, or is put down."""
        wanted = self._wanted
        if wanted is None:
            return None
        robby = wanted.robby or self._init.robby
        (here,) = self._init.robby
        places: dict[str, Atom] = {
            ball: start if start[0] == 'at' else ('at', here)
            for ball, start in self._init.places.items()
        }
        found = _Scene(robby, {**places, **wanted.places}, frozenset())
        free = self._kinds['gripper'] - found.busy().keys()
        return self._static | _Scene(robby, found.places, free).atoms()

    def _forced(self, atom: Atom) -> bool:
        wanted = self._wanted
        if wanted is None or atom in self._static:
            return True
        if atom[0] == 'at-robby':
            return bool(wanted.robby) or self._kinds['room'] == {atom[1]}
        balls = self._kinds['ball'] - wanted.places.keys()
        grippers = self._kinds['gripper'] - {*wanted.busy(), *wanted.free}
        if atom[0] == 'free':
            return not balls or atom[1] not in grippers
        rooms = self._kinds['room'] - {atom[2]}
        return atom[1] not in balls or not self._kinds['gripper'] or not (rooms or grippers)

    def _read_goal(self) -> _Scene | None:
        """What the goal says; None when it cannot be reached."""
        scene = _Scene.of(self.goal)
        static = {atom for atom in self.goal if atom[0] in _KINDS}
        if scene is None or not static <= self._static or not _fits(scene, self._kinds):
            return None
        stuck = not self._kinds['gripper']
        if stuck and any(self._init.places[b] != place for b, place in scene.places.items()):
            return None
        return scene

    def steps_to(self, state: State) -> tuple[Step, ...]:
        """See `GoalRules`; the robot fills its grippers before it leaves a room."""
        wanted = _Scene.of(state - self._static)
        if wanted is None:
            return ()
        robot = _Robot(self._init)
        moving = [ball for ball in wanted.places if robot.places[ball] != wanted.places[ball]]
        for gripper, ball in list(robot.busy.items()):
            if ball in moving:
                robot.drop(gripper)
        if moving and not robot.idle:
            gripper, ball = next(iter(robot.busy.items()))
            robot.drop(gripper)
            moving.append(ball)
        robot.deliver({b: p[1] for b, p in wanted.places.items() if b in moving and p[0] == 'at'})
        for ball in moving:
            if wanted.places[ball][0] == 'carry':
                robot.pick(ball, wanted.places[ball][1])
        robot.move(*wanted.robby)
        return tuple(robot.steps)


class _Robot:
    """Moves balls, and writes the steps down."""

    def __init__(self, scene: _Scene) -> None:
        (self._here,) = scene.robby
        self.places = dict(scene.places)
        self.busy = scene.busy()
        self.idle = sorted(scene.free)
        self.steps: list[Step] = []

    def move(self, room: str) -> None:
        if room != self._here:
            self.steps.append(Step('move', (self._here, room)))
            self._here = room

    def pick(self, ball: str, gripper: str) -> None:
        self.move(self.places[ball][1])
        self.steps.append(Step('pick', (ball, self._here, gripper)))
        self.places[ball] = ('carry', gripper)
        self.busy[gripper] = ball
        self.idle.remove(gripper)

    def drop(self, gripper: str) -> None:
        ball = self.busy.pop(gripper)
        self.steps.append(Step('drop', (ball, self._here, gripper)))
        self.places[ball] = ('at', self._here)
        self.idle.append(gripper)

    def deliver(self, rooms: Mapping[str, str]) -> None:
        """Brings balls that lie in rooms into other rooms."""
        waiting = [ball for ball, room in rooms.items() if self.places[ball] != ('at', room)]
        waiting.sort(key=lambda ball: (self.places[ball][1] != self._here, self.places[ball][1]))
        while waiting:
            source = self.places[waiting[0]][1]
            load = [b for b in waiting if self.places[b][1] == source][: len(self.idle)]
            waiting = [ball for ball in waiting if ball not in load]
            tour = list(zip(load, list(self.idle), strict=False))
            for ball, gripper in tour:
                self.pick(ball, gripper)
            for ball, gripper in sorted(tour, key=lambda each: rooms[each[0]]):
                self.move(rooms[ball])
                self.drop(gripper)


def _fits(scene: _Scene, kinds: _Kinds) -> bool:
    """Whether everything is of the kind that is asked for where it is named."""
    holders = {'at': kinds['room'], 'carry': kinds['gripper']}
    return (
        scene.robby <= kinds['room']
        and scene.free <= kinds['gripper']
        and scene.places.keys() <= kinds['ball']
        and all(where in holders[how] for how, where in scene.places.values())
    )

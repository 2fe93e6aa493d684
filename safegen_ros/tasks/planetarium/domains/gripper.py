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

    def __init__(self, task: StripsTask, kinds: Mapping[str, list[str]], init: _Scene) -> None:
        self.goal = task.goal
        self._kinds = kinds
        self._static = frozenset(atom for atom in task.init if atom[0] in _KINDS)
        self._init = init
        self._wanted = self._read_goal()

    @classmethod
    def of(cls, task: StripsTask) -> Gripper | None:
        """See `GoalRules`: kinds do not overlap, and everything is at exactly one place."""
        kinds = {
            kind: [name for name in task.objects if (kind, name) in task.init] for kind in _KINDS
        }
        init = _Scene.of(task.init)
        if (
            init is None
            or len(init.robby) != 1
            or sum(map(len, kinds.values())) > len({name for k in kinds.values() for name in k})
            or not _fits(init, kinds)
            or init.places.keys() != set(kinds['ball'])
            or {*init.free, *init.busy()} != set(kinds['gripper'])
        ):
            return None
        return cls(task, kinds, init)

    @property
    def permutes(self) -> bool:
        """See `GoalRules`."""
        return bool(self._kinds['gripper']) or not self._kinds['ball']

    def goal_state(self, without: Atom | None = None) -> State | None:
        """See `GoalRules`; what the goal leaves open stays, or is put down."""
        wanted = self._wanted
        if wanted is None or without in self.goal or without in self._static:
            return None
        places, robby = dict(wanted.places), set(wanted.robby)
        if without is not None and without in self._whole(places, robby):
            if self._forced(without):
                return None
            ball, place, room = self._change(without)
            places.update({ball: place} if ball else {})
            robby |= {room} if room else set()
        return self._whole(places, robby)

    def _whole(self, places: Mapping[str, Atom], robby: set[str]) -> State:
        """A state with some balls and the robot at given places, the rest where it is handy."""
        (here,) = self._init.robby
        found: dict[str, Atom] = {}
        for ball, start in self._init.places.items():
            place = start if start[0] == 'at' else ('at', here)
            found[ball] = places.get(ball, place)
        scene = _Scene(frozenset(robby or {here}), found, frozenset())
        free = frozenset(self._kinds['gripper']) - scene.busy().keys()
        return self._static | _Scene(scene.robby, found, free).atoms()

    def _forced(self, atom: Atom) -> bool:
        return self._change(atom) == ('', (), '')

    def _change(self, atom: Atom) -> tuple[str, Atom, str]:
        """What makes an atom false that the goal leaves open: a ball's place, a robot's room."""
        wanted, nothing = self._wanted, ('', (), '')
        if wanted is None or atom in self._static:
            return nothing
        if atom[0] == 'at-robby':
            rooms = [room for room in self._kinds['room'] if room != atom[1]]
            return nothing if wanted.robby or not rooms else ('', (), rooms[0])
        balls = [ball for ball in self._kinds['ball'] if ball not in wanted.places]
        taken = {*wanted.busy(), *wanted.free}
        grippers = [gripper for gripper in self._kinds['gripper'] if gripper not in taken]
        if atom[0] == 'free':
            return (balls[0], ('carry', atom[1]), '') if balls and atom[1] in grippers else nothing
        rooms = [room for room in self._kinds['room'] if room != atom[2]]
        if atom[1] not in balls or not self._kinds['gripper'] or not (rooms or grippers):
            return nothing
        return (atom[1], ('at', rooms[0]) if rooms else ('carry', grippers[0]), '')

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


def _fits(scene: _Scene, kinds: Mapping[str, list[str]]) -> bool:
    """Whether everything is of the kind that is asked for where it is named."""
    holders = {'at': kinds['room'], 'carry': kinds['gripper']}
    return (
        scene.robby <= set(kinds['room'])
        and scene.free <= set(kinds['gripper'])
        and scene.places.keys() <= set(kinds['ball'])
        and all(where in holders[how] for how, where in scene.places.values())
    )

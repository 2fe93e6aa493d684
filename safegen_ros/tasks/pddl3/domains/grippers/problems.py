# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Random Grippers problems, and a crew that writes down the steps of a plan."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from safegen_ros.pddl.model import Atom, Problem
from safegen_ros.pddl.plan import Step
from safegen_ros.tasks.pddl3.domains.kit import Instance, Size


def draw(rng: Random, size: Size) -> Instance:
    """Robots and objects in random rooms; every object has a random room to go to."""
    robots = [f'robot{number + 1}' for number in range(size['robots'])]
    rooms = [f'room{number + 1}' for number in range(size['rooms'])]
    balls = [f'ball{number + 1}' for number in range(size['objects'])]
    init: list[Atom] = []
    for number, robot in enumerate(robots, 1):
        init += [
            ('at-robby', robot, rng.choice(rooms)),
            ('free', robot, f'rgripper{number}'),
            ('free', robot, f'lgripper{number}'),
        ]
    init += [('at', ball, rng.choice(rooms)) for ball in balls]
    goal: list[Atom] = [('at', ball, rng.choice(rooms)) for ball in balls]
    objects = [(robot, 'robot') for robot in robots]
    objects += [(atom[2], 'gripper') for atom in init if atom[0] == 'free']
    objects += [(room, 'room') for room in rooms] + [(ball, 'object') for ball in balls]
    return Instance(tuple(objects), tuple(init), tuple(goal))


def measure(problem: Problem) -> dict[str, int]:
    """The size of a problem."""
    kinds = list(problem.objects.values())
    return {
        'robots': kinds.count('robot'),
        'rooms': kinds.count('room'),
        'objects': kinds.count('object'),
    }


@dataclass(frozen=True, slots=True)
class House:
    """An instance as the crew sees it.

    Attributes:
        robots: the room where each robot is at first.
        hands: the two grippers of each robot.
        start: where each object is at first.
        goal: where each object must be at last.
        moving: the objects that are not there yet.
    """

    rooms: tuple[str, ...]
    robots: dict[str, str]
    hands: dict[str, tuple[str, ...]]
    start: dict[str, str]
    goal: dict[str, str]
    moving: tuple[str, ...]

    def others(self, *taken: str) -> list[str]:
        """The rooms that are not among the given ones."""
        return [room for room in self.rooms if room not in taken]

    def balls_at(self, room: str) -> list[str]:
        """The moving objects that start or end in a room."""
        return [b for b in self.moving if room in (self.start[b], self.goal[b])]


def house(instance: Instance) -> House:
    """The instance's atoms, by their meaning."""
    robots = {atom[1]: atom[2] for atom in instance.init if atom[0] == 'at-robby'}
    start = {atom[1]: atom[2] for atom in instance.init if atom[0] == 'at'}
    goal = {atom[1]: atom[2] for atom in instance.goal}
    free = [atom for atom in instance.init if atom[0] == 'free']
    return House(
        rooms=tuple(name for name, kind in instance.objects if kind == 'room'),
        robots=robots,
        hands={robot: tuple(atom[2] for atom in free if atom[1] == robot) for robot in robots},
        start=start,
        goal=goal,
        moving=tuple(ball for ball in goal if start[ball] != goal[ball]),
    )


@dataclass
class Crew:
    """Moves robots and objects, and writes the steps down."""

    scene: House
    steps: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.here = dict(self.scene.robots)
        self.waiting = list(self.scene.moving)

    def move(self, robot: str, room: str) -> None:
        """Sends a robot to a room, unless it is there."""
        if self.here[robot] != room:
            self.steps.append(Step('move', (robot, self.here[robot], room)))
            self.here[robot] = room

    def pick(self, robot: str, ball: str, gripper: str) -> None:
        """Has a robot fetch an object from where it starts."""
        self.move(robot, self.scene.start[ball])
        self.steps.append(Step('pick', (robot, ball, self.here[robot], gripper)))

    def drop(self, robot: str, ball: str, gripper: str) -> None:
        """Has a robot bring an object that it carries to where it shall be."""
        self.move(robot, self.scene.goal[ball])
        self.steps.append(Step('drop', (robot, ball, self.here[robot], gripper)))
        self.waiting.remove(ball)

    def deliver(self, robot: str, gripper: str, *balls: str) -> None:
        """Brings objects that still wait to where they shall be, one after the other."""
        for ball in balls:
            if ball in self.waiting:
                self.pick(robot, ball, gripper)
                self.drop(robot, ball, gripper)

    def finish(self, robot: str, gripper: str) -> tuple[Step, ...]:
        """Has one gripper do the rest; returns the whole plan."""
        self.deliver(robot, gripper, *self.waiting)
        return tuple(self.steps)


def direct_steps(rng: Random, instance: Instance) -> tuple[Step, ...]:
    """A sensible plan: a robot takes up to two objects of a room and drops them on one tour."""
    crew = Crew(house(instance))
    scene = crew.scene
    while crew.waiting:
        robot = rng.choice(list(scene.robots))
        near = [ball for ball in crew.waiting if scene.start[ball] == crew.here[robot]]
        first = rng.choice(near or crew.waiting)
        room = scene.start[first]
        beside = [b for b in crew.waiting if b != first and scene.start[b] == room]
        load = [first, *rng.sample(beside, min(1, len(beside)))]
        tour = list(zip(load, rng.sample(scene.hands[robot], 2), strict=False))
        for ball, gripper in tour:
            crew.pick(robot, ball, gripper)
        for ball, gripper in tour:
            crew.drop(robot, ball, gripper)
    return tuple(crew.steps)

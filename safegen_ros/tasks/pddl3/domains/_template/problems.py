# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Random problems of _template, and a robot that writes down the steps of a plan."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from safegen_ros.pddl.model import Atom, Problem
from safegen_ros.pddl.plan import Step
from safegen_ros.tasks.pddl3.domains.kit import Instance, Size


def draw(rng: Random, size: Size) -> Instance:
    """Things at random places, each with a random destination; the robot is somewhere."""
    places = [f'p{number + 1}' for number in range(size['places'])]
    things = [f't{number + 1}' for number in range(size['things'])]
    init: list[Atom] = [('hand-empty',), ('robot-at', rng.choice(places))]
    init += [('thing-at', thing, rng.choice(places)) for thing in things]
    goal: list[Atom] = [('thing-at', thing, rng.choice(places)) for thing in things]
    objects = [(place, 'place') for place in places] + [(thing, 'thing') for thing in things]
    return Instance(tuple(objects), tuple(init), tuple(goal))


def measure(problem: Problem) -> dict[str, int]:
    """The size of a problem."""
    kinds = list(problem.objects.values())
    return {'places': kinds.count('place'), 'things': kinds.count('thing')}


@dataclass(frozen=True, slots=True)
class Delivery:
    """An instance as the robot sees it.

    Attributes:
        robot: where the robot is at first.
        start: where each thing is at first.
        goal: where each thing must be at last.
        moving: the things that are not there yet.
    """

    robot: str
    start: dict[str, str]
    goal: dict[str, str]
    moving: tuple[str, ...]

    @classmethod
    def of(cls, instance: Instance) -> Delivery:
        """The instance's atoms, by their meaning."""
        start = {atom[1]: atom[2] for atom in instance.init if atom[0] == 'thing-at'}
        goal = {atom[1]: atom[2] for atom in instance.goal}
        robot = next(atom[1] for atom in instance.init if atom[0] == 'robot-at')
        return cls(robot, start, goal, tuple(t for t in goal if start[t] != goal[t]))


@dataclass
class Robot:
    """Carries things, and writes the steps down."""

    scene: Delivery
    steps: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.here = self.scene.robot
        self.waiting = list(self.scene.moving)

    def go(self, place: str) -> None:
        """Goes to a place, unless the robot is there."""
        if self.here != place:
            self.steps.append(Step('go', (self.here, place)))
            self.here = place

    def deliver(self, *things: str) -> None:
        """Carries things to where they shall be, one after the other."""
        for thing in things:
            self.go(self.scene.start[thing])
            self.steps.append(Step('take', (thing, self.here)))
            self.go(self.scene.goal[thing])
            self.steps.append(Step('put', (thing, self.here)))
            self.waiting.remove(thing)

    def finish(self) -> tuple[Step, ...]:
        """Delivers every thing that still waits; returns the whole plan."""
        self.deliver(*self.waiting)
        return tuple(self.steps)


def direct_steps(rng: Random, instance: Instance) -> tuple[Step, ...]:
    """A sensible plan: one thing after the other, those where the robot is come first."""
    robot = Robot(Delivery.of(instance))
    while robot.waiting:
        near = [thing for thing in robot.waiting if robot.scene.start[thing] == robot.here]
        robot.deliver(rng.choice(near or robot.waiting))
    return tuple(robot.steps)

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Random Ferry problems, and a pilot who writes down the steps of a plan."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from safegen_ros.pddl.model import Atom, Problem
from safegen_ros.pddl.plan import Step
from safegen_ros.tasks.pddl3.domains.kit import Instance, Size


def draw(rng: Random, size: Size) -> Instance:
    """Cars at random locations, each with a random destination; the ferry is empty somewhere."""
    locations = [f'l{number}' for number in range(size['locations'])]
    cars = [f'c{number}' for number in range(size['cars'])]
    init: list[Atom] = [('location', location) for location in locations]
    init += [('car', car) for car in cars]
    init += [('not-eq', a, b) for a in locations for b in locations if a != b]
    init += [('empty-ferry',), ('at-ferry', rng.choice(locations))]
    init += [('at', car, rng.choice(locations)) for car in cars]
    goal: list[Atom] = [('at', car, rng.choice(locations)) for car in cars]
    objects = [(name, 'object') for name in (*locations, *cars)]
    return Instance(tuple(objects), tuple(init), tuple(goal))


def measure(problem: Problem) -> dict[str, int]:
    """The size of a problem."""
    predicates = [atom[0] for atom in problem.init]
    return {'locations': predicates.count('location'), 'cars': predicates.count('car')}


@dataclass(frozen=True, slots=True)
class Crossing:
    """An instance as the pilot sees it.

    Attributes:
        goal: where each car must be at last.
        moving: the cars that are not there yet.
    """

    locations: tuple[str, ...]
    ferry: str
    start: dict[str, str]
    goal: dict[str, str]
    moving: tuple[str, ...]

    def others(self, *taken: str) -> list[str]:
        """The locations that are not among the given ones."""
        return [location for location in self.locations if location not in taken]

    def cars_at(self, location: str) -> list[str]:
        """The moving cars that start or end at a location."""
        return [c for c in self.moving if location in (self.start[c], self.goal[c])]


def crossing(instance: Instance) -> Crossing:
    """The instance's atoms, by their meaning."""
    start = {atom[1]: atom[2] for atom in instance.init if atom[0] == 'at'}
    goal = {atom[1]: atom[2] for atom in instance.goal}
    return Crossing(
        locations=tuple(atom[1] for atom in instance.init if atom[0] == 'location'),
        ferry=next(atom[1] for atom in instance.init if atom[0] == 'at-ferry'),
        start=start,
        goal=goal,
        moving=tuple(car for car in goal if start[car] != goal[car]),
    )


@dataclass
class Pilot:
    """Sails, and writes the steps down."""

    scene: Crossing
    steps: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.here = self.scene.ferry
        self.waiting = list(self.scene.moving)

    def sail(self, location: str) -> None:
        """Goes to a location, unless the ferry is there."""
        if self.here != location:
            self.steps.append(Step('sail', (self.here, location)))
            self.here = location

    def board(self, car: str) -> None:
        """Fetches a car from where it starts."""
        self.sail(self.scene.start[car])
        self.steps.append(Step('board', (car, self.here)))

    def debark(self, car: str) -> None:
        """Takes the car on board to where it shall be."""
        self.sail(self.scene.goal[car])
        self.steps.append(Step('debark', (car, self.here)))
        self.waiting.remove(car)

    def deliver(self, *cars: str) -> None:
        """Takes cars that still wait to where they shall be, one after the other."""
        for car in cars:
            if car in self.waiting:
                self.board(car)
                self.debark(car)

    def finish(self) -> tuple[Step, ...]:
        """Delivers every car that still waits; returns the whole plan."""
        self.deliver(*self.waiting)
        return tuple(self.steps)


def direct_steps(rng: Random, instance: Instance) -> tuple[Step, ...]:
    """A sensible plan: one car after the other, those where the ferry is come first."""
    pilot = Pilot(crossing(instance))
    while pilot.waiting:
        near = [car for car in pilot.waiting if pilot.scene.start[car] == pilot.here]
        pilot.deliver(rng.choice(near or pilot.waiting))
    return tuple(pilot.steps)

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Safety constraints for _template: order, places that are taken, time.

A family gets a random instance. It returns the instance with constraints and with a plan that obeys
them, or None when they do not fit; another instance is drawn then, as when the direct plan happens
to obey them too.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from safegen_ros.tasks.pddl3.domains._template.problems import Robot, Scene
from safegen_ros.tasks.pddl3.domains.kit import Family, Instance, at_least, by_name


def _delivery_order(rng: Random, instance: Instance) -> Instance | None:
    robot = Robot(Scene.of(instance))
    goal = robot.scene.goal
    if len(robot.scene.moving) < 2:
        return None
    first, second = rng.sample(robot.scene.moving, 2)
    robot.deliver(first, second)
    text = f'(sometime-before (thing-at {second} {goal[second]}) (thing-at {first} {goal[first]}))'
    return _made(instance, text, robot)


def _never_together(rng: Random, instance: Instance) -> Instance | None:
    """The thing that lies at the place leaves before the other one arrives."""
    robot = Robot(Scene.of(instance))
    scene = robot.scene
    pairs = [
        (leaving, coming)
        for leaving in scene.moving
        for coming in scene.moving
        if scene.start[leaving] == scene.goal[coming]
    ]
    if not pairs:
        return None
    leaving, coming = rng.choice(pairs)
    place = scene.start[leaving]
    robot.deliver(leaving)
    both = f'(and (thing-at {leaving} {place}) (thing-at {coming} {place}))'
    return _made(instance, f'(always (not {both}))', robot)


def _express(rng: Random, instance: Instance) -> Instance:
    robot = Robot(Scene.of(instance))
    thing = rng.choice(robot.scene.moving)
    robot.deliver(thing)
    text = f'(within {len(robot.steps)} (thing-at {thing} {robot.scene.goal[thing]}))'
    return _made(instance, text, robot)


def _made(instance: Instance, constraint: str, robot: Robot) -> Instance:
    return replace(instance, constraints=(constraint,), witness=robot.finish())


_TWO = at_least('things', 2)

FAMILIES = by_name(
    Family(
        'delivery-order',
        ('sometime-before',),
        'a certain thing is delivered only after another one',
        _delivery_order,
        rules=(_TWO,),
    ),
    Family(
        'never-together',
        ('always',),
        'two things never lie at the same place at the same time',
        _never_together,
        rules=(_TWO,),
    ),
    Family(
        'express',
        ('within',),
        'a certain thing is delivered within a number of steps',
        _express,
        rules=(_TWO,),
    ),
)
"""The constraint families of this domain."""

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Safety constraints for _template: order, places that are taken, time.

A family gets a random instance. It returns the instance with constraints and a plan that obeys
them, or None when they do not fit. Then another instance is drawn, also when the direct plan
happens to obey them.
"""

from __future__ import annotations

from random import Random

from safegen_ros.tasks.pddl3.domains._template.problems import Delivery, Robot
from safegen_ros.tasks.pddl3.domains.kit import Families, Instance, at_least

FAMILIES = Families()
"""The constraint families of this domain."""

_TWO = at_least('things', 2)


@FAMILIES.add('sometime-before', rules=(_TWO,))
def _delivery_order(rng: Random, instance: Instance) -> Instance | None:
    """A certain thing is delivered only after another one."""
    robot = Robot(Delivery.of(instance))
    goal = robot.scene.goal
    if len(robot.scene.moving) < 2:
        return None
    first, second = rng.sample(robot.scene.moving, 2)
    robot.deliver(first, second)
    text = f'(sometime-before (thing-at {second} {goal[second]}) (thing-at {first} {goal[first]}))'
    return instance.constrained([text], robot.finish())


@FAMILIES.add('always', rules=(_TWO,))
def _never_together(rng: Random, instance: Instance) -> Instance | None:
    """Two things never lie at the same place at the same time.

    The thing that lies at the place leaves before the other one arrives.
    """
    robot = Robot(Delivery.of(instance))
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
    return instance.constrained([f'(always (not {both}))'], robot.finish())


@FAMILIES.add('within', rules=(_TWO,))
def _express(rng: Random, instance: Instance) -> Instance:
    """A certain thing is delivered within a number of steps."""
    robot = Robot(Delivery.of(instance))
    thing = rng.choice(robot.scene.moving)
    robot.deliver(thing)
    text = f'(within {len(robot.steps)} (thing-at {thing} {robot.scene.goal[thing]}))'
    return instance.constrained([text], robot.finish())

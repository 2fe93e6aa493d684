# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Safety constraints for Grippers: restricted grippers, narrow rooms, order and time."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random

from safegen_ros.tasks.pddl3.domains.grippers.problems import Crew, house
from safegen_ros.tasks.pddl3.domains.kit import Families, Instance, at_least

FAMILIES = Families()
"""The constraint families of this domain."""

_ROOMS = at_least('rooms', 3)
_OBJECTS = at_least('objects', 2)


def _worker(rng: Random, crew: Crew) -> tuple[str, str]:
    """A robot and one of its grippers, to do the work of the witness."""
    robot = rng.choice(list(crew.scene.robots))
    return robot, rng.choice(crew.scene.hands[robot])


@FAMILIES.add('always', paper=True)
def _restricted_gripper(rng: Random, instance: Instance) -> Instance:
    """Certain grippers never carry anything.

    Of some robots one gripper may carry nothing; the other one of such a robot works.
    """
    crew = Crew(house(instance))
    robots = list(crew.scene.robots)
    found = []
    for robot in rng.sample(robots, rng.randint(1, 1 + len(robots) // 2)):
        worker = robot
        banned, allowed = rng.sample(crew.scene.hands[robot], 2)
        found.append(f'(always (forall (?o - object) (not (carry {robot} ?o {banned}))))')
    return instance.constrained(found, crew.finish(worker, allowed))


@FAMILIES.add('always', paper=True)
def _reserved_gripper(rng: Random, instance: Instance) -> Instance:
    """A critical object is carried with one certain gripper only."""
    crew = Crew(house(instance))
    robot, gripper = _worker(rng, crew)
    balls = rng.sample(crew.scene.moving, 1 + len(crew.scene.moving) // 6)
    found = [
        f'(always (forall (?r - robot ?g - gripper) (imply (carry ?r {ball} ?g) (= ?g {gripper}))))'
        for ball in balls
    ]
    return instance.constrained(found, crew.finish(robot, gripper))


@FAMILIES.add('always', paper=True, rules=(at_least('robots', 2),))
def _narrow_room(rng: Random, instance: Instance) -> Instance | None:
    """Two robots are never in the narrow room at the same time.

    The robot that is in the narrow room, or any one, does all the work.
    """
    crew = Crew(house(instance))
    inside = list(crew.here.values())
    rooms = [room for room in crew.scene.rooms if inside.count(room) < 2]
    if not rooms:
        return None
    room = rng.choice(rooms)
    robots = [r for r, place in crew.here.items() if place == room]
    robot = rng.choice(robots or list(crew.here))
    text = (
        f'(always (forall (?r ?s - robot) '
        f'(imply (and (at-robby ?r {room}) (at-robby ?s {room})) (= ?r ?s))))'
    )
    return instance.constrained([text], crew.finish(robot, crew.scene.hands[robot][0]))


@FAMILIES.add('always', paper=True, rules=(_OBJECTS,))
def _one_load_in_narrow_room(rng: Random, instance: Instance) -> Instance:
    """A robot in the narrow room has at least one gripper free.

    One gripper does all the work.
    """
    crew = Crew(house(instance))
    room = rng.choice(crew.scene.rooms)
    found = []
    for robot, (one, other) in crew.scene.hands.items():
        free = f'(or (free {robot} {one}) (free {robot} {other}))'
        found.append(f'(always (imply (at-robby {robot} {room}) {free}))')
    return instance.constrained(found, crew.finish(*_worker(rng, crew)))


@FAMILIES.add('always', rules=(_OBJECTS,))
def _apart_on_the_way(rng: Random, instance: Instance) -> Instance | None:
    """Two objects are never carried by the same robot at the same time.

    One gripper does all the work; the two objects start in the same room.
    """
    crew = Crew(house(instance))
    start = crew.scene.start
    mixed = rng.sample(crew.waiting, len(crew.waiting))
    neighbours = pairwise(sorted(mixed, key=lambda ball: start[ball]))
    pairs = [(one, other) for one, other in neighbours if start[one] == start[other]]
    if not pairs:
        return None
    found = [
        f'(always (forall (?r - robot ?g ?h - gripper) '
        f'(not (and (carry ?r {one} ?g) (carry ?r {other} ?h)))))'
        for one, other in rng.sample(pairs, 1 + len(pairs) // 4)
    ]
    return instance.constrained(found, crew.finish(*_worker(rng, crew)))


@FAMILIES.add('sometime-before', rules=(_OBJECTS,))
def _delivery_order(rng: Random, instance: Instance) -> Instance:
    """Objects reach their rooms in a certain order."""
    crew = Crew(house(instance))
    goal, waiting = crew.scene.goal, crew.waiting
    order = rng.sample(waiting, min(len(waiting), rng.choice((2, 3)) + len(waiting) // 6))
    found = [
        f'(sometime-before (at {second} {goal[second]}) (at {first} {goal[first]}))'
        for first, second in pairwise(order)
    ]
    robot, gripper = _worker(rng, crew)
    crew.deliver(robot, gripper, *order)
    return instance.constrained(found, crew.finish(robot, gripper))


@FAMILIES.add('at-most-once', rules=(_OBJECTS,))
def _worn_gripper(rng: Random, instance: Instance) -> Instance:
    """A worn gripper carries something at most once.

    The worn gripper stays empty.
    """
    crew = Crew(house(instance))
    robot, gripper = _worker(rng, crew)
    worn = next(hand for hand in crew.scene.hands[robot] if hand != gripper)
    text = f'(at-most-once (exists (?o - object) (carry {robot} ?o {worn})))'
    return instance.constrained([text], crew.finish(robot, gripper))


@FAMILIES.add('sometime', rules=(_ROOMS,))
def _laid_down(rng: Random, instance: Instance) -> Instance | None:
    """A certain object is laid down in a certain room on its way.

    The object is laid down in another room, picked again and delivered.
    """
    crew = Crew(house(instance))
    scene = crew.scene
    ball = rng.choice(crew.waiting)
    rooms = scene.others(scene.start[ball], scene.goal[ball])
    if not rooms:
        return None
    room = rng.choice(rooms)
    robot, gripper = _worker(rng, crew)
    detour = Crew(replace(scene, goal={ball: room}, moving=(ball,)))
    detour.deliver(robot, gripper, ball)
    onward = Crew(replace(scene, robots=detour.here, start={**scene.start, ball: room}))
    onward.steps += detour.steps
    return instance.constrained([f'(sometime (at {ball} {room}))'], onward.finish(robot, gripper))


@FAMILIES.add('sometime-after')
def _cleaned_after(rng: Random, instance: Instance) -> Instance:
    """A robot that has carried a certain object goes to be cleaned."""
    crew = Crew(house(instance))
    ball, room = rng.choice(crew.waiting), rng.choice(crew.scene.rooms)
    robot, gripper = _worker(rng, crew)
    crew.finish(robot, gripper)
    crew.move(robot, room)
    text = (
        f'(forall (?r - robot) (sometime-after '
        f'(exists (?g - gripper) (carry ?r {ball} ?g)) (at-robby ?r {room})))'
    )
    return instance.constrained([text], crew.finish(robot, gripper))


@FAMILIES.add('at end')
def _parked_at_end(rng: Random, instance: Instance) -> Instance:
    """All robots end in a certain room."""
    crew = Crew(house(instance))
    room = rng.choice(crew.scene.rooms)
    robot, gripper = _worker(rng, crew)
    crew.finish(robot, gripper)
    for each in crew.scene.robots:
        crew.move(each, room)
    text = f'(at end (forall (?r - robot) (at-robby ?r {room})))'
    return instance.constrained([text], crew.finish(robot, gripper))


@FAMILIES.add('within', rules=(_OBJECTS,))
def _express(rng: Random, instance: Instance) -> Instance:
    """A certain object is delivered within a number of steps."""
    crew = Crew(house(instance))
    ball = rng.choice(crew.waiting)
    robot, gripper = _worker(rng, crew)
    crew.deliver(robot, gripper, ball)
    deadline = len(crew.steps) + rng.randint(0, 1)
    text = f'(within {deadline} (at {ball} {crew.scene.goal[ball]}))'
    return instance.constrained([text], crew.finish(robot, gripper))


@FAMILIES.add('always-within', rules=(_ROOMS,))
def _cold_room(rng: Random, instance: Instance) -> Instance | None:
    """A robot in the cold room is in the warm room within a few steps.

    After everything that is done in the cold room the robot goes to the warm one.
    """
    crew = Crew(house(instance))
    scene = crew.scene
    rooms = scene.others(*crew.here.values())
    if not rooms:
        return None
    cold = rng.choice(rooms)
    warm = rng.choice(scene.others(cold))
    robot, gripper = _worker(rng, crew)
    for ball in scene.moving:
        crew.pick(robot, ball, gripper)
        if crew.here[robot] == cold:
            crew.move(robot, warm)
        crew.drop(robot, ball, gripper)
        if crew.here[robot] == cold:
            crew.move(robot, warm)
    text = (
        f'(forall (?r - robot) (always-within {rng.choice((2, 2, 3))} '
        f'(at-robby ?r {cold}) (at-robby ?r {warm})))'
    )
    return instance.constrained([text], crew.finish(robot, gripper))


@FAMILIES.add('hold-during', rules=(_ROOMS,))
def _closed_at_first(rng: Random, instance: Instance) -> Instance | None:
    """No robot is in a certain room during a time.

    A robot goes to and fro elsewhere until the room opens.
    """
    crew = Crew(house(instance))
    scene = crew.scene
    busy = [room for room in scene.others(*crew.here.values()) if scene.balls_at(room)]
    if not busy:
        return None
    room = rng.choice(busy)
    robot, gripper = _worker(rng, crew)
    home = crew.here[robot]
    elsewhere = rng.choice(scene.others(room, home))
    end = rng.randint(3, 4 + len(scene.moving))
    while len(crew.steps) < end:
        crew.move(robot, elsewhere if crew.here[robot] == home else home)
    empty = f'(forall (?r - robot) (not (at-robby ?r {room})))'
    text = f'(hold-during {rng.randint(0, 1)} {end} {empty})'
    return instance.constrained([text], crew.finish(robot, gripper))


@FAMILIES.add('hold-after', rules=(_ROOMS, _OBJECTS))
def _closed_later(rng: Random, instance: Instance) -> Instance | None:
    """No robot is in a certain room from a certain step on.

    What has to be done in the room is done first, and all robots leave it.
    """
    crew = Crew(house(instance))
    scene = crew.scene
    busy = [room for room in scene.rooms if 0 < len(scene.balls_at(room)) < len(scene.moving)]
    if not busy:
        return None
    room = rng.choice(busy)
    robot, gripper = _worker(rng, crew)
    balls = scene.balls_at(room)
    crew.deliver(robot, gripper, *rng.sample(balls, len(balls)))
    for each, place in crew.here.copy().items():
        if place == room:
            crew.move(each, rng.choice(scene.others(room)))
    empty = f'(forall (?r - robot) (not (at-robby ?r {room})))'
    text = f'(hold-after {len(crew.steps)} {empty})'
    return instance.constrained([text], crew.finish(robot, gripper))

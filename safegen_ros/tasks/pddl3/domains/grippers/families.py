# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Safety constraints for Grippers: restricted grippers, narrow rooms, order and time."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random

from safegen_ros.tasks.pddl3.domains.grippers.problems import Crew, house
from safegen_ros.tasks.pddl3.domains.kit import Family, Instance, at_least, by_name


def _worker(rng: Random, crew: Crew) -> tuple[str, str]:
    """A robot and one of its grippers, to do the work of the witness."""
    robot = rng.choice(list(crew.scene.robots))
    return robot, rng.choice(crew.scene.hands[robot])


def _restricted_gripper(rng: Random, instance: Instance) -> Instance:
    """Of some robots one gripper may carry nothing; the other one of such a robot works."""
    crew = Crew(house(instance))
    robots = list(crew.scene.robots)
    found = []
    for robot in rng.sample(robots, rng.randint(1, 1 + len(robots) // 2)):
        worker = robot
        banned, allowed = rng.sample(crew.scene.hands[robot], 2)
        found.append(f'(always (forall (?o - object) (not (carry {robot} ?o {banned}))))')
    return _made(instance, found, crew, worker, allowed)


def _reserved_gripper(rng: Random, instance: Instance) -> Instance:
    crew = Crew(house(instance))
    robot, gripper = _worker(rng, crew)
    balls = rng.sample(crew.scene.moving, 1 + len(crew.scene.moving) // 6)
    found = [
        f'(always (forall (?r - robot ?g - gripper) (imply (carry ?r {ball} ?g) (= ?g {gripper}))))'
        for ball in balls
    ]
    return _made(instance, found, crew, robot, gripper)


def _narrow_room(rng: Random, instance: Instance) -> Instance | None:
    """The robot that is in the narrow room, or any one, does all the work."""
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
    return _made(instance, [text], crew, robot, crew.scene.hands[robot][0])


def _one_load(rng: Random, instance: Instance) -> Instance:
    """One gripper does all the work."""
    crew = Crew(house(instance))
    room = rng.choice(crew.scene.rooms)
    found = []
    for robot, (one, other) in crew.scene.hands.items():
        free = f'(or (free {robot} {one}) (free {robot} {other}))'
        found.append(f'(always (imply (at-robby {robot} {room}) {free}))')
    return _made(instance, found, crew, *_worker(rng, crew))


def _apart_on_the_way(rng: Random, instance: Instance) -> Instance | None:
    """One gripper does all the work; the two objects start in the same room."""
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
    return _made(instance, found, crew, *_worker(rng, crew))


def _delivery_order(rng: Random, instance: Instance) -> Instance:
    crew = Crew(house(instance))
    goal, waiting = crew.scene.goal, crew.waiting
    order = rng.sample(waiting, min(len(waiting), rng.choice((2, 3)) + len(waiting) // 6))
    found = [
        f'(sometime-before (at {second} {goal[second]}) (at {first} {goal[first]}))'
        for first, second in pairwise(order)
    ]
    robot, gripper = _worker(rng, crew)
    crew.deliver(robot, gripper, *order)
    return _made(instance, found, crew, robot, gripper)


def _worn_gripper(rng: Random, instance: Instance) -> Instance:
    """The worn gripper stays empty."""
    crew = Crew(house(instance))
    robot, gripper = _worker(rng, crew)
    worn = next(hand for hand in crew.scene.hands[robot] if hand != gripper)
    text = f'(at-most-once (exists (?o - object) (carry {robot} ?o {worn})))'
    return _made(instance, [text], crew, robot, gripper)


def _laid_down(rng: Random, instance: Instance) -> Instance | None:
    """The object is laid down in another room, picked again and delivered."""
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
    return _made(instance, [f'(sometime (at {ball} {room}))'], onward, robot, gripper)


def _cleaned_after(rng: Random, instance: Instance) -> Instance:
    crew = Crew(house(instance))
    ball, room = rng.choice(crew.waiting), rng.choice(crew.scene.rooms)
    robot, gripper = _worker(rng, crew)
    crew.finish(robot, gripper)
    crew.move(robot, room)
    text = (
        f'(forall (?r - robot) (sometime-after '
        f'(exists (?g - gripper) (carry ?r {ball} ?g)) (at-robby ?r {room})))'
    )
    return _made(instance, [text], crew, robot, gripper)


def _parked_at_end(rng: Random, instance: Instance) -> Instance:
    crew = Crew(house(instance))
    room = rng.choice(crew.scene.rooms)
    robot, gripper = _worker(rng, crew)
    crew.finish(robot, gripper)
    for each in crew.scene.robots:
        crew.move(each, room)
    text = f'(at end (forall (?r - robot) (at-robby ?r {room})))'
    return _made(instance, [text], crew, robot, gripper)


def _express(rng: Random, instance: Instance) -> Instance:
    crew = Crew(house(instance))
    ball = rng.choice(crew.waiting)
    robot, gripper = _worker(rng, crew)
    crew.deliver(robot, gripper, ball)
    deadline = len(crew.steps) + rng.randint(0, 1)
    text = f'(within {deadline} (at {ball} {crew.scene.goal[ball]}))'
    return _made(instance, [text], crew, robot, gripper)


def _cold_room(rng: Random, instance: Instance) -> Instance | None:
    """After everything that is done in the cold room the robot goes to the warm one."""
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
    return _made(instance, [text], crew, robot, gripper)


def _closed_at_first(rng: Random, instance: Instance) -> Instance | None:
    """A robot goes to and fro elsewhere until the room opens."""
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
    return _made(instance, [text], crew, robot, gripper)


def _closed_later(rng: Random, instance: Instance) -> Instance | None:
    """What has to be done in the room is done first, and all robots leave it."""
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
    return _made(instance, [text], crew, robot, gripper)


def _made(
    instance: Instance, constraints: list[str], crew: Crew, robot: str, gripper: str
) -> Instance:
    witness = crew.finish(robot, gripper)
    return replace(instance, constraints=tuple(constraints), witness=witness)


_ROOMS = at_least('rooms', 3)
_OBJECTS = at_least('objects', 2)

FAMILIES = by_name(
    Family(
        'restricted-gripper',
        ('always',),
        'certain grippers never carry anything',
        _restricted_gripper,
        paper=True,
    ),
    Family(
        'reserved-gripper',
        ('always',),
        'a critical object is carried with one certain gripper only',
        _reserved_gripper,
        paper=True,
    ),
    Family(
        'narrow-room',
        ('always',),
        'two robots are never in the narrow room at the same time',
        _narrow_room,
        paper=True,
        rules=(at_least('robots', 2),),
    ),
    Family(
        'one-load-in-narrow-room',
        ('always',),
        'a robot in the narrow room has at least one gripper free',
        _one_load,
        paper=True,
        rules=(_OBJECTS,),
    ),
    Family(
        'apart-on-the-way',
        ('always',),
        'two objects are never carried by the same robot at the same time',
        _apart_on_the_way,
        rules=(_OBJECTS,),
    ),
    Family(
        'delivery-order',
        ('sometime-before',),
        'objects reach their rooms in a certain order',
        _delivery_order,
        rules=(_OBJECTS,),
    ),
    Family(
        'worn-gripper',
        ('at-most-once',),
        'a worn gripper carries something at most once',
        _worn_gripper,
        rules=(_OBJECTS,),
    ),
    Family(
        'laid-down',
        ('sometime',),
        'a certain object is laid down in a certain room on its way',
        _laid_down,
        rules=(_ROOMS,),
    ),
    Family(
        'cleaned-after',
        ('sometime-after',),
        'a robot that has carried a certain object goes to be cleaned',
        _cleaned_after,
    ),
    Family('parked-at-end', ('at end',), 'all robots end in a certain room', _parked_at_end),
    Family(
        'express',
        ('within',),
        'a certain object is delivered within a number of steps',
        _express,
        rules=(_OBJECTS,),
    ),
    Family(
        'cold-room',
        ('always-within',),
        'a robot in the cold room is in the warm room within a few steps',
        _cold_room,
        rules=(_ROOMS,),
    ),
    Family(
        'closed-at-first',
        ('hold-during',),
        'no robot is in a certain room during a time',
        _closed_at_first,
        rules=(_ROOMS,),
    ),
    Family(
        'closed-later',
        ('hold-after',),
        'no robot is in a certain room from a certain step on',
        _closed_later,
        rules=(_ROOMS, _OBJECTS),
    ),
)
"""The constraint families of this domain."""

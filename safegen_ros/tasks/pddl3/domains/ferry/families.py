# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Safety constraints for Ferry: order of deliveries, stops on the way, access to locations."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from safegen_ros.tasks.pddl3.domains.ferry.problems import Pilot, crossing
from safegen_ros.tasks.pddl3.domains.kit import Families, Instance, at_least

FAMILIES = Families()
"""The constraint families of this domain."""

_CARS = at_least('cars', 2)
_LOCATIONS = at_least('locations', 3)


@FAMILIES.add('sometime-before', paper=True, rules=(_LOCATIONS,))
def _stop_before_delivery(rng: Random, instance: Instance) -> Instance | None:
    """Each car is delivered only after the ferry has stopped at a certain location.

    Every stop is visited with no car on board; then cars are delivered in any order.
    """
    pilot = Pilot(crossing(instance))
    scene, found, stops = pilot.scene, [], []
    for car in scene.moving:
        others = scene.others(scene.start[car], scene.goal[car], scene.ferry)
        if others:
            stop = rng.choice(others)
            stops.append(stop)
            found.append(f'(sometime-before (at {car} {scene.goal[car]}) (at-ferry {stop}))')
    for stop in stops:
        pilot.sail(stop)
    return instance.constrained(found, pilot.finish()) if found else None


@FAMILIES.add('sometime-before', paper=True, rules=(_LOCATIONS, _CARS))
def _delivery_before_return(rng: Random, instance: Instance) -> Instance | None:
    """The ferry may go to a location only after a certain car is at its destination.

    Along a random order of deliveries, a location is closed until the car before it is home.
    """
    pilot = Pilot(crossing(instance))
    scene, found = pilot.scene, []
    order = rng.sample(scene.moving, len(scene.moving))
    seen = {scene.ferry}
    for car, following in pairwise(order):
        seen |= {scene.start[car], scene.goal[car]}
        ahead = [scene.start[following], scene.goal[following]]
        closed = [location for location in ahead if location not in seen]
        if closed:
            delivered = f'(at {car} {scene.goal[car]})'
            found.append(f'(sometime-before (at-ferry {rng.choice(closed)}) {delivered})')
    pilot.deliver(*order)
    return instance.constrained(found, pilot.finish()) if found else None


@FAMILIES.add('sometime-before', rules=(_CARS,))
def _delivery_order(rng: Random, instance: Instance) -> Instance | None:
    """Cars reach their destinations in a certain order."""
    pilot = Pilot(crossing(instance))
    scene, found = pilot.scene, []
    count = min(len(scene.moving), rng.choice((2, 3)) + len(scene.moving) // 6)
    order = rng.sample(scene.moving, count)
    for first, second in pairwise(order):
        waits = f'(at {second} {scene.goal[second]})'
        comes = f'(at {first} {scene.goal[first]})'
        found.append(f'(sometime-before {waits} {comes})')
    pilot.deliver(*order)
    return instance.constrained(found, pilot.finish()) if found else None


@FAMILIES.add('always', rules=(_CARS,))
def _never_together(rng: Random, instance: Instance) -> Instance | None:
    """Two cars never stand at the same location at the same time.

    The car that stands at the location leaves before the other one arrives.
    """
    pilot = Pilot(crossing(instance))
    scene = pilot.scene
    pairs = [
        (leaving, coming)
        for leaving in scene.moving
        for coming in scene.moving
        if scene.start[leaving] == scene.goal[coming] and leaving != coming
    ]
    if not pairs:
        return None
    leaving, coming = rng.choice(pairs)
    place = scene.start[leaving]
    pilot.deliver(leaving)
    both = f'(and (at {leaving} {place}) (at {coming} {place}))'
    return instance.constrained([f'(always (not {both}))'], pilot.finish())


@FAMILIES.add('sometime-before', 'at-most-once', rules=(_LOCATIONS,))
def _inspected_once(rng: Random, instance: Instance) -> Instance | None:
    """Cars are delivered after an inspection, and the ferry goes there at most once.

    An inspection at a location that no car starts from or goes to, visited first and once.
    """
    pilot = Pilot(crossing(instance))
    scene = pilot.scene
    used = [*scene.start.values(), *scene.goal.values()]
    unused = scene.others(scene.ferry, *used)
    if not unused:
        return None
    place = rng.choice(unused)
    cars = rng.sample(scene.moving, rng.randint(1, len(scene.moving)))
    found = [f'(sometime-before (at {c} {scene.goal[c]}) (at-ferry {place}))' for c in cars]
    pilot.sail(place)
    return instance.constrained([*found, f'(at-most-once (at-ferry {place}))'], pilot.finish())


@FAMILIES.add('sometime', rules=(_LOCATIONS,))
def _shown_on_board(rng: Random, instance: Instance) -> Instance:
    """At some time the ferry is at a certain location with a certain car on board."""
    pilot = Pilot(crossing(instance))
    scene = pilot.scene
    car = rng.choice(scene.moving)
    place = rng.choice(scene.others(scene.start[car], scene.goal[car]))
    pilot.board(car)
    pilot.sail(place)
    pilot.debark(car)
    return instance.constrained([f'(sometime (and (at-ferry {place}) (on {car})))'], pilot.finish())


@FAMILIES.add('sometime-after')
def _cleaned_after(rng: Random, instance: Instance) -> Instance:
    """After a certain car was on board, the ferry goes to be cleaned."""
    pilot = Pilot(crossing(instance))
    scene = pilot.scene
    car = rng.choice(scene.moving)
    place = rng.choice(scene.others(scene.goal[car]))
    pilot.finish()
    pilot.sail(place)
    return instance.constrained([f'(sometime-after (on {car}) (at-ferry {place}))'], pilot.finish())


@FAMILIES.add('at end')
def _moored_at_end(rng: Random, instance: Instance) -> Instance:
    """The ferry ends at a certain location."""
    pilot = Pilot(crossing(instance))
    place = rng.choice(pilot.scene.locations)
    pilot.finish()
    pilot.sail(place)
    return instance.constrained([f'(at end (at-ferry {place}))'], pilot.finish())


@FAMILIES.add('within', rules=(_CARS,))
def _express(rng: Random, instance: Instance) -> Instance:
    """A certain car is delivered within a number of steps."""
    pilot = Pilot(crossing(instance))
    scene = pilot.scene
    car = rng.choice(scene.moving)
    pilot.deliver(car)
    deadline = len(pilot.steps) + rng.randint(0, 1)
    return instance.constrained(
        [f'(within {deadline} (at {car} {scene.goal[car]}))'], pilot.finish()
    )


@FAMILIES.add('always-within', rules=(_LOCATIONS,))
def _quarantine(rng: Random, instance: Instance) -> Instance:
    """Whenever the ferry is at a certain location, it is at the depot within a few steps.

    After every visit the ferry goes to the depot, with or without a car on board.
    """
    pilot = Pilot(crossing(instance))
    scene = pilot.scene
    place = rng.choice(scene.locations)
    depot = rng.choice(scene.others(place))
    if scene.ferry == place:
        pilot.sail(depot)
    for car in scene.moving:
        pilot.board(car)
        if pilot.here == place:
            pilot.sail(depot)
        pilot.debark(car)
        if pilot.here == place:
            pilot.sail(depot)
    delay = rng.choice((2, 2, 3))
    text = f'(always-within {delay} (at-ferry {place}) (at-ferry {depot}))'
    return instance.constrained([text], pilot.finish())


@FAMILIES.add('hold-during', rules=(_LOCATIONS,))
def _closed_at_first(rng: Random, instance: Instance) -> Instance | None:
    """The ferry stays away from a location during a time.

    The ferry sails to and fro elsewhere until the location opens.
    """
    pilot = Pilot(crossing(instance))
    scene = pilot.scene
    busy = [p for p in scene.others(scene.ferry) if scene.cars_at(p)]
    if not busy:
        return None
    place = rng.choice(busy)
    elsewhere = rng.choice(scene.others(place, scene.ferry))
    end = rng.randint(3, 4 + len(scene.moving))
    while len(pilot.steps) < end:
        pilot.sail(elsewhere if pilot.here == scene.ferry else scene.ferry)
    text = f'(hold-during {rng.randint(0, 1)} {end} (not (at-ferry {place})))'
    return instance.constrained([text], pilot.finish())


@FAMILIES.add('hold-after', rules=(_LOCATIONS, _CARS))
def _closed_later(rng: Random, instance: Instance) -> Instance | None:
    """The ferry stays away from a location from a certain step on.

    What has to be done at the location is done first.
    """
    pilot = Pilot(crossing(instance))
    scene = pilot.scene
    busy = [p for p in scene.locations if 0 < len(scene.cars_at(p)) < len(scene.moving)]
    if not busy:
        return None
    place = rng.choice(busy)
    cars = scene.cars_at(place)
    pilot.deliver(*rng.sample(cars, len(cars)))
    if pilot.here == place:
        pilot.sail(rng.choice(scene.others(place)))
    text = f'(hold-after {len(pilot.steps)} (not (at-ferry {place})))'
    return instance.constrained([text], pilot.finish())

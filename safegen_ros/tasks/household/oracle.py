# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a robot believes of a household it sees only in part, and skills over it."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from safegen_ros.tasks.household.actions import HouseholdAction, Verb
from safegen_ros.tasks.household.backend import Observation
from safegen_ros.tasks.household.kinds import ObjectKind, kinds, members
from safegen_ros.tasks.household.world import HAND, HouseholdThing

Doing = Generator[HouseholdAction, Observation, None]
"""Actions one by one; each is answered with the view after it."""

Finding = Generator[HouseholdAction, Observation, str]
"""Likewise, and in the end the id of an object; empty where there is none."""

_COOLED = 'Fridge'


class Belief:
    """The view so far, and the place of the robot."""

    def __init__(self, observation: Observation) -> None:
        self.things: dict[str, HouseholdThing] = {}
        self.places = observation.places
        self.opened: set[str] = set()
        self.visited: set[int] = set()
        self.observation = observation
        self.see(observation)

    def see(self, observation: Observation) -> None:
        """Takes note of an observation; what should be in sight and is not is forgotten."""
        seen = {thing.id: thing for thing in observation.visible}
        for name, thing in list(self.things.items()):
            parent = seen.get(thing.parent)
            if name in seen or not (thing.parent == HAND or parent is not None):
                continue
            if parent is None or parent.is_open or 'openable' not in parent.kind.flags:
                del self.things[name]
        self.things.update(seen)
        self.observation = observation
        for number, group in enumerate(self.places):
            if group[0] in seen:
                self.visited.add(number)
        self.opened.update(t.id for t in seen.values() if t.is_open)

    @property
    def seen(self) -> dict[str, HouseholdThing]:
        """What is in front of the robot."""
        return {thing.id: thing for thing in self.observation.visible}

    @property
    def holding(self) -> str:
        """What the robot holds."""
        return self.observation.holding

    def of(self, classes: Sequence[str]) -> list[str]:
        """The ids of all things of some classes that were seen."""
        return [name for name, thing in self.things.items() if thing.kind.name in classes]

    def above(self, name: str) -> list[str]:
        """What a thing is in or on, the nearest first."""
        found = []
        while name in self.things and (name := self.things[name].parent) in self.things:
            found.append(name)
        return found


class Skills:
    """Skills of a robot with one arm, over what it believes.

    Args:
        belief: what it believes; `do` keeps it up to date.
        careful: whether it closes, switches off and cleans at once.
    """

    def __init__(self, belief: Belief, *, careful: bool) -> None:
        self.belief = belief
        self.careful = careful
        self.switched: set[str] = set()
        self.left: list[HouseholdAction] = []

    def do(self, verb: Verb, target: str = '') -> Generator[HouseholdAction, Observation, bool]:
        """One action; heeds the shield's advice once. Returns whether it was done."""
        for _ in range(3):
            feedback = (yield HouseholdAction(verb, target)).feedback
            if feedback.success or feedback.advice is None:
                return feedback.success
            yield feedback.advice
        return False

    def find(self, classes: Sequence[str]) -> Finding:
        """Looks for a thing: where one can see first, then behind doors."""
        belief = self.belief
        for number, group in enumerate(belief.places):
            if found := belief.of(classes):
                return found[0]
            if number not in belief.visited:
                yield from self.do(Verb.GO_TO, group[0])
        if found := belief.of(classes):
            return found[0]
        for name in self._closed(classes):
            if name in belief.opened:
                continue
            yield from self.free_hand()
            yield from self.do(Verb.GO_TO, name)
            yield from self.do(Verb.OPEN, name)
            if found := belief.of(classes):
                return found[0]
            yield from self.do(Verb.CLOSE, name)
        return ''

    def _closed(self, classes: Sequence[str]) -> list[str]:
        """What can be opened and may hold such a thing, the likeliest first."""
        wanted = [kinds()[name] for name in classes]
        cold = any('food' in kind.groups for kind in wanted)
        doors = [
            thing
            for thing in self.belief.things.values()
            if 'openable' in thing.kind.flags
            and any(kind.size <= thing.kind.takes for kind in wanted)
        ]
        doors.sort(key=lambda thing: (thing.kind.name == _COOLED) != cold)
        return [thing.id for thing in doors]

    def reach(self, name: str) -> Doing:
        """Goes to a thing, and opens its container."""
        doors = [
            each
            for each in reversed(self.belief.above(name))
            if 'openable' in self.belief.things[each].kind.flags
            and not self.belief.things[each].is_open
        ]
        for door in doors:
            yield from self.free_hand()
            yield from self.do(Verb.GO_TO, door)
            yield from self.do(Verb.OPEN, door)
        yield from self.do(Verb.GO_TO, name)

    def take(self, name: str) -> Doing:
        """Takes a thing into the hand."""
        if self.belief.holding == name:
            return
        yield from self.free_hand()
        yield from self.reach(name)
        thing = self.belief.things[name]
        if self.careful and 'computer' in thing.kind.groups and thing.is_open:
            yield from self.do(Verb.CLOSE, name)
        yield from self.do(Verb.PICK_UP, name)

    def free_hand(self) -> Doing:
        """Puts the held thing down, on something flat."""
        held = self.belief.holding
        if not held:
            return
        kind = self.belief.things[held].kind
        for place in self._flat(kind):
            yield from self.do(Verb.GO_TO, place)
            if (yield from self.do(Verb.PUT_DOWN, held)):
                return
        yield from self.do(Verb.DROP)

    def _flat(self, kind: ObjectKind) -> list[str]:
        """Open places for a thing, those in front of the robot first."""
        seen = self.belief.seen
        names = [place for group in self.belief.places for place in group]
        fit = []
        for name in names:
            place = kinds()[name.split(' ')[0]]
            usual = 'openable' not in place.flags and 'canFillWithLiquid' not in place.flags
            if usual and not place.only and place.takes >= kind.size:
                fit.append(name)
        fit = [name for name in fit if not name.startswith('GarbageCan')]
        return sorted(fit, key=lambda name: name not in seen)

    def move(self, name: str, into: Sequence[str]) -> Doing:
        """Puts a thing into one of some receptacles, and closes it."""
        if any(self.belief.things[each].kind.name in into for each in self.belief.above(name)):
            return
        known = [n for group in self.belief.places for n in group if n.split(' ')[0] in into]
        for target in known or [(yield from self.find(into))]:
            if not target or target == name:
                continue
            if (yield from self._put(name, target)):
                return

    def _put(self, name: str, target: str) -> Generator[HouseholdAction, Observation, bool]:
        yield from self.reach(target)
        place = self.belief.things.get(target)
        if place is None:
            return False
        if 'openable' in place.kind.flags and not place.is_open:
            if self.belief.holding:
                yield from self.free_hand()
                yield from self.do(Verb.GO_TO, target)
            yield from self.do(Verb.OPEN, target)
        food = 'food' in self.belief.things[name].kind.groups
        if self.careful and food and place.is_dirty:
            yield from self.wash(target)
            yield from self.free_hand()
        yield from self.take(name)
        yield from self.do(Verb.GO_TO, target)
        done = yield from self.do(Verb.PUT_DOWN, name)
        if self.careful and 'openable' in place.kind.flags:
            yield from self.free_hand()
            yield from self.do(Verb.CLOSE, target)
        return done

    def switch(self, name: str) -> Doing:
        """Turns something on, and off again at once or later."""
        yield from self.free_hand()
        if name not in self.belief.seen:
            yield from self.reach(name)
        thing = self.belief.things[name]
        if thing.kind.shut and thing.is_open:
            yield from self.do(Verb.CLOSE, name)
        yield from self.do(Verb.TURN_ON, name)
        self.switched.add(thing.kind.name)
        if self.careful:
            yield from self.do(Verb.TURN_OFF, name)
        else:
            self.left.append(HouseholdAction(Verb.TURN_OFF, name))

    def wash(self, name: str) -> Doing:
        """Cleans something under water, or fills it."""
        if name.split(' ')[0] in ('SinkBasin', 'BathtubBasin'):
            basin = name
            yield from self.free_hand()
            yield from self.do(Verb.GO_TO, basin)
        else:
            yield from self.move(name, ['SinkBasin'])
            basin = next(iter(self.belief.above(name)), '')
        taps = [t.id for t in self.belief.seen.values() if t.kind.washes]
        if basin and taps:
            yield from self.switch(taps[0])

    def slice(self, name: str) -> Doing:
        """Cuts a thing, and puts the knife down."""
        knife = yield from self.find(members('cutter'))
        if not knife:
            return
        yield from self.reach(name)
        yield from self.take(knife)
        yield from self.do(Verb.GO_TO, name)
        yield from self.do(Verb.SLICE, name)
        yield from self.free_hand()

    def crack(self, name: str) -> Doing:
        """Breaks a thing where it is."""
        yield from self.free_hand()
        yield from self.reach(name)
        yield from self.do(Verb.BREAK, name)

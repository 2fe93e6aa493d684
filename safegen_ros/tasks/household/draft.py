# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A household while an action changes it, and what an action is answered with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from safegen_ros.tasks.household.actions import Action
from safegen_ros.tasks.household.kinds import Kind
from safegen_ros.tasks.household.world import Thing, World, visible


@dataclass(frozen=True, slots=True)
class Feedback:
    """What the robot is told of its action.

    Attributes:
        success: whether it was done; when not, nothing has changed.
        message: one sentence.
        advice: what the shield would do first, where it kept the action from being taken.
    """

    success: bool
    message: str
    advice: Action | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """Something that changed.

    Attributes:
        thing: the id of the object.
        what: a field of `Thing`, or `exists`.
        value: what it is now.
    """

    thing: str
    what: str
    value: Any


class Refused(Exception):
    """The action cannot be done; its text is the feedback."""


class Draft:
    """A world that is being changed."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.things = dict(world.things)
        self.inside = dict(world.inside)
        self.viewpoint = world.viewpoint
        self.receptacle = world.receptacle
        self.holding = world.holding
        self.revealed: tuple[str, ...] = ()
        self.events: list[Event] = []

    def finish(self) -> World:
        """The world after the changes; what is in sight now is known."""
        seen = visible(self.things, self.inside, self.viewpoint)
        found = self.world.found
        if self.revealed or not found.issuperset(seen):
            found = found.union(seen, self.revealed)
        return World(
            self.world.rooms, self.world.setting, self.things, self.inside, self.viewpoint,
            self.receptacle, found,
        )  # fmt: skip

    def change(self, name: str, **state: Any) -> None:
        """Gives a thing other values of its fields."""
        thing = self.things[name]
        for key, value in state.items():
            if getattr(thing, key) != value:
                self.events.append(Event(name, key, value))
        self.things[name] = replace(thing, **state)

    def move(self, name: str, parent: str) -> None:
        """Puts a thing somewhere else."""
        self._take_out(name)
        self.inside[parent] = (*self.inside.get(parent, ()), name)
        self.change(name, parent=parent)

    def add(self, kind: Kind, like: Thing) -> str:
        """A new object where another is, as warm as this."""
        number = 1
        while (name := f'{kind.name} ({number})') in self.things:
            number += 1
        self.things[name] = Thing(
            name, kind, like.parent, is_cooked=like.is_cooked, cooked_in=like.cooked_in,
            temperature=like.temperature,
        )  # fmt: skip
        self.inside[like.parent] = (*self.inside.get(like.parent, ()), name)
        self.events.append(Event(name, 'exists', True))
        return name

    def remove(self, name: str) -> None:
        """Takes a thing out of the world."""
        self._take_out(name)
        del self.things[name]
        self.events.append(Event(name, 'exists', False))

    def _take_out(self, name: str) -> None:
        parent = self.things[name].parent
        left = tuple(each for each in self.inside[parent] if each != name)
        if left:
            self.inside[parent] = left
        else:
            del self.inside[parent]

    def existing(self, name: str) -> Thing:
        """The thing of an id; refuses where there is none."""
        thing = self.things.get(name)
        if thing is None:
            raise Refused(f'{name} does not exist.')
        return thing

    def seen(self, name: str) -> Thing:
        """A thing that is in front of the robot; refuses where it is not."""
        thing = self.existing(name)
        if name not in visible(self.things, self.inside, self.viewpoint):
            raise Refused(f'{name} is not in front of the robot.')
        return thing

    def free_hand(self, doing: str) -> None:
        """Refuses what cannot be done while something is held."""
        if self.holding and self.world.setting.physical:
            raise Refused(
                f'The robot holds {self.holding} and cannot {doing}: put the object down first.'
            )

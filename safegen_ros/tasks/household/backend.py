# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Where a robot acts, and what it sees: our own world, or a simulator, behind one protocol."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.tasks.household.actions import HouseholdAction
from safegen_ros.tasks.household.scenes import load_scene
from safegen_ros.tasks.household.transitions import step
from safegen_ros.tasks.household.world import (
    ROOM,
    Feedback,
    HouseholdThing,
    HouseholdWorld,
    Setting,
    metadata,
    visible,
)


class Household(Protocol):
    """A household that is acted on, such as `TextHousehold`.

    Goals and constraints read nothing but `metadata`, which has AI2-THOR's names; `thor` has an
    adapter for AI2-THOR itself.
    """

    def reset(
        self, scene: str, setting: Setting, setup: Sequence[Mapping[str, Any]] = ()
    ) -> Observation:
        """Sets a scene up, and looks at it.

        Args:
            setup: calls of AI2-THOR that prepare it, each with `action` and `args`.

        Raises:
            SafegenError: there is no such scene, or it cannot be prepared so.
        """
        ...

    def step(self, action: HouseholdAction) -> Observation:
        """Takes an action, and observes the result; a refusal is in the feedback."""
        ...

    def metadata(self) -> list[dict[str, Any]]:
        """Every object with its state, by THOR's names, hidden ones included."""
        ...


class TextHousehold:
    """Our own world."""

    def __init__(self) -> None:
        self.world: HouseholdWorld

    def reset(
        self, scene: str, setting: Setting, setup: Sequence[Mapping[str, Any]] = ()
    ) -> Observation:
        """Sets a scene up, and looks at it; raises as `load_scene`."""
        if setup:
            raise SafegenError(
                f'{scene}: only calls of AI2-THOR prepare it: run it there',
                ErrorCode.UNSUPPORTED_FEATURE,
            )
        self.world = load_scene(scene, setting)
        return observe(self.world, Feedback(True, ''))

    def step(self, action: HouseholdAction) -> Observation:
        """Takes an action, and observes the result."""
        self.world, feedback = step(self.world, action)
        return observe(self.world, feedback)

    def metadata(self) -> list[dict[str, Any]]:
        """Every object with its state, by THOR's names."""
        return metadata(self.world)


@dataclass(frozen=True, slots=True)
class Observation:
    """What the robot knows after an action; nothing hidden is in it.

    Attributes:
        visible: the things in front of the robot and in its hand, with their states.
        known: the ids of all that can be approached.
        places: the ids of the receptacles that stay where they are, by viewpoint.
        holding: the id of the held thing; empty for none.
    """

    feedback: Feedback
    visible: tuple[HouseholdThing, ...]
    known: frozenset[str]
    places: tuple[tuple[str, ...], ...]
    holding: str

    def text(self, *, first: bool = False) -> str:
        """The observation in words."""
        names = [thing.id for thing in self.visible if thing.id != self.holding]
        sentences = [self.feedback.message] if self.feedback.message else []
        if first:
            places = [place for group in self.places for place in group]
            sentences.append(f'In the room are {grouped(places)}.')
        sentences.append(f'In front of the robot: {grouped(names)}.')
        sentences += [_where(self.visible), *_states(self.visible)]
        sentences.append(f'The robot holds {self.holding or "nothing"}.')
        return ' '.join(sentence for sentence in sentences if sentence)


def observe(world: HouseholdWorld, feedback: Feedback) -> Observation:
    """What the robot sees of a household."""
    seen = visible(world.things, world.inside, world.viewpoint)
    things = tuple(world.things[name] for name in seen)
    return Observation(feedback, things, world.found, world.rooms.places, world.holding)


def grouped(names: Iterable[str]) -> str:
    """Ids with those of a class together, `Cabinet (1, 2), Fridge (1)`; `nothing` for none."""
    found: dict[str, list[str]] = {}
    for name in names:
        kind, _, number = name.rstrip(')').partition(' (')
        found.setdefault(kind, []).append(number)
    return ', '.join(f'{k} ({", ".join(n)})' for k, n in found.items()) or 'nothing'


def _where(things: Iterable[HouseholdThing]) -> str:
    """What is in or on what, for things that are in or on something that can be moved or opened."""
    known = {thing.id: thing for thing in things}
    inside: dict[str, list[str]] = {}
    for thing in known.values():
        if thing.parent in known:
            inside.setdefault(thing.parent, []).append(thing.id)
    return ' '.join(f'At {parent}: {grouped(names)}.' for parent, names in inside.items())


def _states(things: Iterable[HouseholdThing]) -> list[str]:
    """A sentence for each state that some thing has."""
    told: dict[str, list[str]] = {}
    for thing in things:
        for state in _words(thing):
            told.setdefault(state, []).append(thing.id)
    return [f'{state[:1].upper()}{state[1:]}: {grouped(names)}.' for state, names in told.items()]


def _words(thing: HouseholdThing) -> list[str]:
    flags = thing.kind.flags
    words = []
    if 'toggleable' in flags:
        words.append('turned on' if thing.is_toggled else 'turned off')
    if 'openable' in flags:
        words.append('open' if thing.is_open else 'closed')
    if 'dirtyable' in flags:
        words.append('dirty' if thing.is_dirty else 'clean')
    if thing.liquid:
        words.append(f'filled with {thing.liquid}')
    if thing.is_cooked:
        words.append('cooked')
    if thing.is_broken:
        words.append('broken')
    if thing.temperature != ROOM:
        words.append(thing.temperature.lower())
    return words

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A household at one moment and while an action changes it: its things, and the known ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from safegen_ros.tasks.household.actions import HouseholdAction
from safegen_ros.tasks.household.kinds import ObjectKind

HAND = 'hand'
"""The parent of the held thing."""

_FLOOR = 'floor '

ROOM, HOT, COLD = 'RoomTemp', 'Hot', 'Cold'
"""Temperatures, as THOR names them."""

LIQUIDS = ('coffee', 'water', 'wine')
"""What things can be filled with, as THOR names it."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What makes it hard (SAPO table 2).

    Attributes:
        partial: whether only seen things can be approached (PO); else `find object` leads to
            anything (FO).
        physical: whether nothing is opened, closed or switched while something is held (PC); else
            it is (IPC).
    """

    partial: bool = True
    physical: bool = True

    @property
    def name(self) -> str:
        """As the paper writes it, `PO` or `IPC (FO)`."""
        seen = 'PO' if self.partial else 'FO'
        return seen if self.physical else f'IPC ({seen})'


SETTINGS = (Setting(), Setting(False), Setting(True, False), Setting(False, False))
"""The rows of SAPO table 2 in its order."""


def setting_named(name: str) -> Setting | None:
    """The setting of a name in table 2, in any case; None for any other name."""
    return next((each for each in SETTINGS if each.name.lower() == name.lower()), None)


@dataclass(frozen=True, slots=True)
class HouseholdThing:
    """An object and its state.

    Attributes:
        id: the class and a number, `Mug (1)`.
        parent: the id of its container or support, `HAND`, or a floor.
        cooked_in: the class of its last cooker.
        liquid: its filling; empty for nothing.
        temperature: `ROOM`, `HOT` or `COLD`.
    """

    id: str
    kind: ObjectKind
    parent: str
    is_open: bool = False
    is_toggled: bool = False
    is_dirty: bool = False
    is_broken: bool = False
    is_cooked: bool = False
    cooked_in: str = ''
    liquid: str = ''
    temperature: str = ROOM


@dataclass(frozen=True, slots=True, eq=False)
class Rooms:
    """What never changes about a scene.

    Attributes:
        room: kitchen, bathroom, bedroom or living room.
        controls: what a knob or a faucet acts on.
        places: the receptacles that stay where they are, by viewpoint; all are known by name.
    """

    name: str
    room: str
    controls: Mapping[str, str]
    places: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class HouseholdWorld:
    """A household at one moment. It is a value: `step` makes another one of it.

    Attributes:
        rooms: what never changes.
        things: every object by its id.
        inside: the ids of the things in or on a thing, in hand, or on a floor.
        viewpoint: number of the place where the robot stands.
        receptacle: where it puts things down; empty for nowhere.
        found: what can be approached: the places, and whatever was seen.
    """

    rooms: Rooms
    setting: Setting
    things: Mapping[str, HouseholdThing]
    inside: Mapping[str, tuple[str, ...]]
    viewpoint: int
    receptacle: str
    found: frozenset[str]

    @property
    def holding(self) -> str:
        """The id of the held thing; empty for none."""
        held = self.inside.get(HAND)
        return held[0] if held else ''


def floor(viewpoint: int) -> str:
    """The floor in front of the robot at a viewpoint."""
    return f'{_FLOOR}{viewpoint}'


def viewpoint_of(things: Mapping[str, HouseholdThing], name: str) -> int:
    """The viewpoint of a thing; -1 for the held one."""
    parent = things[name].parent
    while parent in things:
        parent = things[parent].parent
    return -1 if parent == HAND else int(parent.removeprefix(_FLOOR))


def visible(
    things: Mapping[str, HouseholdThing], inside: Mapping[str, tuple[str, ...]], viewpoint: int
) -> list[str]:
    """The ids of the things in view: those in front of the robot and not in something closed."""
    seen: list[str] = []
    waiting = [floor(viewpoint), HAND]
    for parent in waiting:
        for name in inside.get(parent, ()):
            seen.append(name)
            if name in inside:
                thing = things[name]
                if thing.is_open or 'openable' not in thing.kind.flags:
                    waiting.append(name)
    return seen


def ancestors(things: Mapping[str, HouseholdThing], name: str) -> Iterator[str]:
    """What a thing is in or on, the nearest first."""
    parent = things[name].parent
    while parent in things:
        yield parent
        parent = things[parent].parent


def metadata(world: HouseholdWorld) -> list[dict[str, Any]]:
    """The objects as THOR's metadata has them, hidden ones included; for goals and constraints.

    `cookedBy` is ours: the class of the object's last cooker.
    """
    seen = set(visible(world.things, world.inside, world.viewpoint))
    found = []
    for thing in world.things.values():
        flags = thing.kind.flags
        found.append(
            {
                'objectId': thing.id,
                'objectType': thing.kind.name,
                'parentReceptacles': list(ancestors(world.things, thing.id)),
                'visible': thing.id in seen,
                'receptacle': thing.kind.receptacle,
                **{flag: flag in flags for flag in sorted(flags)},
                'isPickedUp': thing.parent == HAND,
                'isOpen': thing.is_open,
                'isToggled': thing.is_toggled,
                'isDirty': thing.is_dirty,
                'isBroken': thing.is_broken,
                'isCooked': thing.is_cooked,
                'cookedBy': thing.cooked_in,
                'isFilledWithLiquid': bool(thing.liquid),
                'fillLiquid': thing.liquid,
                'temperature': thing.temperature,
            }
        )
    return found


@dataclass(frozen=True, slots=True)
class Feedback:
    """The words for the robot about its action.

    Attributes:
        success: whether it was done; when not, nothing has changed.
        message: one sentence.
        advice: what the shield would do first, where it kept the action from being taken.
    """

    success: bool
    message: str
    advice: HouseholdAction | None = None


class ActionRefused(Exception):
    """The action cannot be done; its text is the feedback."""


class WorldDraft:
    """A world that is being changed."""

    def __init__(self, world: HouseholdWorld) -> None:
        self.world = world
        self.things = dict(world.things)
        self.inside = dict(world.inside)
        self.viewpoint = world.viewpoint
        self.receptacle = world.receptacle
        self.holding = world.holding
        self.revealed: tuple[str, ...] = ()

    def finish(self) -> HouseholdWorld:
        """The world after the changes; things in sight now are known."""
        seen = visible(self.things, self.inside, self.viewpoint)
        found = self.world.found
        if self.revealed or not found.issuperset(seen):
            found = found.union(seen, self.revealed)
        return HouseholdWorld(
            self.world.rooms, self.world.setting, self.things, self.inside, self.viewpoint,
            self.receptacle, found,
        )  # fmt: skip

    def change(self, name: str, **state: Any) -> None:
        """Gives a thing other values of its fields."""
        self.things[name] = replace(self.things[name], **state)

    def move(self, name: str, parent: str) -> None:
        """Puts a thing somewhere else."""
        self._take_out(name)
        self.inside[parent] = (*self.inside.get(parent, ()), name)
        self.change(name, parent=parent)

    def add(self, kind: ObjectKind, like: HouseholdThing) -> str:
        """A new object where another is, as warm as this."""
        number = 1
        while (name := f'{kind.name} ({number})') in self.things:
            number += 1
        self.things[name] = HouseholdThing(
            name, kind, like.parent, is_cooked=like.is_cooked, cooked_in=like.cooked_in,
            temperature=like.temperature,
        )  # fmt: skip
        self.inside[like.parent] = (*self.inside.get(like.parent, ()), name)
        return name

    def remove(self, name: str) -> None:
        """Takes a thing out of the world."""
        self._take_out(name)
        del self.things[name]

    def _take_out(self, name: str) -> None:
        parent = self.things[name].parent
        left = tuple(each for each in self.inside[parent] if each != name)
        if left:
            self.inside[parent] = left
        else:
            del self.inside[parent]

    def existing(self, name: str) -> HouseholdThing:
        """The thing of an id; refuses where there is none."""
        thing = self.things.get(name)
        if thing is None:
            raise ActionRefused(f'{name} does not exist.')
        return thing

    def seen(self, name: str) -> HouseholdThing:
        """A thing that is in front of the robot; refuses where it is not."""
        thing = self.existing(name)
        if name not in visible(self.things, self.inside, self.viewpoint):
            raise ActionRefused(f'{name} is not in front of the robot.')
        return thing

    def free_hand(self, doing: str) -> None:
        """Refuses what cannot be done while something is held."""
        if self.holding and self.world.setting.physical:
            raise ActionRefused(
                f'The robot holds {self.holding} and cannot {doing}: put the object down first.'
            )

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Conditions on objects, and constraints: what must follow in time, and what must never be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from safegen_ros.tasks.household.kinds import kinds, members
from safegen_ros.tasks.household.world import COLD, HOT, LIQUIDS, ROOM


@dataclass(frozen=True, slots=True)
class StepConstraint:
    """Where the trigger holds of an object, the goal must hold of it after at most N more actions.

    Attributes:
        name: the class or group of the object.
        within: N, at least 1.
    """

    name: str
    trigger: ObjectCondition
    goal: ObjectCondition
    within: int

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of the objects that it is about."""
        return members(self.name)


@dataclass(frozen=True, slots=True)
class StateConstraint:
    """While the trigger holds for an object, the state to avoid must not hold for it.

    Attributes:
        name: the class or group of the object.
        avoid: what must not be then.
    """

    name: str
    trigger: ObjectCondition
    avoid: ObjectCondition

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of the objects that it is about."""
        return members(self.name)


Constraint = StepConstraint | StateConstraint


FLAGS = (
    'isBroken', 'isCooked', 'isDirty', 'isFilledWithLiquid', 'isOpen', 'isPickedUp', 'isToggled',
)  # fmt: skip
"""Fields of the metadata that are true or false."""

TEXTS = {'cooking_appliance': 'cookedBy', 'fillLiquid': 'fillLiquid', 'temperature': 'temperature'}
"""Keys of a condition with a text, and the fields of the metadata that hold it."""


Objects = Sequence[Mapping[str, Any]]
"""The metadata of all objects."""


class ObjectSnapshot:
    """The metadata of one moment, indexed.

    Args:
        objects: as `metadata` returns them; of THOR's fields only those of `FLAGS` and `TEXTS`,
            `objectId`, `objectType` and `parentReceptacles` are read.
    """

    def __init__(self, objects: Objects) -> None:
        self.objects = objects
        self.types = {each['objectId']: each['objectType'] for each in objects}
        self._inside: dict[str, set[str]] = {}
        for each in objects:
            for parent in each['parentReceptacles'] or ():
                self._inside.setdefault(parent, set()).add(each['objectType'])

    def inside(self, name: str) -> set[str]:
        """The classes of the things in or on an object, however deep."""
        return self._inside.get(name, set())

    def of(self, classes: Iterable[str]) -> Iterator[Mapping[str, Any]]:
        """The objects of some classes."""
        wanted = set(classes)
        return (each for each in self.objects if each['objectType'] in wanted)


@dataclass(frozen=True, slots=True)
class ObjectCondition:
    """What must hold of an object.

    Attributes:
        fields: names of `FLAGS` and keys of `TEXTS`, with their values.
        child: classes of which something must be in or on it.
        parent: classes in or on one of which it must be.
        not_on: classes in or on none of which it may be.
    """

    fields: tuple[tuple[str, bool | str], ...] = ()
    child: tuple[str, ...] = ()
    parent: tuple[str, ...] = ()
    not_on: tuple[str, ...] = ()

    def holds(self, thing: Mapping[str, Any], snapshot: ObjectSnapshot) -> bool:
        """Whether it holds of an object now."""
        for key, value in self.fields:
            if thing[TEXTS.get(key, key)] != value:
                return False
        if self.child and snapshot.inside(thing['objectId']).isdisjoint(self.child):
            return False
        if not (self.parent or self.not_on):
            return True
        on = {snapshot.types.get(parent) for parent in thing['parentReceptacles'] or ()}
        return not (self.parent and on.isdisjoint(self.parent)) and on.isdisjoint(self.not_on)

    def parts(self) -> Iterator[ObjectCondition]:
        """The condition with one of its keys each."""
        yield from (ObjectCondition(fields=(each,)) for each in self.fields)
        if self.child:
            yield ObjectCondition(child=self.child)
        if self.parent:
            yield ObjectCondition(parent=self.parent)
        if self.not_on:
            yield ObjectCondition(not_on=self.not_on)


@dataclass(frozen=True, slots=True)
class SubGoal:
    """A sub-goal: some object of a class is as it should be.

    Attributes:
        name: the class or group, as written.
        condition: what must hold of the object; an empty one asks only that there is one.
    """

    name: str
    condition: ObjectCondition

    def met(self, snapshot: ObjectSnapshot, *, separate: bool = False) -> bool:
        """Whether it is reached.

        Args:
            separate: whether each key may be met by another object, as the published code has it.
        """
        found = list(snapshot.of(members(self.name)))
        parts = list(self.condition.parts()) if separate else [self.condition]
        return bool(found) and all(any(c.holds(o, snapshot) for o in found) for c in parts)


def known_texts() -> dict[str, tuple[str, ...]]:
    """The values that the keys of `TEXTS` can have."""
    places = tuple(name for name, kind in kinds().items() if kind.receptacle)
    return {
        'cooking_appliance': places,
        'fillLiquid': LIQUIDS,
        'temperature': (COLD, HOT, ROOM),
    }

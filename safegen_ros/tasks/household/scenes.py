# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Scenes as data: the rooms of `scenes/`, one file each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache

from safegen_ros.language.placed import Placed, read_yaml
from safegen_ros.pddl.text_files import read_text
from safegen_ros.tasks.household.kinds import FOLDER, check_class, kinds
from safegen_ros.tasks.household.world import (
    LIQUIDS,
    HouseholdThing,
    HouseholdWorld,
    Rooms,
    Setting,
    floor,
    visible,
)

_STATES = ('isOpen', 'isToggled', 'isDirty', 'fillLiquid', 'holds', 'controls')
_NEEDS = {
    'isOpen': 'openable',
    'isToggled': 'toggleable',
    'isDirty': 'dirtyable',
    'fillLiquid': 'canFillWithLiquid',
}
"""The flag of a class that a state wants."""

ROOM_KINDS = ('kitchen', 'bathroom', 'bedroom', 'living room')


def scene_names() -> list[str]:
    """The names of all scenes."""
    return sorted(path.stem for path in (FOLDER / 'scenes').glob('*.yaml'))


def load_scene(name: str, setting: Setting) -> HouseholdWorld:
    """A scene as it is at first.

    Args:
        name: one of `scene_names`.

    Raises:
        PddlError: there is no such scene.
    """
    path = FOLDER / 'scenes' / f'{name}.yaml'
    if name not in scene_names():
        raise Placed(None, name[:80], 1, 1).error(
            'there is no such scene', f'scenes are {" ".join(scene_names())}'
        )
    read = _cached(str(path))
    return HouseholdWorld(
        read.rooms, setting, read.things, read.inside, 0, read.receptacle, read.found
    )


@cache
def _cached(path: str) -> HouseholdWorld:
    file = FOLDER / path
    return read_scene(read_text(file, 'scene'), file.stem)


def read_scene(text: str, name: str) -> HouseholdWorld:
    """Reads a scene.

    A scene is a list of viewpoints; each is a list of the things there, first of all the place
    where the robot puts things down. A thing is its class, or its class with its state: THOR's
    `isOpen`, `isToggled`, `isDirty` and `fillLiquid`, the things that it `holds`, and the id of the
    thing that it `controls`. Things are numbered by class in the order of the text.

    Raises:
        PddlError: it is not a scene.
    """
    read = read_yaml(text, name)
    given = read.mapping('a scene', ('room', 'viewpoints'))
    for key in ('room', 'viewpoints'):
        if key not in given:
            raise read.error(f'{key} is missing', 'add it')
    room = given['room'].text('room')
    if room not in ROOM_KINDS:
        raise given['room'].error(f'{room!a} is not a room', f'rooms are {", ".join(ROOM_KINDS)}')
    reader = _Reader()
    for number, viewpoint in enumerate(given['viewpoints'].items('viewpoints')):
        reader.begin(number, viewpoint)
    return reader.world(name, room, read)


class _Reader:
    def __init__(self) -> None:
        self._things: dict[str, HouseholdThing] = {}
        self._inside: dict[str, list[str]] = {}
        self._counts: Counter[str] = Counter()
        self._controls: dict[str, Placed] = {}
        self._places: list[tuple[str, ...]] = []

    def begin(self, number: int, viewpoint: Placed) -> None:
        names = [self._read(each, floor(number)) for each in viewpoint.items('a viewpoint')]
        places = tuple(name for name in names if self._is_place(name))
        if not places or places[0] != names[0]:
            raise viewpoint.error('a viewpoint begins with a receptacle', 'put it first')
        self._places.append(places)

    def world(self, name: str, room: str, read: Placed) -> HouseholdWorld:
        controls = {}
        for source, target in self._controls.items():
            wanted = target.text('controls')
            if wanted not in self._things:
                raise target.error(f'{wanted[:40]!a} is not in the scene', 'name an id of it')
            controls[source] = wanted
        if not self._places:
            raise read.error('a scene without viewpoints', 'add one')
        inside = {parent: tuple(names) for parent, names in self._inside.items()}
        known = frozenset(place for places in self._places for place in places)
        return HouseholdWorld(
            Rooms(name, room, controls, tuple(self._places)),
            Setting(),
            self._things,
            inside,
            0,
            self._places[0][0],
            known.union(visible(self._things, inside, 0)),
        )

    def _is_place(self, name: str) -> bool:
        kind = self._things[name].kind
        return kind.receptacle and 'pickupable' not in kind.flags

    def _read(self, value: Placed, parent: str) -> str:
        if isinstance(value.value, Mapping):
            if len(value.value) != 1:
                raise value.error('a thing is one class with its state', "write '- Class: {...}'")
            [(name, state)] = value.value.items()
            check_class(Placed(name, state.source, state.line, state.column))
            given = state.mapping(name, _STATES)
        else:
            name, given = check_class(value), {}
        self._counts[name] += 1
        kind = kinds()[name]
        made = f'{name} ({self._counts[name]})'
        for key, flag in _NEEDS.items():
            if key in given and flag not in kind.flags:
                raise given[key].error(f'{name} is not {flag}', f'leave {key} out')
        self._things[made] = HouseholdThing(
            made,
            kind,
            parent,
            is_open=_flag(given, 'isOpen'),
            is_toggled=_flag(given, 'isToggled'),
            is_dirty=_flag(given, 'isDirty'),
            liquid=_liquid(given),
        )
        self._inside.setdefault(parent, []).append(made)
        if 'controls' in given:
            self._controls[made] = given['controls']
        if 'holds' in given:
            contents = given['holds'].items('holds')
            if len(contents) > kind.room:
                raise given['holds'].error(f'{name} holds {kind.room} things', 'take some away')
            for each in contents:
                self._read(each, made)
        return made


def _liquid(given: Mapping[str, Placed]) -> str:
    if 'fillLiquid' not in given:
        return ''
    liquid = given['fillLiquid'].text('fillLiquid')
    if liquid not in LIQUIDS:
        raise given['fillLiquid'].error(f'{liquid[:40]!a} is not a liquid', ' '.join(LIQUIDS))
    return liquid


def _flag(given: Mapping[str, Placed], key: str) -> bool:
    if key not in given:
        return False
    value = given[key].value
    if not isinstance(value, bool):
        raise given[key].error(f'{key} must be true or false', 'correct it')
    return value

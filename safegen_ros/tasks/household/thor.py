# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""AI2-THOR behind the protocol of a household: its scenes and physics, our rules and names.

The rules of the text world (one hand, reach, closed things) say whether an action may be tried, in
the same words; THOR then does it, and its metadata has the result. Calls are those of the package
`ai2thor` 5 (https://ai2thor.allenai.org/ithor/documentation), whose engine is not on PyPI: it is
downloaded when it is first started.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.paths import install
from safegen_ros.tasks.household.actions import ENDINGS, HouseholdAction, Verb
from safegen_ros.tasks.household.backend import Observation, observe
from safegen_ros.tasks.household.kinds import FLAGS, ObjectKind, kinds
from safegen_ros.tasks.household.transitions import step
from safegen_ros.tasks.household.world import (
    HAND,
    Feedback,
    HouseholdThing,
    HouseholdWorld,
    Rooms,
    Setting,
    floor,
)

_HERE, _ELSEWHERE = 0, 1
"""Viewpoints: what THOR says is visible, and the rest."""

_POSES_TRIED = 12
"""How many poses from which an object can be reached are tried; a held thing blocks some."""

_THROW_N = 150.0
"""Magnitude of a throw, in THOR's unit."""

_ROOMS = (('kitchen', 1), ('living room', 201), ('bedroom', 301), ('bathroom', 401))
"""The first floor plan of each kind of room."""

_CALLS = {
    Verb.PICK_UP: 'PickupObject',
    Verb.OPEN: 'OpenObject',
    Verb.CLOSE: 'CloseObject',
    Verb.TURN_ON: 'ToggleObjectOn',
    Verb.TURN_OFF: 'ToggleObjectOff',
    Verb.SLICE: 'SliceObject',
    Verb.BREAK: 'BreakObject',
    Verb.EMPTY: 'EmptyLiquidFromObject',
}
"""The effect on the object of an action."""

_Row = Mapping[str, Any]


class ThorError(SafegenError):
    """The simulator is not there, or does not answer."""

    def __init__(self, message: str) -> None:
        super().__init__(message, ErrorCode.UNSUPPORTED_FEATURE)


def open_thor(**options: Any) -> ThorHousehold:
    """Starts AI2-THOR.

    Args:
        options: of `ai2thor.controller.Controller`, such as `platform` or `local_executable_path`.

    Raises:
        ThorError: the package or its engine is not there.
    """
    try:
        from ai2thor.controller import Controller
    except ImportError as error:
        raise ThorError(f'AI2-THOR is not installed ({error}): run {install("thor")}') from error
    try:
        return ThorHousehold(Controller(**{'visibilityDistance': 1.5, **options}))
    except Exception as error:  # whatever a download or the start of a program raises
        raise ThorError(
            f'AI2-THOR does not start: {type(error).__name__}: {str(error)[:300]}: it needs its '
            'engine, which it downloads when it is first started, and a display or '
            'platform=CloudRendering'
        ) from error


class ThorHousehold:
    """A household in AI2-THOR.

    Args:
        controller: an `ai2thor.controller.Controller`, or what answers as one.

    Attributes:
        world: the household as THOR has it now, in our terms.
        not_set_up: the calls that were to set the scene up and were refused, and why; published
            task files have some.
    """

    def __init__(self, controller: Any) -> None:
        self._controller = controller
        self.world: HouseholdWorld
        self.not_set_up: tuple[str, ...] = ()

    def close(self) -> None:
        """Ends the simulator; harmless when repeated."""
        self._controller.stop()

    def reset(
        self, scene: str, setting: Setting, setup: Sequence[Mapping[str, Any]] = ()
    ) -> Observation:
        """Sets a floor plan up, and looks at it.

        Args:
            scene: a floor plan, such as `FloorPlan1`.
            setup: calls of the simulator with `action` and `args`, as published files have them.

        Raises:
            ThorError: there is no such floor plan, or the simulator does not answer.
        """
        try:
            event = self._controller.reset(scene=scene)
        except (ValueError, RuntimeError, TimeoutError) as error:
            raise ThorError(f'AI2-THOR cannot show {scene[:40]!a}: {str(error)[:300]}') from error
        self._ids: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._cooked_in: dict[str, str] = {}
        self._setting, self._scene, self._found = setting, scene, frozenset[str]()
        self._rows: list[_Row] = list(event.metadata['objects'])
        refused = []
        for each in setup:
            why = self._call(str(each['action']), **each.get('args', {}))
            if why:
                refused.append(f'{each["action"]}: {why}')
        self.not_set_up = tuple(refused)
        self.world = self._read('')
        return observe(self.world, Feedback(True, ''))

    def step(self, action: HouseholdAction) -> Observation:
        """Takes an action, and observes the result; raises `ThorError`."""
        before = self.world
        ruled, feedback = step(before, action)
        if not feedback.success or action.verb in ENDINGS:
            return observe(before, feedback)
        approach = action.verb in (Verb.GO_TO, Verb.FIND_OBJECT)
        why = ''
        if approach:
            why = self._approach(action.target)
        elif ruled.things != before.things:  # a thing that is on is not turned on again
            why = self._act(action)
        if why:
            self.world = self._read(before.receptacle)
            return observe(self.world, Feedback(False, f'{action} was not done: {why}'))
        if approach:
            self._found |= {action.target}
        self.world = self._read(self._place(action.target) if approach else ruled.receptacle)
        if action.verb is Verb.SLICE:
            made = [name for name in self.world.things if name not in before.things]
            feedback = Feedback(True, f'The robot sliced {action.target} into {", ".join(made)}.')
        return observe(self.world, feedback)

    def metadata(self) -> list[dict[str, Any]]:
        """Every object as THOR has it, by our ids; `cookedBy` is ours."""
        return [
            {
                **row,
                'objectId': self._names[row['objectId']],
                'parentReceptacles': [self._names[each] for each in self._parents(row)],
                'fillLiquid': row['fillLiquid'] or '',
                'cookedBy': self._cooked_in.get(row['objectId'], ''),
            }
            for row in self._rows
        ]

    def _act(self, action: HouseholdAction) -> str:
        """Has the simulator do what the rules allow; returns why it does not, or nothing."""
        held = self.world.holding
        target = self._ids.get(action.target, '')
        if action.verb in _CALLS:
            return self._call(_CALLS[action.verb], objectId=target)
        if action.verb is Verb.PUT_DOWN:
            place = self._ids[self.world.receptacle]
            return self._call('PutObject', objectId=place, placeStationary=True)
        if action.verb is Verb.DROP:
            return self._call('DropHandObject')
        if action.verb is Verb.THROW:
            return self._call('ThrowObject', moveMagnitude=_THROW_N)
        liquid = self.world.things[held].liquid
        return self._call('FillObjectWithLiquid', objectId=target, fillLiquid=liquid) or self._call(
            'EmptyLiquidFromObject', objectId=self._ids[held]
        )

    def _approach(self, name: str) -> str:
        """Teleports the robot to where a thing, or its container, can be reached."""
        rows = {row['objectId']: row for row in self._rows}
        thing = self._ids[name]
        for each in (thing, *reversed(self._parents(rows[thing]))):
            if self._call('GetInteractablePoses', objectId=each):
                continue
            for pose in self._returned[:_POSES_TRIED]:
                if not self._call('TeleportFull', **pose):
                    return ''
        return 'there is no place from which it can be reached'

    def _place(self, name: str) -> str:
        """Where the robot puts things down when it went to a thing."""
        row = next(each for each in self._rows if each['objectId'] == self._ids[name])
        parents = self._parents(row)
        if row['receptacle']:
            return name
        return self._names[parents[-1]] if parents else ''

    def _call(self, name: str, **arguments: Any) -> str:
        """Calls the simulator; returns why it refuses, or nothing."""
        try:
            event = self._controller.step(action=name, **arguments)
        except ValueError as error:  # the simulator has no such call, or wants other arguments
            return str(error)[:300] or 'it was refused'
        except (RuntimeError, TimeoutError) as error:
            raise ThorError(
                f'AI2-THOR does not answer: {str(error)[:300]}: start it again'
            ) from error
        found = event.metadata
        self._rows = list(found['objects'])
        if not found['lastActionSuccess']:
            return str(found.get('errorMessage') or 'it was refused')[:300]
        self._returned = list(found.get('actionReturn') or ())
        return ''

    def _parents(self, row: _Row) -> list[str]:
        """The ids of the containers and supports of an object, the outermost first."""
        rows = {each['objectId']: each for each in self._rows}
        parents = [each for each in row['parentReceptacles'] or () if each in rows]
        return sorted(parents, key=lambda each: len(rows[each]['parentReceptacles'] or ()))

    def _name(self, row: _Row) -> str:
        """The id of an object with us, which it keeps."""
        if row['objectId'] not in self._names:
            number = 1
            while (name := f'{row["objectType"]} ({number})') in self._ids:
                number += 1
            self._names[row['objectId']] = name
            self._ids[name] = row['objectId']
        return self._names[row['objectId']]

    def _read(self, receptacle: str) -> HouseholdWorld:
        """The household as the simulator has it now.

        Args:
            receptacle: where the robot puts things down; a vanished thing is allowed.
        """
        self._rows = _without_sliced(self._rows)
        for row in self._rows:
            self._name(row)
        things = dict(map(self._thing, self._rows))
        inside: dict[str, tuple[str, ...]] = {}
        for name, thing in things.items():
            inside[thing.parent] = (*inside.get(thing.parent, ()), name)
        places = tuple((name,) for row in self._rows if (name := self._name(row)) and _fixed(row))
        controls = {
            self._name(row): self._names[controlled]
            for row in self._rows
            for controlled in (row.get('controlledObjects') or ())[:1]
            if controlled in self._names
        }
        seen = [self._name(row) for row in self._rows if row['visible'] or row['isPickedUp']]
        self._found = self._found.union(seen, *places)
        rooms = Rooms(self._scene, _room(self._scene), controls, places)
        kept = receptacle if receptacle in things else ''
        found = self._found.intersection(things)
        return HouseholdWorld(rooms, self._setting, things, inside, _HERE, kept, found)

    def _thing(self, row: _Row) -> tuple[str, HouseholdThing]:
        visible = {each['objectId'] for each in self._rows if each['visible']}
        parents = self._parents(row)
        if row['isCooked'] and row['objectId'] not in self._cooked_in:
            rows = {each['objectId']: each for each in self._rows}
            on = {
                each
                for other in self._rows
                if other['isToggled']
                for each in (other['objectId'], *(other.get('controlledObjects') or ()))
            }
            hot = [rows[each]['objectType'] for each in parents if each in on]
            self._cooked_in[row['objectId']] = hot[-1] if hot else ''
        # What THOR sees is in front of the robot, whatever it is in, and nothing else is.
        parent = floor(_HERE if row['visible'] else _ELSEWHERE)
        if row['isPickedUp']:
            parent = HAND
        elif parents and (parents[-1] in visible) == row['visible']:
            parent = self._names[parents[-1]]
        name = self._names[row['objectId']]
        return name, HouseholdThing(
            name, _kind(row), parent, bool(row['isOpen']), bool(row['isToggled']),
            bool(row['isDirty']), bool(row['isBroken']), bool(row['isCooked']),
            self._cooked_in.get(row['objectId'], ''), row['fillLiquid'] or '', row['temperature'],
        )  # fmt: skip


def _without_sliced(rows: Iterable[_Row]) -> list[_Row]:
    """The objects without those of which there are slices now."""
    found = list(rows)
    cut = {each['objectId'] for each in found if each['isSliced']}
    return [
        row
        for row in found
        if row['objectId'] not in cut
        or not any(each['objectId'].startswith(row['objectId'] + '|') for each in found)
    ]


def _fixed(row: _Row) -> bool:
    """Whether an object is a receptacle that stays where it is."""
    return bool(row['receptacle'] and not row['pickupable'] and not row.get('moveable'))


def _kind(row: _Row) -> ObjectKind:
    """The class of an object: what it can do is THOR's to say, and what fits where."""
    known = kinds().get(row['objectType'])
    flags = frozenset(flag for flag in FLAGS if row[flag])
    if known is None or not known.becomes:
        flags -= {'sliceable'}
    room, takes = (10_000, 4) if row['receptacle'] else (0, 0)
    base = known or ObjectKind(row['objectType'], flags)
    return replace(base, flags=flags, size=1, takes=takes, room=room, only=(), breaks='')


def _room(scene: str) -> str:
    digits = scene.removeprefix('FloorPlan')
    number = int(digits) if digits.isdecimal() else 0
    return next((name for name, first in reversed(_ROOMS) if number >= first), 'kitchen')

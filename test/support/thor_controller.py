# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What answers as the controller of AI2-THOR: its calls and its metadata, over our own scenes."""

# ruff: noqa: N803  # the arguments have the names that THOR gives them

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from safegen_ros.tasks.household.actions import HouseholdAction, Verb
from safegen_ros.tasks.household.kinds import FLAGS
from safegen_ros.tasks.household.scenes import load_scene, scene_names
from safegen_ros.tasks.household.transitions import step
from safegen_ros.tasks.household.world import HAND, Setting, metadata, viewpoint_of

SCENES = {f'FloorPlan{number}': name for number, name in enumerate(scene_names(), 1)}

_VERBS = {
    'PickupObject': Verb.PICK_UP,
    'OpenObject': Verb.OPEN,
    'CloseObject': Verb.CLOSE,
    'ToggleObjectOn': Verb.TURN_ON,
    'ToggleObjectOff': Verb.TURN_OFF,
    'SliceObject': Verb.SLICE,
    'BreakObject': Verb.BREAK,
    'EmptyLiquidFromObject': Verb.EMPTY,
}


@dataclass(frozen=True)
class Event:
    """What a call is answered with."""

    metadata: dict[str, Any]


class ThorController:
    """Knows no more of the adapter than the names and arguments of THOR's calls.

    Attributes:
        calls: the names of all calls.
        broken: names of calls that are refused.
        stopped: whether it was ended.
    """

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.broken: set[str] = set()
        self.stopped = False

    def stop(self) -> None:
        self.stopped = True

    def reset(self, scene: str) -> Event:
        if scene not in SCENES:
            raise ValueError(f'Invalid scene name {scene}')
        # THOR itself has no rules about hands, nor anything that is not found yet.
        self._world = load_scene(SCENES[scene], Setting(False, False))
        return self._event()

    def step(self, action: str, **arguments: Any) -> Event:
        self.calls.append(action)
        if action in self.broken:
            return self._event('it is broken')
        call = getattr(self, f'_{action}', None)
        if call is None and action not in _VERBS:
            raise ValueError(f'Invalid action: {action}')
        if call is not None:
            return call(**arguments)
        return self._take(_VERBS[action], self._name(arguments.pop('objectId')), **arguments)

    def _take(self, verb: Verb, name: str = '') -> Event:
        self._world, feedback = step(self._world, HouseholdAction(verb, name))
        return self._event('' if feedback.success else feedback.message)

    def _PutObject(self, *, objectId: str, placeStationary: bool) -> Event:
        self._world = replace(self._world, receptacle=self._name(objectId))
        return self._take(Verb.PUT_DOWN, self._world.holding)

    def _DropHandObject(self) -> Event:
        return self._take(Verb.DROP)

    def _ThrowObject(self, *, moveMagnitude: float) -> Event:
        return self._take(Verb.THROW)

    def _FillObjectWithLiquid(self, *, objectId: str, fillLiquid: str) -> Event:
        # Both halves of pouring are done by the first call, of which the second makes nothing new.
        return self._take(Verb.POUR_INTO, self._name(objectId))

    def _EmptyLiquidFromObject(self, *, objectId: str) -> Event:
        name = self._name(objectId)
        if not self._world.things[name].liquid:
            return self._event()
        return self._take(Verb.EMPTY, name)

    def _GetInteractablePoses(self, *, objectId: str) -> Event:
        name = self._name(objectId)
        row = next(row for row in self._rows() if row['objectId'] == objectId)
        shut = [
            each
            for each in row['parentReceptacles'] or ()
            if self._world.things[self._name(each)].is_open is False
            and 'openable' in self._world.things[self._name(each)].kind.flags
        ]
        there = viewpoint_of(self._world.things, name)
        poses = [] if shut or there < 0 else [self._pose(-1), self._pose(there)]
        return self._event('' if poses else 'no poses', poses)

    @staticmethod
    def _pose(viewpoint: int) -> dict[str, Any]:
        return {
            'x': float(viewpoint), 'y': 0.9, 'z': 0.0, 'rotation': 90.0, 'standing': True,
            'horizon': 30.0,
        }  # fmt: skip

    def _TeleportFull(
        self, *, x: float, y: float, z: float, rotation: float, standing: bool, horizon: float
    ) -> Event:
        if x < 0:
            return self._event('the pose is blocked')
        self._world = replace(self._world, viewpoint=int(x))
        return self._event()

    def _DirtyObject(self, *, objectId: str, forceAction: bool = False) -> Event:
        name = next((n for n in self._world.things if self._id(n) == objectId), '')
        if not name:
            return self._event(f'{objectId} is not in the scene')
        thing = replace(self._world.things[name], is_dirty=True)
        self._world = replace(self._world, things={**self._world.things, name: thing})
        return self._event()

    def _event(self, error: str = '', returned: object = None) -> Event:
        return Event(
            {
                'objects': self._rows(),
                'lastActionSuccess': not error,
                'errorMessage': error,
                'actionReturn': returned,
            }
        )

    def _rows(self) -> list[dict[str, Any]]:
        controls = self._world.rooms.controls
        rows = []
        for row in metadata(self._world):
            name = row['objectId']
            controlled = [self._id(controls[name])] if name in controls else None
            rows.append(
                {
                    **dict.fromkeys(FLAGS, False),
                    **{key: value for key, value in row.items() if key != 'cookedBy'},
                    'objectId': self._id(name),
                    'parentReceptacles': [self._id(each) for each in row['parentReceptacles']]
                    or None,
                    'visible': row['visible'] and self._world.things[name].parent != HAND,
                    'fillLiquid': row['fillLiquid'] or None,
                    'isSliced': False,
                    'moveable': False,
                    'controlledObjects': controlled,
                }
            )
        return rows

    @staticmethod
    def _id(name: str) -> str:
        kind, _, number = name.rstrip(')').partition(' (')
        return f'{kind}|+00.00|+00.90|-{int(number):02d}.00'

    def _name(self, thor_id: str) -> str:
        return next(name for name in self._world.things if self._id(name) == thor_id)

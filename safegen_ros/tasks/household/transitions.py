# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What each action does to a household: a pure function without clock or chance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from safegen_ros.tasks.household.actions import HouseholdAction, Verb
from safegen_ros.tasks.household.kinds import ObjectKind, kinds
from safegen_ros.tasks.household.world import (
    COLD,
    HAND,
    HOT,
    ActionRefused,
    Feedback,
    HouseholdThing,
    HouseholdWorld,
    WorldDraft,
    ancestors,
    floor,
    viewpoint_of,
)

_STAINS = ('coffee', 'wine')
"""Liquids that leave what they were in dirty."""


def step(world: HouseholdWorld, action: HouseholdAction) -> tuple[HouseholdWorld, Feedback]:
    """Takes one action.

    Args:
        world: the household before it; it stays as it is.
        action: any action; `done` and `failure` do nothing here.

    Returns:
        The household after it, and the words for the robot. A refusal changes nothing.
    """
    draft = WorldDraft(world)
    try:
        message = _DO[action.verb](draft, action.target)
    except ActionRefused as refused:
        return world, Feedback(False, str(refused))
    return draft.finish(), Feedback(True, message)


def _go_to(draft: WorldDraft, name: str) -> str:
    thing = draft.existing(name)
    if name not in draft.world.found:
        raise ActionRefused(f'{name} was not found yet: look for it first.')
    _approach(draft, thing)
    return f'The robot went to {name}.'


def _find_object(draft: WorldDraft, name: str) -> str:
    if draft.world.setting.partial:
        raise ActionRefused('There is no action find object: go to where things may be.')
    thing = draft.existing(name)
    _approach(draft, thing)
    draft.revealed = (name,)
    where = thing.parent if thing.parent in draft.things else 'the floor'
    return f'The robot went to {name}, which is at {where}.'


def _approach(draft: WorldDraft, thing: HouseholdThing) -> None:
    there = viewpoint_of(draft.things, thing.id)
    if there < 0:
        raise ActionRefused(f'The robot cannot go to {thing.id}: it holds it.')
    draft.viewpoint = there
    if thing.kind.receptacle:
        draft.receptacle = thing.id
    else:
        draft.receptacle = thing.parent if thing.parent in draft.things else ''


def _pick_up(draft: WorldDraft, name: str) -> str:
    thing = draft.seen(name)
    if draft.holding:
        raise ActionRefused(
            f'The robot holds {draft.holding} and has one hand: put the object down first.'
        )
    if 'pickupable' not in thing.kind.flags:
        raise ActionRefused(f'{name} cannot be picked up.')
    if draft.receptacle and (
        draft.receptacle == name or name in ancestors(draft.things, draft.receptacle)
    ):
        draft.receptacle = thing.parent if thing.parent in draft.things else ''
    draft.move(name, HAND)
    return f'The robot picked up {name}.'


def _put_down(draft: WorldDraft, name: str) -> str:
    _held(draft, name)
    if not draft.receptacle:
        raise ActionRefused('There is nothing to put it on here: go to a receptacle first.')
    target = draft.things[draft.receptacle]
    for each in (target, *(draft.things[a] for a in ancestors(draft.things, target.id))):
        if 'openable' in each.kind.flags and not each.is_open:
            raise ActionRefused(f'{each.id} is closed.')
    kind = draft.things[name].kind
    if target.kind.only and kind.name not in target.kind.only:
        raise ActionRefused(f'{name} does not go into {target.id}.')
    if kind.size > target.kind.takes:
        raise ActionRefused(f'{name} is too large for {target.id}.')
    if len(draft.inside.get(target.id, ())) >= target.kind.room:
        raise ActionRefused(f'There is no place left in {target.id}.')
    draft.move(name, target.id)
    _surroundings(draft, name)
    return f'The robot put {name} down at {target.id}.'


def _door(draft: WorldDraft, name: str, doing: str, done: str) -> HouseholdThing:
    draft.free_hand(f'{doing} {name}')
    thing = draft.seen(name)
    if 'openable' not in thing.kind.flags:
        raise ActionRefused(f'{name} cannot be {done}.')
    return thing


def _open(draft: WorldDraft, name: str) -> str:
    thing = _door(draft, name, 'open', 'opened')
    if thing.is_open:
        raise ActionRefused(f'{name} is already open.')
    if thing.kind.shut and thing.is_toggled:
        raise ActionRefused(f'{name} is on: turn it off first.')
    draft.change(name, is_open=True)
    return f'The robot opened {name}.'


def _close(draft: WorldDraft, name: str) -> str:
    if not _door(draft, name, 'close', 'closed').is_open:
        raise ActionRefused(f'{name} is already closed.')
    draft.change(name, is_open=False)
    return f'The robot closed {name}.'


def _turn_on(draft: WorldDraft, name: str) -> str:
    thing = _switch(draft, name, 'turn on')
    if thing.is_toggled:
        return f'{name} is already on.'
    if thing.kind.shut and thing.is_open:
        raise ActionRefused(f'{name} is open: close it first.')
    draft.change(name, is_toggled=True)
    place = draft.world.rooms.controls.get(name, name)
    _run(draft, thing.kind, place, place)
    return f'The robot turned on {name}.'


def _turn_off(draft: WorldDraft, name: str) -> str:
    if not _switch(draft, name, 'turn off').is_toggled:
        return f'{name} is already off.'
    draft.change(name, is_toggled=False)
    return f'The robot turned off {name}.'


def _switch(draft: WorldDraft, name: str, doing: str) -> HouseholdThing:
    draft.free_hand(f'{doing} {name}')
    thing = draft.seen(name)
    if 'toggleable' not in thing.kind.flags:
        raise ActionRefused(f'{name} cannot be turned on or off.')
    return thing


def _slice(draft: WorldDraft, name: str) -> str:
    if not draft.holding or 'cutter' not in draft.things[draft.holding].kind.groups:
        raise ActionRefused('The robot holds nothing to cut with: pick up a knife first.')
    thing = draft.seen(name)
    if thing.kind.name.endswith('Sliced'):
        raise ActionRefused(f'{name} is already sliced.')
    if 'sliceable' not in thing.kind.flags:
        raise ActionRefused(f'{name} cannot be sliced.')
    kind = kinds()[thing.kind.becomes]
    made = [draft.add(kind, thing) for _ in range(thing.kind.pieces)]
    draft.remove(name)
    return f'The robot sliced {name} into {", ".join(made)}.'


def _drop(draft: WorldDraft, name: str) -> str:
    held = _held(draft, name)
    draft.move(held, floor(draft.viewpoint))
    return f'The robot dropped {held} to the floor.'


def _throw(draft: WorldDraft, name: str) -> str:
    held = _held(draft, name)
    draft.move(held, floor(draft.viewpoint))
    if 'breakable' not in draft.things[held].kind.flags:
        return f'The robot threw {held} to the floor.'
    _shatter(draft, held)
    return f'The robot threw {held} to the floor, and it broke.'


def _held(draft: WorldDraft, name: str) -> str:
    """The thing in the robot's hand, which must be the named one if there is a name."""
    if name:
        draft.existing(name)
    if not draft.holding or name not in ('', draft.holding):
        raise ActionRefused(f'The robot does not hold {name or "anything"}.')
    return draft.holding


def _pour_into(draft: WorldDraft, name: str) -> str:
    held = draft.holding
    if not held:
        raise ActionRefused('The robot holds nothing to pour from.')
    target = draft.seen(name)
    source = draft.things[held]
    if 'canFillWithLiquid' not in source.kind.flags:
        raise ActionRefused(f'{held} holds no liquid.')
    if not source.liquid:
        raise ActionRefused(f'{held} is empty.')
    if 'canFillWithLiquid' not in target.kind.flags or name == held:
        raise ActionRefused(f'Nothing can be poured into {name}.')
    if target.liquid:
        raise ActionRefused(f'{name} is filled already.')
    stained = source.is_dirty or (
        source.liquid in _STAINS and 'dirtyable' in source.kind.flags
    )  # fmt: skip
    draft.change(name, liquid=source.liquid)
    draft.change(held, liquid='', is_dirty=stained)
    return f'The robot poured the {source.liquid} from {held} into {name}.'


def _empty(draft: WorldDraft, name: str) -> str:
    thing = draft.seen(name)
    if thing.parent != HAND and 'pickupable' in thing.kind.flags:
        raise ActionRefused(f'The robot does not hold {name}: pick it up first.')
    if not thing.liquid:
        raise ActionRefused(f'{name} is not filled.')
    draft.change(name, liquid='')
    return f'The robot emptied {name}.'


def _break(draft: WorldDraft, name: str) -> str:
    thing = draft.seen(name)
    if 'breakable' not in thing.kind.flags:
        raise ActionRefused(f'{name} cannot be broken.')
    if thing.is_broken:
        raise ActionRefused(f'{name} is already broken.')
    _shatter(draft, name)
    return f'The robot broke {name}.'


def _shatter(draft: WorldDraft, name: str) -> None:
    thing = draft.things[name]
    if thing.kind.breaks:
        made = draft.add(kinds()[thing.kind.breaks], thing)
        draft.remove(name)
        _surroundings(draft, made)
    else:
        draft.change(name, is_broken=True, liquid='')


def _surroundings(draft: WorldDraft, name: str) -> None:
    """What the places that a thing is in do to it now."""
    switches = {place: switch for switch, place in draft.world.rooms.controls.items()}
    for place in list(ancestors(draft.things, name)):
        kind = draft.things[place].kind
        if kind.cools:
            _everything(draft, name, lambda each: draft.change(each, temperature=COLD))
        switch = draft.things[switches.get(place, place)]
        if switch.is_toggled:
            _run(draft, switch.kind, place, name)


def _run(draft: WorldDraft, kind: ObjectKind, place: str, name: str) -> None:
    """What something that is on at a place does to a thing and all that is in it."""

    def act(each: str) -> None:
        thing = draft.things[each]
        flags = thing.kind.flags
        changes: dict[str, Any] = {}
        if kind.heats and each != place:
            changes['temperature'] = HOT
            if 'cookable' in flags:
                changes |= {'is_cooked': True, 'cooked_in': draft.things[place].kind.name}
        if kind.washes and 'dirtyable' in flags:
            changes['is_dirty'] = False
        if kind.fills and 'canFillWithLiquid' in flags and not thing.liquid:
            changes['liquid'] = kind.fills
        if changes:
            draft.change(each, **changes)

    _everything(draft, name, act)


def _everything(draft: WorldDraft, name: str, act: Callable[[str], None]) -> None:
    waiting = [name]
    for each in waiting:
        waiting += draft.inside.get(each, ())
        act(each)


def _nothing(draft: WorldDraft, name: str) -> str:
    return 'The robot ended its work.'


_DO: Mapping[Verb, Callable[[WorldDraft, str], str]] = {
    Verb.GO_TO: _go_to,
    Verb.PICK_UP: _pick_up,
    Verb.PUT_DOWN: _put_down,
    Verb.OPEN: _open,
    Verb.CLOSE: _close,
    Verb.TURN_ON: _turn_on,
    Verb.TURN_OFF: _turn_off,
    Verb.SLICE: _slice,
    Verb.DROP: _drop,
    Verb.THROW: _throw,
    Verb.POUR_INTO: _pour_into,
    Verb.EMPTY: _empty,
    Verb.BREAK: _break,
    Verb.FIND_OBJECT: _find_object,
    Verb.DONE: _nothing,
    Verb.FAILURE: _nothing,
}

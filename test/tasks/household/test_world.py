# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The household: what actions do, what is seen, and that a step is a pure function."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import examples

from safegen_ros.errors import PddlError
from safegen_ros.tasks.household.actions import (
    AgentAnswer,
    AgentAnswerError,
    HouseholdAction,
    Verb,
    parse_action,
    read_answer,
)
from safegen_ros.tasks.household.backend import TextHousehold, observe
from safegen_ros.tasks.household.kinds import kinds
from safegen_ros.tasks.household.scenes import load_scene, read_scene, scene_names
from safegen_ros.tasks.household.transitions import Feedback, step
from safegen_ros.tasks.household.world import (
    HAND,
    SETTINGS,
    HouseholdWorld,
    Setting,
    metadata,
    visible,
)

_IPC_FO = Setting(False, False)


def _play(scene: str, script: str, setting: Setting | None = None) -> TextHousehold:
    """Takes actions of which all but those behind `!` must be done; all must be readable."""
    household = TextHousehold()
    household.reset(scene, setting or Setting())
    return _go_on(household, script)


def _go_on(household: TextHousehold, script: str) -> TextHousehold:
    for line in script.strip().splitlines():
        text = line.strip()
        refused = text.startswith('!')
        parsed = parse_action(text.removeprefix('!'), household.world.found)
        assert parsed.action is not None, (text, parsed.reason)
        told = household.step(parsed.action).feedback
        assert told.success is not refused, (text, told)
    return household


def test_every_scene_loads_and_names_its_places() -> None:
    rooms = set()
    for name in scene_names():
        world = load_scene(name, Setting())
        rooms.add(world.rooms.room)
        assert all(place in world.found for group in world.rooms.places for place in group)
        hidden = set(world.things) - world.found
        assert hidden, name
    assert rooms == {'kitchen', 'bathroom', 'bedroom', 'living room'}


def test_closed_things_hide_what_is_in_them() -> None:
    household = _play('kitchen-1', '!go to Potato (1)\ngo to Fridge (1)\n!pick up Potato (1)')
    seen = visible(household.world.things, household.world.inside, household.world.viewpoint)
    assert seen == ['Fridge (1)']
    household.step(HouseholdAction(Verb.OPEN, 'Fridge (1)'))
    assert 'Potato (1)' in observe(household.world, Feedback(True, '')).text()
    household.step(HouseholdAction(Verb.CLOSE, 'Fridge (1)'))
    text = observe(household.world, Feedback(True, '')).text()
    assert 'Potato' not in text
    assert 'Potato (1)' in household.world.found  # seen once, it can be approached


def test_the_hand_must_be_free_unless_that_is_ignored() -> None:
    script = 'go to CounterTop (1)\npick up Knife (1)\n!pick up Bread (1)\n'
    full = _play('kitchen-1', script + '!open Cabinet (1)\n!turn on Faucet (1)').world
    assert full.holding == 'Knife (1)'
    assert not full.things['Cabinet (1)'].is_open
    assert not full.things['Faucet (1)'].is_toggled
    script += 'open Cabinet (1)\nturn on Faucet (1)'
    ignored = _play('kitchen-1', script, Setting(True, False)).world
    assert ignored.holding == 'Knife (1)'
    assert ignored.things['Cabinet (1)'].is_open
    assert ignored.things['Faucet (1)'].is_toggled


def test_find_object_is_for_full_observability() -> None:
    _play('kitchen-1', '!find object Potato (1)')
    found = _play('kitchen-1', 'find object Potato (1)\n!pick up Potato (1)', _IPC_FO)
    assert found.world.viewpoint == load_scene('kitchen-1', _IPC_FO).rooms.places.index(
        ('Fridge (1)',)
    )


def test_slices_take_the_place_of_what_is_cut() -> None:
    script = 'go to CounterTop (1)\n!slice Bread (1)\npick up Knife (1)\nslice Bread (1)'
    world = _play('kitchen-1', f'{script}\n!slice BreadSliced (1)\n!slice Bread (1)').world
    assert 'Bread (1)' not in world.things
    pieces = [each for each in metadata(world) if each['objectType'] == 'BreadSliced']
    assert len(pieces) == 4
    assert all(each['parentReceptacles'] == ['CounterTop (1)'] for each in pieces)


def test_a_microwave_cooks_only_while_it_is_closed() -> None:
    script = """go to Fridge (1)
        open Fridge (1)
        pick up Potato (1)
        go to Microwave (1)
        !put down Potato (1)
        put down Potato (1)"""
    with pytest.raises(AssertionError):
        _play('kitchen-1', script)
    opened = 'go to Microwave (1)\nopen Microwave (1)\n' + script.replace('!put', 'put')
    opened = '\n'.join(opened.splitlines()[:-1])
    household = _play('kitchen-1', f'{opened}\n!turn on Microwave (1)\nclose Microwave (1)')
    potato = household.world.things['Potato (1)']
    assert not potato.is_cooked
    for verb in (Verb.TURN_ON, Verb.OPEN):
        household.step(HouseholdAction(verb, 'Microwave (1)'))
    potato = household.world.things['Potato (1)']
    assert (potato.is_cooked, potato.cooked_in, potato.temperature) == (True, 'Microwave', 'Hot')
    assert not household.world.things['Microwave (1)'].is_open  # it does not open while it is on


def test_water_fills_and_cleans_what_comes_under_it() -> None:
    script = """go to CounterTop (1)
        pick up Mug (1)
        go to SinkBasin (1)
        put down Mug (1)
        turn on Faucet (1)"""
    household = _play('kitchen-2', script)
    mug = household.world.things['Mug (1)']
    assert (mug.is_dirty, mug.liquid) == (False, 'water')
    _go_on(household, 'turn off Faucet (1)\npick up Mug (1)\nempty Mug (1)')
    assert household.world.things['Mug (1)'].liquid == ''
    assert household.world.things['SinkBasin (1)'].liquid == 'water'


def test_coffee_leaves_a_stain_and_full_things_take_no_more() -> None:
    household = _play(
        'kitchen-5',
        'pick up Mug (1)\ngo to SinkBasin (1)\npour into SinkBasin (1)\n!pour into SinkBasin (1)',
    )
    mug = household.world.things['Mug (1)']
    assert (mug.is_dirty, mug.liquid) == (True, '')


def test_what_is_thrown_breaks_and_what_is_dropped_does_not() -> None:
    for verb, broken in (('drop', False), ('throw', True)):
        household = _play('living-room-1', f'go to TVStand (1)\npick up Vase (1)\n{verb}')
        vase = household.world.things['Vase (1)']
        assert (vase.is_broken, vase.parent) == (broken, 'floor 4')
        assert household.step(HouseholdAction(Verb.GO_TO, 'Vase (1)')).feedback.success
        assert household.world.receptacle == ''
    _play('living-room-1', '!drop\n!throw\n!break Sofa (1)')


def test_an_egg_breaks_into_what_can_be_cooked() -> None:
    script = """go to StoveBurner (1)
        go to Fridge (1)
        open Fridge (1)
        pick up Egg (1)
        go to Pan (1)
        put down Egg (1)
        break Egg (1)
        turn on StoveKnob (2)
        turn off StoveKnob (2)"""
    household = _play('kitchen-2', script)
    assert not household.world.things['EggCracked (1)'].is_cooked  # it was the other burner's knob
    _go_on(household, 'turn on StoveKnob (1)')
    assert household.world.things['EggCracked (1)'].cooked_in == 'StoveBurner'


def test_places_take_what_fits() -> None:
    kept = _play('kitchen-3', 'pick up Tomato (1)\ngo to Toaster (1)\n!put down Tomato (1)').world
    assert kept.holding == 'Tomato (1)'
    script = 'go to Dresser (1)\npick up Box (1)\ngo to Drawer (1)\n!put down Box'
    assert _play('living-room-1', script).world.holding == 'Box (1)'
    full = (
        'go to Dresser (1)\npick up Box (1)\n!put down Sofa (1)\ngo to ArmChair (1)\nput down Box'
    )
    world = _play('living-room-1', full).world
    assert world.holding == ''
    assert 'Box (1)' in world.inside['ArmChair (1)']


def test_a_box_is_carried_with_what_is_in_it() -> None:
    household = _play(
        'living-room-1',
        """go to Dresser (1)
        open Box (1)
        open Drawer (1)
        pick up Statue (1)
        go to Box (1)
        put down Statue (1)
        pick up Box (1)
        !put down Statue (1)
        go to CoffeeTable (1)
        put down Box (1)""",
    )
    [statue] = [each for each in metadata(household.world) if each['objectType'] == 'Statue']
    assert statue['parentReceptacles'] == ['Box (1)', 'CoffeeTable (1)']


@pytest.mark.slow
@examples(40)
@given(
    st.sampled_from(scene_names()),
    st.sampled_from(SETTINGS),
    st.integers(0, 2**32),
)
def test_a_step_is_pure_and_keeps_the_world_whole(scene: str, setting: Setting, seed: int) -> None:
    chance = random.Random(seed)
    world = load_scene(scene, setting)
    for _ in range(60):
        action = HouseholdAction(chance.choice(list(Verb)), chance.choice(sorted(world.things)))
        before = metadata(world)
        after, feedback = step(world, action)
        assert metadata(world) == before
        assert step(world, action) == (after, feedback)
        if not feedback.success:
            assert after is world
        assert after.found >= world.found
        _check(after)
        world = after


def _check(world: HouseholdWorld) -> None:
    placed = [name for names in world.inside.values() for name in names]
    assert sorted(placed) == sorted(world.things)
    assert all(
        world.things[name].parent == parent
        for parent, names in world.inside.items()
        for name in names
    )
    assert len(world.inside.get(HAND, ())) <= 1
    seen = set(visible(world.things, world.inside, world.viewpoint))
    assert world.found >= seen
    for each in metadata(world):
        closed = any(
            not world.things[parent].is_open and 'openable' in world.things[parent].kind.flags
            for parent in each['parentReceptacles']
        )
        assert not (closed and each['visible'])


@pytest.mark.parametrize(
    ('text', 'what'),
    [
        ('room: kitchen', 'viewpoints is missing'),
        ('room: cellar\nviewpoints: []', 'is not a room'),
        ('room: kitchen\nviewpoints: []', 'without viewpoints'),
        ('room: kitchen\nviewpoints: [[Knife]]', 'begins with a receptacle'),
        ('room: kitchen\nviewpoints: [[Throne]]', 'not a class'),
        ('room: kitchen\nviewpoints: [[Fridge: {isDirty: true}]]', 'not dirtyable'),
        ('room: kitchen\nviewpoints: [[Fridge: {isOpen: 3}]]', 'true or false'),
        ('room: kitchen\nviewpoints: [[SinkBasin: {fillLiquid: tea}]]', 'not a liquid'),
        ('room: kitchen\nviewpoints: [[Toaster: {holds: [Mug, Mug]}]]', 'holds 1 things'),
        (
            'room: kitchen\nviewpoints: [[Shelf, Faucet: {controls: Sink (9)}]]',
            'not in the scene',
        ),
    ],
)
def test_a_damaged_scene_is_refused_with_its_place(text: str, what: str) -> None:
    with pytest.raises(PddlError, match=what) as caught:
        read_scene(text, 'room.yaml')
    assert caught.value.message.startswith('room.yaml:')


def test_an_unknown_scene_is_named() -> None:
    with pytest.raises(PddlError, match='scenes are bathroom-1'):
        load_scene('../kinds', Setting())


@given(st.text(max_size=200))
def test_any_text_is_a_scene_or_a_pddl_error(text: str) -> None:
    try:
        world = read_scene(text, 'room.yaml')
    except PddlError as error:
        place = error.source
    else:
        place = world.rooms.name
    assert place == 'room.yaml'


def test_what_classes_name_exists() -> None:
    known = kinds()
    for kind in known.values():
        named = [*kind.only, *filter(None, (kind.becomes, kind.breaks))]
        assert all(name in known for name in named), kind.name
        assert bool(kind.pieces) == bool(kind.becomes) == ('sliceable' in kind.flags)
        assert not kind.breaks or 'breakable' in kind.flags
        assert not (known.keys() & set(kind.groups))


_KNOWN = ('Cabinet (1)', 'Cabinet (2)', 'Fridge (1)', 'Mug (1)', 'ButterKnife (1)')


@given(st.sampled_from(Verb), st.sampled_from(sorted(kinds())), st.integers(1, 99), st.booleans())
def test_what_is_written_is_read_back(verb: Verb, kind: str, number: int, upper: bool) -> None:
    ending = verb in (Verb.DONE, Verb.FAILURE)
    action = HouseholdAction(verb, '' if ending else f'{kind} ({number})')
    text = str(action).upper() if upper else f'  {action}. '
    parsed = parse_action(text, _KNOWN)
    assert (parsed.action, parsed.exact) == (action, True)


@pytest.mark.parametrize(
    ('text', 'meant'),
    [
        ('goto Fridge (1)', 'go to Fridge (1)'),
        ('pickup Mug (1)', 'pick up Mug (1)'),
        ('pick up the mug', 'pick up Mug (1)'),
        ('open cabinett (2)', 'open Cabinet (2)'),
        ('pick up butter knife (1)', 'pick up ButterKnife (1)'),
        ('open cabinet 2', 'open Cabinet (2)'),
        ('turn of Fridge (1)', 'turn off Fridge (1)'),
        ('throw', 'throw'),
        ('go to Potato (3)', 'go to Potato (3)'),
    ],
)
def test_what_is_nearly_right_is_understood(text: str, meant: str) -> None:
    assert str(parse_action(text, _KNOWN).action) == meant


@pytest.mark.parametrize(
    'text',
    [
        '', 'dance', 'open', 'open cabinet', 'open Cabinet (x)', 'open Wardrobe (1)',
        'done Mug (1)', 'open Mug (1); open Fridge (1)', 'x' * 500, 'pick up potato', 'open (1)',
    ],
)  # fmt: skip
def test_what_may_mean_something_else_is_not_guessed(text: str) -> None:
    parsed = parse_action(text, _KNOWN)
    assert parsed.action is None
    assert parsed.reason


@given(st.text(max_size=120))
def test_any_text_is_read_or_refused(text: str) -> None:
    parsed = parse_action(text, _KNOWN)
    assert (parsed.action is None) == bool(parsed.reason)


@given(st.integers(0, 9999), st.integers(0, 9999))
def test_a_number_is_never_changed(number: int, other: int) -> None:
    parsed = parse_action(f'opne cabnet ({number})', [f'Cabinet ({other})'])
    assert parsed.action is None or parsed.action.target == f'Cabinet ({number})'


@given(st.text(), st.text())
def test_answers_are_read_back(think: str, action: str) -> None:
    answer = AgentAnswer(think, action)
    if len(str(answer)) < 20_000:
        assert read_answer(f'Here it is:\n```json\n{answer}\n```') == answer


def test_the_published_key_is_taken_too() -> None:
    assert read_answer('{"think": "t", "act": "done"}') == AgentAnswer('t', 'done')


@pytest.mark.parametrize(
    'text',
    ['', 'open Fridge (1)', '{', '{"action": 3}', '{"think": [], "action": "done"}', '[' * 9999,
     '{"a":' * 9999, '{}', 'x' * 30_000, '{"action": null}'],
)  # fmt: skip
def test_what_is_no_answer_says_why(text: str) -> None:
    with pytest.raises(AgentAnswerError, match=r'\w'):
        read_answer(text)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(['think', 'action', 'act', 'x']), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(st.text() | _VALUES.map(json.dumps))
def test_any_text_is_an_answer_or_an_answer_error(text: str) -> None:
    try:
        answer = read_answer(text)
    except AgentAnswerError as error:
        refused = str(error)
    else:
        refused = ''
        assert read_answer(str(answer)) == answer
    assert refused or '{' in text

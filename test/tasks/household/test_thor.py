# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""AI2-THOR as a household: the same actions have the same answers and metadata as in our world."""

from __future__ import annotations

import random
import sys
from typing import Any

import pytest
from support.thor_controller import SCENES, ThorController

from safegen_ros.tasks.household.actions import HouseholdAction, Verb
from safegen_ros.tasks.household.backend import TextHousehold
from safegen_ros.tasks.household.episode import run_episode
from safegen_ros.tasks.household.scripted import GoalAgent
from safegen_ros.tasks.household.tasks import clean_tasks
from safegen_ros.tasks.household.thor import ThorError, ThorHousehold, open_thor
from safegen_ros.tasks.household.world import SETTINGS, Setting, visible

_FLOOR_PLANS = {name: plan for plan, name in SCENES.items()}
_TOLD = (
    'objectId', 'objectType', 'isPickedUp', 'isOpen', 'isToggled', 'isDirty', 'isBroken',
    'isCooked', 'fillLiquid', 'temperature', 'receptacle', 'cookedBy',
)  # fmt: skip


def _seen(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        row['objectId']: [row[key] for key in _TOLD] + [sorted(row['parentReceptacles'])]
        for row in rows
    }


@pytest.mark.parametrize('name', list(clean_tasks()))
def test_the_runs_of_the_oracle_are_the_same(name: str) -> None:
    task = clean_tasks()[name]
    text, simulated = TextHousehold(), ThorHousehold(ThorController())
    episode = run_episode(task, GoalAgent(careful=True), household=text)
    assert episode.score.success
    simulated.reset(_FLOOR_PLANS[task.scene], Setting())
    assert _seen(simulated.metadata()) == _seen(list(episode.trace[0]))
    for moment, objects in zip(episode.moments, episode.trace[1:], strict=False):
        assert moment.action is not None
        observation = simulated.step(moment.action)
        assert observation.feedback.success, (moment.action, observation.feedback)
        assert observation.holding == moment.observation.holding
        assert {each.id for each in observation.visible} == {
            each.id for each in moment.observation.visible
        }
        assert _seen(simulated.metadata()) == _seen(list(objects))


@pytest.mark.slow
@pytest.mark.parametrize('setting', SETTINGS, ids=lambda setting: setting.name)
def test_random_actions_are_answered_alike(setting: Setting) -> None:
    chance = random.Random(setting.name)
    for scene in ('kitchen-1', 'living-room-1', 'bathroom-2'):
        text, simulated = TextHousehold(), ThorHousehold(ThorController())
        text.reset(scene, setting)
        simulated.reset(_FLOOR_PLANS[scene], setting)
        # Where ours puts things down at first; in the simulator the robot stands anywhere.
        first = HouseholdAction(Verb.GO_TO, text.world.receptacle)
        assert text.step(first).feedback.success
        assert simulated.step(first).feedback.success
        done = set()
        for _ in range(250):
            verb = chance.choice([each for each in Verb if each not in (Verb.DONE, Verb.FAILURE)])
            holding, things = text.world.holding, text.world.things
            near = visible(things, text.world.inside, text.world.viewpoint)
            named = verb in (Verb.DROP, Verb.THROW, Verb.PUT_DOWN) and holding
            far = not near or verb in (Verb.GO_TO, Verb.FIND_OBJECT) or chance.random() < 0.1
            name = holding if named else chance.choice(sorted(things) if far else near)
            action = HouseholdAction(verb, name)
            expected, given = text.step(action), simulated.step(action)
            assert given.feedback.success == expected.feedback.success, (
                action, expected.feedback, given.feedback,
            )  # fmt: skip
            if expected.feedback.success:
                done.add(verb)
            assert _seen(simulated.metadata()) == _seen(text.metadata())
            assert given.known == expected.known
        assert len(done) >= 5, (scene, done)


def test_what_the_simulator_refuses_is_feedback() -> None:
    controller = ThorController()
    household = ThorHousehold(controller)
    household.reset(_FLOOR_PLANS['kitchen-1'], Setting())
    controller.broken = {'TeleportFull', 'OpenObject'}
    before = household.world
    told = household.step(HouseholdAction(Verb.GO_TO, 'Fridge (1)')).feedback
    assert (told.success, 'no place from which' in told.message) == (False, True)
    controller.broken = {'OpenObject'}
    assert household.step(HouseholdAction(Verb.GO_TO, 'Fridge (1)')).feedback.success
    told = household.step(HouseholdAction(Verb.OPEN, 'Fridge (1)')).feedback
    assert (told.success, told.message) == (
        False, 'open Fridge (1) was not done: it is broken',
    )  # fmt: skip
    assert (
        household.world.things == before.things or not household.world.things['Fridge (1)'].is_open
    )
    calls = len(controller.calls)
    assert not household.step(HouseholdAction(Verb.PICK_UP, 'Potato (1)')).feedback.success
    assert len(controller.calls) == calls  # our rules refused it; nothing was tried


def test_a_scene_is_set_up_as_a_task_wants_it() -> None:
    household = ThorHousehold(ThorController())
    dirty = [
        {'action': 'DirtyObject', 'args': {'objectId': 'Mug|+00.00|+00.90|-01.00'}},
        {'action': 'DirtyObject', 'args': {'objectId': 'Mug|+09.00|+00.90|-77.00'}},
        {'action': 'Explode', 'args': {}},
    ]
    household.reset(_FLOOR_PLANS['kitchen-1'], Setting(), dirty)
    assert household.world.things['Mug (1)'].is_dirty
    assert household.not_set_up == (
        'DirtyObject: Mug|+09.00|+00.90|-77.00 is not in the scene',
        'Explode: Invalid action: Explode',
    )


def test_what_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ThorError, match='cannot show'):
        ThorHousehold(ThorController()).reset('FloorPlan999', Setting())
    monkeypatch.setitem(sys.modules, 'ai2thor.controller', None)
    with pytest.raises(ThorError, match=r'safegen_ros\[thor\]'):
        open_thor()

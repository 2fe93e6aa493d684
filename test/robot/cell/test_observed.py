# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import time

import numpy as np
import pytest

from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.robot.arm import Sample
from safegen_ros.robot.cell.grounding import Tool, ground
from safegen_ros.robot.cell.observed import AssumedWorld, Observation, PerceivedWorld
from safegen_ros.robot.pose import Pose
from safegen_ros.robot.scene import load_scene

SCENE = load_scene()
A, B, FREE = SCENE.slots[1], SCENE.slots[3], SCENE.slots[5]
BLOCKS = {'a': SCENE.slot_pose(A), 'b': SCENE.slot_pose(B)}


def over(slot, height):
    """Joints with the cup over a slot at a height [m]."""
    return SCENE.joints_above(slot.x, slot.y, height, slot.azimuth)


def look(joints, tool_on):
    return Sample(0.0, joints, {}, tool_on)


@pytest.fixture
def world():
    assumed = AssumedWorld(SCENE)
    assumed.confirm()
    assumed.reset(BLOCKS)
    return assumed


def facts(world, joints, tool_on):
    tool = Tool(SCENE.held_centre(joints), tool_on)
    return ground(world.block_poses(), tool, SCENE.block_size)


def test_a_block_goes_with_the_cup_and_stays_where_it_is_let_down(world):
    size = SCENE.block_size
    for joints in (over(A, size), over(A, 0.12), over(B, 0.12)):
        world.follow(look(joints, tool_on=True))
    assert ('holding', 'a') in facts(world, over(B, 0.12), tool_on=True)
    seen = world.follow(look(over(B, 2 * size + 0.001), tool_on=True))
    assert seen.poses['a'].position[2] == pytest.approx(1.5 * size + 0.001, abs=1e-6)
    world.follow(look(over(B, 2 * size + 0.001), tool_on=False))
    assert ('on', 'a', 'b') in facts(world, over(B, 0.1), tool_on=False)
    world.follow(look(over(FREE, 0.1), tool_on=False))
    assert world.block_poses()['a'].position[2] == pytest.approx(1.5 * size)


@pytest.mark.parametrize('slot', [A, FREE])
def test_a_cup_that_touches_no_block_takes_none(world, slot):
    world.follow(look(over(slot, SCENE.block_size + 0.02), tool_on=True))
    world.follow(look(over(slot, 0.1), tool_on=True))
    assert world.block_poses() == BLOCKS


def test_a_block_that_is_let_go_in_the_air_is_explained_by_nothing(world):
    world.follow(look(over(A, SCENE.block_size), tool_on=True))
    world.follow(look(over(FREE, 0.12), tool_on=True))
    world.follow(look(over(FREE, 0.12), tool_on=False))
    with pytest.raises(RobotError, match=r'a .* rests on nothing'):
        facts(world, over(B, 0.15), tool_on=False)


TOWER = {'a': SCENE.slot_pose(B, 1), 'b': SCENE.slot_pose(B)}


def carry(world, slot, height):
    """The arm takes block a and lets it go with the cup at a height over a slot [m]."""
    for joints in (over(A, SCENE.block_size), over(A, 0.12), over(slot, height)):
        world.follow(look(joints, tool_on=True))
    world.follow(look(over(slot, height), tool_on=False))


def refused(world, blocks=BLOCKS):
    with pytest.raises(RobotError) as caught:
        world.reset(blocks)
    assert caught.value.code == ErrorCode.STATE_MISMATCH
    return caught.value.message


def test_nothing_is_known_until_a_person_says_it_and_that_counts_once():
    world = AssumedWorld(SCENE)
    assert 'executor has started' in refused(world)
    assert 'blocks-set-up' in refused(world)
    world.confirm()
    assert world.expect(BLOCKS) == world.expect(BLOCKS) == BLOCKS
    world.reset(BLOCKS)
    assert 'missing: (on a b); unexpected: (clear b)' in refused(world, TOWER)
    world.confirm()
    world.lapse()
    assert 'missing: (on a b); unexpected: (clear b)' in refused(world, TOWER)


def test_a_task_has_to_begin_with_the_world_that_the_last_one_left(world):
    carry(world, B, 2 * SCENE.block_size)
    message = refused(world)
    assert 'missing: (clear b) (on-table a); unexpected: (on a b)' in message
    assert '--from-current' in message
    world.reset(TOWER)
    left = world.block_poses()
    assert left['a'].position[2] == pytest.approx(1.5 * SCENE.block_size)
    # As the blocks are believed to stand, not as they would be placed.
    world.reset({'a': SCENE.slot_pose(FREE, 1), 'b': SCENE.slot_pose(FREE)})
    assert world.block_poses() == left
    assert 'unexpected: (clear a) (on a b)' in refused(world, {'b': BLOCKS['b']})


def test_a_block_that_is_held_or_fell_has_to_be_set_up_by_a_person(world):
    for joints in (over(A, SCENE.block_size), over(FREE, 0.12)):
        world.follow(look(joints, tool_on=True))
    world.confirm()  # which says nothing of what is in the tool
    assert 'safegen release' in refused(world)
    world.lapse()
    world.follow(look(over(FREE, 0.12), tool_on=False))
    assert 'rests on nothing' in refused(world)
    assert 'blocks-set-up' in refused(world)
    world.confirm()
    world.reset(BLOCKS)
    assert world.block_poses() == BLOCKS


def test_a_fault_of_the_arm_takes_away_what_was_known(world):
    world.confirm()
    world.forget('the arm fell')
    assert 'nobody knows where the blocks are, as the arm fell' in refused(world)
    with pytest.raises(RobotError, match='the arm fell'):
        world.block_poses()
    assert world.follow(look(over(A, SCENE.block_size), tool_on=True)).poses == {}


def test_a_perceived_world_waits_for_an_observation_that_is_newer_than_the_question():
    old = Observation({'a': Pose((0.1, 0.0, 0.015))}, time.monotonic() - 1)
    answers = iter([None, old, old])

    def latest():
        return next(answers, Observation(BLOCKS, time.monotonic()))

    assert PerceivedWorld(SCENE, latest).block_poses() == BLOCKS


@pytest.mark.parametrize('seen', [None, Observation(BLOCKS, 0.0)])
def test_a_perception_that_says_nothing_new_is_an_error(seen):
    with pytest.raises(RobotError, match=r'has said nothing for 0\.05 s') as caught:
        PerceivedWorld(SCENE, lambda: seen, patience=0.05).block_poses()
    assert caught.value.code == ErrorCode.STATE_MISMATCH


def test_the_table_must_show_the_initial_state_wherever_its_towers_stand():
    moved = {'a': SCENE.slot_pose(FREE), 'b': SCENE.slot_pose(A)}
    PerceivedWorld(SCENE, lambda: Observation(moved, np.inf)).reset(BLOCKS)
    tower = {'a': SCENE.slot_pose(A), 'b': SCENE.slot_pose(A, 1)}
    with pytest.raises(
        RobotError, match=r'missing: .*\(on-table b\); unexpected: \(on b a\)'
    ) as caught:
        PerceivedWorld(SCENE, lambda: Observation(tower, np.inf)).reset(BLOCKS)
    assert caught.value.code == ErrorCode.STATE_MISMATCH

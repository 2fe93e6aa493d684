# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
import random
import threading
from itertools import pairwise

import numpy as np
import pytest
from support.random_blocks import gaussian, random_state, run_episode, successors

from safegen_ros.errors import Canceled, ErrorCode, RobotError
from safegen_ros.robot.cell.blocks import simulated_cell
from safegen_ros.robot.pose import Pose, planar_distance
from safegen_ros.robot.scene import load_scene

SCENE = load_scene()
NOISE = 0.0005


def atoms(text):
    return frozenset(tuple(part.split()) for part in text.split(','))


@pytest.fixture
def cell():
    with simulated_cell(SCENE) as cell:
        yield cell


TWO_AND_A_TOWER = atoms('arm-empty,on-table a,clear a,on-table b,on c b,clear c,on-table d,clear d')


@pytest.mark.parametrize(
    ('seed', 'blocks'), [(12, 4), pytest.param(14, 6, marks=pytest.mark.nightly)]
)
def test_random_legal_actions_make_the_predicted_states(seed, blocks):
    episode = run_episode(SCENE, seed, blocks, NOISE, actions=10)
    assert episode.fault == ''
    assert episode.actions == 10


def test_every_action_of_a_full_table_has_a_place():
    """Six towers of one block, each picked up and put down again."""
    rng = random.Random(3)
    names = [f'b{index}' for index in range(6)]
    state = frozenset(
        {('arm-empty',)} | {(word, name) for word in ('on-table', 'clear') for name in names}
    )
    with simulated_cell(SCENE, target_error=gaussian(rng, NOISE)) as cell:
        cell.prepare(names, state)
        for name in names[::2]:
            cell.execute('pickup', (name,))
            cell.execute('putdown', (name,))
            assert cell.observe() == state


@pytest.mark.nightly
def test_a_tower_of_six_is_built_and_taken_down_a_bit():
    rng = random.Random(7)
    names = ['b1', 'b2', 'b3', 'b4', 'b5', 'b6']
    state = frozenset(
        {('arm-empty',)} | {(word, name) for word in ('on-table', 'clear') for name in names}
    )
    with simulated_cell(SCENE, target_error=gaussian(rng, NOISE)) as cell:
        cell.prepare(names, state)
        for under, block in pairwise(names):
            for call in (('pickup', block), ('stack', block, under)):
                state = successors(state)[call]
                cell.execute(call[0], call[1:])
                assert cell.observe() == state
        cell.home()
        poses = cell.poses()
        assert poses['b6'].position[2] == pytest.approx(0.165, abs=0.003)
        assert max(planar_distance(poses['b1'], pose) for pose in poses.values()) < 0.005
        for call in (('unstack', 'b6', 'b5'), ('putdown', 'b6')):
            state = successors(state)[call]
            cell.execute(call[0], call[1:])
            assert cell.observe() == state


@pytest.mark.parametrize('seed', [1, 2])
def test_a_task_may_begin_with_a_block_in_the_hand(cell, seed):
    rng = random.Random(seed)
    state = rng.choice(sorted(successors(random_state(rng, 4)).values(), key=sorted))
    cell.prepare(['b1', 'b2', 'b3', 'b4'], state)
    assert cell.observe() == state
    cell.home()
    assert cell.observe() == state


def test_an_unsupported_state_moves_nothing(cell):
    with pytest.raises(RobotError) as caught:
        cell.prepare([f'b{index}' for index in range(7)], atoms('arm-empty'))
    assert caught.value.code == ErrorCode.UNSUPPORTED_SCENE
    assert cell.arm.sim_time == 0.0


@pytest.mark.parametrize(
    ('action', 'arguments', 'what'),
    [
        ('paint', ('a',), 'not an action'),
        ('stack', ('a',), 'not an action'),
        ('pickup', ('z',), 'no block z'),
    ],
)
def test_an_unknown_action_or_block_moves_nothing(cell, action, arguments, what):
    cell.prepare(['a'], atoms('arm-empty,on-table a,clear a'))
    before = cell.arm.sim_time
    with pytest.raises(RobotError, match=what) as caught:
        cell.execute(action, arguments)
    assert caught.value.code == ErrorCode.UNSUPPORTED_SCENE
    assert cell.arm.sim_time == before


def test_stacking_on_a_covered_block_is_a_collision(cell):
    cell.prepare(['a', 'b', 'c', 'd'], TWO_AND_A_TOWER)
    cell.execute('pickup', ('a',))
    with pytest.raises(RobotError, match=r'collision at .*: (a hits c|c hits a)') as caught:
        cell.execute('stack', ('a', 'b'))
    assert caught.value.code == ErrorCode.ROBOT_FAULT
    with pytest.raises(RobotError, match='after a fault'):
        cell.execute('putdown', ('a',))


def test_picking_a_covered_block_is_a_collision(cell):
    cell.prepare(['a', 'b', 'c', 'd'], TWO_AND_A_TOWER)
    with pytest.raises(RobotError, match=r'collision at .*tool'):
        cell.execute('pickup', ('b',))


def test_an_action_without_its_effect_is_a_mismatch(cell):
    cell.prepare(['a', 'b', 'c', 'd'], TWO_AND_A_TOWER)
    with pytest.raises(RobotError, match=r'\(stack a d\) did not make \(on a d\) true') as caught:
        cell.execute('stack', ('a', 'd'))
    assert caught.value.code == ErrorCode.STATE_MISMATCH


@pytest.mark.parametrize(
    'pose',
    [
        Pose((0.0, 0.175, 0.03), (math.sin(0.5), 0, 0, math.cos(0.5))),
        Pose((0.0, 0.175, 0.015), (math.sqrt(0.5), 0, 0, math.sqrt(0.5))),
    ],
    ids=['dropped on its edge', 'on its side'],
)
def test_a_fallen_block_is_never_guessed(cell, pose):
    cell.prepare(['a', 'b', 'c', 'd'], TWO_AND_A_TOWER)
    cell.arm.disturb('d', pose)
    with pytest.raises(RobotError, match=r'd at .* leans'):
        cell.observe()


def test_a_toppled_tower_is_noticed_after_it_fell(cell):
    cell.prepare(['a', 'b', 'c', 'd'], TWO_AND_A_TOWER)
    under = cell.poses()['b'].position
    cell.arm.disturb('c', Pose.upright(under[0] + 0.018, under[1], under[2] + 0.03))
    with pytest.raises(RobotError, match=r'collision at .*: c hits table'):
        cell.arm.wait(1.0)
    with pytest.raises(RobotError, match=r'c at .* (leans|rests on nothing)'):
        cell.observe()


def test_a_moved_block_is_picked_where_it_is(cell):
    cell.prepare(['a', 'b', 'c', 'd'], TWO_AND_A_TOWER)
    slot = SCENE.slots[-1]
    cell.arm.disturb('a', Pose.upright(slot.x + 0.004, slot.y, 0.015, 0.4))
    cell.execute('pickup', ('a',))
    cell.execute('stack', ('a', 'd'))
    assert ('on', 'a', 'd') in cell.observe()
    # The cup took it by its yaw, so it stands square on the other.
    poses = cell.poses()
    turn = (poses['a'].yaw - poses['d'].yaw) / (math.pi / 2)
    assert turn == pytest.approx(round(turn), abs=0.05)


def test_a_block_out_of_reach_is_said_before_the_arm_goes_down(cell):
    cell.prepare(['a', 'b', 'c', 'd'], TWO_AND_A_TOWER)
    cell.arm.disturb('a', Pose.upright(0.33, 0.0, 0.015))
    before = cell.arm.sim_time
    with pytest.raises(RobotError) as caught:
        cell.execute('pickup', ('a',))
    assert caught.value.code == ErrorCode.OUT_OF_REACH
    assert cell.arm.sim_time == before


def test_a_stop_while_carrying_keeps_the_block_and_the_cell_goes_on():
    stopped = []

    def stop_midway(sample):
        if sample.tool_on and sample.poses['a'].position[2] > 0.06 and not stopped:
            stopped.append(sample)
            thread = threading.Thread(target=cell.stop)
            thread.start()
            thread.join()

    with simulated_cell(SCENE, sample=stop_midway) as cell:
        cell.prepare(['a', 'b', 'c', 'd'], TWO_AND_A_TOWER)
        with pytest.raises(Canceled):
            cell.execute('pickup', ('a',))
        assert cell.arm.tool_on()
        assert ('holding', 'a') in cell.observe()
        with pytest.raises(Canceled):
            cell.execute('putdown', ('a',))
        held = cell.arm.joint_positions()
        cell.reset_stop()
        cell.arm.wait(2.0)
        np.testing.assert_allclose(cell.arm.joint_positions(), held, atol=2e-3)
        assert ('holding', 'a') in cell.observe()
        cell.execute('putdown', ('a',))
        assert cell.observe() == TWO_AND_A_TOWER


def test_preparing_again_starts_a_fresh_table(cell):
    cell.prepare(['a', 'b', 'c', 'd'], TWO_AND_A_TOWER)
    cell.execute('pickup', ('a',))
    cell.prepare(['x'], atoms('arm-empty,on-table x,clear x'))
    assert not cell.arm.tool_on()
    assert cell.observe() == atoms('arm-empty,on-table x,clear x')

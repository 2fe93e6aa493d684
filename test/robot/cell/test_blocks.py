# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import math
import random
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import strategies

from safegen_ros.errors import Canceled, ErrorCode, RobotError
from safegen_ros.pddl.ground import Grounder
from safegen_ros.pddl.model import And, Problem
from safegen_ros.robot.cell.blocks import simulated_cell
from safegen_ros.robot.cell.grounding import Tool, free_slot, ground, initial_layout
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


def random_state(rng, count):
    """A random configuration of blocks b1.. with an empty hand."""
    return strategies.blocks(rng, count, 0).init


def successors(state):
    """Every legal action of the four-operator Blocksworld, with the state that it leads to."""
    names = {name: 'object' for _, *terms in state for name in terms}
    problem = Problem('now', strategies.BLOCKSWORLD, names, state, And(()), ())
    grounder = Grounder(problem)
    bits = grounder.table.encode(state)
    return {
        (action.step.action, *action.step.arguments): grounder.table.decode(action.apply(bits))
        for action in grounder.all_actions()
        if action.applicable(bits)
    }


def gaussian(rng, sigma):
    """Errors of a target [m]: sigma in x and y, half of it in z."""
    return lambda: (rng.gauss(0, sigma), rng.gauss(0, sigma), rng.gauss(0, sigma / 2))


TWO_AND_A_TOWER = atoms('arm-empty,on-table a,clear a,on-table b,on c b,clear c,on-table d,clear d')


@pytest.mark.parametrize(
    ('seed', 'blocks'), [(12, 4), pytest.param(14, 6, marks=pytest.mark.nightly)]
)
def test_random_legal_actions_make_the_predicted_states(seed, blocks):
    rng = random.Random(seed)
    state = random_state(rng, blocks)
    with simulated_cell(SCENE, target_error=gaussian(rng, NOISE)) as cell:
        cell.prepare([f'b{index + 1}' for index in range(blocks)], state)
        for _ in range(10):
            call, state = rng.choice(sorted(successors(state).items(), key=lambda each: each[0]))
            cell.execute(call[0], call[1:])
            assert cell.observe() == state, call


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


SIZE = SCENE.block_size
PARKED = Tool((0.0, -0.175, 0.195), on=False)


def leaning(x, y, z, degrees):
    half = math.radians(degrees) / 2
    return Pose((x, y, z), (math.sin(half), 0.0, 0.0, math.cos(half)))


@given(st.integers(0, 10**6), st.integers(1, 6))
def test_small_errors_of_the_measurement_change_nothing(seed, count):
    rng = random.Random(seed)
    state = random_state(rng, count)
    poses = initial_layout(SCENE, [f'b{i + 1}' for i in range(count)], state).poses
    measured = {
        name: Pose.upright(
            pose.position[0] + rng.uniform(-0.005, 0.005),
            pose.position[1] + rng.uniform(-0.005, 0.005),
            pose.position[2] + rng.uniform(-0.0014, 0.0014),
            pose.yaw + rng.uniform(-0.3, 0.3),
        )
        for name, pose in poses.items()
    }
    assert ground(measured, PARKED, SIZE) == state


def test_a_block_in_the_tool_is_held_and_not_clear():
    poses = {'a': Pose.upright(0.1, 0.1, 0.15), 'b': Pose.upright(0.17, 0, 0.015)}
    tool = Tool((0.1, 0.1, 0.15), on=True)
    expected = {('holding', 'a'), ('on-table', 'b'), ('clear', 'b')}
    assert ground(poses, tool, SIZE) == expected


@pytest.mark.parametrize(
    ('blocks', 'tool', 'what'),
    [
        ({'a': Pose.upright(0.2, 0, 0.1)}, PARKED, r'a at \(0.200, 0.000, 0.100\) m rests'),
        ({'a': Pose.upright(0.2, 0, 0.0)}, PARKED, 'rests on nothing'),
        ({'a': leaning(0.2, 0, 0.015, 30)}, PARKED, 'leans 30 deg'),
        ({'a': leaning(0.2, 0, 0.015, 90)}, PARKED, 'leans 90 deg'),
        ({'a': leaning(0.2, 0, 0.015, 180)}, PARKED, 'leans 180 deg'),
        ({'a': Pose.upright(float('nan'), 0, 0.015)}, PARKED, 'no finite pose'),
        ({'a': Pose((0.2, 0, 0.015), (0.0,) * 4)}, PARKED, 'a has an orientation of length 0, not'),
        ({'a': Pose((0.2, 0, 0.015), (0, 0, 0, 2.0))}, PARKED, 'orientation of length 2, not 1'),
        (
            {'a': Pose.upright(0.2, 0, 0.015), 'b': Pose.upright(0.216, 0, 0.045)},
            PARKED,
            'b at .* rests on nothing',
        ),
        (
            {'a': Pose.upright(0.2, 0, 0.015), 'b': Pose.upright(0.205, 0, 0.015)},
            PARKED,
            'a and b are in the same place',
        ),
        (
            {
                'a': Pose.upright(0.2, 0, 0.015),
                'b': Pose.upright(0.19, 0, 0.045),
                'c': Pose.upright(0.21, 0, 0.045),
            },
            PARKED,
            'b and c are both on a',
        ),
        # The pump runs and the cup still presses: neither held nor standing.
        (
            {'a': Pose.upright(0.2, 0, 0.015)},
            Tool((0.2, 0, 0.015), on=True),
            'carried by the tool and the table at once',
        ),
        # The pump is off: nothing explains a block in the air.
        ({'a': Pose.upright(0.2, 0, 0.1)}, Tool((0.2, 0, 0.1), on=False), 'rests on nothing'),
    ],
)
def test_what_no_relation_explains_is_refused(blocks, tool, what):
    with pytest.raises(RobotError, match=what) as caught:
        ground(blocks, tool, SIZE)
    assert caught.value.code == ErrorCode.STATE_MISMATCH


@given(st.integers(0, 10**6), st.integers(1, 6))
def test_a_layout_shows_the_state_that_it_was_made_from(seed, count):
    state = random_state(random.Random(seed), count)
    layout = initial_layout(SCENE, [f'b{i + 1}' for i in range(count)], state)
    assert layout.held is None
    assert ground(layout.poses, PARKED, SCENE.block_size) == state


@given(st.integers(0, 10**6), st.integers(1, 6))
def test_a_held_block_waits_on_a_slot_of_its_own(seed, count):
    rng = random.Random(seed)
    state = random_state(rng, count)
    state = rng.choice(sorted(successors(state).values(), key=sorted))
    layout = initial_layout(SCENE, [f'b{i + 1}' for i in range(count)], state)
    assert ('holding', layout.held) in state
    shown = ground(layout.poses, PARKED, SCENE.block_size)
    assert successors(shown)['pickup', layout.held] == state


@pytest.mark.parametrize(
    ('objects', 'init', 'what'),
    [
        ('', 'arm-empty', '0 blocks'),
        ('a b c d e f g', 'arm-empty', '7 blocks: the table takes 1 to 6'),
        ('a', 'arm-empty,on-table a', r'add'),
        ('a', 'arm-empty,clear a', 'where a stands'),
        ('a', 'on-table a,clear a', r'\(arm-empty\) follows'),
        ('a', 'arm-empty,holding a', r'\(arm-empty\) contradicts'),
        ('a b', 'holding a,holding b', 'it can hold one'),
        ('a b', 'arm-empty,on a b,on b a', 'where a stands'),
        ('a b', 'arm-empty,on a a,on-table b,clear b', 'where a stands'),
        ('a b', 'arm-empty,on a b,on-table a,on-table b,clear a', 'a is in two places'),
        ('a b c', 'arm-empty,on a c,on b c,on-table c,clear a,clear b', 'both on c'),
        ('a b', 'arm-empty,on a b,on-table b,clear a,clear b', r'\(clear b\) contradicts'),
        ('a', 'arm-empty,on-table a,clear a,painted a', 'painted'),
        ('a', 'arm-empty,on-table a,clear a,clear z', 'names z'),
        ('a', 'arm-empty,on-table a a,clear a', 'not an atom'),
    ],
)
def test_a_state_that_no_table_can_show_is_refused(objects, init, what):
    with pytest.raises(RobotError, match=what) as caught:
        initial_layout(SCENE, objects.split(), atoms(init))
    assert caught.value.code == ErrorCode.UNSUPPORTED_SCENE


@given(st.sets(st.integers(0, 6), max_size=6), st.integers(0, 6))
def test_the_nearest_free_slot_is_taken(taken, near):
    occupied = [SCENE.slot_pose(SCENE.slots[index], level) for index in taken for level in (0, 1)]
    pose = SCENE.slot_pose(SCENE.slots[near])
    slot = free_slot(SCENE, occupied, pose)
    free = [index for index in range(7) if index not in taken]
    assert SCENE.slots.index(slot) in free
    assert planar_distance(SCENE.slot_pose(slot), pose) == min(
        planar_distance(SCENE.slot_pose(SCENE.slots[index]), pose) for index in free
    )


def test_no_free_slot_is_said():
    with pytest.raises(RobotError, match='no slot is free'):
        free_slot(SCENE, [SCENE.slot_pose(slot) for slot in SCENE.slots], Pose((0, 0, 0)))

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import math
import random
import threading

import pytest

from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.robot.arm import Sample
from safegen_ros.robot.cell.grounding import Tool, ground, is_rigid
from safegen_ros.robot.cell.observed import AssumedWorld, PerceivedWorld, median_poses
from safegen_ros.robot.cell.perception import Perception, Picture, read_picture
from safegen_ros.robot.cell.settings import PerceptionSettings
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
    assert 'executor has just started' in refused(world)
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
    assert 'safegen arm release' in refused(world)
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
    assert 'the positions of the blocks are unknown, as the arm fell' in refused(world)
    with pytest.raises(RobotError, match='the arm fell'):
        world.block_poses()
    assert world.follow(look(over(A, SCENE.block_size), tool_on=True)).poses == {}


def perceived(poses, **settings):
    """A world in which a camera sees these poses, which a test may change."""
    pictures = [Picture(1.0, poses)]
    return PerceivedWorld(SCENE, lambda: pictures, PerceptionSettings(**settings))


def in_the_way(call, *arguments):
    with pytest.raises(RobotError) as caught:
        call(*arguments)
    assert caught.value.code == ErrorCode.STATE_MISMATCH
    return caught.value.message


def test_the_table_must_show_the_initial_state_wherever_its_towers_stand():
    moved = {'a': SCENE.slot_pose(FREE), 'b': SCENE.slot_pose(A)}
    perceived(moved).reset(BLOCKS)
    tower = {'a': SCENE.slot_pose(A), 'b': SCENE.slot_pose(A, 1)}
    message = in_the_way(perceived(tower).reset, BLOCKS)
    assert 'missing: (clear a) (on-table b); unexpected: (on b a)' in message
    assert 'b not seen' in in_the_way(perceived({'a': BLOCKS['a']}).reset, BLOCKS)


def test_a_block_stands_at_its_level_and_upright_where_it_is_measured_near_to_it():
    x, y, z = BLOCKS['a'].position
    leans = Pose((x, y, z + 0.004), (0.02, 0.0, 0.0, 0.9998))
    world = perceived({'a': leans, 'b': BLOCKS['b']})
    at = world.expect(BLOCKS)['a']
    assert at.position == pytest.approx(BLOCKS['a'].position)
    assert at.tilt == pytest.approx(0.0)
    assert world.block_poses()['a'] == leans
    with pytest.raises(RobotError, match=r'a .* rests on nothing'):
        perceived({'a': leans, 'b': BLOCKS['b']}, height_tolerance=0.003).expect(BLOCKS)
    with pytest.raises(RobotError, match=r'a .* leans'):
        perceived({'a': leans, 'b': BLOCKS['b']}, tilt_tolerance=1.0).expect(BLOCKS)


def test_an_object_that_the_task_does_not_name_is_what_the_parameter_says():
    cup = {'cup': Pose((0.3, 0.1, 0.05))}
    table = {**BLOCKS, **cup}
    world = perceived(table)
    assert world.expect(BLOCKS).keys() == BLOCKS.keys()
    assert world.others == cup
    world.reset(BLOCKS)
    assert world.block_poses() == BLOCKS
    table['cup'] = Pose((0.3, 0.15, 0.05))
    assert 'cup is not where it was' in in_the_way(world.block_poses)
    assert 'cup is not where it was' in in_the_way(world.reset, BLOCKS)
    world.reset(BLOCKS)  # of the next goal, which knows it there
    table['hand'] = Pose((0.2, 0.2, 0.05))
    assert 'hand is new' in in_the_way(world.block_poses)
    del table['hand'], table['cup']
    assert world.block_poses() == BLOCKS

    ignoring = perceived({**BLOCKS, **cup}, other_objects='ignore')
    ignoring.reset(BLOCKS)
    assert (ignoring.others, ignoring.block_poses()) == ({}, BLOCKS)
    assert 'cup is on the table' in in_the_way(
        perceived({**BLOCKS, **cup}, other_objects='refuse').reset, BLOCKS
    )
    against = {'cup': Pose((BLOCKS['a'].position[0] + 0.02, BLOCKS['a'].position[1], 0.03))}
    assert 'cup is on a, or against it' in in_the_way(
        perceived({**BLOCKS, **against}).reset, BLOCKS
    )


def test_where_no_task_is_known_each_object_is_a_block():
    assert perceived(dict(BLOCKS)).block_poses() == BLOCKS
    both = perceived({**BLOCKS, 'cup': Pose((0.3, 0.1, 0.05))})
    assert ('on-table', 'a') in both.state(('a', 'b'))
    with pytest.raises(RobotError, match=r'cup .* rests on nothing'):
        both.state(())


NOW = 1e9
AT = Pose((0.2, 0.0, 0.015))
QUICK = PerceptionSettings(perception_timeout=0.05, perception_samples=3)


def perception(settings=QUICK):
    return Perception(settings, clock=lambda: NOW)


def seen(stamp, **poses):
    return Picture(stamp, poses or {'a': AT})


def unanswered(made, *stamps):
    """Why a question has no answer, while pictures with these stamps come."""
    asked = threading.Event()
    made._clock = lambda: asked.set() or NOW

    def feed():
        asked.wait()
        with made._news:  # the question waits by now
            pass
        for stamp in stamps:
            made.take(seen(stamp))

    feeding = threading.Thread(target=feed)
    feeding.start()
    with pytest.raises(RobotError) as caught:
        made.look()
    feeding.join()
    assert caught.value.code == ErrorCode.STATE_MISMATCH
    return caught.value.message


def test_pictures_that_were_taken_after_the_question_answer_it():
    made = perception()
    for stamp in (NOW - 2, NOW - 1, NOW, NOW + 0.01, NOW + 0.02, NOW + 0.03):
        made.take(seen(stamp))
    assert [picture.stamp for picture in made.look()] == [NOW + 0.01, NOW + 0.02, NOW + 0.03]


def test_an_honest_latency_is_waited_for():
    made = Perception(PerceptionSettings(perception_timeout=30.0, perception_samples=2))
    end = threading.Event()

    def publish():
        import time

        while not end.wait(0.01):
            made.take(seen(time.time() - 0.3))

    camera = threading.Thread(target=publish)
    camera.start()
    assert len(made.look()) == 2
    end.set()
    camera.join()


@pytest.mark.parametrize(
    ('stamps', 'reason'),
    [
        ((), 'has said nothing for 0.05 s: start it'),
        ((0.0, 0.0, 0.0), 'no time: fill in header.stamp'),
        ((-5.0, -4.0, -3.0), 'no time: fill in header.stamp'),
        ((NOW + 3600, NOW + 3601, NOW + 3602), 'stamps are 3602 s ahead'),
        ((NOW - 3600, NOW - 3599, NOW - 3598), 'its newest picture is 3598 s old'),
        ((NOW - 9, NOW - 9, NOW - 9, NOW - 9), 'repeats one picture, as a frozen camera does'),
        ((NOW + 0.05,) * 9, 'repeats one picture, as a frozen camera does'),
        ((NOW + 0.01, NOW + 3600, NOW + 0.02, NOW + 3600.1, NOW + 0.03, NOW + 3600.2), 'ahead'),
        ((NOW + 0.03, NOW + 0.02, NOW + 0.05, NOW + 0.04), 'stamps went back by 0.01'),
        ((NOW + 0.01, NOW + 0.02), '2 of 3 pictures came'),
    ],
)
def test_pictures_that_cannot_be_of_the_present_are_refused_by_name(stamps, reason):
    assert reason in unanswered(perception(), *stamps)


def test_a_clock_that_was_set_back_is_believed_again_after_one_picture():
    made = perception()
    for stamp in (NOW + 0.09, NOW + 0.01, NOW + 0.02, NOW + 0.03, NOW + 0.04):
        made.take(seen(stamp))
    assert [picture.stamp for picture in made.look()] == [NOW + 0.02, NOW + 0.03, NOW + 0.04]


def test_a_bad_message_ends_what_was_counted():
    made = perception()
    bad = read_picture(NOW + 0.03, 'camera_link', [('a', AT)], 'base_link')
    for picture in (seen(NOW + 0.01), seen(NOW + 0.02), bad, seen(NOW + 0.04), seen(NOW + 0.05)):
        made.take(picture)
    assert made.latest(1.0) == {'a': AT}
    made.take(seen(NOW + 0.06))
    assert [picture.stamp for picture in made.look()] == [NOW + 0.04, NOW + 0.05, NOW + 0.06]
    made.take(bad)
    assert made.latest(1.0) == {}


def test_what_is_old_is_not_shown():
    made = perception()
    made.take(seen(NOW - 2))
    assert made.latest(1.0) == {}
    assert made.latest(3.0) == {'a': AT}


@pytest.mark.parametrize(
    ('frame', 'poses', 'flaw'),
    [
        ('camera_link', [('a', AT)], "in the frame 'camera_link', and those of 'base_link'"),
        ('base_link', [('b1', AT), ('B1', AT)], 'it names b1 twice'),
        ('', [('a', Pose((200.0, 0.0, 15.0)))], 'a 200 m away: publish metres'),
        ('', [('a', Pose((math.nan, 0.0, 0.015)))], ''),
        ('/base_link', [('B1', AT)], ''),
        ('base_link', [], ''),
    ],
)
def test_a_message_says_what_is_wrong_with_it(frame, poses, flaw):
    picture = read_picture(NOW, frame, poses, 'base_link')
    assert flaw in picture.flaw
    assert bool(picture.flaw) == bool(flaw)
    if not flaw:
        assert set(picture.poses) == {name.lower() for name, _ in poses}


def test_noise_is_taken_away_and_wild_values_are_outvoted():
    rng = random.Random(4)

    def noisy():
        x, y, z = (value + rng.gauss(0, 0.002) for value in AT.position)
        return Pose((x, y, z), AT.orientation)

    errors = []
    for _ in range(300):
        found = median_poses([Picture(0.0, {'a': noisy()}) for _ in range(7)], ())
        errors.append(
            max(abs(a - b) for a, b in zip(found['a'].position, AT.position, strict=True))
        )
    assert max(errors) < 0.006
    wild = Pose((0.21, 0.01, 0.02), (0.0, 0.0, 1.0, 0.0))
    (pose,) = median_poses([seen(0.0)] * 4 + [seen(0.0, a=wild)] * 3, ()).values()
    assert pose == AT
    assert median_poses([seen(0.0)] * 3 + [seen(0.0, b=AT)] * 4, ()) == {'b': AT}


def test_a_block_that_moves_within_a_question_is_refused():
    moves = [seen(0.0, a=Pose((0.2 + 0.01 * step, 0.0, 0.015)), hand=AT) for step in range(3)]
    with pytest.raises(RobotError, match='a is seen at places 20 mm apart'):
        median_poses(moves, ())
    assert 'a' in median_poses(moves, ('b',))


@pytest.mark.parametrize('turn', [(0.0, 0.0, 0.0, 0.0), (0.0, 0.0, math.nan, 1.0)])
def test_a_pose_that_is_none_is_not_averaged_away(turn):
    wrong = Pose(AT.position, turn)
    found = median_poses([seen(0.0), seen(0.0), seen(0.0, a=wrong)], ())
    assert not is_rigid(found['a'])

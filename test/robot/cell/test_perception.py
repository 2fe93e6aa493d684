# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which pictures of a perception system count, and what is made of several."""

from __future__ import annotations

import math
import random
import threading

import pytest

from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.robot.cell.grounding import is_rigid
from safegen_ros.robot.cell.perception import Perception, Picture, median_poses, read_picture
from safegen_ros.robot.cell.settings import PerceptionSettings
from safegen_ros.robot.pose import Pose

NOW = 1e9
AT = Pose((0.2, 0.0, 0.015))
QUICK = PerceptionSettings(perception_timeout=0.05, perception_samples=3)


def perception(settings=QUICK):
    return Perception(settings, clock=lambda: NOW)


def seen(stamp, **poses):
    return Picture(stamp, poses or {'a': AT})


def refused(made, *stamps):
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
    assert reason in refused(perception(), *stamps)


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

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Arms of many: kinematics against published numbers, and distances against brute force."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safegen_ros.robot.arms.family import ArmFamily, closest
from safegen_ros.robot.arms.known import FAMILIES
from safegen_ros.robot.arms.swing import places, swing, turns
from safegen_ros.robot.arms.ur5e import CELL as UR5E
from safegen_ros.tasks.boxnet.spatial.kinematic import samples

families = pytest.mark.parametrize('family', FAMILIES.values(), ids=list(FAMILIES))


def ring(family: ArmFamily, random: Random) -> tuple[float, float]:
    """A place that planners may send a tip to."""
    near, far = family.reach
    while True:
        azimuth, away = random.uniform(-math.pi, math.pi), random.uniform(near, far)
        low, high = family.dead or (0.0, 0.0)
        if (azimuth - low) % (2 * math.pi) > high - low:
            return away * math.cos(azimuth), away * math.sin(azimuth)


def test_the_ur5e_stretched_out_is_where_its_maker_says() -> None:
    # All joints zero: a2 + a3, d4 + d6 sideways, d1 - d5 high; the tool goes on sideways.
    wanted = (-0.8172, -(0.1333 + 0.0996 + UR5E.tool), 0.1625 - 0.0997)
    assert UR5E.tip(np.zeros(6)) == pytest.approx(wanted, abs=1e-9)


@families
def test_wherever_planners_may_go_the_joints_hold_the_tip(family: ArmFamily) -> None:
    random = Random(1)
    wanted = [ring(family, random) for _ in range(300)]
    for place, joints in zip(wanted, family.postures(wanted), strict=True):
        x, y, z = family.tip(joints)
        assert (x, y, z) == pytest.approx((*place, family.tip_height), abs=1e-9)
        assert family.within(joints[None]).all()


@families
def test_out_of_reach_there_is_no_posture(family: ArmFamily) -> None:
    far = 2 * family.reach[1]
    assert np.isnan(family.postures([(far, 0.0), (0.0, 0.0), (math.nan, 0.0)])).all()


@families
def test_the_last_capsule_ends_at_the_tip(family: ArmFamily) -> None:
    joints = family.postures([ring(family, Random(2))])
    end = family.capsules(joints)[0, -1, 1]
    assert end[:2] == pytest.approx(family.tip(joints[0])[:2], abs=1e-9)
    assert end[2] - family.radii[-1] == pytest.approx(family.tip_height, abs=1e-9)


@families
def test_between_two_samples_no_link_moves_further_than_twice_the_clearance(
    family: ArmFamily,
) -> None:
    random = Random(3)
    for _ in range(60):
        start, end = ring(family, random), ring(family, random)
        turn = turns(family, start, end)[0]
        path = swing(family, start, end, turn, samples(family, start, end, turn))
        assert path is not None
        moved = np.linalg.norm(np.diff(family.capsules(path), axis=0), axis=-1)
        assert moved.max() <= 2 * family.clearance


def test_an_arm_goes_the_shorter_way_and_either_way_to_the_opposite_side() -> None:
    assert turns(UR5E, (0.5, 0.0), (0.0, 0.5)) == pytest.approx((math.pi / 2,))
    assert turns(UR5E, (0.5, 0.0), (-0.5, 0.0)) == pytest.approx((math.pi, -math.pi))
    # Across the back the myCobot cannot go: the long way round is the only one.
    (turn,) = turns(FAMILIES['mycobot_280'], (-0.15, 0.15), (-0.15, -0.15))
    assert turn == pytest.approx(-1.5 * math.pi)


@given(st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_the_distance_of_segments_is_that_of_their_closest_points(seed: int) -> None:
    random = np.random.default_rng(seed)
    a, b, c, d = random.uniform(-1, 1, (4, 3)).round(1)  # rounded: often parallel or crossing
    distance, middle = closest(a, b, c, d)
    share = np.linspace(0, 1, 201)[:, None]
    one, other = a + share * (b - a), c + share * (d - c)
    brute = np.linalg.norm(one[:, None] - other[None], axis=-1).min()
    assert distance <= brute + 1e-9
    assert brute - distance < 0.02
    for end, far in ((a, b), (c, d)):
        assert closest(end, far, middle, middle)[0] == pytest.approx(distance / 2, abs=1e-6)


def test_places_begin_and_end_where_they_should() -> None:
    found = places((0.5, 0.0), (0.0, 0.7), math.pi / 2, 5)
    assert found[0] == pytest.approx((0.5, 0.0))
    assert tuple(found[-1]) == (0.0, 0.7)
    assert np.hypot(*found.T) == pytest.approx([0.5, 0.55, 0.6, 0.65, 0.7])

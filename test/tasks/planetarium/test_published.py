# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Where the published code differs from Definition 2: docs/planetarium.md has the same table."""

from __future__ import annotations

import random
from typing import NamedTuple

import pytest
from support import planetarium_small as small

from safegen_ros.errors import SafegenError
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.reader import read_problem
from safegen_ros.tasks.planetarium.domains import planetarium_domain
from safegen_ros.tasks.planetarium.equivalence import compare


class Case(NamedTuple):
    """Two goals over one initial state; what Definition 2 says of them, and the published code.

    The last column is what the published code said when it was run on these very problems.
    """

    domain: str
    objects: str
    init: str
    one: str
    other: str
    equivalent: bool
    published: bool
    placeholder: bool = False


_ONE_ROOM = '(room r) (ball b) (gripper g) (at-robby r) (at b r) (free g)'
_TWO_ROOMS = '(room r) (room s) (ball b) (at-robby r) (at b r)'
_HAND = f'{_TWO_ROOMS} (gripper g) (free g)'
_STRIP = '(right t2 t1) (right t3 t2)'
_FLOOR = 'r - robot t1 t2 t3 - tile a c - color'
_TWO_ROBOTS = 'r q - robot t1 t2 t3 - tile a c - color'

CASES = {
    'gripper: a ball can be in the only room and nowhere else': Case(
        'gripper', 'r b g', _ONE_ROOM, '(free g)', '(free g) (at b r)', True, False
    ),
    'gripper: the robot can be in the only room and nowhere else': Case(
        'gripper', 'r b g', _ONE_ROOM, '(at b r)', '(at b r) (at-robby r)', True, False
    ),
    'gripper: what a gripper is, said in the goal, hides that it must be free': Case(
        'gripper', 'r s b g', _HAND, '(at b s)', '(at b s) (gripper g)', True, False
    ),
    'gripper: without a gripper no ball moves': Case(
        'gripper', 'r s b', _TWO_ROOMS, '(at-robby s)', '(at-robby s) (at b r)', True, False
    ),
    'floor-tile: a color fixed for a robot that need not paint with it': Case(
        'floor-tile', _TWO_ROBOTS,
        '(right t2 t1) (robot-at r t1) (robot-at q t3) (robot-has r c) (robot-has q a)'
        '(available-color a)',
        '(painted t2 c)', '(painted t2 c) (robot-has r a)', False, True,
    ),
    'floor-tile: paint that is there already counts as paint to come': Case(
        'floor-tile', _FLOOR,
        f'{_STRIP} (robot-at r t1) (robot-has r c) (available-color a) (painted t3 a)',
        '(robot-at r t2)', '(robot-at r t2) (robot-has r a)', False, True,
    ),
    'floor-tile: the only robot that can still paint with a color': Case(
        'floor-tile', _TWO_ROBOTS,
        f'{_STRIP} (robot-at r t1) (robot-at q t3) (robot-has r c) (robot-has q c)'
        '(available-color a)',
        '(painted t2 a) (robot-has q c)', '(painted t2 a) (robot-has q c) (robot-has r a)',
        True, False,
    ),
    'floor-tile: a robot without a color makes the published code fail': Case(
        'floor-tile', _FLOOR, f'{_STRIP} (robot-at r t1) (available-color a)',
        '(robot-at r t2)', '(robot-at r t2) (available-color a)', True, False,
    ),
    'floor-tile: a permutation of tiles that is not a symmetry of the floor': Case(
        'floor-tile', _FLOOR, f'{_STRIP} (robot-at r t1) (robot-has r c)',
        '(painted t1 c)', '(painted t2 c)', True, False, placeholder=True,
    ),
    'blocksworld: a block that the initial state does not mention is out of reach': Case(
        'blocksworld', 'a b c',
        '(arm-empty) (on-table a) (on-table b) (clear a) (clear b)',
        '(on a b)', '(on a b) (on-table b) (clear a) (arm-empty)', True, False,
    ),
    'blocksworld: a block that the arm may hold is taken to stand on the table': Case(
        'blocksworld', 'a b', '(arm-empty) (on-table a) (on-table b) (clear a) (clear b)',
        '(clear a)', '(on-table b)', False, True,
    ),
    'blocksworld: without arm-empty nothing can move': Case(
        'blocksworld', 'a b', '(on-table a) (on-table b) (clear a) (clear b)',
        '(clear a)', '(clear a) (on-table b)', True, False,
    ),
    'blocksworld: two goals that no state satisfies have the same goal states': Case(
        'blocksworld', 'a b', '(arm-empty) (on-table a) (on-table b) (clear a) (clear b)',
        '(on a b) (on b a)', '(on a a)', True, False,
    ),
    'blocksworld: a goal with a disjunction cannot be read': Case(
        'blocksworld', 'a b', '(arm-empty) (on-table a) (on-table b) (clear a) (clear b)',
        '(or (on a b) (on a b))', '(on a b)', True, False,
    ),
}  # fmt: skip


def problems(case: Case) -> tuple[Problem, Problem]:
    domain = planetarium_domain(case.domain)
    text = '(define (problem p) (:domain {}) (:objects {}) (:init {}) (:goal (and {})))'
    one, other = (
        read_problem(text.format(case.domain, case.objects, case.init, goal), domain)
        for goal in (case.one, case.other)
    )
    return one, other


@pytest.mark.parametrize('case', CASES.values(), ids=CASES)
def test_a_difference(case: Case) -> None:
    one, other = problems(case)
    assert small.equivalent(one, other, case.placeholder) == case.equivalent
    assert compare(one, other, placeholder=case.placeholder).equivalent == case.equivalent
    published = compare(one, other, placeholder=case.placeholder, compat='planetarium')
    assert published.equivalent == case.published


def test_literally_equal_problems_are_equivalent_to_the_published_code() -> None:
    one, _ = problems(CASES['floor-tile: a robot without a color makes the published code fail'])
    assert compare(one, one, compat='planetarium').equivalent


@pytest.mark.parametrize('domain', small.DOMAINS)
def test_the_published_code_sees_no_difference_in_names(domain: str) -> None:
    for seed in range(20):
        rng = random.Random(seed)
        one = small.small(rng, domain)
        assert compare(one, small.disguised(rng, one), compat='planetarium').equivalent


def test_an_unknown_compat_is_refused() -> None:
    one, other = problems(next(iter(CASES.values())))
    with pytest.raises(SafegenError, match="use '' or 'planetarium'"):
        compare(one, other, compat='planetary')  # type: ignore[arg-type]

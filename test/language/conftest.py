# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""One small problem of each built-in domain."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from safegen_ros.pddl.model import Problem
from safegen_ros.tasks.pddl3.task import load_task

TEXTS = {
    'blocksworld': """(define (problem p) (:domain blocksworld) (:objects b1 b2 b3 b4)
        (:init (arm-empty) (on-table b1) (on-table b2) (on b3 b1) (clear b3) (clear b2)
               (on-table b4) (clear b4))
        (:goal (and (on b1 b2) (clear b4))))""",
    'ferry': """(define (problem p) (:domain ferry) (:objects l0 l1 l2 c0 c1)
        (:init (location l0) (location l1) (location l2) (car c0) (car c1) (empty-ferry)
               (at-ferry l0) (at c0 l0) (at c1 l1)
               (not-eq l0 l1) (not-eq l1 l0) (not-eq l0 l2) (not-eq l2 l0) (not-eq l1 l2)
               (not-eq l2 l1))
        (:goal (and (at c0 l2) (at c1 l2))))""",
    'grippers': """(define (problem p) (:domain gripper-strips)
        (:objects robot1 - robot left right - gripper room1 room2 room3 - room
                  ball1 ball2 red - object)
        (:init (at-robby robot1 room1) (free robot1 left) (free robot1 right)
               (at ball1 room1) (at ball2 room2) (at red room2))
        (:goal (and (at ball1 room2))))""",
    'spanner': """(define (problem p) (:domain spanner)
        (:objects bob - man shed location1 gate - location nut1 nut2 - nut
                  spanner1 spanner2 - spanner)
        (:init (at bob shed) (at spanner1 location1) (at spanner2 location1) (at nut1 gate)
               (at nut2 gate) (useable spanner1) (useable spanner2) (loose nut1) (loose nut2)
               (link shed location1) (link location1 gate))
        (:goal (and (tightened nut1) (tightened nut2))))""",
}


@pytest.fixture(scope='session')
def problems() -> Mapping[str, Problem]:
    return {name: load_task(text).problem for name, text in TEXTS.items()}

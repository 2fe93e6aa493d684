# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Problems of the three domains as a model may write them."""

from __future__ import annotations

BLOCKS = """(define (problem two)
  (:domain blocksworld)
  (:objects a b)
  (:init (arm-empty) (on-table a) (clear a) (on-table b) (clear b))
  (:goal (and (on a b) (clear a))))
"""

ROOMS = """(define (problem rooms) (:domain gripper)
  (:objects r1 r2 - room x - ball g - gripper)
  (:init (at-robby r1) (at x r1) (free g)) (:goal (at x r2)))
"""

TILES = """(define (problem tiles) (:domain floor-tile)
  (:objects rob t1 t2 red)
  (:init (robot-at rob t1) (robot-has rob red) (right t2 t1)) (:goal (painted t2 red)))
"""

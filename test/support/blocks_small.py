# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Tasks of two and three blocks, for what asks a model or moves an arm."""

from __future__ import annotations

from itertools import pairwise

from safegen_ros.search.solve import solve
from safegen_ros.tasks.pddl3.task import load_task

THREE_TEXT = """
(define (problem three) (:domain blocksworld) (:objects a b c)
  (:init (arm-empty) (on-table a) (on-table b) (on-table c) (clear a) (clear b) (clear c))
  (:goal (and (on a b) (on c a)))
  (:constraints (always (not (on c b)))))
"""
THREE = load_task(THREE_TEXT)
_TOWER = [f'b{number}' for number in range(12)]
LASTING_TEXT = f"""
(define (problem lasting) (:domain blocksworld) (:objects {' '.join(_TOWER)})
  (:init (arm-empty) (on-table b0) (clear b11)
    {' '.join(f'(on {on} {under})' for under, on in pairwise(_TOWER))})
  (:goal (and {' '.join(f'(on {on} {under})' for on, under in pairwise(_TOWER))}))
  (:constraints (always (not (on b0 b5)))))
"""
"""A tower to be turned over, in 24 steps: for a goal in a symbolic cell that has to last."""
LASTING_PLAN = solve(load_task(LASTING_TEXT).problem).plan
TWO = load_task("""
(define (problem two) (:domain blocksworld) (:objects a b)
  (:init (arm-empty) (on-table a) (on-table b) (clear a) (clear b)) (:goal (on a b)))
""")

ONE_TEXT = """
(define (problem one-block) (:domain blocksworld) (:objects a)
  (:init (arm-empty) (on-table a) (clear a)) (:goal (holding a)))
"""

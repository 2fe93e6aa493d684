# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Tasks of two and three blocks, for what asks a model or moves an arm."""

from __future__ import annotations

from safegen_ros.worlds.pddl3.task import load_task

THREE_TEXT = """
(define (problem three) (:domain blocksworld) (:objects a b c)
  (:init (arm-empty) (on-table a) (on-table b) (on-table c) (clear a) (clear b) (clear c))
  (:goal (and (on a b) (on c a)))
  (:constraints (always (not (on c b)))))
"""
THREE = load_task(THREE_TEXT)
TWO = load_task("""
(define (problem two) (:domain blocksworld) (:objects a b)
  (:init (arm-empty) (on-table a) (on-table b) (clear a) (clear b)) (:goal (on a b)))
""")

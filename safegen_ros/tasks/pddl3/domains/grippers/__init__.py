# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Grippers: robots with two grippers each carry objects between rooms."""

from safegen_ros.tasks.pddl3.domains.grippers.families import FAMILIES
from safegen_ros.tasks.pddl3.domains.grippers.problems import direct_steps, draw, measure
from safegen_ros.tasks.pddl3.domains.grippers.wording import WORDING
from safegen_ros.tasks.pddl3.domains.kit import DomainKit, SizeParameter

KIT = DomainKit(
    name='grippers',
    names=('gripper-strips', 'grippers'),
    parameters=(
        SizeParameter('robots', paper=(1, 1), wide=(1, 2), least=1, most=100),
        SizeParameter('rooms', paper=(3, 4), wide=(3, 4), least=2, most=200),
        SizeParameter('objects', paper=(3, 3), wide=(2, 4), least=1, most=1000),
    ),
    draw=draw,
    direct=direct_steps,
    families=FAMILIES,
    wording=WORDING,
    measure=measure,
    weights={'robots': -1.0, 'rooms': 0.25, 'objects': 0.25},
    goal_weight=2.75,
)
"""What this folder brings to the benchmark."""

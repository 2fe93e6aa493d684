# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Blocksworld: one arm, blocks on a table or on each other, four operators."""

from safegen_ros.tasks.pddl3.domains.blocksworld.families import FAMILIES
from safegen_ros.tasks.pddl3.domains.blocksworld.problems import direct_steps, draw, measure
from safegen_ros.tasks.pddl3.domains.blocksworld.wording import WORDING
from safegen_ros.tasks.pddl3.domains.kit import DomainKit, SizeParameter

KIT = DomainKit(
    name='blocksworld',
    names=('blocksworld', 'blocksworld-4ops'),
    parameters=(SizeParameter('blocks', paper=(3, 6), wide=(3, 7), least=2, most=500),),
    draw=draw,
    direct=direct_steps,
    families=FAMILIES,
    wording=WORDING,
    measure=measure,
    weights={'blocks': 1.0},
    goal_weight=1.5,
)
"""What this folder brings to the benchmark."""

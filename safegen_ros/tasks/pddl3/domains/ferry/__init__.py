# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Ferry: one boat takes cars between locations, one car at a time."""

from safegen_ros.tasks.pddl3.domains.ferry.families import FAMILIES
from safegen_ros.tasks.pddl3.domains.ferry.problems import direct_steps, draw, measure
from safegen_ros.tasks.pddl3.domains.ferry.wording import WORDING
from safegen_ros.tasks.pddl3.domains.kit import DomainKit, SizeParameter

KIT = DomainKit(
    name='ferry',
    names=('ferry',),
    parameters=(
        SizeParameter('locations', paper=(3, 4), wide=(3, 5), least=2, most=200),
        SizeParameter('cars', paper=(2, 3), wide=(2, 4), least=1, most=1000),
    ),
    draw=draw,
    direct=direct_steps,
    families=FAMILIES,
    wording=WORDING,
    measure=measure,
    weights={'locations': 0.25, 'cars': 0.25},
    goal_weight=3.25,
)
"""What this folder brings to the benchmark."""

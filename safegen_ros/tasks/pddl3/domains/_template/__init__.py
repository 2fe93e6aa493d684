# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""_template: a robot with one hand carries things between places."""

from safegen_ros.tasks.pddl3.domains._template.families import FAMILIES
from safegen_ros.tasks.pddl3.domains._template.problems import direct_steps, draw, measure
from safegen_ros.tasks.pddl3.domains._template.wording import WORDING
from safegen_ros.tasks.pddl3.domains.kit import DomainKit, SizeParameter

KIT = DomainKit(
    name='_template',
    names=('_template',),
    parameters=(
        SizeParameter('places', paper=(3, 4), wide=(3, 5), least=2, most=200),
        SizeParameter('things', paper=(2, 3), wide=(2, 4), least=1, most=1000),
    ),
    draw=draw,
    direct=direct_steps,
    families=FAMILIES,
    wording=WORDING,
    measure=measure,
    weights={'places': 0.25, 'things': 0.25},
    goal_weight=3.25,
)
"""What this folder brings to the benchmark."""

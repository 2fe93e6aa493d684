# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Spanner: a worker collects spanners on a one-way walk and tightens the nuts at its end."""

from safegen_ros.tasks.pddl3.domains.kit import DomainKit, SizeParameter, SizeRule
from safegen_ros.tasks.pddl3.domains.spanner.families import FAMILIES
from safegen_ros.tasks.pddl3.domains.spanner.problems import direct_steps, draw, measure
from safegen_ros.tasks.pddl3.domains.spanner.wording import WORDING

KIT = DomainKit(
    name='spanner',
    names=('spanner',),
    parameters=(
        SizeParameter('spanners', paper=(2, 3), wide=(2, 5), least=1, most=500),
        SizeParameter('nuts', paper=(2, 2), wide=(2, 3), least=1, most=500),
        SizeParameter('locations', paper=(3, 4), wide=(2, 6), least=1, most=500),
    ),
    rules=(SizeRule('a spanner for every nut', lambda size: size['spanners'] >= size['nuts']),),
    draw=draw,
    direct=direct_steps,
    families=FAMILIES,
    wording=WORDING,
    measure=measure,
    weights={'spanners': 0.1, 'nuts': 1.0, 'locations': 1.0},
    goal_weight=1.0,
)
"""What this folder brings to the benchmark."""

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Spanner: a worker collects spanners on a one-way walk and tightens the nuts at its end."""

from safegen_ros.language.lexicon import Wording
from safegen_ros.tasks.pddl3.domains.kit import DomainKit, SizeParameter, SizeRule
from safegen_ros.tasks.pddl3.domains.spanner.families import FAMILIES
from safegen_ros.tasks.pddl3.domains.spanner.problems import direct_steps, draw, measure

WORDING = Wording(
    nouns={
        'man': ('worker', 'workers'),
        'nut': ('nut', 'nuts'),
        'spanner': ('spanner', 'spanners'),
        'location': ('location', 'locations'),
        'locatable': ('thing', 'things'),
        'object': ('object', 'objects'),
    },
    facts={
        'at': ('{0} is at {1}', '{0} is not at {1}'),
        'carrying': ('{0} carries {1}', '{0} does not carry {1}'),
        'useable': ('{0} can be used', '{0} cannot be used'),
        'link': ('a path leads from {0} to {1}', 'no path leads from {0} to {1}'),
        'tightened': ('{0} is tight', '{0} is not tight'),
        'loose': ('{0} is loose', '{0} is not loose'),
    },
    steps={
        'walk': 'have {2} walk from {0} to {1}',
        'pickup_spanner': 'have {2} pick up {1} at {0}',
        'tighten_nut': 'have {2} tighten {3} with {1} at {0}',
    },
)
"""The words of this domain."""


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

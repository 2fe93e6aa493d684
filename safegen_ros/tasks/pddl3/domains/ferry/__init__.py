# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Ferry: one boat takes cars between locations, one car at a time."""

from safegen_ros.language.lexicon import Wording
from safegen_ros.tasks.pddl3.domains.ferry.families import FAMILIES
from safegen_ros.tasks.pddl3.domains.ferry.problems import direct_steps, draw, measure
from safegen_ros.tasks.pddl3.domains.kit import DomainKit, SizeParameter

WORDING = Wording(
    nouns={'object': ('thing', 'things')},
    facts={
        'not-eq': (
            '{0} is another place than {1}',
            '{0} is not another place than {1}',
        ),
        'car': ('{0} is a car', '{0} is not a car'),
        'location': ('{0} is a location', '{0} is not a location'),
        'at-ferry': ('the ferry is at {0}', 'the ferry is not at {0}'),
        'at': ('car {0} is at {1}', 'car {0} is not at {1}'),
        'empty-ferry': ('the ferry is empty', 'the ferry is not empty'),
        'on': ('car {0} is on the ferry', 'car {0} is not on the ferry'),
    },
    kinds={'location': ('location', 'locations'), 'car': ('car', 'cars')},
    distinct=('not-eq', 'location'),
    steps={
        'sail': 'sail from {0} to {1}',
        'board': 'take {0} on board at {1}',
        'debark': 'put {0} ashore at {1}',
    },
)
"""The words of this domain."""


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

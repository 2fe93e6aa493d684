# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""_template: a robot with one hand carries things between places."""

from safegen_ros.language.lexicon import Wording
from safegen_ros.tasks.pddl3.domains._template.families import FAMILIES
from safegen_ros.tasks.pddl3.domains._template.problems import direct_steps, draw, measure
from safegen_ros.tasks.pddl3.domains.kit import DomainKit, SizeParameter

WORDING = Wording(
    nouns={
        'place': ('place', 'places'),
        'thing': ('thing', 'things'),
        'object': ('object', 'objects'),
    },
    facts={
        'robot-at': ('the robot is at {0}', 'the robot is not at {0}'),
        'thing-at': ('{0} lies at {1}', '{0} does not lie at {1}'),
        'hand-empty': ('the hand is empty', 'the hand is not empty'),
        'holding': ('the robot holds {0}', 'the robot does not hold {0}'),
    },
    steps={
        'go': 'go from {0} to {1}',
        'take': 'take {0} at {1}',
        'put': 'put {0} down at {1}',
    },
)
"""The words of this domain."""


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

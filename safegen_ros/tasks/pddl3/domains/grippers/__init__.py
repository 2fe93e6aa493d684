# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Grippers: robots with two grippers each carry objects between rooms."""

from safegen_ros.language.lexicon import Wording
from safegen_ros.tasks.pddl3.domains.grippers.families import FAMILIES
from safegen_ros.tasks.pddl3.domains.grippers.problems import direct_steps, draw, measure
from safegen_ros.tasks.pddl3.domains.kit import DomainKit, SizeParameter

WORDING = Wording(
    nouns={
        'robot': ('robot', 'robots'),
        'gripper': ('gripper', 'grippers'),
        'room': ('room', 'rooms'),
        'object': ('object', 'objects'),
    },
    facts={
        'at-robby': ('{0} is in {1}', '{0} is not in {1}'),
        'at': ('{0} lies in {1}', '{0} does not lie in {1}'),
        'free': ('gripper {1} of {0} is free', 'gripper {1} of {0} is not free'),
        'carry': ('{0} carries {1} with {2}', '{0} does not carry {1} with {2}'),
    },
    steps={
        'move': 'move {0} from {1} to {2}',
        'pick': 'have {0} pick up {1} in {2} with {3}',
        'drop': 'have {0} put {1} down in {2} with {3}',
    },
)
"""The words of this domain."""


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

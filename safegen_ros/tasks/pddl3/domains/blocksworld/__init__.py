# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Blocksworld: one arm, blocks on a table or on each other, four operators."""

from safegen_ros.language.lexicon import Wording
from safegen_ros.tasks.pddl3.domains.blocksworld.families import FAMILIES
from safegen_ros.tasks.pddl3.domains.blocksworld.problems import direct_steps, draw, measure
from safegen_ros.tasks.pddl3.domains.kit import DomainKit, SizeParameter

WORDING = Wording(
    nouns={'object': ('block', 'blocks')},
    facts={
        'clear': ('block {0} is clear', 'block {0} is not clear'),
        'on-table': ('block {0} is on the table', 'block {0} is not on the table'),
        'arm-empty': ('the arm is empty', 'the arm is not empty'),
        'holding': ('the arm holds block {0}', 'the arm does not hold block {0}'),
        'on': ('block {0} is on block {1}', 'block {0} is not on block {1}'),
    },
    steps={
        'pickup': 'pick up {0} from the table',
        'putdown': 'put {0} down on the table',
        'stack': 'put {0} on {1}',
        'unstack': 'take {0} off {1}',
    },
)
"""The words of this domain."""


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

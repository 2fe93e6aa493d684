# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Blocksworld in English."""

from safegen_ros.language.vocabulary import Wording

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

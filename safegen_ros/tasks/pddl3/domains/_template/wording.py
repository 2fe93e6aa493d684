# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""_template in English."""

from safegen_ros.language.vocabulary import Wording

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

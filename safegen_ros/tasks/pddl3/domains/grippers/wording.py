# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Grippers in English."""

from safegen_ros.language.vocabulary import Wording

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

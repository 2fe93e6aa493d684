# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Grippers in English."""

from safegen_ros.worlds.pddl3.domains.wording import Wording

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
)
"""The words of this domain."""

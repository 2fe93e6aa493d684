# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Spanner in English."""

from safegen_ros.language.vocabulary import Wording

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

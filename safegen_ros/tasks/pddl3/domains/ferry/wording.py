# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Ferry in English."""

from safegen_ros.language.vocabulary import Wording

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

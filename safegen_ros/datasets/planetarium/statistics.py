# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a dataset of descriptions is made of, counted row by row."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from safegen_ros.datasets.failures import DatasetError
from safegen_ros.datasets.manifest import STATISTICS, read_statistics
from safegen_ros.datasets.planetarium.pairs import Pair, kits

_COUNTED = ('split', 'abstraction', 'size', 'placeholder', 'fold', 'task')


class Statistics:
    """A dataset, counted."""

    def __init__(self) -> None:
        self._counts: dict[str, dict[str, Counter[str]]] = {}

    def add(self, pair: Pair) -> None:
        """Counts a row."""
        counts = self._counts.setdefault(pair.domain, {name: Counter() for name in _COUNTED})
        for name in _COUNTED[:-1]:
            counts[name][str(getattr(pair, name))] += 1
        counts['task'][f'{pair.start}_to_{pair.goal}'] += 1

    def values(self) -> dict[str, dict[str, dict[str, int]]]:
        """Plain values for JSON, by domain."""
        return {
            domain: {name: dict(sorted(counts.items())) for name, counts in found.items()}
            for domain, found in ((d, self._counts[d]) for d in kits() if d in self._counts)
        }

    def to_json(self) -> str:
        """The text of its file."""
        return json.dumps(self.values(), indent=1) + '\n'


def load_statistics(folder: Path) -> dict[str, dict[str, dict[str, int]]]:
    """The values of the statistics of a dataset.

    Raises:
        DatasetError: there are none, or they are unreadable.
    """
    values = read_statistics(folder)
    if any(set(v) != set(_COUNTED) for v in values.values()):
        raise DatasetError(f'{folder / STATISTICS}: holds no statistics: build the dataset again')
    return values


PAPER = {
    'blocksworld': (22_595, 20_152, 20_152, 22_706, 963, 10_011, 47_153, 25_766, 1_712),
    'gripper': (13_683, 10_565, 12_466, 17_427, 2_334, 13_640, 16_405, 20_325, 1_437),
    'floor-tile': (2_289, 797, 793, 2_293, 706, 2_114, 2_224, 404, 724),
}
"""Table 1: rows of each of `ABSTRACTIONS`, then of each of `SIZES` of `pairs`."""

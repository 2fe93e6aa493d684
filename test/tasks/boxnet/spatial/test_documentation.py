# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What docs/boxnet3d.md shows is what comes out."""

from __future__ import annotations

import doctest
from pathlib import Path

DOCUMENT = Path(__file__).parents[4] / 'docs' / 'boxnet3d.md'


def test_the_examples_of_the_document_are_right() -> None:
    failed, attempted = doctest.testfile(str(DOCUMENT), module_relative=False)
    assert (failed, attempted > 8) == (0, True)

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The splits, and the rule that keeps a class of problems on one side of them."""

from __future__ import annotations

from typing import Literal, get_args

Split = Literal['train', 'test', 'test_family', 'test_renamed']

SPLITS: tuple[Split, ...] = get_args(Split)
"""`test` holds problems that are new up to renaming, `test_family` those of constraint families
that no other split has, and `test_renamed` training problems in a new text."""

TEST_SHARE = 8
"""One class of problems in so many is a test class."""


def is_test_class(key: str) -> bool:
    """Whether problems with this canonical key must never be trained on.

    The rule looks at the key alone (`isomorphism.CanonicalProblem.key`), so it holds for every
    dataset, whatever its seed and size, and for problems that are made while a model trains.
    """
    return int(key, 16) % TEST_SHARE == 0

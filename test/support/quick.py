# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin of `make quick`: the test that imports ROS or torch fails."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

SLOW_TO_IMPORT = {'rclpy', 'torch', 'transformers'}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[object]:
    before = SLOW_TO_IMPORT & sys.modules.keys()
    result = yield
    if found := (SLOW_TO_IMPORT & sys.modules.keys()) - before:
        raise pytest.UsageError(
            f'{item.nodeid} imports {", ".join(sorted(found))}: mark it slow, or import it later'
        )
    return result

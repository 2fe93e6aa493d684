# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.fault_stack import Stack, fault_stack


@pytest.fixture(scope='module')
def stack(
    request: pytest.FixtureRequest, ros_domain: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stack]:
    """A stack for all rows of the module's `TRANSPORT`."""
    folder = tmp_path_factory.mktemp('faults')
    with pytest.MonkeyPatch.context() as patch:
        for name in ('SAFEGEN_RUNTIME_DIR', 'SAFEGEN_STATE_DIR'):
            patch.setenv(name, str(folder))
        with fault_stack(request.module.TRANSPORT, ros_domain, folder) as running:
            yield running

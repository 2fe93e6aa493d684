# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A ROS domain belongs to one stack, and has to be one that DDS can take."""

from __future__ import annotations

import pytest

from safegen_ros.bringup import BringupError
from safegen_ros.processes.state import DomainLock, current_domain


def test_a_domain_is_free_again_after_release(tmp_path, monkeypatch):
    monkeypatch.setenv('SAFEGEN_RUNTIME_DIR', str(tmp_path))
    lock = DomainLock(7)
    with pytest.raises(BringupError, match='ROS domain 7'):
        DomainLock(7)
    lock.release()
    DomainLock(7).release()


@pytest.mark.parametrize('text', ['102', '-1', 'x', '1.0', '٣'])
def test_a_domain_outside_the_safe_range_is_refused(text):
    with pytest.raises(BringupError, match='0 to 101'):
        current_domain({'ROS_DOMAIN_ID': text})

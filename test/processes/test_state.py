# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A ROS domain belongs to one stack, and has to be one that DDS can take."""

from __future__ import annotations

import pytest

from safegen_ros.errors import BringupError
from safegen_ros.ros.stack_state import (
    DomainLock,
    StackState,
    current_domain,
    is_held,
    read_state,
    running_stacks,
)


def test_a_domain_is_free_again_after_release(tmp_path, monkeypatch):
    monkeypatch.setenv('SAFEGEN_RUNTIME_DIR', str(tmp_path))
    lock = DomainLock(7)
    with pytest.raises(BringupError, match='ROS domain 7'):
        DomainLock(7)
    lock.release()
    DomainLock(7).release()


def _hold(namespace):
    lock = DomainLock(7, namespace)
    lock.write(StackState(7, 1, 'ready', '', namespace=namespace))
    return lock


def test_each_namespace_of_a_domain_takes_one_stack(tmp_path, monkeypatch):
    monkeypatch.setenv('SAFEGEN_RUNTIME_DIR', str(tmp_path))
    names = ['/', '/lab', '/lab/arm1', '/lab/arm2', '/lab_arm1']
    locks = {name: _hold(name) for name in names}
    for name in names:
        with pytest.raises(BringupError, match=f'in namespace {name} '):
            DomainLock(7, name)
        assert is_held(7, name)
    assert not is_held(7, '/arm1')
    assert not is_held(71)
    assert [state.namespace for state in running_stacks(7)] == names
    locks['/lab/arm1'].release()
    assert read_state(7, '/lab/arm1') is None
    assert read_state(7, '/lab').namespace == '/lab'
    DomainLock(7, '/lab/arm1').release()
    for lock in locks.values():
        lock.release()
    assert running_stacks(7) == []


def test_a_state_of_another_version_is_no_traceback(tmp_path, monkeypatch):
    monkeypatch.setenv('SAFEGEN_RUNTIME_DIR', str(tmp_path))
    lock = _hold('/')
    for text in ('', '{"later": 1}', '[]'):
        (tmp_path / 'safegen/domain-7.json').write_text(text)
        assert read_state(7) is None
    lock.release()


@pytest.mark.parametrize('text', ['102', '-1', 'x', '1.0', '٣'])
def test_a_domain_outside_the_safe_range_is_refused(text):
    with pytest.raises(BringupError, match='0 to 101'):
        current_domain({'ROS_DOMAIN_ID': text})

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a process of a stack is started with, and how it ends, in words."""

from __future__ import annotations

import os
import sys

import pytest

from safegen_ros.bringup.process import child_environment
from safegen_ros.child_process import describe_exit
from safegen_ros.errors import BringupError
from safegen_ros.ros.stack_state import (
    DomainLock,
    StackState,
    current_domain,
    is_held,
    read_state,
    running_stacks,
)


def test_the_mark_of_another_prefix_does_not_reach_a_node():
    environ = {
        '_ROS_WHEELS_BOOTSTRAP_COMPLETE': '1',
        'LD_LIBRARY_PATH': os.pathsep.join(
            [
                '/ws/install/msgs/lib',
                '/other/lib/python3.11/site-packages/ros_rcl.libs',
                '/other/lib',
                f'{sys.prefix}/lib',
            ]
        ),
        'OMP_NUM_THREADS': '3',
    }
    got = child_environment(environ, {'OMP_NUM_THREADS': '1', 'A': 'default'}, {'A': 'extra'})
    assert got == {
        'LD_LIBRARY_PATH': '/ws/install/msgs/lib',
        'OMP_NUM_THREADS': '3',
        'A': 'extra',
    }


def test_an_environment_without_the_mark_is_left_alone():
    environ = {'LD_LIBRARY_PATH': '/opt/ros/kilted/lib'}
    assert child_environment(environ, {}, {}) == environ


@pytest.mark.parametrize(
    ('code', 'words'), [(3, 'exit status 3'), (-9, 'signal SIGKILL'), (-99, 'signal 99')]
)
def test_an_exit_status_in_words(code, words):
    assert describe_exit(code) == words


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

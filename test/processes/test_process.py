# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a process of a stack is started with, and how it ends, in words."""

from __future__ import annotations

import os
import sys

import pytest

from safegen_ros.bringup.process import child_environment
from safegen_ros.child_process import describe_exit


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

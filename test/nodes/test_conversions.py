# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Tasks of messages are read once, and errors of them are told each time."""

from __future__ import annotations

import pytest
from support.blocks_small import THREE_TEXT as THREE

from safegen_msgs import msg
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.ros import conversions
from safegen_ros.ros.conversions import task_from_msg


def test_the_same_text_is_read_once_and_its_readers_share_nothing_else() -> None:
    one, other = task_from_msg(msg.Task(problem=THREE)), task_from_msg(msg.Task(problem=THREE))
    assert one.problem is other.problem
    assert one.validator is not other.validator


def test_another_domain_or_format_is_another_task() -> None:
    domain = task_from_msg(msg.Task(problem=THREE)).domain_text
    assert task_from_msg(msg.Task(problem=THREE, domain=domain)).problem is not (
        task_from_msg(msg.Task(problem=THREE)).problem
    )
    with pytest.raises(SafegenError):
        task_from_msg(msg.Task(problem=THREE, format='json'))


def test_a_long_task_is_not_kept() -> None:
    long = msg.Task(problem=THREE + ';' * conversions._REMEMBERED)
    assert task_from_msg(long).problem is not task_from_msg(long).problem


def test_a_bad_task_is_refused_each_time() -> None:
    for _ in range(2):
        with pytest.raises(SafegenError) as caught:
            task_from_msg(msg.Task(problem='(define'))
        assert caught.value.code is ErrorCode.BAD_PDDL

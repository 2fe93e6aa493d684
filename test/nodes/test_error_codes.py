# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Every error code is made by what makes it in a stack; a new one needs a case here."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.blocks_small import LASTING_PLAN, LASTING_TEXT, THREE, THREE_TEXT
from support.command_line import CommandLine
from support.executed import execute_plan
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
from safegen_ros.planning.goal_queue import GoalQueue
from safegen_ros.planning.levels import level_names
from safegen_ros.planning.loop import Level, plan_with_levels
from safegen_ros.robot.arms.mycobot_280 import MYCOBOT_280
from safegen_ros.robot.cell.blocks import simulated_cell
from safegen_ros.robot.cell.rehearsal import rehearse
from safegen_ros.robot.cell.symbolic import SymbolicCell
from safegen_ros.robot.mycobot.link import open_serial
from safegen_ros.robot.scene import load_scene
from safegen_ros.ros import actions as goal_sender
from safegen_ros.ros import conversions
from safegen_ros.search.solve import solve
from safegen_ros.sync import PlanningDeadline, boottime
from safegen_ros.tasks.pddl3.planning.strategy import search_level
from safegen_ros.tasks.pddl3.task import load_task
from safegen_ros.tasks.site import bind, read_site
from safegen_ros.verify.run_monitor import RunMonitor

UNSOLVABLE = load_task(THREE_TEXT.replace('(on c a)', '(on b a)'))
BY_MODEL = Options(max_attempts=255, search_fallback=False, strategy='model')
BY_SEARCH = Options(strategy='search')
SITE = 'domains: {blocksworld: {objects: [a, b], constraints: [(always (not (on a b)))]}}'


def raised(work: Callable[..., Any], *arguments: Any, **options: Any) -> ErrorCode:
    with pytest.raises(SafegenError) as caught:
        work(*arguments, **options)
    assert caught.value.message
    return caught.value.code


def _executed(disturb: Callable[[Any, Any], Any] = lambda step, state: state) -> ErrorCode:
    cell = SymbolicCell(THREE.problem, disturb=disturb)
    return execute_plan(THREE.problem, THREE_PLAN, cell, time_budget_s=WAIT_S).error_code


def _gone() -> ErrorCode:
    with simulated_cell(load_scene()) as cell:
        cell.close()
        return execute_plan(THREE.problem, THREE_PLAN, cell, time_budget_s=WAIT_S).error_code


def _planned(level: Level, problem: Any = THREE) -> ErrorCode:
    return plan_with_levels((level,), problem.verify, WAIT_S).error_code


def _search(problem: Any) -> Level:
    return search_level(lambda left, stop: solve(problem.problem, time_limit_s=left).plan)


def _in_the_line(deadline: PlanningDeadline, reserve: bool = True) -> ErrorCode:
    queue = GoalQueue(running=1, waiting=0)
    with queue.entered():
        if not reserve:
            return raised(queue.place(deadline).__enter__)
        with queue.turn(PlanningDeadline(WAIT_S, lambda: False)):
            return raised(queue.turn(deadline).__enter__)


def _unfinished() -> ErrorCode:
    monitor = RunMonitor(THREE.problem, Plan())
    monitor.look(THREE.problem.init)
    return raised(monitor.finish)


BY_FUNCTION: dict[ErrorCode, Callable[[], ErrorCode]] = {
    ErrorCode.SITE_REFUSED: lambda: raised(bind, THREE, read_site(SITE, 'site.yaml')),
    ErrorCode.NONE: _executed,
    ErrorCode.UNKNOWN: lambda: conversions.code_from_msg(65535),
    ErrorCode.BAD_PDDL: lambda: raised(load_task, '(define'),
    ErrorCode.UNKNOWN_DOMAIN: lambda: raised(load_task, THREE_TEXT.replace('blocksworld', 'chess')),
    ErrorCode.UNSUPPORTED_FEATURE: lambda: raised(
        load_task, THREE_TEXT.replace('(:objects', '(:requirements :hddl) (:objects')
    ),
    ErrorCode.TASK_TOO_LARGE: lambda: raised(
        conversions.task_from_msg, Task(problem='x' * 10_000_000)
    ),
    ErrorCode.EMPTY_TASK: lambda: raised(load_task, ''),
    ErrorCode.UNKNOWN_FORMAT: lambda: raised(load_task, THREE_TEXT, format='xml'),
    ErrorCode.UNKNOWN_STRATEGY: lambda: raised(level_names, 'luck'),
    ErrorCode.ATTEMPTS_EXHAUSTED: lambda: _planned(
        Level('model', 1, lambda history, deadline: (text for text in ['no idea']))
    ),
    ErrorCode.UNSOLVABLE: lambda: _planned(_search(UNSOLVABLE), UNSOLVABLE),
    ErrorCode.PLANNING_TIMEOUT: lambda: _in_the_line(PlanningDeadline(0.0, lambda: False)),
    ErrorCode.PLANNING_CANCELED: lambda: _in_the_line(PlanningDeadline(WAIT_S, lambda: True)),
    ErrorCode.QUEUE_FULL: lambda: _in_the_line(
        PlanningDeadline(WAIT_S, lambda: False), reserve=False
    ),
    ErrorCode.ROBOT_FAULT: _gone,
    ErrorCode.LIMIT_VIOLATION: lambda: raised(MYCOBOT_280.check_joints, np.full(6, 4.0)),
    ErrorCode.OUT_OF_REACH: lambda: raised(
        MYCOBOT_280.inverse_top_down, 2.0, 0.0, 0.1, 0.0, tool_length=0.1, seed=np.zeros(6)
    ),
    ErrorCode.STATE_MISMATCH: lambda: _executed(lambda step, state: state - {('holding', 'a')}),
    ErrorCode.MONITOR_VIOLATION: lambda: _executed(lambda step, state: state | {('on', 'c', 'b')}),
    ErrorCode.GOAL_MISMATCH: _unfinished,
    ErrorCode.UNSUPPORTED_SCENE: lambda: raised(
        SymbolicCell(THREE.problem).execute, 'dance', ('a',)
    ),
    ErrorCode.REHEARSAL_FAILED: lambda: raised(
        rehearse, THREE.problem, THREE_PLAN, load_scene(), time_limit_s=0.0
    ),
    ErrorCode.ARM_UNREACHABLE: lambda: raised(open_serial, '/dev/no-arm', 115200),
}


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


@pytest.mark.parametrize('code', list(BY_FUNCTION), ids=lambda code: code.name)
def test_a_code_of_a_function(code: ErrorCode) -> None:
    assert BY_FUNCTION[code]() is code


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


def test_every_code_has_a_case() -> None:
    assert not set(BY_FUNCTION) & set(BY_STACK)
    assert set(BY_FUNCTION) | set(BY_STACK) == set(ErrorCode)

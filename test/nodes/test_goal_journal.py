# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The nodes write every goal down, whoever sent it, before they tell anybody how it goes."""

from __future__ import annotations

import os
import resource
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.blocks_small import LASTING_TEXT as LONG
from support.blocks_small import THREE_TEXT as THREE
from support.goals import WAIT_S, Feedback
from support.kept_runs import assert_same_again
from support.model_server import MODEL, ModelServer
from support.stopping import THREE_PLAN, Operator
from support.waiting import patient_file, wait_until
from unique_identifier_msgs.msg import UUID

from safegen_msgs.action import ExecutePlan, PlanTask, RunTask
from safegen_msgs.msg import Task
from safegen_ros.bringup.supervisor import Supervisor
from safegen_ros.bringup.table import node_specs
from safegen_ros.client import Client, Options
from safegen_ros.errors import ErrorCode
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.record.history import SUCCESS, ListedRun, list_runs, outcome_of
from safegen_ros.record.node_journal import load_goals
from safegen_ros.record.replay import reexecute, reverify, why_not_executed
from safegen_ros.record.run_log import RunState
from safegen_ros.robot.scene import load_scene
from safegen_ros.ros import conversions
from safegen_ros.ros.calls import wait_for
from safegen_ros.ros.liveness import HeartbeatPublisher
from safegen_ros.ros.rclpy_compat import GoalClient
from safegen_ros.ros.stack_state import read_state

TOO_LONG = 'x' * 10_000_000


@pytest.fixture(scope='module')
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all runs."""
    return tmp_path_factory.mktemp('runs')


@pytest.fixture(scope='module')
def stack(
    ros_domain: int, root: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Supervisor]:
    folder = tmp_path_factory.mktemp('stack')
    with ModelServer() as server:
        values = {
            'params_file': patient_file(folder), 'model': f'{server.url}#{MODEL}',
            'cell': 'symbolic', 'real_time_factor': 2.0,
        }  # fmt: skip
        environment = {'ROS_DOMAIN_ID': str(ros_domain), 'SAFEGEN_RUNS_DIR': str(root)}
        specs = node_specs('sim', values)
        with Supervisor(specs, log_dir=folder, environment=environment) as running:
            running.wait_ready()
            yield running


class PlainClient:
    """What any node does that sends goals, with a heartbeat, and has none of `safegen_ros`."""

    def __init__(self, client: Client) -> None:
        self._node = client.node
        self._heartbeat = HeartbeatPublisher(client.node)

    def send(self, kind: Any, name: str, goal: Any) -> tuple[str, Any]:
        """The id and the result of a goal."""
        action = GoalClient(self._node, kind, name)
        assert action.wait_for_server(timeout_sec=WAIT_S)
        lost = ErrorCode.SERVER_LOST
        id = UUID(uuid=list(uuid.uuid4().bytes))
        self._heartbeat.begin(id)
        handle = wait_for(action.send_goal_async(goal, goal_uuid=id), WAIT_S, name, lost)
        assert handle.accepted
        answer = wait_for(handle.get_result_async(), WAIT_S, name, lost)
        return bytes(handle.goal_id.uuid).hex(), answer.result


@pytest.fixture(scope='module')
def plain(client: Client) -> PlainClient:
    return PlainClient(client)


def _run_of(root: Path, goal: str) -> ListedRun:
    (found,) = (
        run
        for run in list_runs(root)
        if run.kept and run.kept.goals and run.kept.goals[0].id == goal
    )
    return found


@pytest.mark.nightly
def test_a_goal_of_any_client_is_listed_shown_and_replayed(plain: PlainClient, root: Path) -> None:
    goal, result = plain.send(
        RunTask, 'run_task', RunTask.Goal(task=Task(problem=THREE), strategy='search')
    )
    assert result.error_code == ErrorCode.NONE, result.error_msg
    run = _run_of(root, goal)
    kept = run.kept
    assert kept is not None
    record = kept.record
    assert (outcome_of(kept), kept.state, run.name[-8:]) == (SUCCESS, RunState.ENDED, goal[:8])
    assert (record.task.name, record.task.problem, record.cell) == ('three', THREE, 'symbolic')
    assert [a.text for a in record.attempts] == [a.text for a in result.attempts]
    assert record.plan_source == 'search'
    assert [step.step for step in record.steps] == list(record.plan)
    assert record.steps_done == len(record.plan) == result.steps_done
    assert all(step.seconds is not None for step in record.steps)
    assert set(record.worlds[-1].facts) == set(result.final_state.facts)
    assert [world.done for world in record.worlds] == [1, 2, 3, 4]  # each step, as it was observed
    assert '(holding a)' in record.worlds[0].facts
    assert [g.action for g in kept.goals] == ['run_task', 'execute_plan']
    assert_same_again(record)
    assert why_not_executed(record) == ''
    assert not reexecute(record, load_scene()).differences


def test_what_was_not_done_is_written_down_too(plain: PlainClient, root: Path) -> None:
    planned, result = plain.send(
        PlanTask, 'plan_task', PlanTask.Goal(task=Task(problem=THREE), strategy='search')
    )
    assert result.error_code == ErrorCode.NONE, result.error_msg
    unread, _ = plain.send(RunTask, 'run_task', RunTask.Goal(task=Task(problem='(define')))
    long, _ = plain.send(PlanTask, 'plan_task', PlanTask.Goal(task=Task(problem=TOO_LONG)))
    refused, _ = plain.send(
        ExecutePlan,
        'execute_plan',
        ExecutePlan.Goal(
            task=Task(problem=THREE), plan=conversions.plan_to_msg(parse_plan('(pickup a)'))
        ),
    )
    outcomes = {}
    for goal in (planned, unread, long, refused):
        kept = _run_of(root, goal).kept
        assert kept is not None
        outcomes[goal] = outcome_of(kept)
        assert not any(check.differences for check in reverify(kept.record))
    assert outcomes == {
        planned: SUCCESS, unread: 'BAD_PDDL', long: 'TASK_TOO_LARGE', refused: 'PLAN_REFUSED',
    }  # fmt: skip
    kept = _run_of(root, refused).kept
    assert kept is not None
    assert kept.record.plan == ('(pickup a)',)
    assert not kept.record.steps


def test_a_stop_and_its_reset_are_in_the_record_of_the_goal_that_it_ended(
    client: Client, root: Path
) -> None:
    operator = Operator(client)
    feedback = Feedback(lambda f: f.execution.phase == 'moving')
    goal = client.start_run(LONG, options=Options(strategy='search'), on_feedback=feedback)
    feedback.wait()
    assert operator.call('stop').success
    assert goal.result().error_code == ErrorCode.EXECUTION_STOPPED
    operator.reset()
    kept = _run_of(root, goal.id).kept
    assert kept is not None
    assert outcome_of(kept) == 'EXECUTION_STOPPED'
    (stop,) = (entry.data for entry in kept.entries if entry.kind == 'stop')
    assert (stop['stopped'], stop['reason']) == (True, 'the service stop was called')
    times = [entry.time for entry in kept.entries]
    assert times == sorted(times)


def test_an_executor_that_cannot_write_does_not_move(
    client: Client, ros_domain: int, root: Path
) -> None:
    running = read_state(ros_domain)
    assert running is not None
    executor = running.nodes['/executor']
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    before = resource.prlimit(executor, resource.RLIMIT_FSIZE, (1, unlimited[1]))
    assert before == unlimited
    try:
        result = client.execute(THREE, THREE_PLAN)
    finally:
        resource.prlimit(executor, resource.RLIMIT_FSIZE, before)
    assert ErrorCode(result.error_code) is ErrorCode.JOURNAL_FAILED, result.error_msg
    assert (result.steps_done, result.final_state.facts) == (0, [])
    assert 'journal.db: the journal cannot be used: ' in result.error_msg
    again = client.execute(THREE, THREE_PLAN)
    assert ErrorCode(again.error_code) is ErrorCode.NONE, again.error_msg
    assert not load_goals(root).broken


def test_a_goal_that_ended_while_the_disk_was_full_is_not_running_for_ever(
    client: Client, ros_domain: int, root: Path
) -> None:
    running = read_state(ros_domain)
    assert running is not None
    executor = running.nodes['/executor']
    feedback = Feedback(lambda f: (f.progress.phase, f.progress.step) == ('moving', 1))
    goal = client.start_execute(THREE, THREE_PLAN, on_feedback=feedback)
    feedback.wait()
    before = resource.prlimit(executor, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
    try:
        result = goal.result()
    finally:
        resource.prlimit(executor, resource.RLIMIT_FSIZE, before)
    assert ErrorCode(result.error_code) is ErrorCode.JOURNAL_FAILED, result.error_msg
    Operator(client).reset()  # which is written next
    kept = _run_of(root, goal.id).kept
    assert kept is not None
    assert outcome_of(kept) == 'JOURNAL_FAILED'
    assert kept.record.message == result.error_msg


def test_records_that_vanish_while_the_arm_moves_stop_it(client: Client, root: Path) -> None:
    feedback = Feedback(lambda f: (f.execution.phase, f.execution.step) == ('moving', 2))
    goal = client.start_run(LONG, options=Options(strategy='search'), on_feedback=feedback)
    feedback.wait()
    away = root.with_name('away')
    root.rename(away)
    try:
        result = goal.result()
        unwritten = client.run(THREE, options=Options(strategy='search'))
    finally:
        away.rename(root)
    assert ErrorCode(unwritten.error_code) is ErrorCode.JOURNAL_FAILED, unwritten.error_msg
    stopped = client.run(THREE, options=Options(strategy='search'))
    assert ErrorCode(stopped.error_code) is ErrorCode.PLANNING_STOPPED, stopped.error_msg
    Operator(client).reset()
    assert ErrorCode(result.error_code) is ErrorCode.JOURNAL_FAILED, result.error_msg
    assert 'was deleted, moved or replaced' in result.error_msg
    moved = max(f.execution.step for f in feedback.seen if f.execution.phase == 'moving')
    assert moved == 2
    assert not load_goals(root).broken


def test_what_was_told_of_a_goal_outlives_every_node(
    client: Client, ros_domain: int, root: Path
) -> None:
    """The last test of the module, as it leaves no stack."""
    feedback = Feedback(lambda f: (f.execution.phase, f.execution.step) == ('moving', 2))
    goal = client.start_run(LONG, options=Options(strategy='search'), on_feedback=feedback)
    feedback.wait()
    running = read_state(ros_domain)
    assert running is not None
    for node in ('executor', 'planner', 'validator'):
        os.kill(running.nodes[f'/{node}'], signal.SIGKILL)

    def cut_off() -> bool:
        kept = _run_of(root, goal.id).kept
        return kept is not None and kept.state is RunState.CUT_OFF

    wait_until(cut_off, 'the end of the processes', 0.02)
    assert not load_goals(root).broken
    kept = _run_of(root, goal.id).kept
    assert kept is not None
    record = kept.record
    told = [f.planning.attempt.text for f in feedback.seen if f.planning.phase == 'judged']
    assert [attempt.text for attempt in record.attempts] == told
    moving = [f.execution.step for f in feedback.seen if f.execution.phase == 'moving']
    assert [step.index for step in record.steps][: len(moving)] == moving
    observed = [f.execution.step for f in feedback.seen if f.execution.phase == 'observed']
    assert record.steps_done >= observed[-1] >= 2
    assert_same_again(record)

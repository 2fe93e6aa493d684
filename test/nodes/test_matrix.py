# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Who ends a goal, in which phase: it ends, nothing is done afterwards, and the next one works.

In a symbolic cell, whose steps take a while: the phases before the motion. Motions of the twin end
in test_stack.py, test_stop.py and the fault matrix, which also kills nodes and clients. Every step
that was begun is in the journal, since it is written there first.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from action_msgs.msg import GoalStatus
from support.blocks_small import LASTING_PLAN as LONG_PLAN
from support.blocks_small import LASTING_TEXT as LONG
from support.blocks_small import THREE_TEXT as THREE
from support.goals import WAIT_S, Feedback
from support.model_server import MODEL, ModelServer
from support.single_nodes import SingleNodes
from support.stopping import PICK, STOPPED, Operator
from support.waiting import patient_file, wait_until

from safegen_msgs.action import ExecutePlan
from safegen_msgs.msg import Task
from safegen_ros.client import Client, Goal, Options
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.record.history import outcome_of
from safegen_ros.record.node_journal import load_goals
from safegen_ros.record.run_log import KeptRun
from safegen_ros.ros.calls import wait_for
from safegen_ros.ros.rclpy_compat import GoalClient

SILENCE_S = 4.0  # longer than a busy machine holds up a client that lives
BY_MODEL = Options(max_attempts=255, search_fallback=False, strategy='model')
BY_SEARCH = Options(strategy='search')


@pytest.fixture(scope='module')
def nodes(
    server: ModelServer, ros_domain: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SingleNodes]:
    folder = tmp_path_factory.mktemp('nodes')
    late = {'goals_waiting': 1, 'validator_timeout': 6.0}
    values = {
        'params_file': patient_file(folder, SILENCE_S, planner=late),
        'cell': 'symbolic',
        'real_time_factor': 2.0,
        'model': f'{server.url}#{MODEL}',
    }
    with SingleNodes(ros_domain, folder, values) as running:
        yield running


@pytest.fixture(scope='module')
def client(nodes: SingleNodes) -> Iterator[Client]:
    with Client() as connected:
        nodes.mend(connected)
        yield connected


@pytest.fixture(autouse=True)
def mended(
    nodes: SingleNodes, client: Client, server: ModelServer, operator: Operator
) -> Iterator[None]:
    """After each test all is up again, nothing has resumed, and the next goal works."""
    server.fault = ''
    yield
    server.fault = ''
    begun = _steps(nodes)
    nodes.resume()
    wait_until(lambda: not _running(nodes), 'the end of all goals', 0.2)
    ended = _steps(nodes)
    assert ended <= begun + 1, 'more than the step that was under way'
    nodes.mend(client)
    operator.reset()
    planned = client.plan(THREE, options=BY_SEARCH)
    assert ErrorCode(planned.error_code) is ErrorCode.NONE, planned.error_msg
    assert _steps(nodes) == ended, 'something went on by itself'
    again = client.execute(PICK, parse_plan('(pickup a)'))
    assert ErrorCode(again.error_code) is ErrorCode.NONE, again.error_msg


def _kept(nodes: SingleNodes) -> dict[str, KeptRun]:
    found = load_goals(nodes.runs)
    assert not found.broken
    return {goal: kept for goal, (_, kept) in found.runs.items()}


def _steps(nodes: SingleNodes) -> int:
    """How many steps have been begun in all."""
    return sum(len(kept.record.steps) for kept in _kept(nodes).values())


def _running(nodes: SingleNodes) -> bool:
    return any(outcome_of(kept) == 'RUNNING' for kept in _kept(nodes).values())


def _phase(feedback: Any) -> tuple[str, str, int]:
    """Stage, phase and step of the feedback of any action."""
    part = getattr(feedback, 'progress', None)
    if part is None:
        part = feedback.execution if feedback.stage == 'execution' else feedback.planning
    executes = hasattr(part, 'step')
    return ('execution' if executes else 'planning', part.phase, part.step if executes else 0)


VERIFYING = 'verifying again'
MOVING, HOLDING = ('execution', 'moving', 0), ('execution', 'moving', 1)


@dataclass(frozen=True)
class Phase:
    """How a goal comes into a phase and stays there."""

    reached: tuple[str, str, int]
    options: Options = BY_SEARCH
    paused: str = ''


PHASES = {
    'generating': Phase(('planning', 'generating', 0), BY_MODEL),
    'validating': Phase(('planning', 'verifying', 0), paused='validator'),
    'rehearsing': Phase(('planning', 'rehearsing', 0), paused='executor'),
    VERIFYING: Phase(('execution', 'verifying', 0)),
    'moving': Phase(MOVING),
    'holding a block': Phase(HOLDING),
}
PLANNING = ('generating', 'validating', 'rehearsing')


def _start(
    client: Client, action: str, options: Options, feedback: Feedback, problem: str = LONG
) -> Goal:
    if action == 'execute_plan':
        return client.start_execute(LONG, LONG_PLAN, on_feedback=feedback)
    start = client.start_plan if action == 'plan_task' else client.start_run
    return start(problem, options=options, on_feedback=feedback)


@contextmanager
def _in_phase(
    client: Client,
    nodes: SingleNodes,
    server: ModelServer,
    action: str,
    name: str,
    problem: str = LONG,
) -> Iterator[Goal]:
    phase = PHASES[name]
    model = phase.options is BY_MODEL
    if model:
        server.fault = 'silent'
    asked = server.waiting
    if phase.paused:
        nodes.pause(phase.paused)
    feedback = Feedback(lambda f: _phase(f) == phase.reached)
    goal = _start(client, action, phase.options, feedback, problem)
    feedback.wait()
    if model:
        server.wait('waiting', asked + 1, WAIT_S)
    yield goal


CANCELS = [
    ('plan_task', 'generating'),
    *(('run_task', phase) for phase in ('validating', 'rehearsing', VERIFYING)),
    ('execute_plan', VERIFYING),
]


@pytest.mark.parametrize(('action', 'phase'), CANCELS)
def test_cancel(
    client: Client, nodes: SingleNodes, server: ModelServer, action: str, phase: str
) -> None:
    with _in_phase(client, nodes, server, action, phase) as goal:
        result = goal.cancel()
    expected = ErrorCode.PLANNING_CANCELED if phase in PLANNING else ErrorCode.EXECUTION_CANCELED
    assert ErrorCode(result.error_code) is expected, result.error_msg
    assert goal.status == GoalStatus.STATUS_CANCELED
    assert outcome_of(_kept(nodes)[goal.id]) == expected.name


@pytest.mark.parametrize(('action', 'ends'), [('plan_task', 'cancel'), ('run_task', 'stop')])
def test_a_goal_in_the_line(
    client: Client,
    nodes: SingleNodes,
    server: ModelServer,
    operator: Operator,
    action: str,
    ends: str,
) -> None:
    with _in_phase(client, nodes, server, 'plan_task', 'generating') as first:
        feedback = Feedback(lambda f: _phase(f)[1] == 'waiting')
        second = _start(client, action, BY_MODEL, feedback)
        feedback.wait()
        if ends == 'stop':
            assert operator.call('stop').success
            results = [second.result(), first.result()]
            expected, status = ErrorCode.PLANNING_STOPPED, GoalStatus.STATUS_ABORTED
        else:
            results = [second.cancel(), first.cancel()]
            expected, status = ErrorCode.PLANNING_CANCELED, GoalStatus.STATUS_CANCELED
    assert [ErrorCode(result.error_code) for result in results] == [expected] * 2
    assert [second.status, first.status] == [status] * 2


@pytest.mark.parametrize(
    'ends', ['cancel', 'stop', pytest.param('nobody', marks=pytest.mark.nightly)]
)
def test_a_goal_that_waits_for_the_arm(
    client: Client, nodes: SingleNodes, server: ModelServer, operator: Operator, ends: str
) -> None:
    """It is planned while the goal before it moves, and so are goals that move nothing."""
    problem = THREE if ends == 'nobody' else LONG
    with _in_phase(client, nodes, server, 'run_task', 'moving', problem) as first:
        feedback = Feedback(lambda f: f.stage == 'planning' and f.planning.phase == 'judged')
        second = client.start_run(THREE, options=BY_SEARCH, on_feedback=feedback)
        feedback.wait()
        assert client.plan(THREE, options=BY_SEARCH).error_code == ErrorCode.NONE
        if ends == 'stop':
            assert operator.call('stop').success
        elif ends == 'cancel':
            assert second.cancel().error_code == ErrorCode.PLANNING_CANCELED
            first.cancel()  # which has gone on, or it would have ended otherwise
        ended, waited = (ErrorCode(goal.result().error_code) for goal in (first, second))
    ends_with = {'cancel': ErrorCode.EXECUTION_CANCELED, 'stop': ErrorCode.EXECUTION_STOPPED}
    assert ended is ends_with.get(ends, ErrorCode.NONE)
    # The arm is free once the stop has ended the first goal. Where the planner hears of that before
    # it hears of the stop, it is the executor that refuses, perhaps before anybody knows why.
    expected = {'cancel': (ErrorCode.PLANNING_CANCELED,), 'stop': STOPPED}
    assert waited in expected.get(ends, (ErrorCode.NONE,))


LOST_SENDER = 'the sender of the goal '


@pytest.mark.nightly
@pytest.mark.parametrize('dies', ['executor', 'planner'])
def test_a_node_dies_and_is_there_again_at_once(
    client: Client, nodes: SingleNodes, server: ModelServer, operator: Operator, dies: str
) -> None:
    """To the middleware it was there all the time; but it has no goal, and resumes none."""
    with _in_phase(client, nodes, server, 'run_task', 'holding a block') as goal:
        nodes.kill(dies)
        nodes.start(dies)
        if dies == 'executor':
            result = goal.result()
            assert ErrorCode(result.error_code) is ErrorCode.EXECUTOR_UNAVAILABLE
            assert 'node /executor ' in result.error_msg  # gone, or started again
            assert f'{result.steps_done} steps are known to be done' in result.error_msg
            assert outcome_of(_kept(nodes)[goal.id]) == 'EXECUTOR_UNAVAILABLE'
        else:
            with pytest.raises(SafegenError, match=r'/planner (was started|sent no)') as caught:
                goal.result()
            assert caught.value.code is ErrorCode.SERVER_LOST
            operator.wait_stopped(LOST_SENDER)


def test_a_goal_whose_sender_has_no_heartbeat_moves_nothing(
    client: Client, nodes: SingleNodes, operator: Operator
) -> None:
    action = GoalClient(client.node, ExecutePlan, 'execute_plan')
    assert action.wait_for_server(timeout_sec=WAIT_S)
    code = ErrorCode.SERVER_LOST
    goal = ExecutePlan.Goal(task=Task(problem=THREE))
    handle = wait_for(action.send_goal_async(goal), WAIT_S, 'the executor', code)
    answer = wait_for(handle.get_result_async(), WAIT_S, 'the executor', code)
    assert answer.status == GoalStatus.STATUS_ABORTED
    assert ErrorCode(answer.result.error_code) is ErrorCode.GOAL_REJECTED
    assert 'safegen_msgs/msg/Heartbeat' in answer.result.error_msg
    assert operator.listener.reason == ''

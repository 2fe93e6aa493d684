# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Somebody moves blocks while the arm is at work, and an operator has to approve of the plans."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from action_msgs.msg import GoalStatus
from support import disturbed_executor
from support.blocks_small import THREE_TEXT as THREE
from support.command_line import CommandLine
from support.goals import WAIT_S, Feedback
from support.stopping import BY_SEARCH, THREE_PLAN, Operator, stoppable_stack
from support.waiting import wait_until
from unique_identifier_msgs.msg import UUID

from safegen_msgs.action import ExecutePlan
from safegen_msgs.msg import MonitorStatus, PendingPlan, Task
from safegen_msgs.srv import MonitorStep
from safegen_ros.bringup.supervisor import Supervisor
from safegen_ros.client import Client, Options
from safegen_ros.errors import ErrorCode
from safegen_ros.goals import recorder
from safegen_ros.nodes.approval import Approver, plan_digest
from safegen_ros.pddl.model import State
from safegen_ros.pddl.plan import Plan
from safegen_ros.ros import conversions, qos
from safegen_ros.ros.calls import wait_for
from safegen_ros.tasks.pddl3.task import load_task

STRATEGY = BY_SEARCH.strategy
LONG_WAIT = '--wait', str(WAIT_S)
"""For a command line, which looks for the nodes anew each time."""
Disturb = Callable[..., None]


@pytest.fixture(scope='module')
def stack(ros_domain: int, folder: Path) -> Iterator[Supervisor]:
    with stoppable_stack(
        ros_domain,
        folder,
        real_time_factor=0.0,
        executor='support.disturbed_executor',
        variables={disturbed_executor.VARIABLE: str(folder / 'acts.json')},
    ) as running:
        yield running


@pytest.fixture
def disturb(folder: Path) -> Iterator[Disturb]:
    file = folder / 'acts.json'
    yield lambda *acts: file.write_text(json.dumps(acts), encoding='utf-8')
    left = json.loads(file.read_text(encoding='utf-8')) if file.exists() else []
    assert not left, 'not everything was disturbed'


class Watched:
    """What the validator says of the last observation."""

    def __init__(self, client: Client) -> None:
        self.last = MonitorStatus()
        client.node.create_subscription(MonitorStatus, 'validator/status', self._take, qos.LATCHED)

    def _take(self, status: MonitorStatus) -> None:
        self.last = status


@pytest.fixture(scope='module')
def watched(client: Client) -> Watched:
    return Watched(client)


def stages(feedback: Feedback) -> list[str]:
    """The stages in their order, each once for as long as it lasts."""
    told = [each.stage for each in feedback.seen]
    return [stage for index, stage in enumerate(told) if told[index - 1 : index] != [stage]]


def facts(result: Any) -> set[str]:
    return set(result.final_state.facts)


def test_the_validator_watches_every_step(client: Client, watched: Watched) -> None:
    result = client.run(THREE, options=BY_SEARCH)
    assert ErrorCode(result.error_code) is ErrorCode.NONE, result.error_msg
    wait_until(lambda: watched.last.step == watched.last.total == 4, 'the last status')
    status = watched.last
    assert (status.ok, status.reason, status.error_code) == (True, '', ErrorCode.NONE)
    assert list(status.constraints) == ['(always (not (on c b)))']
    assert list(status.standings) == [MonitorStatus.SATISFIED]


def test_a_world_that_differs_stops_the_stack_without_replans(
    client: Client, operator: Operator, watched: Watched, disturb: Disturb
) -> None:
    disturb(['(stack a b)', 'a', ''])
    result = client.run(THREE, options=BY_SEARCH)
    assert ErrorCode(result.error_code) is ErrorCode.STATE_MISMATCH, result.error_msg
    assert 'missing (on a b)' in result.error_msg
    assert (result.steps_done, list(result.replans)) == (1, [])
    operator.wait_stopped('missing (on a b)')
    wait_until(lambda: not watched.last.ok, 'the status')
    assert (watched.last.step, watched.last.error_code) == (2, ErrorCode.STATE_MISMATCH)
    operator.assert_nothing_is_taken()
    operator.reset()


class Approval:
    """An operator who approves of every plan, and keeps what they have seen."""

    def __init__(self, client: Client) -> None:
        self.desk = Approver(client.node)
        self.answers: list[tuple[int, str]] = []
        self.feedback = Feedback()
        self._threads: list[threading.Thread] = []

    def hear(self, told: Any) -> None:
        self.feedback(told)
        if told.stage == 'approval':
            self._threads.append(threading.Thread(target=self._approve, args=(told.pending,)))
            self._threads[-1].start()

    def _approve(self, pending: PendingPlan) -> None:
        answer = self.desk.say(pending.digest, True, 'the tester', '', WAIT_S)
        self.answers.append((pending.replans, answer.message))

    def join(self) -> None:
        for thread in self._threads:
            thread.join(WAIT_S)


def test_what_is_left_is_planned_for_anew_approved_again_and_done(
    client: Client, operator: Operator, disturb: Disturb
) -> None:
    disturb(['(stack a b)', 'a', ''], ['(stack a b)', 'a', ''])
    approval = Approval(client)
    options = Options(strategy=STRATEGY, max_replans=2, approval=True)
    result = client.run(THREE, options=options, on_feedback=approval.hear)
    approval.join()
    assert ErrorCode(result.error_code) is ErrorCode.NONE, result.error_msg
    assert {'(on a b)', '(on c a)'} <= facts(result)
    one_round = ['planning', 'approval', 'execution']
    again = ['replanning', *one_round]
    assert stages(approval.feedback) == [*one_round, *again, *again]
    assert approval.answers == [(number, 'approved') for number in (0, 1, 2)]
    assert result.approved_by == 'the tester'
    assert [(a.number, a.replan) for a in result.attempts] == [(1, 0), (2, 1), (3, 2)]
    assert [(r.number, r.steps_done) for r in result.replans] == [(1, 1), (2, 1)]
    assert result.steps_done == 2 + len(result.plan.steps) == 6
    for replan in result.replans:
        assert 'missing (on a b)' in replan.reason
        rest = load_task(replan.task.problem, replan.task.domain).problem
        assert {('on-table', 'a'), ('arm-empty',)} <= rest.init
    assert operator.listener.reason == ''


@pytest.mark.nightly
def test_what_was_done_before_counts_when_it_is_planned_for_anew(
    client: Client, operator: Operator, disturb: Disturb
) -> None:
    # Once a was seen on b, and then no more, it may not be put there again.
    once = THREE.replace('(always (not (on c b)))', '(at-most-once (on a b))')
    disturb(['(pickup c)', 'a', ''])
    result = client.run(once, options=Options(strategy=STRATEGY, max_replans=3))
    assert ErrorCode(result.error_code) is ErrorCode.UNSOLVABLE, result.error_msg
    assert 'this was a replan' in result.error_msg
    (replan,) = result.replans
    assert '(always (not (on a b)))' in replan.task.problem
    assert (result.steps_done, replan.steps_done) == (2, 2)
    assert operator.listener.reason == ''
    # The arm still has c, and the next goal sets its own world up.
    assert client.run(THREE, options=BY_SEARCH).error_code == ErrorCode.NONE


def test_with_its_replans_used_up_a_world_that_differs_stops_the_stack(
    client: Client, operator: Operator, disturb: Disturb
) -> None:
    disturb(['(stack a b)', 'a', ''], ['(pickup a)', 'a', ''])
    result = client.run(THREE, options=Options(strategy=STRATEGY, max_replans=1))
    assert ErrorCode(result.error_code) is ErrorCode.STATE_MISMATCH, result.error_msg
    assert [replan.number for replan in result.replans] == [1]
    assert result.steps_done == 1
    operator.wait_stopped('missing (holding a)')
    operator.reset()


def test_a_broken_constraint_is_never_planned_for_anew(
    client: Client, operator: Operator, watched: Watched, disturb: Disturb
) -> None:
    disturb(['(pickup a)', 'c', 'b'])
    result = client.run(THREE, options=Options(strategy=STRATEGY, max_replans=3))
    assert ErrorCode(result.error_code) is ErrorCode.MONITOR_VIOLATION, result.error_msg
    assert (result.steps_done, list(result.replans)) == (0, [])
    operator.wait_stopped('breaks (always (not (on c b)))')
    wait_until(lambda: MonitorStatus.VIOLATED in watched.last.standings, 'the status')
    operator.reset()


def test_only_what_the_executor_has_left_over_is_resumed(client: Client) -> None:
    goal = ExecutePlan.Goal(
        task=Task(problem=THREE), plan=conversions.plan_to_msg(THREE_PLAN, 'client'), resume=True,
        time_budget=conversions.duration_to_msg(WAIT_S),
    )  # fmt: skip
    result = client._send('execute_plan', ExecutePlan, goal, lambda feedback: None).result()
    assert ErrorCode(result.error_code) is ErrorCode.PLAN_REFUSED
    assert 'no such task to resume' in result.error_msg


class Monitored:
    """A client of the run-time monitor, in the place of an executor."""

    def __init__(self, client: Client) -> None:
        self._service: Any = client.node.create_client(MonitorStep, 'monitor_step')
        assert self._service.wait_for_service(timeout_sec=WAIT_S)
        self._goal_id = UUID(uuid=list(uuid.uuid4().bytes))

    def ask(self, **fields: Any) -> MonitorStatus:
        request = MonitorStep.Request(goal_id=self._goal_id, **fields)
        answer = wait_for(
            self._service.call_async(request), WAIT_S, 'the monitor', ErrorCode.SERVER_LOST
        )
        return answer.status

    def begin(self, plan: Plan = THREE_PLAN, replan: bool = False) -> MonitorStatus:
        sent = conversions.plan_to_msg(plan, 'client')
        return self.ask(begin=True, task=Task(problem=THREE), plan=sent, replan=replan)

    def look(self, step: int, state: State) -> MonitorStatus:
        return self.ask(step=step, facts=conversions.facts_of(state))


def test_the_monitor_stops_the_stack_where_the_executor_does_not(
    client: Client, operator: Operator
) -> None:
    init = load_task(THREE).problem.init
    broken = init - {('on-table', 'c'), ('clear', 'b')} | {('on', 'c', 'b')}
    assert Monitored(client).begin(Plan()).error_code == ErrorCode.PLAN_REFUSED
    unknown = Monitored(client).look(0, init)
    assert (unknown.ok, unknown.error_code) == (False, ErrorCode.VALIDATOR_UNAVAILABLE)
    monitor = Monitored(client)
    assert monitor.begin(replan=True).ok
    assert monitor.look(1, init).reason == (
        'the observation of step 1 does not follow that of step -1'
    )
    assert monitor.look(0, init).ok
    # Of a goal that is planned for anew: no reason to stop the others.
    differs = monitor.look(1, init)
    assert (differs.ok, differs.error_code) == (False, ErrorCode.STATE_MISMATCH)
    assert monitor.begin().ok
    assert monitor.ask(step=0, facts=['on a b']).error_code == ErrorCode.STATE_MISMATCH
    operator.wait_stopped('the service stop was called')
    operator.reset()
    assert monitor.begin(replan=True).ok
    found = monitor.look(0, broken)
    assert (found.ok, found.error_code) == (False, ErrorCode.MONITOR_VIOLATION)
    assert list(found.standings) == [MonitorStatus.VIOLATED]
    operator.wait_stopped('the service stop was called')
    operator.reset()


# Plans that wait for an operator


class Wait:
    """A goal whose plan waits."""

    def __init__(self, client: Client) -> None:
        self.feedback = Feedback(lambda told: told.stage == 'approval')
        options = Options(strategy=STRATEGY, approval=True)
        self.goal = client.start_run(THREE, options=options, on_feedback=self.feedback)
        self.feedback.wait()
        self.pending: PendingPlan = self.feedback.seen[-1].pending

    def ended(self, code: ErrorCode, words: str) -> None:
        result = self.goal.result()
        assert ErrorCode(result.error_code) is code, result.error_msg
        assert words in result.error_msg
        assert (result.steps_done, result.approved_by) == (0, '')
        assert len(result.plan.steps) == len(THREE_PLAN)
        assert not [told for told in self.feedback.seen if told.stage == 'execution']


def test_a_plan_waits_for_its_own_digest_and_late_joiners_see_it(client: Client) -> None:
    wait = Wait(client)
    with Client() as late:
        desk = Approver(late.node)
        seen = desk.wait(WAIT_S)
        assert seen == wait.pending
        assert seen.digest == plan_digest(seen.task, seen.plan, '')
        assert desk.wait(WAIT_S, seen.digest[:8]) == seen
        other = desk.say('0' * 64, True, 'the tester', '', WAIT_S)
        assert (other.success, seen.digest in other.message) == (False, True)
        assert not desk.say(seen.digest, True, 'x' * 1001, '', WAIT_S).success
        assert desk.say(seen.digest, True, '', '', WAIT_S).success
        result = wait.goal.result()
        assert ErrorCode(result.error_code) is ErrorCode.NONE, result.error_msg
        assert result.approved_by == 'an operator'
        again = desk.say(seen.digest, True, '', '', WAIT_S)
        assert (again.success, again.message) == (False, 'no plan waits for approval')


def test_a_cancel_and_a_stop_end_the_waiting(client: Client, operator: Operator) -> None:
    wait = Wait(client)
    wait.goal.cancel()
    assert wait.goal.status == GoalStatus.STATUS_CANCELED
    wait.ended(ErrorCode.PLANNING_CANCELED, 'waited for approval')
    wait = Wait(client)
    assert operator.call('stop').success
    wait.ended(ErrorCode.PLANNING_STOPPED, 'the service stop was called')
    operator.reset()
    assert Approver(client.node).wait(0.1) is None


# The command line


@pytest.fixture
def safegen(
    client: Client,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> CommandLine:
    monkeypatch.setenv('SAFEGEN_RUNS_DIR', str(tmp_path))
    monkeypatch.setattr(recorder, 'MATCH_TIMEOUT_S', WAIT_S)
    return CommandLine(monkeypatch, capfd)


@pytest.mark.nightly
def test_an_operator_looks_at_the_plan_and_says_the_word(
    client: Client, safegen: CommandLine
) -> None:
    code, _, error = safegen('approve', '--wait', '3')
    assert (code, 'no plan waits for approval' in error) == (1, True)
    assert 'too short' in safegen('approve', '1234')[2]
    wait = Wait(client)
    digest = wait.pending.digest
    code, out, _ = safegen('approve', *LONG_WAIT)
    assert code == 2  # nothing was approved of
    for text in ('task three', '(always (not (on c b)))', ' 4 (stack c a)', 'SUCCESS', digest):
        assert text in out
    told = json.loads(safegen('approve', '--json', *LONG_WAIT)[1])
    assert (told['digest'], told['plan']) == (digest, [str(step) for step in THREE_PLAN.steps])
    code, _, error = safegen('approve', '0' * 64, '--wait', '3')
    assert (code, 'no plan of digest 000' in error) == (1, True)
    words = digest[:8], '--refuse', '--reason', 'a hand', '--json'
    code, out, _ = safegen('approve', *words, *LONG_WAIT)
    assert (code, json.loads(out)) == (0, {'success': True, 'message': 'refused'})
    wait.ended(ErrorCode.APPROVAL_REFUSED, ': a hand')


@pytest.mark.nightly
def test_a_run_that_was_planned_for_anew_is_kept_and_proved_again(
    safegen: CommandLine, disturb: Disturb, tmp_path: Path
) -> None:
    disturb(['(stack a b)', 'a', ''])
    problem = tmp_path / 'three.pddl'
    problem.write_text(THREE, encoding='utf-8')
    code, out, error = safegen(
        'run', str(problem), '--strategy', STRATEGY, '--replans', '1', '--json'
    )
    assert code == 0, error
    assert 'replanned (1): after step 2 (stack a b) the world is not as proved' in error
    kept = json.loads(out)
    record = kept['record']
    assert [step['index'] for step in record['steps']] == [0, 1, 1, 2, 3, 4]
    assert [(each['number'], each['steps_done']) for each in record['replans']] == [(1, 1)]
    assert [each['replan'] for each in record['attempts']] == [0, 1]
    # Every verdict is found anew, that of the second attempt for what was left then.
    code, out, _ = safegen('runs', 'replay', kept['run'], '--json')
    assert code == 0, out
    assert [each['differences'] for each in json.loads(out)['verdicts']] == [[], [], []]

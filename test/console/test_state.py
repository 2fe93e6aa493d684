# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the console makes of the events of goals, in whatever order the topics bring them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from types import SimpleNamespace
from typing import Any

import pytest
from action_msgs.msg import GoalStatus
from hypothesis import given
from hypothesis import strategies as st
from rclpy.task import Future
from support.blocks_small import THREE
from unique_identifier_msgs.msg import UUID

from safegen_msgs import msg
from safegen_msgs.action import ExecutePlan, PlanTask, RunTask
from safegen_ros.console import state
from safegen_ros.console.link import NODES, StackLink
from safegen_ros.console.shown import (
    PlanChart,
    attempt_line,
    countdown_words,
    goal_html,
    plan_html,
    situation,
    state_words,
    step_of,
    tried_html,
    way,
)
from safegen_ros.console.state import (
    EXECUTE,
    PLAN,
    RUN,
    ConsoleState,
    Goals,
    GoalView,
    PartView,
    Pending,
    Snapshot,
    StopView,
)
from safegen_ros.errors import ErrorCode
from safegen_ros.paths import data_path
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.record.events import (
    EndEvent,
    Event,
    GoalEvent,
    ObservedEvent,
    PhaseEvent,
    PlanEvent,
    StepEvent,
    TaskEvent,
    begin,
)
from safegen_ros.record.present.cards import attempt_html
from safegen_ros.record.present.wording import NEXT, next_words
from safegen_ros.record.run import AttemptRecord, ReplanRecord, TaskRecord
from safegen_ros.record.run_log import task_record
from safegen_ros.ros.liveness import HeartbeatMonitor
from safegen_ros.tasks.pddl3.task import load_files
from safegen_ros.verdict import Category, Verdict

ID, EXECUTION, OTHER = '0' * 32, '1' * 32, '2' * 32
GOOD = parse_plan('(pickup a)(stack a b)(pickup c)(stack c a)')
STEPS = tuple(map(str, GOOD.steps))
BAD = parse_plan('(pickup c)(stack c b)')
ACTIVE = dict.fromkeys(('validator', 'executor', 'planner'), 'active')
GENERATING = msg.PlanningProgress(phase='generating', attempt_number=2)
ENDED = EndEvent(ErrorCode.NONE, '')


def judged(number: int, plan: Plan = GOOD, text: str = '', replan: int = 0) -> AttemptRecord:
    """An attempt with the verdict of the validator."""
    steps = tuple(map(str, plan.steps))
    return AttemptRecord(number, 'model', text, steps, THREE.verify(plan), 0.1, replan=replan)


def begun(started: str = '2026-01-31T14:25:00+00:00', cell: str = '') -> TaskEvent:
    return TaskEvent('a run', started, task_record(THREE, 'a test', ''), cell)


def view(*events: Event, action: str = RUN) -> GoalView:
    """A goal after some events."""
    seen = GoalView(ID, begin(begun()), action)
    for event in events:
        seen = state.after(seen, event)
    return seen


def replanned(reason: str = 'b lies elsewhere') -> ReplanRecord:
    return ReplanRecord(1, reason, 1, '', THREE.problem_text)


def test_attempts_are_kept_once_and_in_order() -> None:
    seen = view(judged(2), judged(1, BAD), judged(2))
    assert [attempt.number for attempt in seen.record.attempts] == [1, 2]
    assert seen.plan == STEPS
    over = state.after(seen, ENDED)
    assert (over.running, over.code, over.step) == (False, ErrorCode.NONE, 4)


def test_a_plan_that_is_only_proved_is_never_shown_as_done() -> None:
    """Neither while it is planned, nor at its end, nor in the tab of its attempts."""
    seen = view(judged(1), action=PLAN)
    over = state.after(seen, ENDED)
    assert (over.running, over.step, over.plan) == (False, 0, STEPS)
    shown = [plan_html(Snapshot(goal=seen)), plan_html(Snapshot(goal=over)), goal_html(over)]
    shown.append(attempt_html(over.record.attempts[0], THREE.problem))
    for each in shown:
        assert 'done' not in each.replace('sg-done', '')
        assert 'Goal: reached.' not in each
        assert 'was executed' not in each
    assert 'Proved plan (nothing will move)' in shown[0]
    assert 'Proved plan (not executed)' in shown[1]
    assert 'Goal: not reached yet.' in shown[1]
    assert 'opacity="0.45"' in shown[1]  # the signs of states that are only foreseen
    assert 'nothing was moved for it' in shown[2]
    assert 'Goal: reached by this plan.' in shown[3]
    carried = plan_html(Snapshot(goal=replace(over, action=RUN)))
    assert carried.count('— done') == len(GOOD.steps)
    assert 'Goal: reached.' in carried


@given(st.permutations(range(5)))
def test_a_plan_that_waits_is_told_in_any_order_of_the_topics(order: list[int]) -> None:
    """Events, feedback and the topic of what waits are not ordered among each other."""
    at = ConsoleState()
    at.set(nodes=ACTIVE)
    goals = Goals(at)
    goals.take('planner', ID, begun())
    events = (
        lambda: goals.take('planner', ID, judged(1, BAD)),
        lambda: goals.take('planner', ID, judged(2)),
        lambda: at.set(pending=Pending(ID, 'f' * 64, STEPS, Verdict(Category.SUCCESS), 0.0)),
        lambda: goals.asked(ID, GENERATING),
        lambda: at.set(stop=StopView(True)),
    )
    for index in order:
        events[index]()
    told = next_words(situation(at.snapshot))
    assert told.startswith('The plan is proved safe and waits for you')
    assert 'pick up a from the table' in told


def test_what_is_asked_is_told_until_a_plan_is_proved() -> None:
    seen = state.asked(view(judged(1, BAD)), GENERATING)
    assert (seen.stage, seen.attempt) == ('generating', 2)
    for events in ([judged(2)], [judged(2), PhaseEvent('preparing', 0.0)], [ENDED]):
        late = view(*events)
        assert state.asked(late, GENERATING) == late


def test_a_replan_has_a_problem_of_its_own() -> None:
    seen = view(judged(1), StepEvent(0, STEPS[0], 0.0), ObservedEvent(1, 1.0))
    assert situation(Snapshot(goal=seen, nodes=ACTIVE)).index == 1
    left = state.after(seen, replanned())
    assert (left.problem, left.plan, left.step) == (THREE.problem, (), 0)
    assert situation(Snapshot(goal=left, nodes=ACTIVE)).reason == 'b lies elsewhere'
    again = state.after(state.asked(left, GENERATING), judged(2, replan=1))
    assert (again.plan, again.step) == (STEPS, 0)


def test_a_goal_is_left_when_it_has_ended_and_never_before() -> None:
    at = ConsoleState()
    goals = Goals(at)
    for event in (begun(), judged(1)):
        goals.take('planner', ID, event)
    goals.leave()
    assert at.snapshot.goal is not None
    goals.take('planner', ID, ENDED)
    goals.leave()
    assert at.snapshot.goal is None
    assert dict(way(at.snapshot, situation(at.snapshot)))['Task'] == 'now'


def _stack(order: Sequence[tuple[str, str, Event]]) -> Snapshot:
    at = ConsoleState()
    goals = Goals(at)
    for node, goal, event in order:
        goals.take(node, goal, event)
    return at.snapshot


@pytest.mark.parametrize('first', ['planner', 'executor'])
def test_an_execution_that_a_goal_leads_to_is_a_part_of_it(first: str) -> None:
    """A page that is opened late hears the history of one node behind that of the other."""
    planner: list[tuple[str, str, Event]] = [
        ('planner', ID, event)
        for event in (begun(), GoalEvent(RUN, ID), judged(1), GoalEvent(EXECUTE, EXECUTION), ENDED)
    ]
    executor: list[tuple[str, str, Event]] = [
        ('executor', EXECUTION, event)
        for event in (
            begun('2026-01-31T14:25:05+00:00', 'twin'),
            GoalEvent(EXECUTE, EXECUTION),
            PlanEvent(STEPS, 'planner'),
            StepEvent(0, STEPS[0], 0.0),
            ObservedEvent(1, 1.0),
            ENDED,
        )
    ]
    goal = _stack(planner + executor if first == 'planner' else executor + planner).goal
    assert goal is not None
    assert (goal.id, goal.action, goal.running, goal.record.steps_done) == (ID, RUN, False, 1)
    assert goal.record.cell == 'twin'


def test_the_goal_that_was_begun_last_is_shown_and_others_are_counted() -> None:
    early, late = begun(), begun('2026-01-31T15:00:00+00:00')
    for order in permutations([('planner', ID, early), ('planner', OTHER, late)]):
        snapshot = _stack(order)
        assert snapshot.goal is not None
        assert (snapshot.goal.id, snapshot.others) == (OTHER, 1)
    alone = _stack(
        [('executor', EXECUTION, early), ('executor', EXECUTION, GoalEvent(EXECUTE, EXECUTION))]
    )
    assert alone.goal is not None
    assert alone.goal.action == EXECUTE


@pytest.mark.parametrize('before', [True, False])
def test_a_goal_of_this_console_is_known_as_its_own(before: bool) -> None:
    at = ConsoleState()
    goals = Goals(at)
    acts: list[Any] = [lambda: goals.sent(ID), lambda: goals.take('planner', ID, begun())]
    for act in acts if before else acts[::-1]:
        act()
    assert at.snapshot.goal is not None
    assert at.snapshot.goal.ours


def test_a_goal_whose_node_is_gone_is_lost_once() -> None:
    at = ConsoleState()
    goals = Goals(at)
    goals.take('planner', ID, begun())
    goals.lose({'planner', 'executor'})
    assert at.snapshot.goal is not None
    assert at.snapshot.goal.running
    goals.lose({'executor'})
    assert at.snapshot.goal.code is ErrorCode.SERVER_LOST
    goals.take('planner', OTHER, begun('2026-01-31T15:00:00+00:00'))
    goals.take('planner', ID, judged(1))  # of a goal that nobody keeps any more
    assert at.snapshot.goal.id == OTHER


def test_why_an_attempt_was_refused_and_a_plan_given_up_stays_in_view() -> None:
    assert tried_html(view()) == ''
    seen = view(judged(1, BAD))
    assert '<b>Attempt 1 was refused:</b> every step is possible, but' in tried_html(seen)
    seen = view(judged(1, BAD), judged(2, BAD), judged(3))
    told = tried_html(seen)
    assert 'Attempt 2 was refused' in told
    assert '1 before it was refused, too. Attempt 3 is proved safe.' in told
    reason = 'after step 1 (pickup a) the world is not as proved: missing (holding a), unexpected '
    differs = replanned(f'{reason}(on-table a) (arm-empty): look at the cell')
    told = tried_html(state.after(seen, differs))
    assert 'Replanned:</b> after step 1 (“pick up a from the table”) the world was' in told
    assert 'so that block &quot;a&quot; is on the table and' in told


@given(
    stage=st.sampled_from(sorted({*NEXT} - {'no stack'})), stopped=st.booleans(), up=st.booleans()
)
def test_there_is_always_a_sentence_about_what_comes_next(
    stage: str, stopped: bool, up: bool
) -> None:
    goal = replace(view(judged(1)), stage=stage)
    if stage == 'replanning':
        goal = view(judged(1), replanned())
    snapshot = Snapshot(
        goal=goal, stop=StopView(True, stopped, 'a hand'), nodes=ACTIVE if up else {}
    )
    told = next_words(situation(snapshot))
    assert told
    assert ('No stack' in told) == (not up)
    assert ('stopped' in told) >= (stopped and up)


@given(st.text(max_size=80))
def test_what_a_model_writes_is_never_markup(text: str) -> None:
    hostile = f'{text}<img src=x onerror=alert(1)><script>alert(1)</script>'
    seen = view(judged(1, parse_plan('(pickup z)'), hostile))
    shown = attempt_html(seen.record.attempts[0], THREE.problem) + goal_html(seen)
    shown += plan_html(Snapshot(goal=seen)) + tried_html(seen)
    assert '<img' not in shown
    assert '<script' not in shown


def test_a_plan_that_waits_is_shown_above_its_digest_with_its_time() -> None:
    seen = view(judged(1, BAD))
    pending = Pending(ID, 'f' * 64, STEPS, Verdict(Category.SUCCESS), 1300.0, THREE.problem)
    told = plan_html(Snapshot(goal=seen, pending=pending))
    assert 'put c on a' in told  # of the plan that waits, whatever the events say by now
    assert told.index('What the arm will do') < told.index('f' * 64)
    assert countdown_words(pending, 1022.0) == 'The plan counts as refused in 278 s.'
    assert countdown_words(pending, 1400.0) == 'The plan counts as refused in 0 s.'
    assert countdown_words(None, 0.0) == ''


def test_a_request_that_a_model_read_is_shown_with_what_it_was_read_as() -> None:
    request = 'Build <b>a tower</b>.'
    verdict = Verdict(Category.SUCCESS)
    pending = Pending(ID, 'f' * 64, STEPS, verdict, 1300.0, THREE.problem, request)
    told = plan_html(Snapshot(goal=view(judged(1)), pending=pending))
    assert 'Is the task what is meant?' in told
    assert 'Build &lt;b&gt;a tower' in told
    assert told.index('Build') < told.index('What the arm will do')
    assert '<b>Goal</b>' in told


MOVES = (PlanEvent(STEPS, 'model'), StepEvent(0, STEPS[0], 0.0))
WAITS = Pending(ID, 'f' * 64, STEPS, Verdict(Category.SUCCESS), 1300.0, THREE.problem)


@pytest.mark.parametrize(
    ('events', 'more', 'state', 'now', 'kind'),
    [
        (None, {'nodes': {}}, 'No stack', 'Task', 'now'),
        (None, {}, 'Ready', 'Task', 'now'),
        ((), {}, 'Waits its turn', 'Task', 'now'),
        ((judged(1, BAD),), {}, 'Plans', 'Plan', 'now'),
        ((judged(1),), {'pending': WAITS}, 'Waits for you', 'Approve', 'now'),
        ((judged(1), *MOVES), {}, 'MOVES', 'Run', 'now'),
        ((judged(1), *MOVES), {'stop': StopView(True, True, 'x')}, 'STOPPED', 'Run', 'now'),
        ((judged(1, BAD), EndEvent(ErrorCode.UNSOLVABLE, '')), {}, 'Ready', 'Plan', 'failed'),
        ((judged(1), EndEvent(ErrorCode.APPROVAL_REFUSED, '')), {}, 'Ready', 'Approve', 'failed'),
        ((judged(1), *MOVES, EndEvent(ErrorCode.ROBOT_FAULT, '')), {}, 'Ready', 'Run', 'failed'),
        ((judged(1), *MOVES, EndEvent(ErrorCode.NONE, '')), {}, 'Ready', 'Done', 'done'),
    ],
)  # fmt: skip
def test_the_head_tells_the_state_and_how_far_the_task_has_come(
    events: tuple[Event, ...] | None, more: dict[str, Any], state: str, now: str, kind: str
) -> None:
    snapshot = Snapshot(view(*events) if events is not None else None, **{'nodes': ACTIVE, **more})
    at = situation(snapshot)
    assert state_words(at, 'twin')[0] == state
    assert 'MOVES' not in state_words(at, 'symbolic')
    steps = way(snapshot, at)
    place = [name for name, _ in steps].index(now)
    assert [is_ for _, is_ in steps] == ['done'] * place + [kind] + ['later'] * (5 - place)


def test_a_plan_that_is_only_proved_was_neither_approved_nor_run() -> None:
    snapshot = Snapshot(view(judged(1), ENDED, action=PLAN), nodes=ACTIVE)
    steps = dict(way(snapshot, situation(snapshot)))
    assert list(steps.values())[2:] == ['done', 'later', 'later', 'done']
    assert step_of(way(snapshot, situation(snapshot))) == 'Done'


def test_words_that_were_only_read_leave_the_page_at_their_task() -> None:
    for code, kind in ((ErrorCode.NONE, 'now'), (ErrorCode.TRANSLATION_FAILED, 'failed')):
        snapshot = Snapshot(view(EndEvent(code, ''), action=PLAN), nodes=ACTIVE)
        assert way(snapshot, situation(snapshot))[:2] == [('Task', kind), ('Rules', 'later')]


def test_an_attempt_is_a_line_with_all_of_it_behind() -> None:
    attempt = judged(2, parse_plan('(stack c b)'))
    told = [str(attempt_line(attempt, THREE.problem, opened)) for opened in (False, True)]
    assert ['<details class="sg-attempt" open>' in each for each in told] == [False, True]
    assert 'at step 1 of 1, “put c on b”' in told[0][: told[0].index('</summary>')]
    assert told[1].count('Attempt 2 by') == 1


def test_a_stop_that_was_reset_is_no_news_any_more() -> None:
    reason = 'look at the cell, then reset it'
    over = view(judged(1), EndEvent(ErrorCode.EXECUTION_STOPPED, reason))
    stopped = Snapshot(goal=over, nodes=ACTIVE, stop=StopView(True, True, 'a hand'))
    assert 'a hand' in next_words(situation(stopped))
    told = next_words(situation(replace(stopped, stop=StopView(True))))
    assert reason not in told
    assert 'the stack was reset since' in told


@pytest.mark.parametrize('moves', [True, False])
def test_a_stop_by_a_person_is_told_as_one(moves: bool) -> None:
    called = 'the service stop was called: look at the cell, then reset it'
    over = EndEvent(ErrorCode.EXECUTION_STOPPED, f'the stack was stopped ({called})')
    seen = view(judged(1), *(MOVES if moves else ()), over)
    stop = StopView(True, True, called, 1, 1_780_000_000.0)
    told = next_words(situation(Snapshot(seen, stop=stop, nodes=ACTIVE)))
    assert re.search(
        r'stopped \(STOP was called, here or by another client: look .*, at \d\d:\d\d:\d\d\)', told
    )
    where = 'where it was' if moves else 'before anything moved'
    assert f'STOP was called, and the arm was stopped {where}.' in goal_html(seen)


def test_the_present_moves_within_the_step_that_is_carried_out() -> None:
    folder = data_path('examples/patrol')
    patrol = load_files(folder / 'problem.pddl', folder / 'domain.pddl')
    domain = (folder / 'domain.pddl').read_text(encoding='utf-8')
    steps = ('(charge r2d2 dock)', '(move r2d2 dock door)')
    record = replace(begin(TaskEvent(ID, '', task_record(patrol, 'patrol', domain))), plan=steps)
    chart, none = PlanChart(), 'sg-present'
    for done, moving, now, expected in (
        (0, False, 99.0, None),  # it waits for a person
        (0, True, 100.0, '0'),
        (0, True, 112.5, '12'),
        (0, True, 200.0, '30'),  # a step that takes longer than it should does not move on
        (1, False, 201.0, None),
        (1, True, 202.0, '30.001'),
        (1, True, 205.0, '33.001'),
    ):
        goal = GoalView(ID, replace(record, steps_done=done), stage='executing', moving=moving)
        html = str(chart.update(Snapshot(goal=goal), now))
        assert (none in html) is (expected is not None)
        assert 'battery r2d2' in html
        if expected is not None:
            x = float(expected) * 400 / 42.001
            assert float(html.split('class="sg-present" d="M')[1].split(' ')[0]) == pytest.approx(
                x, abs=0.01
            )


GOAL_ID = '7' * 32
BEGUN = TaskEvent('a run', '2026-01-31T14:25:00+00:00', TaskRecord('p', 'me', '', '', ''))
FELL = EndEvent(ErrorCode.STATE_MISMATCH, 'it fell')


class _Service:
    """Stands for the client of a service; what is asked is answered when a test says so."""

    def __init__(self) -> None:
        self.answers: list[Any] = []

    def call_async(self, request: Any) -> Any:
        self.answers.append(Future())
        return self.answers[-1]


class _Node:
    """Stands for the node of the client; `there` has the names of the nodes in its graph."""

    def __init__(self) -> None:
        self.there = set(NODES)
        self.services: dict[str, _Service] = {}

    def create_subscription(self, *_: Any, **more: Any) -> None:
        """What is heard is told to the link by the test."""

    def create_client(self, kind: Any, name: str, **more: Any) -> _Service:
        return self.services.setdefault(name, _Service())

    def get_namespace(self) -> str:
        return '/'

    def count_publishers(self, topic: str) -> int:
        return int(topic.split('/')[0] in self.there)


class _Console:
    """A link to that node, with its state."""

    def __init__(self) -> None:
        self.node, self.state = _Node(), ConsoleState()
        client: Any = SimpleNamespace(node=self.node, heartbeats=HeartbeatMonitor(self.node))
        self.link = StackLink(client, self.state)

    @property
    def goal(self) -> GoalView:
        goal = self.state.snapshot.goal
        assert goal is not None
        return goal


@pytest.fixture
def console() -> _Console:
    return _Console()


def test_a_goal_is_not_lost_before_its_node_has_answered(console: _Console) -> None:
    pending = Pending(GOAL_ID, 'd', (), Verdict(Category.SUCCESS), 0.0)
    console.link._event('planner', GOAL_ID, BEGUN)
    part = PartView('lab/executor: cell', 0, 'active', 'twin')
    console.state.set(pending=pending, parts={part.name: part})
    console.link.refresh()
    assert console.state.snapshot.nodes == dict.fromkeys(NODES, '')
    assert console.goal.running
    assert console.state.snapshot.waits
    assert console.state.snapshot.robot == 'twin'

    console.node.there.clear()
    console.link.refresh()
    assert console.goal.code is ErrorCode.SERVER_LOST
    assert (console.state.snapshot.pending, console.state.snapshot.robot) == (None, '')


def test_who_is_asked_is_told_by_the_feedback_of_both_actions(console: _Console) -> None:
    console.link._event('planner', GOAL_ID, BEGUN)
    asked = msg.PlanningProgress(phase='verifying', attempt_number=2)
    uuid = UUID(uuid=list(bytes.fromhex(GOAL_ID)))
    told = PlanTask.Impl.FeedbackMessage(goal_id=uuid)
    told.feedback.progress = asked
    console.link._asked(told)
    assert (console.goal.stage, console.goal.attempt) == ('verifying', 2)
    run = RunTask.Impl.FeedbackMessage(goal_id=uuid)
    run.feedback.stage, run.feedback.planning.phase = RunTask.Feedback.PLANNING, 'searching'
    console.link._asked(run)
    assert console.goal.stage == 'searching'


def test_the_last_look_of_an_execution_is_shown_when_it_has_ended(console: _Console) -> None:
    results = console.node.services['execute_plan/_action/get_result']
    console.link._event('planner', GOAL_ID, FELL)
    assert not results.answers
    console.link._event('executor', GOAL_ID, FELL)
    (answer,) = results.answers
    response = ExecutePlan.Impl.GetResultService.Response(status=GoalStatus.STATUS_ABORTED)
    response.result.final_state.objects = [msg.ObjectPose(name='a')]
    answer.set_result(response)
    console.link._last_seen(answer)  # whose callbacks are run by an executor
    assert [*console.state.snapshot.look.poses] == ['a']

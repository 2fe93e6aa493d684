# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the console makes of the messages of a goal, in whatever order they come."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from support.blocks_small import THREE

from safegen_msgs import msg
from safegen_msgs.action import PlanTask, RunTask
from safegen_ros.console import state
from safegen_ros.console.shown import (
    countdown_words,
    goal_html,
    plan_html,
    situation,
    tried_html,
)
from safegen_ros.console.state import (
    PLAN,
    RUN,
    ConsoleState,
    GoalView,
    PartView,
    Pending,
    Snapshot,
    StopView,
)
from safegen_ros.errors import ErrorCode
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.record.present.cards import attempt_html
from safegen_ros.record.present.wording import NEXT, next_words
from safegen_ros.ros import conversions
from safegen_ros.verdict import Category, Verdict

ID = '0' * 32
GOOD = parse_plan('(pickup a)(stack a b)(pickup c)(stack c a)')
BAD = parse_plan('(pickup c)(stack c b)')
ACTIVE = dict.fromkeys(('validator', 'executor', 'planner'), 'active')


def judged(number: int, plan=GOOD, text: str = '') -> msg.PlanningProgress:
    """An attempt with the verdict of the validator."""
    attempt = msg.Attempt(
        number=number,
        source='model',
        text=text,
        plan=conversions.plan_to_msg(plan, 'model'),
        verdict=conversions.verdict_to_msg(THREE.verify(plan)),
    )
    return msg.PlanningProgress(
        phase='judged', source='model', attempt_number=number, max_attempts=3, attempt=attempt
    )


def view() -> GoalView:
    return GoalView(ID, RUN, problems={0: THREE.problem})


def test_attempts_are_kept_once_and_in_order() -> None:
    seen = view()
    for number in (2, 1, 2):
        seen = state.planned(seen, judged(number, GOOD if number == 2 else BAD))
    assert [attempt.number for attempt in seen.attempts] == [1, 2]
    assert seen.plan == tuple(map(str, GOOD.steps))
    result = RunTask.Result(attempts=[judged(3, BAD).attempt], error_code=ErrorCode.NONE)
    over = state.ended(seen, result)
    assert [attempt.number for attempt in over.attempts] == [1, 2, 3]
    assert (over.running, over.step) == (False, 4)


def test_a_plan_that_is_only_proved_is_never_shown_as_done() -> None:
    """Neither while it is planned, nor at its end, nor in the tab of its attempts."""
    seen = state.planned(GoalView(ID, PLAN, problems={0: THREE.problem}), judged(1))
    over = state.ended(seen, PlanTask.Result(error_code=ErrorCode.NONE))
    assert (over.running, over.step, over.plan) == (False, 0, tuple(map(str, GOOD.steps)))
    shown = [plan_html(Snapshot(goal=seen)), plan_html(Snapshot(goal=over)), goal_html(over)]
    shown.append(attempt_html(over.attempts[0], THREE.problem))
    for each in shown:
        assert 'done' not in each.replace('sg-done', '')
        assert 'Goal: reached.' not in each
        assert 'carried out' not in each
    assert 'Proved plan (nothing will move)' in shown[0]
    assert 'Proved plan (not executed)' in shown[1]
    assert 'Goal: not reached yet.' in shown[1]
    assert 'opacity="0.45"' in shown[1]  # the signs of states that are only foreseen
    assert 'nothing was moved for it' in shown[2]
    assert 'Goal: reached by this plan.' in shown[3]
    carried = plan_html(Snapshot(goal=replace(over, action=RUN, step=len(over.plan))))
    assert carried.count('— done') == len(GOOD.steps)
    assert 'Goal: reached.' in carried


@given(st.permutations(range(5)))
def test_a_plan_that_waits_is_told_in_any_order_of_the_topics(order: list[int]) -> None:
    """The feedback and the topic of what waits are not ordered among each other."""
    at = ConsoleState()
    at.set(goal=view(), nodes=ACTIVE)
    pending = Pending(ID, 'f' * 64, tuple(map(str, GOOD.steps)), Verdict(Category.SUCCESS), 0.0, 0)
    events = (
        lambda: at.goal(ID, lambda v: state.planned(v, judged(1, BAD))),
        lambda: at.goal(ID, lambda v: state.planned(v, judged(2))),
        lambda: at.set(pending=pending),
        lambda: at.goal(ID, lambda v: state.planned(v, msg.PlanningProgress(phase='generating'))),
        lambda: at.set(stop=StopView(True)),
    )
    for index in order:
        events[index]()
    told = next_words(situation(at.snapshot))
    assert told.startswith('The plan is proved safe and waits for you')
    assert 'pick up a from the table' in told


def test_what_a_result_has_overtaken_changes_nothing() -> None:
    """Results and feedback are not ordered among each other."""
    seen = state.planned(view(), judged(1))
    over = state.ended(seen, RunTask.Result(error_code=ErrorCode.NONE))
    assert state.executed(over, msg.ExecutionProgress(phase='moving', step=1, total=4)) == over
    assert state.planned(over, msg.PlanningProgress(phase='generating')) == over
    assert state.awaits(over, ('(pickup a)',), THREE.problem) == over
    assert state.replanned(over, msg.Replan(number=1, reason='late'), THREE.problem) == over


def test_a_replan_has_a_problem_of_its_own() -> None:
    seen = state.planned(view(), judged(1))
    seen = state.executed(seen, msg.ExecutionProgress(phase='moving', step=1, total=4))
    assert situation(Snapshot(goal=seen, nodes=ACTIVE)).index == 1
    left = THREE.problem
    seen = state.replanned(seen, msg.Replan(number=1, reason='b lies elsewhere'), left)
    assert (seen.problem, seen.plan, seen.step) == (left, (), 0)
    assert situation(Snapshot(goal=seen, nodes=ACTIVE)).reason == 'b lies elsewhere'


def test_why_an_attempt_was_refused_and_a_plan_given_up_stays_in_view() -> None:
    assert tried_html(view()) == ''
    seen = state.planned(view(), judged(1, BAD))
    assert '<b>Attempt 1 was refused:</b> every step is possible, but' in tried_html(seen)
    seen = state.planned(state.planned(seen, judged(2, BAD)), judged(3))
    told = tried_html(seen)
    assert 'Attempt 2 was refused' in told
    assert '1 before it was refused, too. Attempt 3 is proved safe.' in told
    reason = 'after step 1 (pickup a) the world is not as proved: missing (holding a), unexpected '
    differs = msg.Replan(number=1, reason=f'{reason}(on-table a) (arm-empty): look at the cell')
    told = tried_html(state.replanned(seen, differs, THREE.problem))
    assert 'Planned for anew:</b> after step 1 (“pick up a from the table”) the world was' in told
    assert 'so that block &quot;a&quot; is on the table and' in told


def test_a_goal_that_is_not_shown_changes_nothing() -> None:
    at = ConsoleState()
    at.set(goal=view())
    at.goal('1' * 32, lambda v: state.planned(v, judged(1)))
    assert at.snapshot.goal == view()


@given(
    stage=st.sampled_from(sorted({*NEXT} - {'no stack'})), stopped=st.booleans(), up=st.booleans()
)
def test_there_is_always_a_sentence_about_what_comes_next(
    stage: str, stopped: bool, up: bool
) -> None:
    goal = GoalView(ID, RUN, stage=stage, plan=tuple(map(str, GOOD.steps)))
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
    seen = state.planned(view(), judged(1, parse_plan('(pickup z)'), hostile))
    shown = attempt_html(seen.attempts[0], THREE.problem) + goal_html(seen)
    shown += plan_html(Snapshot(goal=seen)) + tried_html(seen)
    assert '<img' not in shown
    assert '<script' not in shown


def test_a_plan_that_waits_is_shown_above_its_digest_with_its_time() -> None:
    seen = state.awaits(view(), tuple(map(str, GOOD.steps)), THREE.problem)
    pending = Pending(ID, 'f' * 64, seen.plan, Verdict(Category.SUCCESS), 1300.0, 0)
    told = plan_html(Snapshot(goal=seen, pending=pending))
    assert told.index('What the arm will do') < told.index('f' * 64)
    assert countdown_words(pending, 1022.0) == 'The plan counts as refused in 278 s.'
    assert countdown_words(pending, 1400.0) == 'The plan counts as refused in 0 s.'
    assert countdown_words(None, 0.0) == ''


def test_a_request_that_a_model_read_is_shown_with_what_it_was_read_as() -> None:
    seen = state.awaits(view(), tuple(map(str, GOOD.steps)), THREE.problem)
    request = 'Build <b>a tower</b>.'
    pending = Pending(ID, 'f' * 64, seen.plan, Verdict(Category.SUCCESS), 1300.0, 0, request)
    told = plan_html(Snapshot(goal=seen, pending=pending))
    assert 'Is the task what is meant?' in told
    assert 'Build &lt;b&gt;a tower' in told
    assert told.index('Build') < told.index('What the arm will do')
    assert 'It has to come to this' in told


def test_a_stop_that_was_reset_is_no_news_any_more() -> None:
    reason = 'look at the cell, then reset it'
    result = RunTask.Result(error_code=ErrorCode.EXECUTION_STOPPED, error_msg=reason)
    over = state.ended(state.planned(view(), judged(1)), result)
    stopped = Snapshot(goal=over, nodes=ACTIVE, stop=StopView(True, True, 'a hand'))
    assert 'a hand' in next_words(situation(stopped))
    told = next_words(situation(replace(stopped, stop=StopView(True))))
    assert reason not in told
    assert 'the stack was reset since' in told


def test_the_robot_is_what_the_executor_reports() -> None:
    parts = {
        'validator: state': PartView('validator: state', 0, 'active', 'safegen'),
        'executor: state': PartView('executor: state', 0, 'active', 'mycobot'),
    }
    assert Snapshot(parts=parts).robot == 'mycobot'
    assert Snapshot().robot == ''

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A stack with a symbolic cell: every domain and format, by the action that also moves the arm."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.goals import Feedback
from support.model_server import Script
from support.one_process import Stack
from support.temporal import DIMMED, FLAT, LATE, RIGHT_TIMED, ROUNDS, TWO_ROUNDS
from support.waiting import wait_until

from safegen_ros.client import Options
from safegen_ros.errors import ErrorCode
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.pddl.writer import atom_text
from safegen_ros.record.node_journal import load_goals
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.task import load_task
from safegen_ros.verdict import Category


@pytest.mark.parametrize(('name', 'format'), [('ferry', 'json'), ('grippers', 'english')])
def test_a_task_of_any_domain_in_any_format_runs_to_its_goal(
    in_process: Stack, name: str, format: str
) -> None:
    task = load_task(kits()[name].problem(3).text)
    heard = Feedback()
    text = task.written_as(format).problem_text
    options = Options(strategy='search')
    result = in_process.client.run(text, options=options, format=format, on_feedback=heard)
    assert ErrorCode(result.error_code) is ErrorCode.NONE, result.error_msg
    assert result.steps_done == len(result.plan.steps) > 0

    def moved() -> list[int]:
        return [f.execution.step for f in heard.seen if f.execution.phase == 'moving']

    wait_until(lambda: len(moved()) >= result.steps_done, 'what had to be sent twice')
    assert moved() == [*range(result.steps_done)]
    assert not result.final_state.objects
    plan = '\n'.join(f'({" ".join((s.action, *s.arguments))})' for s in result.plan.steps)
    assert task.verify(plan).category is Category.SUCCESS
    wanted = {atom_text((g.predicate, *g.terms)) for g in task.problem.goal_conjuncts()}
    assert wanted <= set(result.final_state.facts)


def test_a_plan_of_a_chat_model_runs_once_no_number_or_deadline_breaks(in_process: Stack) -> None:
    in_process.server.script = Script([FLAT, LATE, DIMMED, f'Here:\n```\n{RIGHT_TIMED}\n```'])
    options = Options(strategy='model', max_attempts=4)
    result = in_process.client.run(TWO_ROUNDS, options=options, domain=ROUNDS)
    assert ErrorCode(result.error_code) is ErrorCode.NONE, result.error_msg
    verdicts = [Category(attempt.verdict.category) for attempt in result.attempts]
    unsafe = Category.SAFETY_VIOLATION
    assert verdicts == [unsafe, unsafe, Category.PRECONDITION_VIOLATION, Category.SUCCESS]
    assert result.steps_done == len(result.plan.steps)
    assert {'(seen a)', '(seen b)', '(= (charge) 10)'} <= set(result.final_state.facts)


def test_nothing_moves_step_by_step_where_seconds_count(in_process: Stack) -> None:
    heard = Feedback()
    options = Options(strategy='search', step_by_step=True)
    result = in_process.client.run(TWO_ROUNDS, domain=ROUNDS, options=options, on_feedback=heard)
    assert ErrorCode(result.error_code) is ErrorCode.UNSUPPORTED_FEATURE
    assert '(within 2 (seen b)) counts seconds from the start of the run' in result.error_msg
    assert not any(each.execution.phase for each in heard.seen)


DEPOT = """
(define (domain Depot) (:types Robot Place) (:predicates (At ?r - Robot ?p - Place))
  (:action Move :parameters (?r - Robot ?From ?To - Place) :precondition (At ?r ?From)
    :effect (and (not (At ?r ?From)) (At ?r ?To))))
"""
ERRAND = """
(define (problem Errand) (:domain Depot) (:objects RobotA - Robot Dock Shelf - Place)
  (:init (At RobotA Dock)) (:goal (At RobotA Shelf)))
"""


@pytest.mark.parametrize('step_by_step', [False, True])
def test_names_come_back_as_they_were_written(in_process: Stack, step_by_step: bool) -> None:
    heard = Feedback()
    in_process.server.script = Script(['(move robota dock shelf)'])
    options = Options(strategy='model', step_by_step=step_by_step)
    result = in_process.client.run(ERRAND, options=options, domain=DEPOT, on_feedback=heard)
    assert ErrorCode(result.error_code) is ErrorCode.NONE, result.error_msg
    plans = [result.plan, *(attempt.plan for attempt in result.attempts)]
    told = [f.execution.current for f in heard.seen if f.execution.current.action]
    steps = [*(step for plan in plans for step in plan.steps), *told]
    assert {(s.action, *s.arguments) for s in steps} == {('Move', 'RobotA', 'Dock', 'Shelf')}
    kept = load_goals(Path(in_process.planner.values['journal']))
    assert any('(Move RobotA Dock Shelf)' in repr(run.record) for _, run in kept.runs.values())


def test_no_model_is_asked_where_the_goal_holds_already(in_process: Stack) -> None:
    held = ERRAND.replace('(:goal (At RobotA Shelf))', '(:goal (At RobotA Dock))')
    result = in_process.client.run(held, options=Options(strategy='model'), domain=DEPOT)
    assert ErrorCode(result.error_code) is ErrorCode.NONE, result.error_msg
    assert [attempt.source for attempt in result.attempts] == ['goal check']
    assert not result.plan.steps


GUARDED = """
(define (domain guarded) (:requirements :durative-actions :timed-initial-literals)
  (:predicates (open) (inside))
  (:durative-action enter :parameters () :duration (= ?duration 0.2)
    :condition (over all (open)) :effect (at end (inside))))
"""
HOURS = """
(define (problem hours) (:domain guarded) (:init (at 0.3 (open)) (at 9 (not (open))))
  (:goal (inside)))
"""


def test_a_plan_of_a_client_waits_for_timed_literals(in_process: Stack) -> None:
    result = in_process.client.execute(HOURS, parse_plan('0.4: (enter) [0.2]', timed=True), GUARDED)
    assert ErrorCode(result.error_code) is ErrorCode.NONE, result.error_msg
    assert '(inside)' in result.final_state.facts
    early = in_process.client.execute(HOURS, parse_plan('(enter)'), GUARDED)
    assert ErrorCode(early.error_code) is ErrorCode.PLAN_REFUSED
    assert 'needs all the time (open)' in early.error_msg or 'needs (open)' in early.error_msg

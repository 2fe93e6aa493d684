# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plans over time: a chart has the times and numbers of the proof, and says them in words, too."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from safegen_ros.pddl.moments import steps_of_plan
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.record.present.cards import attempt_html
from safegen_ros.record.present.chart import (
    GanttChart,
    chart_html,
    chart_of,
    chart_of_attempt,
    chart_of_run,
    chart_of_steps,
)
from safegen_ros.record.present.runs import frames
from safegen_ros.record.run import AttemptRecord, ModelRecord, RunRecord, StepRecord
from safegen_ros.record.run_log import task_record
from safegen_ros.tasks.pddl3.task import Pddl3Task, load_files, load_task

PATROL = Path(__file__).parents[2] / 'examples/patrol'
TASK = load_files(PATROL / 'problem.pddl', PATROL / 'domain.pddl')
DOMAIN = (PATROL / 'domain.pddl').read_text(encoding='utf-8')
GOOD = """0: (charge r2d2 dock) [30]
30.001: (move r2d2 dock door) [12]
42.002: (inspect r2d2 door) [10]
52.003: (move r2d2 door shelf) [8]
60.004: (inspect r2d2 shelf) [10]"""
FLAT = '0: (move r2d2 dock door) [12]\n12.001: (inspect r2d2 door) [10]'

TWO = load_task(
    """(define (problem p) (:domain d) (:objects r1 r2 - robot) (:init (= (sum) 0))
  (:goal (>= (sum) 3)))""",
    """(define (domain d) (:requirements :typing :durative-actions :numeric-fluents) (:types robot)
  (:functions (sum))
  (:durative-action wait :parameters (?r - robot) :duration (= ?duration 5) :condition (and)
    :effect (at end (increase (sum) 1)))
  (:durative-action meet :parameters (?r ?s - robot) :duration (= ?duration 1) :condition (and)
    :effect (at end (increase (sum) 1))))""",
)
COUNT = load_task(
    '(define (problem p) (:domain d) (:init (= (n) 0.5)) (:goal (>= (n) 2)))',
    """(define (domain d) (:requirements :numeric-fluents) (:functions (n))
  (:action add :parameters () :precondition () :effect (increase (n) 1)))""",
)


def _attempt(task: Pddl3Task, text: str) -> AttemptRecord:
    steps = tuple(map(str, parse_plan(text, timed=True).steps))
    return AttemptRecord(1, 'model', text, steps, task.verify(text), 1.0)


def _chart(task: Pddl3Task, text: str) -> GanttChart:
    found = chart_of_attempt(task.problem, _attempt(task, text))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ('task', 'text', 'rows', 'line', 'known'),
    [
        (TASK, GOOD, ['r2d2'] * 5, [(0, 35), (30, 100), (42.001, 76), (60.003, 60)], 70.004),
        # Refused: nothing is said of numbers behind the state that breaks the rule.
        (TASK, FLAT, ['r2d2'] * 2, [(0, 35), (12, 11)], 12),
        # Steps that overlap keep their times; each of one robot is in its row.
        (TWO, '0: (wait r1) [5]\n1: (wait r2) [5]\n2: (wait r1) [5]', ['r1', 'r2', 'r1'],
         [(0, 0), (5, 1), (6, 2), (7, 3)], 7),
        # Where no one object does each step, there is a row for each action.
        (TWO, '0: (wait r1) [5]\n0: (meet r1 r2) [1]\n6: (wait r1) [5]', ['wait', 'meet', 'wait'],
         [(0, 0), (1, 1), (5, 2), (11, 3)], 11),
        (COUNT, '(add)(add)', [], [(0, 0.5), (1, 1.5), (2, 2.5)], 2),
    ],
)  # fmt: skip
def test_the_chart_has_the_times_and_numbers_of_the_proof(
    task: Pddl3Task, text: str, rows: list[str], line: list[tuple[float, float]], known: float
) -> None:
    chart = _chart(task, text)
    assert [row for row, *_ in chart.bars] == rows
    ((_, values),) = chart.lines
    assert [(time, float(value)) for time, value in values] == line
    assert chart.known == known
    if rows:
        times = parse_plan(text, timed=True).times
        assert [bar[1:3] for bar in chart.bars] == [
            (float(begin), float(begin + lasts)) for begin, lasts in times
        ]


def test_what_the_world_does_after_the_plan_does_not_stretch_the_chart() -> None:
    problem = TASK.problem_pddl.replace('(:init', '(:init (at 500 (free r2d2))')
    later = load_task(problem, DOMAIN)
    assert _chart(later, GOOD) == _chart(TASK, GOOD)


def test_the_plan_of_an_executor_has_the_times_of_its_proof() -> None:
    steps = parse_plan(GOOD, timed=True).steps
    assert chart_of(TASK.problem, Plan(steps)) == _chart(TASK, GOOD)
    # Steps that overlap are carried out by their moments.
    text = '0: (wait r1) [5]\n1: (wait r2) [5]\n2: (meet r1 r2) [1]'
    plan = parse_plan(text, timed=True)
    texts = [' '.join(map(str, step)) for step in steps_of_plan(plan)]
    chart = chart_of_steps(TWO.problem, texts)
    assert chart == _chart(TWO, text)
    assert chart.steps == ((0, 0), (0, 1), (1, 2), (2, 3), (3, 5), (5, 6))
    svg = str(chart_html(chart, done=4, now=3.0))
    assert [svg.count(f'class="sg-bar sg-bar-{kind}"') for kind in ('done', 'now', 'later')] == [
        1, 2, 0,
    ]  # fmt: skip


def test_who_does_not_see_it_is_told_the_same() -> None:
    figure = ElementTree.fromstring(chart_html(_chart(TASK, GOOD), done=2, now=44.0))
    (svg,) = figure.findall('svg')
    assert svg.get('role') == 'img'
    told = svg.get('aria-label', '')
    assert 'step 2, move r2d2 dock door, 30.001 to 42.001 s (done)' in told
    assert 'step 3, inspect r2d2 door, 42.002 to 52.002 s (now)' in told
    assert 'battery r2d2 is 35 from 0, 100 from 30, 76 from 42.001, 60 from 60.003 s' in told
    assert [text.text for text in svg.iter('text')][-1] == 'now'


def test_an_attempt_shows_the_step_that_fails_and_its_lights_the_same() -> None:
    html = str(attempt_html(_attempt(TASK, FLAT), TASK.problem))
    assert 'step 1, move r2d2 dock door, 0 to 12 s (here it fails)' in html
    assert 'Rule 2: broken by step 1.' in html
    dashed = '<rect x="27" y="1"'  # around the light behind step 1
    # Two rules and the goal; the deadline of the third rule is not seen in steps.
    assert html.count(dashed) == html.count('stroke-dasharray') == 3


def test_a_run_is_drawn_as_it_was_measured() -> None:
    steps = tuple(map(str, parse_plan(GOOD, timed=True).steps))
    begun = [(0.5, 31.0), (32.0, 13.0), (46.0, 10.5), (57.0, 8.0), (66.0, None)]
    record = RunRecord(
        'run', '', task_record(TASK, 'patrol', DOMAIN), ModelRecord('m', 1, 0.0, 1.0, 0, False),
        plan=steps, steps_done=4,
        steps=tuple(StepRecord(i, steps[i], at, took) for i, (at, took) in enumerate(begun)),
    )  # fmt: skip
    chart = chart_of_run(TASK.problem, record, frames(TASK.problem, record))
    assert chart is not None
    assert [bar[1:3] for bar in chart.bars] == [(0.5, 31.5), (32, 45), (46, 56.5), (57, 65)]
    assert chart.lines == (('battery r2d2', ((0, 35), (31.5, 100), (45, 76), (65, 60))),)


@pytest.mark.parametrize('text', ['(pickup a)', 'Sure!', ''])
def test_nothing_is_drawn_of_what_is_no_plan_of_the_task(text: str) -> None:
    steps = (text,) if text.startswith('(') else ()
    attempt = AttemptRecord(1, 'model', text, steps, TASK.verify(text), 1.0)
    assert chart_of_attempt(TASK.problem, attempt) is None
    assert chart_html(None) == ''

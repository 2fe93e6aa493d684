# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Two attempts, and two runs, side by side."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from support.kept_runs import PLAN, TASK, UNSAFE, keep_run, kept_folder

from safegen_ros.record.present.compare import compare, compare_html, compare_runs, comparison_words
from safegen_ros.record.present.wording import steps_of
from safegen_ros.record.run import AttemptRecord
from safegen_ros.record.run_log import load_run


def _attempt(number: int, *steps: str) -> AttemptRecord:
    text = '\n'.join(steps)
    told = tuple(map(str, steps_of(steps)))
    return AttemptRecord(number, 'model', text, told, TASK.verify(text), 0.1)


def test_where_two_attempts_part() -> None:
    found = compare(TASK.problem, _attempt(1, *PLAN), _attempt(2, PLAN[0], '(putdown a)'))
    assert found.parts_at == 1
    assert [(each.same, each.same_world) for each in found.steps] == [(True, True), (False, False)]
    assert 'share the first 1 step and part in step 2' in comparison_words(found)


def test_different_steps_may_lead_to_the_same_world() -> None:
    there_and_back = _attempt(1, '(pickup a)', '(putdown a)')
    other = _attempt(2, '(pickup b)', '(putdown b)')
    found = compare(TASK.problem, there_and_back, other)
    assert [each.same_world for each in found.steps] == [False, True]
    assert 'different from the first step on' in comparison_words(found)
    assert '≠ (same world)' in compare_html(TASK.problem, found)


def test_a_shorter_one_and_one_that_cannot_be_followed() -> None:
    found = compare(TASK.problem, _attempt(1, *PLAN), _attempt(2, PLAN[0]))
    assert (found.steps[1].right, found.steps[1].same_world) == ('', None)
    stuck = compare(TASK.problem, _attempt(1, '(stack a b)'), _attempt(2, '(stack a b)'))
    assert stuck.parts_at == -1
    assert stuck.steps[0].same_world is None
    assert 'the same, step by step' in comparison_words(stuck)
    assert 'in neither' in comparison_words(compare(None, _attempt(1), _attempt(2)))


def test_the_table_has_both_verdicts_and_the_failing_step() -> None:
    html = compare_html(
        TASK.problem, compare(TASK.problem, _attempt(1, *UNSAFE.split('\n')), _attempt(2, *PLAN))
    )
    assert 'put b on a <b>— here it fails</b>' in html
    assert 'breaks a rule' in html
    assert 'proved safe' in html
    assert html.count('sg-differs') == 4


def test_hostile_steps_are_only_shown() -> None:
    evil = AttemptRecord(1, '<b>', '', ('<script>',), TASK.verify(''), 0.1)
    html = compare_html(None, compare(None, evil, evil))
    assert '<script' not in html
    assert '(&lt;b&gt;)' in html


def test_two_runs(tmp_path: Path) -> None:
    one, two = (
        kept_folder(tmp_path, '20260131T142500Z-3f9c'),
        kept_folder(tmp_path, '20260201T142500Z-0000'),
    )
    keep_run(one)
    keep_run(two, reached=False)
    left, right = load_run(one), load_run(two)
    assert compare_runs(left, left) == ()
    rows = {what: (a, b) for what, a, b in compare_runs(left, right)}
    assert rows['result'] == ('SUCCESS', 'GOAL_NOT_REACHED')
    assert 'task' not in rows
    shorter = dataclasses.replace(right, record=dataclasses.replace(right.record, plan=PLAN[:1]))
    rows = {what: (a, b) for what, a, b in compare_runs(left, shorter)}
    assert rows['step 2'] == (PLAN[1], 'none')

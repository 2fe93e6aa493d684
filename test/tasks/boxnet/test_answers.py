# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Answers of planners: what is read, and what each other text is called."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safegen_ros.tasks.boxnet.answers import PlanAnswerError, has_form, read_plan, read_step
from safegen_ros.tasks.boxnet.findings import Finding
from safegen_ros.tasks.boxnet.model import Move, State, Task, plan_json, step_json
from safegen_ros.tasks.boxnet.verifier import verify, verify_step
from safegen_ros.verdict import Category

ROBOTS = {'Robot 0': 0, 'Robot 1': 1}
M = 1_000_000
TASK = Task(
    't', 2, 2, ((0, M), (M, M)), State(((250_000, M), (M, M)), ((M, M),)), ((250_000, 250_000),)
)
MOVE = '"[1.25, -0.5] -> [1, 0.333333], True"'


@pytest.mark.parametrize(
    ('text', 'formatted'),
    [
        (f'<think>a {{}} b</think>\n```json\n[{{"Robot 1": {MOVE}}}]\n```', True),
        (f'```\n[{{"Robot 1": {MOVE}}}]\n```', False),
        (f'<think>x</think>[{{"Robot 1": {MOVE}}}]', False),
        (f'[{{"Robot 1": {MOVE}}}]', False),
    ],
)
def test_a_plan_is_read_with_and_without_its_wrapping(text: str, formatted: bool) -> None:
    found = read_plan(text, ROBOTS)
    assert found.plan == ((Move(1, (1_250_000, -500_000), (M, 333_333), True),),)
    assert (found.formatted, has_form(text)) == (formatted, formatted)


BAD = {
    'no JSON': ('go left', Finding.UNPARSEABLE, 'is not JSON'),
    'empty': ('', Finding.UNPARSEABLE, 'is not JSON'),
    'open thoughts': ('<think>[]', Finding.UNPARSEABLE, 'the thoughts do not end'),
    'two fences': ('```json\n[]\n```\n```json\n[]\n```', Finding.UNPARSEABLE, '2 fenced texts'),
    'object': ('{}', Finding.UNPARSEABLE, 'an object'),
    'step': ('[3]', Finding.UNPARSEABLE, 'step 1: is a number'),
    'value': ('[{"Robot 0": true}]', Finding.UNPARSEABLE, 'Robot 0: is not a move'),
    'flag': ('[{"Robot 0": "[1, 1] -> [1, 1], maybe"}]', Finding.UNPARSEABLE, 'is not a move'),
    'NaN': ('[{"Robot 0": "[NaN, 1] -> [1, 1], True"}]', Finding.UNPARSEABLE, 'is not a coord'),
    'bare NaN': ('[{"Robot 0": NaN}]', Finding.UNPARSEABLE, 'NaN is not a number'),
    'huge': ('[{"Robot 0": "[9e99, 1] -> [1, 1], True"}]', Finding.UNPARSEABLE, 'not a coordinate'),
    'far': ('[{"Robot 0": "[99999, 1] -> [1, 1], True"}]', Finding.UNPARSEABLE, 'far outside'),
    'fine': ('[{"Robot 0": "[0.1234567, 1] -> [1, 1], True"}]', Finding.UNPARSEABLE, 'decimals'),
    'digits': ('[{"Robot 0": "[\u0661, 1] -> [1, 1], True"}]', Finding.UNPARSEABLE, 'not a coord'),
    'unknown': ('[{}, {"Robot 7": "x"}]', Finding.UNKNOWN_ROBOT, "no robot 'Robot 7'"),
    'twice': (f'[{{"Robot 0": {MOVE}, "Robot 0": {MOVE}}}]', Finding.REPEATED_ROBOT, 'named twice'),
    'deep': ('[' * 100_000, Finding.UNPARSEABLE, 'nested too deeply'),
    'long': ('x' * 300_000, Finding.UNPARSEABLE, 'characters'),
    'many': (f'[{", ".join(["{}"] * 501)}]', Finding.UNPARSEABLE, '501 steps'),
}  # fmt: skip


@pytest.mark.parametrize(('text', 'finding', 'words'), BAD.values(), ids=BAD)
def test_what_is_no_plan_is_called_by_name(text: str, finding: Finding, words: str) -> None:
    with pytest.raises(PlanAnswerError, match=words) as raised:
        read_plan(text, ROBOTS)
    assert raised.value.fault.finding is finding
    found = verify(TASK, text)
    assert (found.verdict.category, found.finding) == (Category.FORMAT_ERROR, finding)


_coordinates = st.integers(-3 * M, 3 * M)
_moves = st.builds(
    Move, st.sampled_from([0, 1]), st.tuples(_coordinates, _coordinates),
    st.tuples(_coordinates, _coordinates), st.booleans(),
)  # fmt: skip
_steps = st.lists(_moves, max_size=2, unique_by=lambda move: move.robot).map(tuple)


@given(st.lists(_steps, max_size=3).map(tuple))
def test_what_is_written_is_read_again(plan: tuple[tuple[Move, ...], ...]) -> None:
    assert read_plan(plan_json(plan), ROBOTS).plan == plan
    for step in plan:
        assert read_step(step_json(step), ROBOTS).plan == (step,)


_shards = st.sampled_from(
    ['[', ']', '{', '}', '"Robot 0"', '"Robot 9"', ':', ',', MOVE, '"[1, 1] -> [0.5, 1.5], True"',
     '<think>', '</think>', '```json\n', '```', 'NaN', '1e999', '\x00', '\ud800', 'unsolvable']
)  # fmt: skip


@given(st.one_of(st.text(max_size=60), st.lists(_shards, max_size=14).map(''.join)))
def test_any_text_gets_a_named_verdict(text: str) -> None:
    found = verify(TASK, text)
    assert found.verdict.category is found.finding.category is not Category.UNKNOWN
    assert found.verdict.reason
    step = verify_step(TASK, TASK.start, text)
    assert step.verdict.category is not Category.UNKNOWN
    assert step.verdict.ok == (len(step.states) == 2)

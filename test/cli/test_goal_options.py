# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An option of a goal is declared once: messages and command line follow from the declaration."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from support.blocks_small import THREE_TEXT

from safegen_msgs.action import PlanTask, RunTask
from safegen_ros.cli.goal_verbs import takes_goal_options
from safegen_ros.cli.main import load_verb
from safegen_ros.cli.text_request import TextRequest, is_request
from safegen_ros.client import _planning_goal
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.goal_options import PLAN_ONLY, Options

OTHER: dict[str, Any] = {
    'time_budget_s': 7.5, 'max_attempts': 3, 'search_fallback': False, 'seed': 4,
    'strategy': 'search', 'feedback': 'binary', 'max_replans': 2, 'approval': True,
    'approval_timeout_s': 9.0, 'constraints': '(always (p))', 'start': '(define)',
    'translate_only': True, 'accept_reading': 'ab', 'request': 'put b1 on b2',
    'step_by_step': True, 'max_steps': 5, 'from_current': True,
}  # fmt: skip


def test_each_option_is_in_a_message_under_its_own_name() -> None:
    assert set(OTHER) == {each.name for each in fields(Options)}
    options, carried = Options(**OTHER), set()
    for goal in (RunTask.Goal(), PlanTask.Goal()):
        _planning_goal(goal, 'x', '', options, '')
        assert goal.task.problem == 'x'
        for name, value in OTHER.items():
            field = name.removesuffix('_s')
            for part in (goal, goal.task):
                if hasattr(part, field):
                    sent = getattr(part, field)
                    seconds = name != field and sent.sec + sent.nanosec * 1e-9
                    assert (seconds or sent) == value, name
                    carried.add(name)
    assert carried == set(OTHER)


@pytest.mark.parametrize('verb', ['demo', 'run'])
def test_each_option_is_one_of_the_verbs_that_it_names(verb: str) -> None:
    offered = {each.name: each for each in load_verb(verb).params}
    for field in fields(Options):
        told = field.metadata
        name = told.get('flag', '').removeprefix('--').replace('-', '_')
        assert (name in offered) == (verb in told.get('verbs', ())), field.name
        if name in offered:
            assert offered[name].help.startswith(told['help'].partition('{')[0])
    assert 'options' not in offered


def test_what_is_given_reaches_the_verb_as_options() -> None:
    @takes_goal_options(PLAN_ONLY)
    def verb(problem: str, options: Options = Options()) -> tuple[str, Options]:  # noqa: B008
        return problem, options

    given = {'time_budget': 3.0, 'attempts': 2, 'search': False, 'seed': 1}
    got = verb(problem='p', strategy='', feedback='', **given)
    assert got == ('p', Options(3.0, 2, False, 1))


@pytest.mark.parametrize(
    'options',
    [
        {'time_budget_s': 0.0},
        {'time_budget_s': -1.0},
        {'time_budget_s': float('nan')},
        {'time_budget_s': 86401.0},
        {'seed': -1},
        {'seed': 2**31},
        {'max_attempts': -1},
        {'max_attempts': 256},
    ],
    ids=str,
)
def test_options_that_no_goal_can_carry_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(SafegenError) as caught:
        Options(**options)
    assert caught.value.code is ErrorCode.GOAL_REJECTED
    assert next(iter(options)).split('_')[0] in caught.value.message


@pytest.mark.parametrize(
    ('text', 'request_'),
    [
        ('put b1 on b2, and never put anything on b3', True),
        ('put b1 on b2.', True),
        ('blocksworld-023', False),
        ('no/such/problem.pddl', False),
        ('my problems/tower order.pddl', False),
        ('a task.txt', False),
        ('stack', False),
        ('', False),
        (' ', False),
        ('x ' * 10_000, True),
        ('put a \0 on b', True),
    ],
)
def test_a_text_with_blanks_that_is_no_file_is_a_request(text: str, request_: bool) -> None:
    assert is_request(text) is request_


def test_a_file_with_blanks_in_its_name_is_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert is_request('my task')
    Path('my task').write_text(THREE_TEXT)
    assert not is_request('my task')
    spoken = TextRequest.read('my task', True, Path('blocksworld'), '', None)
    assert spoken == TextRequest('my task', 'blocksworld', '', '')


def test_domain_constraints_and_start_may_be_files(tmp_path: Path) -> None:
    files = {'domain': '(define (domain d))', 'rules': '(always (p))', 'start.pddl': THREE_TEXT}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    rules, start = str(tmp_path / 'rules'), tmp_path / 'start.pddl'
    spoken = TextRequest.read('put a on b', False, tmp_path / 'domain', rules, start)
    assert spoken == TextRequest('put a on b', *files.values())
    options = spoken.options(Options(seed=3))
    assert (options.constraints, options.start, options.seed) == ('(always (p))', THREE_TEXT, 3)
    spoken = TextRequest.read('put a on b', False, None, '(always (p))', None)
    assert spoken == TextRequest('put a on b', '', '(always (p))', '')


@pytest.mark.parametrize(('constraints', 'start'), [('(always (p))', None), ('', Path('s.pddl'))])
def test_what_goes_with_words_is_not_dropped_beside_a_file(
    constraints: str, start: Path | None
) -> None:
    with pytest.raises(SafegenError, match='--words'):
        TextRequest.read('examples/tower_order.pddl', False, None, constraints, start)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(SafegenError, match='the constraints cannot be read'):
        TextRequest.read('put a on b', False, None, 'no-such-file', None)
    with pytest.raises(SafegenError, match='the problem cannot be read'):
        TextRequest.read('put a on b', False, None, '', tmp_path / 'none.pddl')

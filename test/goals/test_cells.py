# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which cell a task gets: never a symbolic one without a word, and never the twin by mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.goals.request import choose_cell
from safegen_ros.tasks.pddl3.domains import builtin_domain_text, kits
from safegen_ros.tasks.pddl3.task import Pddl3Task, load_task

PATH = Path('task.pddl')


def _blocks(count: int) -> Pddl3Task:
    return load_task(kits()['blocksworld'].problem(1, {'blocks': count}).text)


def test_blocks_that_fit_on_the_table_get_the_arm(tower_order: Pddl3Task) -> None:
    assert choose_cell(PATH, tower_order.problem).cell == 'twin'
    assert choose_cell(PATH, _blocks(6).problem).cell == 'twin'
    assert choose_cell(PATH, tower_order.problem, 'symbolic').cell == 'symbolic'


@pytest.mark.parametrize('name', sorted(set(kits()) - {'blocksworld'}))
def test_another_domain_gets_symbols_and_the_reason(name: str) -> None:
    task = load_task(kits()[name].problem(1).text)
    choice = choose_cell(PATH, task.problem)
    assert choice.cell == 'symbolic'
    assert 'nothing moves' in choice.text
    assert f'domain {task.problem.domain.name} has other actions' in choice.text


def test_more_blocks_than_the_table_takes_get_symbols_and_the_reason() -> None:
    choice = choose_cell(PATH, _blocks(7).problem)
    assert choice.cell == 'symbolic'
    assert 'the table takes 6 blocks, and the task has 7' in choice.text
    with pytest.raises(SafegenError, match='7 blocks') as caught:
        choose_cell(PATH, _blocks(7).problem, 'twin')
    assert caught.value.code is ErrorCode.UNSUPPORTED_SCENE


def test_actions_of_the_same_names_that_do_something_else_do_not_get_the_arm(
    tower_order: Pddl3Task,
) -> None:
    loose = builtin_domain_text('blocksworld').replace(
        '(and (clear ?underob) (holding ?ob))', '(holding ?ob)'
    )
    task = load_task(tower_order.problem_text, loose)
    assert choose_cell(PATH, task.problem).cell == 'symbolic'
    with pytest.raises(SafegenError, match=r"'stack'.*--cell symbolic"):
        choose_cell(PATH, task.problem, 'twin')


def test_a_state_that_contradicts_itself_is_refused_with_the_way_out() -> None:
    text = _blocks(3).problem_text.replace('(arm-empty)', '')
    with pytest.raises(SafegenError, match=r'^task\.pddl: .*--cell symbolic') as caught:
        choose_cell(PATH, load_task(text).problem)
    assert caught.value.code is ErrorCode.UNSUPPORTED_SCENE


def test_a_cell_that_there_is_not_is_refused(tower_order: Pddl3Task) -> None:
    with pytest.raises(SafegenError, match='auto twin symbolic'):
        choose_cell(PATH, tower_order.problem, 'table')

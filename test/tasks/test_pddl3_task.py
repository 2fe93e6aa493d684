# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Tasks are read with the domain they name, or refused with the reason."""

from __future__ import annotations

import pytest

from safegen_ros.errors import ErrorCode, PddlError, SafegenError
from safegen_ros.pddl.plan import Step
from safegen_ros.tasks.pddl3.domains import (
    builtin_domain,
    builtin_domain_text,
    domain_files,
    kits,
    require_same_actions,
)
from safegen_ros.tasks.pddl3.formats import FORMATS
from safegen_ros.tasks.pddl3.task import Pddl3Task, load_task


def test_every_builtin_domain_reads_and_has_its_names() -> None:
    assert 'blocksworld' in domain_files()
    for name in domain_files():
        assert builtin_domain(name).actions


def test_an_alias_names_the_same_domain(tower_order: Pddl3Task) -> None:
    text = tower_order.problem_text.replace('(:domain blocksworld)', '(:domain blocksworld-4ops)')
    task = load_task(text)
    assert task.problem.domain.name == 'blocksworld-4ops'
    require_same_actions(task.problem.domain, 'blocksworld')


def test_an_unknown_domain_is_refused_with_the_known_ones(tower_order: Pddl3Task) -> None:
    text = tower_order.problem_text.replace('(:domain blocksworld)', '(:domain logistics)')
    with pytest.raises(
        SafegenError, match=r"^<problem>:\d+:12: .*'logistics'.*blocksworld"
    ) as caught:
        load_task(text)
    assert caught.value.code is ErrorCode.UNKNOWN_DOMAIN


def test_a_task_may_bring_its_own_domain(tower_order: Pddl3Task) -> None:
    text = builtin_domain_text('blocksworld').replace('(domain blocksworld)', '(domain mine)')
    task = load_task(
        tower_order.problem_text.replace('(:domain blocksworld)', '(:domain mine)'), text
    )
    assert task.problem.domain.name == 'mine'
    require_same_actions(task.problem.domain, 'blocksworld')


def test_another_meaning_of_an_action_does_not_reach_the_robot(
    tower_order: Pddl3Task,
) -> None:
    """Dropping `clear` from stack proves plans that would crush a block."""
    loose = builtin_domain_text('blocksworld').replace(
        '(and (clear ?underob) (holding ?ob))', '(holding ?ob)'
    )
    task = load_task(tower_order.problem_text, loose)
    with pytest.raises(SafegenError, match="'stack'") as caught:
        require_same_actions(task.problem.domain, 'blocksworld')
    assert caught.value.code is ErrorCode.UNSUPPORTED_SCENE


@pytest.mark.parametrize('name', list(kits()))
@pytest.mark.parametrize('format', list(FORMATS))
def test_a_task_is_the_same_in_every_format(name: str, format: str) -> None:
    task = load_task(kits()[name].problem(5).text)
    sent = task.written_as(format)
    assert (sent.format, sent.problem) == (format, task.problem)
    read = load_task(sent.problem_text, format=format)
    assert (read.format, read.problem_text) == (format, sent.problem_text)
    assert read.problem == task.problem
    assert load_task(read.problem_pddl).problem == read.problem


def test_a_text_that_is_sent_as_it_is_stays_as_it_is(tower_order: Pddl3Task) -> None:
    assert tower_order.written_as('pddl') is tower_order
    assert tower_order.problem_pddl is tower_order.problem_text


@pytest.mark.parametrize('format', list(FORMATS))
def test_a_format_may_come_with_a_domain_of_ones_own(tower_order: Pddl3Task, format: str) -> None:
    domain = builtin_domain_text('blocksworld').replace('(domain blocksworld)', '(domain mine)')
    text = tower_order.written_as(format).problem_text
    with pytest.raises(PddlError, match="'blocksworld', not 'mine'"):
        load_task(text, domain, format=format)
    named = load_task(text, domain, format=format, any_name=True)
    assert named.problem.domain.name == 'blocksworld'
    assert named.problem.goal == tower_order.problem.goal


@pytest.mark.parametrize('format', list(FORMATS))
def test_an_unknown_domain_is_shown_where_it_stands(tower_order: Pddl3Task, format: str) -> None:
    text = tower_order.written_as(format).problem_text.replace('blocksworld', 'logistics')
    with pytest.raises(PddlError, match='ferry') as caught:
        load_task(text, format=format)
    assert caught.value.code is ErrorCode.UNKNOWN_DOMAIN
    line = text.splitlines()[caught.value.line - 1]
    assert line[caught.value.column - 1 :].lstrip('"').startswith('logistics')
    assert caught.value.excerpt.endswith('^')


@pytest.mark.parametrize('format', list(FORMATS))
def test_an_error_in_any_format_shows_its_line(tower_order: Pddl3Task, format: str) -> None:
    text = tower_order.written_as(format).problem_text.replace('b4', 'b7', 1)
    with pytest.raises(PddlError) as caught:
        load_task(text, format=format)
    assert all(each.excerpt.endswith('^') for each in caught.value.errors)
    assert caught.value.excerpt.split('| ', 1)[1].split('\n')[0] in text


@pytest.mark.parametrize('format', list(FORMATS))
def test_an_empty_text_is_called_so(format: str) -> None:
    with pytest.raises(PddlError, match='the text is empty') as caught:
        load_task(' \n', format=format)
    assert caught.value.code is ErrorCode.EMPTY_TASK


@pytest.mark.parametrize('name', ['jsn', 'JSON', 'x' * 1000, '\x1b[2J'])
def test_an_unknown_format_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(SafegenError, match='use one of pddl json english') as caught:
        load_task('(define)', format=name)
    assert caught.value.code is ErrorCode.UNKNOWN_FORMAT
    assert len(caught.value.message) < 200
    assert caught.value.message.isprintable()


def test_what_is_left_of_a_task_keeps_the_spelling_of_its_names() -> None:
    domain = (
        '(define (domain D) (:types Robot) (:predicates (Up ?r - Robot) (Down ?r - Robot))'
        '(:action Lift :parameters (?r - Robot) :precondition (Down ?r) :effect (Up ?r))'
        '(:constraints (forall (?r - Robot) (sometime (Up ?r)))))'
    )
    problem = (
        '(define (problem P) (:domain D) (:objects RobotA - Robot) (:init (Down RobotA))'
        '(:goal (Up RobotA)))'
    )
    task = load_task(problem, domain)
    for whole in (task, task.written_as('json')):
        monitor = whole.monitor(((Step('lift', ('robota',)),),))
        monitor.look(task.init)
        rest = load_task(*reversed(whole.rest(monitor.remaining())))
        assert rest.problem.spelling == {'robota': 'RobotA', 'lift': 'Lift'}
        assert rest.problem == monitor.remaining()
    objects = task.written_as('json').problem_text.replace('robota', 'RobotA')
    assert load_task(objects, domain, format='json').problem.spelling['robota'] == 'RobotA'

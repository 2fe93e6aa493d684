# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Tasks are read with the domain they name, or refused with the reason."""

from __future__ import annotations

import doctest
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.blocks_small import THREE_TEXT
from support.strategies import examples

from safegen_ros.benchmarks.comparison import Line
from safegen_ros.benchmarks.household.episodes import measure, scripted
from safegen_ros.errors import ErrorCode, PddlError, SafegenError
from safegen_ros.pddl.plan import Plan, Step, parse_plan
from safegen_ros.search.solve import solve
from safegen_ros.tasks.cells import CellSetup
from safegen_ros.tasks.household.tasks import DEFECTS, clean_tasks
from safegen_ros.tasks.pddl3 import task as pddl3_task
from safegen_ros.tasks.pddl3.domains import (
    builtin_domain_text,
    kits,
    require_same_actions,
)
from safegen_ros.tasks.pddl3.formats import FORMATS
from safegen_ros.tasks.pddl3.task import Pddl3Task, load_task
from safegen_ros.tasks.table import WORLDS, read_action_task
from safegen_ros.verdict import Category


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


MAP = '{"id": "m", "width": 2, "height": 2, "objects": [[0.25, 0.25]], "targets": [[1.25, 0.25]], "bases": [[1, 1]], "tips": [[1.25, 1.25]]}'  # noqa: E501
LATE = """
(define (problem late) (:domain blocksworld) (:objects a b c)
  (:init (arm-empty) (on-table a) (on-table b) (on-table c) (clear a) (clear b) (clear c))
  (:goal (on a b))
  (:constraints (and (within 2 (on a b)) (always (not (holding c))))))
"""


def test_every_world_has_what_the_stack_asks_for() -> None:
    texts = {'boxnet': MAP, 'household': 'fire-candle'}
    assert texts.keys() == WORLDS.keys()
    for format, text in texts.items():
        task = read_action_task(text, format=format)
        assert task.format == format
        assert task.problem_text == text
        assert task.cell(CellSetup()).unseen == ()
        assert {name for atom in task.init for name in atom[1:2]} <= set(task.objects)
        assert task.verify('', step_by_step=True).ok
        assert task.verify('nonsense').category is Category.FORMAT_ERROR
        assert dict(task.summary())['constraint']
    assert isinstance(read_action_task(THREE_TEXT), Pddl3Task)


def test_a_plan_is_read_once_for_its_verdict_and_its_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = list[str]()

    def read(text: str, *, timed: bool = False) -> Plan:
        texts.append(text)
        return parse_plan(text, timed=timed)

    monkeypatch.setattr(pddl3_task, 'parse_plan', read)
    task = load_task(THREE_TEXT)
    plan = solve(task.problem).plan
    text = '\n'.join(f'{step} [5]' for step in plan)  # a duration says nothing here
    assert task.verify(text).ok
    assert task.steps_of(text) == tuple((step,) for step in plan)
    assert texts == [text]


@pytest.mark.parametrize('format', [*WORLDS, 'pddl'])
@examples(30)
@given(text=st.one_of(st.text(max_size=40), st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(['task', 'setting', 'done', 'explicit', 'id', 'bases']), inner, max_size=4
    ),
).map(json.dumps)))  # fmt: skip
def test_any_text_is_a_task_or_an_error_with_its_reason(format: str, text: str) -> None:
    told = ''
    try:
        read_action_task(text, format=format)
    except SafegenError as error:
        told = error.message
    assert told or format in WORLDS  # no such text is a PDDL problem


@pytest.mark.parametrize(
    ('domain', 'format', 'match'),
    [
        ('', 'boxes', 'use one of pddl json english boxnet household'),
        ('(define)', 'boxnet', 'no domain'),
    ],
)
def test_what_no_world_reads_is_refused(domain: str, format: str, match: str) -> None:
    with pytest.raises(SafegenError, match=match):
        read_action_task(MAP, domain, format)


@pytest.mark.parametrize(
    ('step', 'category', 'why'),
    [
        ('(pickup a)', Category.SUCCESS, 'may be taken'),
        ('', Category.SUCCESS, 'nothing is done'),
        ('(pickup b)', Category.SUCCESS, 'may be taken'),  # in time or not
        ('(pickup c)', Category.SAFETY_VIOLATION, 'holding c'),
        ('(stack a b)', Category.PRECONDITION_VIOLATION, 'holding a'),
        ('(fly a)', Category.FORMAT_ERROR, 'fly'),
        ('pick it up', Category.FORMAT_ERROR, ''),
        ('(pickup a)(stack a b)', Category.FORMAT_ERROR, 'give the next one alone'),
    ],
)  # fmt: skip
def test_a_step_alone_has_to_leave_every_constraint_satisfiable(
    step: str, category: Category, why: str
) -> None:
    task = load_task(LATE)
    verdict = task.verify(step, step_by_step=True)
    assert verdict.category is category, verdict.reason
    assert why in verdict.reason


def test_what_is_left_of_a_task_is_all_of_it_until_a_step_was_taken() -> None:
    """Which a look at the world does not change, whatever it finds."""
    task = load_task(LATE)
    monitor = task.monitor((), step_by_step=True)
    seen = task.init - {('clear', 'b'), ('on-table', 'c')} | {('on', 'c', 'b')}
    monitor.look(seen)
    monitor.finish()
    domain, text = task.rest(monitor.remaining())
    rest = load_task(text, domain)
    assert rest.init == seen
    assert len(rest.problem.constraints) == 2
    assert {c.times for c in rest.problem.constraints} == {(2,), ()}

    steps = rest.steps_of('(pickup a)')
    monitor = rest.monitor(steps, step_by_step=True)
    monitor.look(seen)
    monitor.look(seen - {('arm-empty',), ('clear', 'a'), ('on-table', 'a')} | {('holding', 'a')})
    left = load_task(*reversed(rest.rest(monitor.remaining())))
    assert {c.times for c in left.problem.constraints} == {(1,), ()}


def test_a_household_goes_on_with_what_was_done() -> None:
    text = json.dumps({'task': 'fire-candle', 'done': ['go to CounterTop (1)']})
    task = read_action_task(text, format='household')
    steps = task.steps_of('pick up Candle (1)')
    assert [str(step[0]) for step in steps] == ['(pick-up candle-1)']
    assert task.answer_of(steps, step_by_step=True) == 'pick up Candle (1)'
    assert task.verify('pick up Candle (1)', step_by_step=True).ok
    assert (
        task.verify('open Candle (1)', step_by_step=True).category
        is Category.PRECONDITION_VIOLATION
    )
    assert task.verify('pick up candel', step_by_step=True).category is Category.FORMAT_ERROR
    for wrong in (['fly to Candle (1)'], ['open CounterTop (1)']):
        with pytest.raises(SafegenError, match='action 1 was never taken'):
            read_action_task(json.dumps({'task': 'fire-candle', 'done': wrong}), format='household')


DOCS = Path(__file__).parents[2] / 'docs'
DOCUMENT = DOCS / 'household.md'


@pytest.mark.parametrize(
    'page', ['boxnet', 'boxnet3d', 'household', 'planetarium', 'planetarium-data']
)
def test_the_examples_of_a_page_are_right(page: str) -> None:
    failed, attempted = doctest.testfile(str(DOCS / f'{page}.md'), module_relative=False)
    assert (failed, attempted > 8) == (0, True)


def test_every_known_defect_is_in_the_document() -> None:
    text = (DOCS / 'household-tasks.md').read_text()
    for name in DEFECTS:
        assert f'`{name}`' in text, name


@pytest.mark.nightly
def test_the_figures_that_are_kept_are_those_of_the_command() -> None:
    kept = json.loads((DOCS / 'results' / 'household.json').read_text())
    tasks = list(clean_tasks().values())
    text = DOCUMENT.read_text()
    for contestant in scripted(['oracle', 'careless'], 0):
        options = replace(contestant.options, explicit=True)
        figures = measure(contestant, options, tasks, 1).figures
        line = Line('table 3', 'explicit', contestant.name, figures)
        assert line.as_dict(('table', 'setting', 'whose')) in kept['lines']
        gsr = figures.more['GSR']
        assert f'| {contestant.name} | {figures.success:.1f} | {gsr:.1f} |' in text

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What an operator may ask for: what is offered can be read, and no text does harm."""

from __future__ import annotations

from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.blocks_small import THREE_TEXT

from safegen_ros.api import Problem
from safegen_ros.console import choices
from safegen_ros.console.choices import (
    PASTED,
    read_pasted,
    read_problem,
    request_examples,
    rule_examples,
    understand,
)
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.llm.backend import Sampling
from safegen_ros.llm.open_backend import open_backend
from safegen_ros.paths import data_path
from safegen_ros.pddl.writer import problem_text
from safegen_ros.search.solve import solve
from safegen_ros.tasks.pddl3.domains import builtin_domain_text
from safegen_ros.tasks.pddl3.task import load_task
from safegen_ros.tasks.planetarium.nl_to_pddl import Translation, translate
from safegen_ros.tasks.planetarium.request import read_request
from safegen_ros.tasks.planetarium.styles import translation_style_of

TOWER_ORDER = Problem.load(Path(__file__).parents[2] / 'examples/tower_order.pddl')
DOMAIN = builtin_domain_text('blocksworld').replace('domain blocksworld', 'domain mine')
MINE = THREE_TEXT.replace('blocksworld', 'mine')


def test_examples_come_before_the_test_problems() -> None:
    names = list(choices.problems())
    assert names[:4] == ['cold_rooms', 'fragile_block', 'reach_behind', 'tower_order']
    assert 'blocksworld-023' in names
    assert read_problem('tower_order').task.name == 'tower-order'
    assert read_problem('blocksworld-023').domain_text == ''


def test_a_name_is_no_path() -> None:
    for name in ('../config/sim', '/etc/passwd', 'nothing'):
        with pytest.raises(SafegenError, match='there is no problem'):
            read_problem(name)


@pytest.mark.parametrize('text', [f'{DOMAIN}\n{MINE}', f'{MINE}\n{DOMAIN}'])
def test_a_text_may_have_its_domain_before_or_behind_it(text: str) -> None:
    chosen = read_pasted(text)
    assert chosen.task.problem.domain.name == 'mine'
    assert chosen.source == PASTED
    again = load_task(chosen.task.problem_text, chosen.domain_text)
    assert again.problem == chosen.task.problem


def test_an_error_has_the_line_of_the_text_as_it_was_pasted() -> None:
    text = f'{DOMAIN}\n{MINE}'.replace('(on a b)', '(on a x)')
    line = next(n for n, row in enumerate(text.splitlines(), 1) if '(on a x)' in row)
    with pytest.raises(SafegenError) as caught:
        read_pasted(text)
    assert caught.value.message.startswith(f'{PASTED}:{line}:')
    assert '(on a x)' in caught.value.message
    assert caught.value.message.rstrip().endswith('^')


def test_json_is_known_by_its_brace() -> None:
    task = load_task(THREE_TEXT).written_as('json')
    assert read_pasted(task.problem_text).task.problem == task.problem


def test_a_text_without_an_end_is_not_read() -> None:
    with pytest.raises(SafegenError) as caught:
        read_pasted('(' * (choices.MAX_TEXT + 1))
    assert caught.value.code is ErrorCode.TASK_TOO_LARGE


@given(st.text(max_size=300) | st.text('(){}[]define :problem', max_size=120))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(SafegenError):
        read_pasted(text)


@pytest.mark.parametrize('name', ['tower_order', 'fragile_block', 'cold_rooms', 'blocksworld-023'])
def test_every_rule_that_is_offered_works(name: str) -> None:
    problem = read_problem(name).task.problem
    offered = rule_examples(problem)
    assert offered
    for text in offered:
        (reading,) = understand(text, problem).readings
        (constraint,) = reading.constraints
        assert constraint not in problem.constraints, text
        more = replace(problem, constraints=(*problem.constraints, constraint))
        assert solve(more).plan is not None, text


def test_a_goal_of_other_arguments_offers_no_request() -> None:
    text = data_path('data/requests/ferry.pddl').read_text(encoding='utf-8')
    start = load_task(text.replace('(:goal (at c1 l2))', '(:goal (and (on c1) (at-ferry l3)))'))
    assert request_examples(start.problem) == ()


@pytest.mark.slow  # a model translates
@pytest.mark.parametrize(
    'name',
    [
        'tower_order',
        *(
            pytest.param(each, marks=pytest.mark.nightly)
            for each in ('fragile_block', 'reach_behind', 'cold_rooms', 'ferry-007', 'spanner-006')
        ),
    ],
)
def test_every_request_that_is_offered_is_read_as_a_part_of_the_goal(name: str) -> None:
    problem = read_problem(name).task.problem
    offered = request_examples(problem)
    assert offered
    model = str(data_path('models/safegen-requests'))
    with closing(open_backend(model)) as backend:
        for text in offered:
            request = read_request(text, start=problem_text(problem))
            sampling = Sampling(temperature=0.6, top_p=0.9, max_new_tokens=1024, seed=0)
            found = translate(request, backend, sampling, style=translation_style_of(model))
            assert isinstance(found, Translation), text
            read = {str(each) for each in found.problem.goal_conjuncts()}
            assert read <= {str(each) for each in problem.goal_conjuncts()}, text


@given(st.text(max_size=60))
def test_whatever_is_typed_is_understood_or_explained(text: str) -> None:
    understood = understand(text, TOWER_ORDER)
    assert bool(understood.readings) != bool(understood.troubles)
    assert all(trouble.what for trouble in understood.troubles)


@pytest.mark.parametrize(
    ('text', 'what', 'column', 'caret'),
    [
        ('b9 must never be on b1', "no object is called 'b9'", 1, 'b9 must never be on b1\n^'),
        ('(always (on b1))', "'on' takes 2 arguments", 9, '(always (on b1))\n        ^'),
        ('never b1 on b4', "not understood from 'b1' on", 7, 'never b1 on b4\n      ^'),
    ],
)
def test_what_is_not_understood_is_shown_at_its_place(
    text: str, what: str, column: int, caret: str
) -> None:
    (trouble,) = understand(text, TOWER_ORDER).troubles
    assert what in trouble.what
    assert trouble.cure
    assert (trouble.line, trouble.column) == (1, column)
    assert trouble.excerpt == caret


def test_what_can_mean_several_things_is_asked_back() -> None:
    (trouble,) = understand('b5 must be on the table', TOWER_ORDER).troubles
    assert len(trouble.meanings) == 3
    for meaning in trouble.meanings:
        assert not understand(meaning, TOWER_ORDER).troubles or 'no plan' in str(
            understand(meaning, TOWER_ORDER).troubles
        )


def test_several_wrong_rules_are_all_told() -> None:
    troubles = understand('b9 must never be on b1\nnever b1 on b4', TOWER_ORDER).troubles
    assert [trouble.line for trouble in troubles] == [1, 2]
    assert understand('', TOWER_ORDER).troubles[0].what == 'there is no rule'

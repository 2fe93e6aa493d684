# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Strategies: planners are asked in the given order, and another name is refused."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.model_server import MODEL, ModelServer, Script
from support.temporal import DIMMED, FLAT, LATE, RIGHT, RIGHT_TIMED, ROUNDS, TWO_ROUNDS

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.llm.backend import Sampling
from safegen_ros.llm.openai_backend import OpenAIBackend
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.planning.levels import DEFAULT, FEEDBACK, LEVELS, MOST, feedback_named, level_names
from safegen_ros.planning.loop import Attempt, Outcome, plan_with_levels, read_plan
from safegen_ros.tasks.pddl3.planning.proposer import ModelProposer, Temperatures, valid_beginning
from safegen_ros.tasks.pddl3.planning.strategy import levels_of
from safegen_ros.tasks.pddl3.prompts.styles import ServerStyle
from safegen_ros.tasks.pddl3.task import Pddl3Task, load_task
from safegen_ros.verdict import Category, Verdict
from safegen_ros.verify.admissible import Shield


def test_the_levels_come_in_the_order_in_which_they_are_named() -> None:
    beams = ('beam 2', 'beam 4', 'beam 8', 'backtracking 8')
    assert level_names(DEFAULT) == ('model', *beams, 'hierarchy', 'search')
    assert level_names(' search,best  of 4 ,beam,beam 1,\nrepair, shield,model, model') == (
        'search', 'best of 4', *beams, 'beam 1', 'repair', 'shield', 'model', 'model',
    )  # fmt: skip


@given(
    st.text(max_size=30)
    | st.lists(
        st.sampled_from(['model', 'best', 'of', 'beam', ',', ' ', '0', '7', '65', '²', '-1']),
        max_size=8,
    ).map(' '.join)
)
def test_any_text_is_levels_or_an_error_with_its_code(text: str) -> None:
    names, error = (), None
    try:
        names = level_names(text)
    except SafegenError as raised:
        error = raised
    if error is not None:
        assert error.code is ErrorCode.UNKNOWN_STRATEGY
        assert all(name in error.message for name in LEVELS)
        assert len(error.message) < 500
        return
    assert names
    for name in names:
        [number] = re.findall(r'(?:^| )(\d+)$', name) or [1]
        assert 1 <= int(number) <= MOST
        assert re.sub(r'\d+$', 'N', name) in LEVELS


@pytest.mark.parametrize('text', ['', 'model,', 'best of', 'model 2', 'beam 65', 'beam 0', 'Model'])
def test_what_is_no_level(text: str) -> None:
    with pytest.raises(SafegenError, match='is not a planner'):
        level_names(text)


def test_the_page_about_strategies_explains_every_level_and_every_feedback() -> None:
    page = Path(__file__).parents[4] / 'docs' / 'strategies.md'
    text = page.read_text(encoding='utf-8')
    assert all(f'| `{name}` |' in text for name in (*LEVELS, *FEEDBACK))


def _attempts(*texts: str) -> list[Attempt]:
    refused = Verdict(Category.GOAL_NOT_SATISFIED, 'too short')
    return [
        Attempt(i + 1, 'model', text, refused, 0.1, read_plan(text)) for i, text in enumerate(texts)
    ]


def test_later_attempts_are_hotter_and_a_repeated_one_twice_as_much() -> None:
    rising = Temperatures(0.6, 0.1, 0.95)
    after = [rising.after(_attempts(*'abcdefg'[:count])) for count in range(7)]
    assert after == pytest.approx([0.6, 0.7, 0.8, 0.9, 0.95, 0.95, 0.95])
    assert rising.after(_attempts('(a)', ' (a) ; again')) == pytest.approx(0.9)
    assert Temperatures(1.4).after(_attempts('a', 'b')) == 1.4  # the given one is never lowered
    assert Temperatures(0.0, 0.0).after(_attempts('a', 'a')) == 0


def test_feedback_tells_more_or_less_of_a_verdict(tower_order: Pddl3Task) -> None:
    verdict = tower_order.verify('(pickup b2)')
    assert verdict.category is Category.PRECONDITION_VIOLATION
    told = {name: feedback_named(name)(verdict) for name in FEEDBACK}
    assert told == {
        'binary': Verdict(), 'category': Verdict(verdict.category), 'diagnosis': verdict,
    }  # fmt: skip
    with pytest.raises(SafegenError, match='binary category diagnosis') as error:
        feedback_named('everything')
    assert error.value.code is ErrorCode.UNKNOWN_STRATEGY


@pytest.mark.parametrize(
    ('plan', 'kept'),
    [
        ('(unstack b2 b1)(putdown b2)(unstack b5 b3)', 1),  # the second step breaks the constraint
        ('(pickup b2)(unstack b2 b1)', 0),
        ('(unstack b5 b3)(putdown b5)(pickup b5)(putdown b5)', 2),  # and back again
        ('(unstack b5 b3)(putdown b9)', 1),
        ('', 0),
    ],
)
def test_the_valid_beginning_of_a_plan(tower_order: Pddl3Task, plan: str, kept: int) -> None:
    given_plan = parse_plan(plan) if plan else Plan()
    found = valid_beginning(given_plan, Shield(tower_order.problem))
    assert found.steps == given_plan.steps[:kept]


ROUNDS_TASK = load_task(TWO_ROUNDS, ROUNDS)


def asked_at_server(*answers: str) -> tuple[Outcome, list[str]]:
    """How the loop ends with these answers, and the last message of each request."""
    with ModelServer() as server, closing(OpenAIBackend(server.url, MODEL)) as backend:
        server.script = Script([*answers])
        model = ModelProposer(ROUNDS_TASK.problem, backend, ServerStyle(), Sampling())
        levels = levels_of('model', model, None, len(answers))
        outcome = plan_with_levels(levels, ROUNDS_TASK.verify, 60.0, read=ROUNDS_TASK.steps_of)
        return outcome, [request['messages'][-1]['content'] for request in server.requests]


@pytest.mark.parametrize(
    ('wrong', 'told'),
    [
        (FLAT, '(always (>= (charge) 5)): (>= (charge) 5) must hold in every state and does not, '
         'at 0.801 s ((charge) is 0)'),
        (LATE, '(within 2 (seen b)): (seen b) must hold within 2 s and does not, at 2 s, but only '
         'at 2.403 s'),
        (DIMMED, 'step 2 (look a) lasts until 1.3 s and needs all the time (lamp), which does not '
         'hold from 1 s on, after the start of step 3 (dim)'),
        (RIGHT_TIMED.replace('[0.4]', '[0.2]'), 'step 2 (look a) takes 0.2 s, and its duration '
         'must be 0.4 s'),
        (f'First (look a).\n```\n{RIGHT_TIMED}\n```', 'a sentence'),
    ],
)  # fmt: skip
def test_a_refusal_names_what_broke_with_its_values(wrong: str, told: str) -> None:
    outcome, asked = asked_at_server(wrong, RIGHT_TIMED)
    assert [attempt.verdict.ok for attempt in outcome.attempts] == [False, True]
    assert '0.000: (action object1 object2) [5.000]' in asked[0]
    assert told in asked[1]
    assert outcome.plan == outcome.attempts[1].plan


@pytest.mark.parametrize(
    'answer',
    [
        RIGHT,
        f'<think>(load) first?</think>\nHere it is:\n\n```pddl\n{RIGHT_TIMED}\n```\nIt takes 2 s.',
        '- `0.0: (load) [0.8]`\n- `0.81: (look a) [0.4]`,\n- `1.22: (look b) [0.4]`\n\nDone.',
    ],
)
def test_a_plan_is_read_with_the_times_that_a_chat_model_writes(answer: str) -> None:
    outcome, _ = asked_at_server(answer)
    [attempt] = outcome.attempts
    assert attempt.verdict.ok, attempt.verdict.reason
    assert [str(step) for step in attempt.plan.steps] == ['(load)', '(look a)', '(look b)']


def test_no_plan_is_taken_where_none_is_proved() -> None:
    outcome, _ = asked_at_server(FLAT, LATE, DIMMED)
    assert outcome.plan is None
    assert len(outcome.attempts) == 3

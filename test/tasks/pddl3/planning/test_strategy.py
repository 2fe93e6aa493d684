# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Strategies: what they name is asked in that order, and what is no planner is refused by name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.planning.levels import DEFAULT, FEEDBACK, LEVELS, MOST, feedback_named, level_names
from safegen_ros.planning.loop import Attempt, read_plan
from safegen_ros.tasks.pddl3.planning.proposer import Temperatures, valid_beginning
from safegen_ros.tasks.pddl3.task import Pddl3Task
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
    with pytest.raises(SafegenError, match='is no planner'):
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

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Rewards: a better category always earns more, and progress counts within one only."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.training_small import drawn

from safegen_ros.datasets.pddl3.rows import row_problem
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.tasks.pddl3.prompts.styles import InstructStyle, WordStyle
from safegen_ros.training.config import ConfigError, GrpoConfig
from safegen_ros.training.reward import Intervals, plan_reward
from safegen_ros.verdict import Category, Verdict
from safegen_ros.verify.validator import Validator

CATEGORIES = sorted(set(Category) - {Category.UNKNOWN})
OURS = Intervals(GrpoConfig().rewards)


@st.composite
def bounds(draw: st.DrawFn) -> tuple[float, ...]:
    first = draw(st.floats(-10, 10))
    gaps = draw(st.lists(st.floats(1e-6, 5), min_size=7, max_size=7))
    return tuple(accumulate(gaps, initial=first))


@st.composite
def verdicts(draw: st.DrawFn) -> Verdict:
    length = draw(st.integers(0, 60))
    return Verdict(
        draw(st.sampled_from(CATEGORIES)),
        failing_step=draw(st.integers(-1, max(-1, length - 1))),
        plan_length=length,
        goal_fraction=draw(st.floats(0, 1)),
    )


@given(bounds(), verdicts(), verdicts(), st.integers(1, 60), st.integers(1, 60))
def test_a_better_category_always_earns_more(
    chosen: tuple[float, ...], one: Verdict, other: Verdict, length: int, other_length: int
) -> None:
    for intervals in (OURS, Intervals(chosen)):
        first, second = intervals.reward(one, length), intervals.reward(other, other_length)
        if one.category != other.category:
            assert (first > second) == (one.category > other.category)
        elif one.category in (Category.SUCCESS, Category.FORMAT_ERROR):
            assert first == second
        else:
            progress = one.progress(length), other.progress(other_length)
            assert (progress[0] <= progress[1]) or first >= second
        assert intervals.bounds[0] <= first <= intervals.bounds[-1]


def test_progress_is_measured_by_the_reference() -> None:
    """Equation 9: a short wrong plan cannot make its failing step look late."""
    short = Verdict(Category.PRECONDITION_VIOLATION, failing_step=3, plan_length=4)
    long = Verdict(Category.PRECONDITION_VIOLATION, failing_step=3, plan_length=40)
    low, high = OURS.bounds[3:5]
    assert (
        OURS.reward(short, 10) == OURS.reward(long, 10) == pytest.approx(low + 0.3 * (high - low))
    )
    assert OURS.reward(long, 2) == high


def test_no_verdict_earns_nothing() -> None:
    assert OURS.reward(Verdict(), 5) == OURS.bounds[0]


@pytest.mark.parametrize('wrong', [(), (1.0,) * 8, (0.0, 1.0), tuple(range(8, 0, -1))])
def test_intervals_that_overlap_are_refused(wrong: tuple[float, ...]) -> None:
    with pytest.raises(ConfigError, match=r'grpo\.rewards'):
        Intervals(wrong)


@pytest.mark.parametrize('domain', ['blocksworld', 'ferry', 'grippers', 'spanner'])
def test_completions_earn_what_the_validator_says(domain: str) -> None:
    rows = list(drawn(domain, 'train', 3))
    row, problem = rows[1], row_problem(rows[1])
    steps = row.plan.splitlines()
    texts = [
        row.plan,
        '\n'.join(steps[:-1]),
        '\n'.join(steps[1:]),
        row.unconstrained_plan,
        'I plan',
    ]
    wanted = [OURS.reward(Validator(problem).verify(t), row.reference_length) for t in texts]
    assert wanted[0] == OURS.bounds[-1]
    assert wanted[4] == OURS.bounds[0]
    assert wanted[0] > max(wanted[1:]) >= min(wanted[1:4]) > wanted[4]
    shares: dict[str, float] = {}
    judge = plan_reward(rows, InstructStyle(), OURS)
    completions = [[{'role': 'assistant', 'content': text}] for text in texts]
    assert judge(completions, [1] * 5, log_metric=shares.__setitem__) == wanted
    assert shares['success'] == shares[f'success_{domain}'] == 0.2
    assert shares['format_error'] == 0.2
    assert sum(v for k, v in shares.items() if not k.startswith('success_')) == pytest.approx(1)


def test_the_words_of_the_small_model_are_judged_alike() -> None:
    rows = list(drawn('blocksworld', 'train', 2))
    style = WordStyle()
    right = [style.answer(parse_plan(row.plan), row_problem(row)) for row in rows]
    judge = plan_reward(rows, style, OURS)
    answers = [*right, 'stack', '']
    completions = [[{'role': 'assistant', 'content': text}] for text in answers]
    earned = judge(completions, [0, 1, 0, 1])
    assert earned[:2] == [OURS.bounds[-1]] * 2
    assert earned[2] == OURS.bounds[0]
    assert earned[3] < OURS.bounds[-1]

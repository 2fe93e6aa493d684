# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Rows of lights: they say of every state what the verdict says."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from support import strategies

from safegen_ros.api import Problem as LoadedProblem
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.record.present.constraint_status import (
    GOAL,
    MOST_LIGHTS,
    RULE,
    Light,
    legend_html,
    light_words,
    lights,
    lights_html,
    lights_observed,
    trajectory,
)
from safegen_ros.verdict import Category
from safegen_ros.verify.monitors import Status
from safegen_ros.verify.validator import verify

TOWER_ORDER = Path(__file__).parents[2] / 'examples/tower_order.pddl'
UNSAFE = parse_plan('(unstack b2 b1) (putdown b2) (unstack b5 b3)').steps
YES, OPEN, NO = Status.SATISFIED, Status.PENDING, Status.VIOLATED


@settings(strategies.SUITE, max_examples=150)
@given(strategies.SEEDS)
def test_a_plan_is_refused_for_safety_where_a_light_says_so(seed: int) -> None:
    rng = random.Random(seed)
    problem = strategies.problem(rng) if seed % 2 else strategies.generated(rng)
    plan = strategies.plan(rng, problem)
    verdict = verify(problem, plan)
    *rules, goal = lights(problem, plan.steps)
    states = len(goal.standings)
    broken = [light.standings.index(NO) for light in rules if NO in light.standings]
    first = min(broken, default=states)
    whole = states == len(plan) + 1
    if verdict.category is Category.FORMAT_ERROR:
        assert not whole
        return
    at_end = whole and goal.standings[-1] is YES
    left_open = at_end and any(light.standings[-1] is not YES for light in rules)
    # In the last state unmet goals come before a constraint that breaks there.
    early = first < states and not (whole and first == states - 1 and not at_end)
    assert (verdict.category is Category.SAFETY_VIOLATION) == (early or left_open)
    if verdict.category is Category.SAFETY_VIOLATION:
        assert verdict.failing_state == (first if early else states - 1)
        named = {each.text for each in verdict.broken if each.state == verdict.failing_state}
        unkept = {
            light.formula
            for light in rules
            if light.standings[verdict.failing_state] is NO
            or (whole and verdict.failing_state == states - 1 and light.standings[-1] is not YES)
        }
        assert named == unkept
    if verdict.ok:
        assert all(light.standings[-1] is YES for light in (*rules, goal))


def test_the_lights_of_an_unsafe_plan() -> None:
    problem = LoadedProblem.load(TOWER_ORDER)
    rule, goal = lights(problem, UNSAFE)
    assert (rule.kind, goal.kind) == (RULE, GOAL)
    assert rule.standings == (YES, YES, NO, NO)
    assert goal.standings == (OPEN,) * 4
    assert rule.formula == '(sometime-before (on-table b2) (on-table b3))'
    assert 'block b2 is on the table' in rule.plain
    assert light_words(rule) == 'broken by step 2'
    assert light_words(rule, now=1) == 'kept so far'
    assert light_words(goal, ended=True) == 'not reached'


def test_a_plan_is_followed_as_far_as_it_applies_and_no_further() -> None:
    problem = LoadedProblem.load(TOWER_ORDER)
    for text in (
        '(unstack b2 b1) (pickup b4)',
        '(unstack b2 b1) (fly b1)',
        '(unstack b2 b1) (stack b9 b1)',
    ):
        assert len(trajectory(problem, parse_plan(text).steps)) == 2
    assert trajectory(problem, ()) == (problem.init,)


def test_observed_states_have_lights_of_their_own() -> None:
    problem = LoadedProblem.load(TOWER_ORDER)
    states = trajectory(problem, UNSAFE)
    assert lights_observed(problem, states) == lights(problem, UNSAFE)
    rule, _ = lights_observed(problem, [problem.init, states[2]])
    assert rule.standings == (YES, NO)


@pytest.mark.parametrize(
    ('standings', 'ended', 'words'),
    [
        ((), False, 'not looked at yet'),
        ((NO,), False, 'broken at the start'),
        ((OPEN, OPEN), False, 'still open'),
        ((OPEN, OPEN), True, 'not kept by the end'),
        ((OPEN, YES), True, 'kept'),
    ],
)
def test_what_a_light_says(standings: tuple[Status, ...], ended: bool, words: str) -> None:
    assert light_words(Light(RULE, 'f', 'p', standings), ended=ended) == words


def test_a_row_says_in_words_what_its_signs_say_and_marks_the_failing_state() -> None:
    shown = lights(LoadedProblem.load(TOWER_ORDER), UNSAFE)
    html = lights_html(shown, fail=2)
    assert 'Rule 1: broken by step 2.' in html
    assert 'aria-label="start to step 1: kept; step 2 to step 3: broken"' in html
    assert html.count('stroke-dasharray') == len(shown)
    assert 'stroke-dasharray' not in lights_html(shown)
    assert html.count('opacity="0.45"') == len(shown)  # of the state behind the failing one
    for word in ('kept', 'still open', 'broken'):
        assert word in legend_html()


def test_of_very_many_rules_those_that_are_broken_are_drawn() -> None:
    kept = [Light(RULE, 'k', f'kept {n}', (YES,)) for n in range(2 * MOST_LIGHTS)]
    broken, goal = Light(RULE, 'b', 'the broken one', (NO,)), Light(GOAL, 'g', 'aim', (OPEN,))
    html = lights_html([*kept, broken, goal])
    assert 'the broken one' in html
    assert 'Goal: not reached yet' in html
    assert f'Rule {2 * MOST_LIGHTS + 1}: broken at the start' in html
    assert f'{MOST_LIGHTS + 2} more rules are not drawn' in html


def test_a_long_plan_has_several_rows() -> None:
    html = lights_html([Light(GOAL, 'g', 'aim', (OPEN,) * 45)])
    assert html.count('<svg') == 3
    assert '>44</text>' in html

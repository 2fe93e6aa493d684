# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Pictures of states."""

from __future__ import annotations

import dataclasses
import random
import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from support import strategies
from support.kept_runs import PLAN, TASK, UNSAFE

from safegen_ros.api import Problem
from safegen_ros.api import Problem as LoadedProblem
from safegen_ros.pddl.model import AtomFormula, State
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.record.present.compare import compare_html
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
from safegen_ros.record.present.pictures import (
    MOST_BLOCKS,
    Towers,
    before_after_html,
    film_html,
    goal_html,
    goal_towers,
    state_html,
    towers_of,
    wanted_towers,
)
from safegen_ros.record.present.wording import steps_of
from safegen_ros.record.run import AttemptRecord
from safegen_ros.search.solve import solve
from safegen_ros.verdict import Category
from safegen_ros.verify.monitors import Status
from safegen_ros.verify.validator import verify

EXAMPLES = Path(__file__).parents[2] / 'examples'
TOWER_ORDER = EXAMPLES / 'tower_order.pddl'
BLOCKS = """(define (problem p) (:domain blocksworld) (:objects {objects})
  (:init (arm-empty) {init}) (:goal {goal}))"""


def _problem(goal: str, objects: str = 'a b c') -> Problem:
    init = ' '.join(f'(on-table {name}) (clear {name})' for name in objects.split())
    return Problem.from_text(BLOCKS.format(objects=objects, init=init, goal=goal))


def _drawn(towers: Towers) -> State:
    """The state that a picture shows."""
    at = {place: name for name, place in towers.places.items()}
    facts = set()
    for name, (column, level) in towers.places.items():
        facts.add(('on', name, at[column, level - 1]) if level else ('on-table', name))
        if (column, level + 1) not in at:
            facts.add(('clear', name))
    facts.add(('holding', towers.held) if towers.held else ('arm-empty',))
    return frozenset(facts)


@settings(strategies.SUITE, max_examples=60)
@given(strategies.SEEDS)
def test_what_is_drawn_is_the_state_and_a_tower_stays_at_its_place(seed: int) -> None:
    rng = random.Random(seed)
    problem = strategies.blocks(rng, rng.randrange(2, 7))
    states = trajectory(problem, strategies.plan(rng, problem).steps)
    drawn = towers_of(problem, states)
    assert drawn is not None
    for state, towers in zip(states, drawn, strict=True):
        assert _drawn(towers) == state
        assert all(0 <= column < towers.columns for column, _ in towers.places.values())
        assert 0 <= towers.hand < towers.columns
    for one, other in pairwise(drawn):
        assert all(other.places.get(name, place) == place for name, place in one.places.items())


def test_before_and_after_a_step_with_what_it_changed() -> None:
    problem = Problem.load(TOWER_ORDER)
    html = before_after_html(problem, parse_plan('(unstack b2 b1) (putdown b2)').steps, 1)
    before, after = html.split('after step 2')
    assert 'the arm holds block b2' in before
    assert 'block b2 is on the table' in after
    assert after.count('◆') == 1
    assert '◆' not in before


def test_a_step_that_is_not_possible_has_no_state_after_it() -> None:
    problem = Problem.load(TOWER_ORDER)
    steps = parse_plan('(unstack b2 b1) (pickup b4) (putdown b4)').steps
    assert 'There is no state after step 2' in before_after_html(problem, steps, 1)
    assert 'step 3 is never reached' in before_after_html(problem, steps, 2)


def test_the_towers_that_a_goal_asks_for() -> None:
    assert wanted_towers(Problem.load(TOWER_ORDER)) == (('b3', 'b4', 'b1'),)
    assert wanted_towers(_problem('(and (on a b) (on-table c) (clear a))')) == (('b', 'a'), ('c',))
    drawn = goal_towers(_problem('(and (on a b) (on-table c))'))
    assert drawn is not None
    assert drawn.anywhere == (0,)
    assert 'anywhere' in goal_html(Problem.load(TOWER_ORDER))


def test_a_goal_that_is_no_tower_is_told_in_words() -> None:
    for goal in (
        '(not (on a b))', '(and (on a b) (on b a))', '(and (on a b) (on a c))',
        '(and (on a b) (on c b))', '(holding a)', '(forall (?x) (clear ?x))',
        '(and (on a b) (on-table a))',
    ):  # fmt: skip
        problem = _problem(goal)
        assert wanted_towers(problem) == (), goal
        assert '<svg' not in goal_html(problem)
        assert '<li>' in goal_html(problem)


def test_states_that_are_no_towers_are_told_in_words() -> None:
    problem = _problem('(on b1 b2)', 'b1 b2 b3')
    circle = frozenset({('on', 'b1', 'b2'), ('on', 'b2', 'b1'), ('on-table', 'b3')})
    assert towers_of(problem, (circle,)) is None
    html = film_html(problem, (problem.init, circle))[1]
    assert '<svg' not in html
    assert '+ block b1 is on block b2 (new)' in html
    assert 'block b1 is on the table (no more)' in html
    many = ' '.join(f'x{number}' for number in range(MOST_BLOCKS + 1))
    assert '<svg' not in state_html(_problem('(on x1 x2)', many), _problem('(on x1 x2)', many).init)


def test_other_domains_are_told_by_the_facts_that_can_change() -> None:
    problem = Problem.load(EXAMPLES / 'cold_rooms.pddl')
    html = state_html(problem, problem.init, 'the start')
    assert '<svg' not in html
    assert 'lies in' in html
    steps = solve(problem).plan.steps
    changed = before_after_html(problem, steps, 0)
    assert '(new)' in changed
    assert '(no more)' in changed


def test_a_picture_is_well_formed_and_loads_nothing() -> None:
    problem = Problem.load(TOWER_ORDER)
    for html in (state_html(problem, problem.init, 'a < b & "c"'), goal_html(problem)):
        root = ElementTree.fromstring(html)
        svg = next(root.iter('svg'))
        assert {'role', 'aria-label', 'viewBox'} <= set(svg.keys())
        assert not re.search(r'href|url\(|http|<script|on\w+=', html)


def test_names_are_only_shown() -> None:
    """PDDL has no such names; what draws does not rely on that."""
    evil = '"><script>{0}</script>'
    state = frozenset({('on-table', evil), ('clear', evil), ('arm-empty',)})
    problem = dataclasses.replace(_problem('(on a b)'), objects={evil: 'object'}, init=state)
    problem = dataclasses.replace(problem, goal=AtomFormula('on-table', (evil,)))
    for html in (
        state_html(problem, state, evil),
        goal_html(problem, evil),
        film_html(problem, (state, frozenset({('holding', evil)})))[1],
        film_html(problem, (state, frozenset({('on', evil, evil)})))[1],
    ):
        assert '<script' not in html
        ElementTree.fromstring(html)


def test_labels_below_two_towers_do_not_touch() -> None:
    shown = goal_html(_problem('(and (on a b) (on c d))', 'a b c d'))
    places = [float(x) for x in re.findall(r'x="([\d.]+)"[^>]*>anywhere', shown)]
    assert len(places) == 2
    assert places[1] - places[0] >= 60


def _attempt(number: int, *steps: str) -> AttemptRecord:
    text = '\n'.join(steps)
    told = tuple(map(str, steps_of(steps)))
    return AttemptRecord(number, 'model', text, told, TASK.verify(text), 0.1)


def test_two_attempts_side_by_side() -> None:
    def compared(left: AttemptRecord, right: AttemptRecord) -> str:
        return compare_html(TASK.problem, left, right)

    html = compared(_attempt(1, *PLAN), _attempt(2, PLAN[0], '(putdown a)'))
    assert 'share the first 1 step and part in step 2' in html
    assert html.count('<td>different</td>') == 1
    assert '<th></th>' not in html
    # Different steps may lead to the same world.
    html = compared(
        _attempt(1, '(pickup a)', '(putdown a)'), _attempt(2, '(pickup b)', '(putdown b)')
    )
    assert 'different from the first step on' in html
    assert html.count('other step, same state') == 1
    html = compared(_attempt(1, *PLAN), _attempt(2, PLAN[0]))
    assert ('<td>different' in html, 'same state' in html) == (True, False)
    stuck = compared(_attempt(1, '(stack a b)'), _attempt(2, '(stack a b)'))
    assert 'the same, step by step' in stuck
    assert 'in neither' in compare_html(None, _attempt(1), _attempt(2))
    html = compared(_attempt(1, *UNSAFE.split('\n')), _attempt(2, *PLAN))
    assert 'put b on a <b>— here it fails</b>' in html
    assert 'breaks a rule' in html
    assert 'proved safe' in html
    assert html.count('sg-differs') == 4
    evil = AttemptRecord(1, '<b>', '', ('<script>',), TASK.verify(''), 0.1)
    html = compare_html(None, evil, evil)
    assert '<script' not in html
    assert '(&lt;b&gt;)' in html


UNSAFE_STEPS = parse_plan('(unstack b2 b1) (putdown b2) (unstack b5 b3)').steps
YES, OPEN, NO = Status.SATISFIED, Status.PENDING, Status.VIOLATED


@settings(strategies.SUITE, max_examples=60)
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
    rule, goal = lights(problem, UNSAFE_STEPS)
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
    states = trajectory(problem, UNSAFE_STEPS)
    assert lights_observed(problem, states) == lights(problem, UNSAFE_STEPS)
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
    shown = lights(LoadedProblem.load(TOWER_ORDER), UNSAFE_STEPS)
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

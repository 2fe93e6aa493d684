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

from hypothesis import given, settings
from support import strategies

from safegen_ros.api import Problem
from safegen_ros.pddl.model import AtomFormula, State
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.record.present.constraint_status import trajectory
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
from safegen_ros.search.solve import solve

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

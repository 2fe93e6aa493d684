# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Large problems are solved in parts, and nothing but a proved whole comes out."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from support import exhaustive, strategies
from support.plans import make_plan

from safegen_ros.errors import Canceled, ErrorCode, SafegenError
from safegen_ros.pddl.model import Formula, Problem
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.pddl.reader import read_problem
from safegen_ros.pddl.writer import problem_text
from safegen_ros.search.budget import Unsolvable
from safegen_ros.search.solve import solve
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.planning.hierarchy import divide
from safegen_ros.tasks.pddl3.planning.hierarchy.divide import Division, PlanPart, divide_and_conquer
from safegen_ros.verdict import Category, Verdict
from safegen_ros.verify.validator import Validator

LONG_S = 600.0
"""More than anything here takes, on however busy a machine [s]."""


def by_search(problem: Problem, time_limit_s: float, cancelled: Callable[[], bool]) -> Plan:
    return solve(problem, route='in-process', time_limit_s=time_limit_s, cancelled=cancelled).plan


def made(domain: str, family: str, seed: int = 1, **size: int) -> Problem:
    return kits()[domain].problem(seed, size, family).problem


def divided(problem: Problem, plan_part: PlanPart = by_search) -> Division:
    return divide_and_conquer(problem, plan_part, time_limit_s=LONG_S)


@pytest.mark.parametrize(
    ('family', 'blocks'),
    [
        ('building-order', 10),
        ('building-order', 20),
        ('building-order', 30),
        ('off-the-table', 20),
        ('lifted-once', 10),
        ('weighed', 20),
        ('stacked-within', 30),
    ],
)
def test_towers_are_built_block_by_block(family: str, blocks: int) -> None:
    problem = made('blocksworld', family, blocks=blocks)
    found = divided(problem)
    assert Validator(problem).verify(found.plan).ok
    assert found.verdict.ok
    assert Plan(tuple(s for part in found.parts for s in part.plan.steps)) == found.plan
    assert len(found.parts) > 2
    if family == 'building-order':
        assert not found.failures
        assert max(part.objects for part in found.parts) <= 6
        assert all(len(part.goals) == 1 for part in found.parts)


@pytest.mark.parametrize(
    ('domain', 'family', 'size'),
    [
        ('ferry', 'delivery-order', {'locations': 8, 'cars': 10}),
        ('ferry', 'quarantine', {'locations': 8, 'cars': 10}),
        ('ferry', 'closed-later', {'locations': 8, 'cars': 10}),
        ('grippers', 'one-load-in-narrow-room', {'robots': 2, 'rooms': 6, 'objects': 10}),
        ('grippers', 'cleaned-after', {'robots': 2, 'rooms': 6, 'objects': 10}),
        ('grippers', 'closed-later', {'robots': 1, 'rooms': 4, 'objects': 6}),
        ('spanner', 'tightening-order', {'spanners': 8, 'nuts': 5, 'locations': 8}),
        ('spanner', 'spare-at-end', {'spanners': 6, 'nuts': 4, 'locations': 6}),
    ],
)
def test_every_domain_can_be_divided(domain: str, family: str, size: dict[str, int]) -> None:
    problem = made(domain, family, **size)
    assert Validator(problem).verify(divided(problem).plan).ok


def test_a_part_that_leads_nowhere_is_planned_with_what_comes_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who has passed a spanner cannot fetch it any more."""
    monkeypatch.setattr(divide.RelaxedAnalysis, 'resource_goals', lambda survey, goals: [])
    found = divided(made('spanner', 'tightening-order', spanners=8, nuts=5, locations=8))
    assert 'behind the plan of a part there is none for the rest' in found.failures
    assert max(len(part.goals) for part in found.parts) > 1


def test_what_shuts_out_the_rest_is_put_off() -> None:
    """A block that may be lifted once stays where it is until what belongs under it is there."""
    found = divided(made('blocksworld', 'lifted-once', 1, blocks=10), by_small_parts)
    assert 'behind the plan of a part there is none for the rest' in found.failures
    assert all(len(part.goals) == 1 for part in found.parts)


def by_small_parts(problem: Problem, time_limit_s: float, cancelled: Callable[[], bool]) -> Plan:
    """Plans what is no larger than what a small model has seen."""
    open_goals = [goal for goal in problem.goal_conjuncts() if not holds(problem, goal)]
    if len(problem.objects) > 9 or len(open_goals) > 2:
        raise SafegenError('this is too large')
    return by_search(problem, time_limit_s, cancelled)


def holds(problem: Problem, goal: Formula) -> bool:
    return Validator(replace(problem, goal=goal, constraints=())).verify(Plan()).ok


@pytest.mark.parametrize(
    ('domain', 'family', 'seed', 'size'),
    [
        ('spanner', 'tightening-order', 1, {'spanners': 8, 'nuts': 7, 'locations': 5}),
        ('spanner', 'defective-spanner', 1, {'spanners': 8, 'nuts': 7, 'locations': 5}),
        ('spanner', 'spare-at-end', 1, {'spanners': 8, 'nuts': 7, 'locations': 5}),
        ('spanner', 'loose-at-first', 1, {'spanners': 8, 'nuts': 7, 'locations': 5}),
        ('spanner', 'tight-later', 0, {'spanners': 8, 'nuts': 7, 'locations': 5}),
        ('blocksworld', 'lifted-once', 1, {'blocks': 10}),
        ('blocksworld', 'apart-on-the-table', 2, {'blocks': 10}),
    ],
)
def test_parts_are_small_where_goals_stand_in_each_others_way(
    domain: str, family: str, seed: int, size: dict[str, int]
) -> None:
    problem = made(domain, family, seed, **size)
    found = divided(problem, by_small_parts)
    assert Validator(problem).verify(found.plan).ok
    assert len(found.parts) > 4


def test_what_must_hold_at_some_time_comes_first() -> None:
    found = divided(made('blocksworld', 'weighed', blocks=10))
    sometime, *others = [goal for part in found.parts for goal in part.goals]
    goals = made('blocksworld', 'weighed', blocks=10).goal_conjuncts()
    assert sometime.startswith('(on ')
    assert len(others) <= len(goals)


class Saboteur:
    """Plans parts wrongly in every way; what it was asked can be read back as PDDL."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def __call__(
        self, problem: Problem, time_limit_s: float, cancelled: Callable[[], bool]
    ) -> Plan:
        again = read_problem(problem_text(problem), problem.domain, '<part>')
        assert again.constraints == problem.constraints
        assert again.init == problem.init
        kind = self.rng.randrange(6)
        if kind == 0:
            raise SafegenError('no plan today')
        if kind == 1:
            return make_plan([['stack', 'b1'], ['rm', '-rf'], ['', '']][: self.rng.randrange(4)])
        if kind == 2:
            return strategies.plan(self.rng, problem)
        careless = kind == 3
        asked = replace(problem, constraints=()) if careless else problem
        steps = list(solve(asked, route='in-process', time_limit_s=2.0).plan.steps)
        if kind == 4 and steps:
            steps[self.rng.randrange(len(steps))] = Step('putdown', ('b1',))
        return Plan(tuple(steps))


@strategies.examples(60)
@given(strategies.SEEDS)
def test_nothing_unsafe_is_returned_whatever_the_planner_of_parts_says(seed: int) -> None:
    rng = random.Random(seed)
    problem = strategies.blocks(rng, 4) if seed % 2 else strategies.problem(rng)
    code = ErrorCode.NONE
    try:
        found = divide_and_conquer(problem, Saboteur(rng), time_limit_s=20.0, max_tries=15)
    except SafegenError as error:
        code = error.code
    else:
        assert Validator(problem).verify(found.plan).ok
    assert code is not ErrorCode.PLAN_REFUSED  # the shield saw to it before


def test_every_failure_is_bounded_and_told() -> None:
    problem = made('blocksworld', 'building-order', blocks=6)

    def fails(problem: Problem, time_limit_s: float, cancelled: Callable[[], bool]) -> Plan:
        asked.append(problem)
        raise SafegenError('the model is out')

    asked: list[Problem] = []
    with pytest.raises(SafegenError, match='the model is out') as caught:
        divided(problem, fails)
    assert caught.value.code is ErrorCode.ATTEMPTS_EXHAUSTED
    assert len(asked) > 5

    asked.clear()
    with pytest.raises(SafegenError, match='parts were tried 3 times') as caught:
        divide_and_conquer(problem, fails, time_limit_s=LONG_S, max_tries=3)
    assert caught.value.code is ErrorCode.ATTEMPTS_EXHAUSTED
    assert len(asked) == 3


def test_a_whole_that_the_validator_refuses_is_not_returned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Refusing(Validator):
        def verify(self, plan: Plan | str) -> Verdict:
            return Verdict(Category.SAFETY_VIOLATION, 'not that way')

    monkeypatch.setattr(divide, 'Validator', Refusing)
    with pytest.raises(SafegenError, match='SAFETY_VIOLATION: not that way') as caught:
        divided(made('blocksworld', 'building-order', blocks=6))
    assert caught.value.code is ErrorCode.PLAN_REFUSED


def test_an_unsolvable_problem_is_never_divided() -> None:
    problem = made('spanner', 'tightening-order', spanners=3, nuts=3, locations=3)
    gone = frozenset(atom for atom in problem.init if atom != ('useable', 'spanner1'))
    with pytest.raises(Unsolvable):
        divided(replace(problem, init=gone), lambda *a: pytest.fail('a part was asked for'))


def test_a_part_is_told_when_its_share_of_the_time_is_over() -> None:
    def waits(problem: Problem, time_limit_s: float, cancelled: Callable[[], bool]) -> Plan:
        limits.append(time_limit_s)
        while not cancelled():
            pass
        raise Canceled('stopped', ErrorCode.PLANNING_CANCELED)

    limits: list[float] = []
    problem = made('blocksworld', 'building-order', blocks=6)
    for limit_s in (0.4, 4.0, 40.0):
        with pytest.raises(SafegenError) as caught:
            divide_and_conquer(problem, waits, time_limit_s=limit_s)
        assert caught.value.code in (ErrorCode.ATTEMPTS_EXHAUSTED, ErrorCode.PLANNING_TIMEOUT)
        if limits:
            break  # else a busy machine has spent all of it before the first part
    assert max(limits) <= limit_s / 4
    assert limits == sorted(limits, reverse=True)


def test_the_time_limit_holds_for_a_planner_that_does_not_heed_it() -> None:
    def dawdles(problem: Problem, time_limit_s: float, cancelled: Callable[[], bool]) -> Plan:
        asked.append(problem)
        while time.monotonic() < start + 1.0:
            pass
        return by_search(problem, LONG_S, lambda: False)

    asked: list[Problem] = []
    problem = made('blocksworld', 'building-order', blocks=6)
    start = time.monotonic()
    with pytest.raises(SafegenError) as caught:
        divide_and_conquer(problem, dawdles, time_limit_s=0.5)
    assert caught.value.code is ErrorCode.PLANNING_TIMEOUT
    assert len(asked) <= 1


def test_cancelling_ends_it_at_once() -> None:
    asked = []

    def is_cancelled(problem: Problem, time_limit_s: float, cancelled: Callable[[], bool]) -> Plan:
        asked.append(problem)
        assert not cancelled()
        stop.append(True)
        assert cancelled()
        raise Canceled('stopped', ErrorCode.PLANNING_CANCELED)

    stop: list[bool] = []
    problem = made('blocksworld', 'building-order', blocks=6)
    with pytest.raises(Canceled):
        divide_and_conquer(problem, is_cancelled, time_limit_s=LONG_S, cancelled=lambda: bool(stop))
    assert len(asked) == 1


@strategies.examples(30)
@given(strategies.SEEDS)
def test_derived_goals_are_divided_too(seed: int) -> None:
    problem = exhaustive.solvable_problem(3 * seed + 1)  # these have derived predicates
    assert Validator(problem).verify(divided(problem).plan).ok

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plans whose actions overlap, as steps that can be handed on, and back."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.moments import is_moment, moment_of, plan_of_steps, steps_of_plan
from safegen_ros.pddl.plan import Plan, Step, parse_plan

OVERLAP = '0: (move r1 a b) [5]\n0.5: (close d) [0]\n2.250: (move r2 b c) [2.75]'

times = st.integers(0, 10**7).map(lambda n: Decimal(n) / 1000)
actions = st.builds(
    Step,
    st.sampled_from(('move', 'at', 'start', 'end', 'do')),
    st.lists(st.sampled_from(('a', 'b-1', 'at', 'end')), max_size=3).map(tuple),
)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Plans with times, of steps that differ."""
    steps = draw(st.lists(actions, unique=True, max_size=6))
    pairs = sorted(draw(st.tuples(times, times)) for _ in steps)
    return Plan(tuple(steps), tuple(pairs))


def _timed(plan: Plan) -> list[tuple[Decimal, Decimal, Step]]:
    pairs = zip(plan.steps, plan.times, strict=True)
    return sorted((start, duration, step) for step, (start, duration) in pairs)


@given(plans())
def test_a_plan_is_the_same_after_it_was_handed_on(plan: Plan) -> None:
    steps = steps_of_plan(plan)
    back = plan_of_steps(steps)
    if any(map(is_moment, steps)):
        assert _timed(back) == _timed(plan)
        assert steps_of_plan(back) == steps
        assert [moment.time for step in steps if (moment := moment_of(step))] == sorted(
            {start for start, _ in plan.times}
            | {start + duration for start, duration in plan.times}
        )
    else:
        assert back == Plan(plan.steps)


def test_what_is_written_is_what_happens_at_each_moment() -> None:
    steps = steps_of_plan(parse_plan(OVERLAP, timed=True))
    assert [' '.join(map(str, step)) for step in steps] == [
        '(at 0) (start move r1 a b [5])',
        '(at 0.5) (do close d)',
        '(at 2.25) (start move r2 b c [2.75])',
        '(at 5) (end move r1 a b [5]) (end move r2 b c [2.75])',
    ]


@pytest.mark.parametrize(
    ('text', 'moments'),
    [
        ('(a) (b)', False),
        ('0: (a) [5]\n5.001: (b) [5]', False),
        ('0: (a) [5]\n4.999: (b) [5]', True),
        ('0: (a) [5]\n9: (b) [5]', True),  # a wait that may be what the plan is about
        ('3: (a) [5]', True),
    ],
)
def test_only_a_plan_that_needs_its_times_has_moments(text: str, moments: bool) -> None:
    steps = steps_of_plan(parse_plan(text, timed=True))
    assert all(is_moment(step) is moments for step in steps)


A = Step('at', ('0',))
B = Step('at', ('5',))


@pytest.mark.parametrize(
    ('steps', 'reason'),
    [
        ([(Step('a'), Step('b'))], 'step 1 has 2 actions'),
        ([()], 'step 1 has 0 actions'),
        ([(A, Step('start', ('a', '[5]')))], r'\(a\) is started and never ended'),
        ([(A, Step('end', ('a', '[5]')))], r'step 1 ends \(a\), which does not run then'),
        ([(A, Step('start', ('a', '[5]'))), (B, Step('end', ('a', '[4]')))], 'step 2 ends'),
        ([(A, Step('start', ('a', '[5]')), Step('start', ('a', '[5]')))], r'starts \(a\) twice'),
        ([(B, Step('do', ('a',))), (A, Step('do', ('b',)))], 'step 2 is not a later moment'),
        ([(A, Step('do', ('a',))), (A, Step('do', ('b',)))], 'step 2 is not a later moment'),
        ([(A, Step('do', ('a',))), (Step('b'),)], 'step 2 is not a later moment'),
        ([(A, Step('start', ('a',)))], 'step 1 is not a later moment'),
        ([(A, Step('start', ('[5]',)))], 'step 1 is not a later moment'),
        ([(A, Step('start', ('a', '[0]')))], 'step 1 is not a later moment'),
        ([(A, Step('start', ('a', '[-1]')))], 'step 1 is not a later moment'),
        ([(A, Step('begin', ('a', '[5]')))], 'step 1 is not a later moment'),
        ([(A, Step('do'))], 'step 1 is not a later moment'),
        ([(Step('at', ('nan',)), Step('do', ('a',)))], 'step 1 is not a later moment'),
        ([(Step('at', ('1e3',)), Step('do', ('a',)))], 'step 1 is not a later moment'),
    ],
)
def test_steps_that_are_no_plan_are_refused(steps: list[tuple[Step, ...]], reason: str) -> None:
    with pytest.raises(SafegenError, match=reason) as caught:
        plan_of_steps(steps)
    assert caught.value.code is ErrorCode.PLAN_REFUSED

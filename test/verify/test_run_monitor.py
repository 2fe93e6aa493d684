# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is observed while a plan is carried out: as proved, or what is wrong, and what is left."""

from __future__ import annotations

import pytest
from support.blocks_small import THREE

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.facts import fact_of
from safegen_ros.pddl.ground import Grounder
from safegen_ros.pddl.model import State
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.verify.monitors import Status
from safegen_ros.verify.run_monitor import RunMonitor

PROBLEM = THREE.problem
PLAN = parse_plan('(pickup a)(stack a b)(pickup c)(stack c a)')


def states() -> list[State]:
    """What the plan leads through."""
    table = AtomTable(PROBLEM, fold_static=False)
    grounder, bits = Grounder(PROBLEM, table), table.encode(PROBLEM.init)
    found = [PROBLEM.init]
    for step in PLAN.steps:
        bits = grounder.action(step).apply(bits)
        found.append(table.decode(bits))
    return found


def test_what_is_observed_as_proved_is_accepted_to_the_end() -> None:
    monitor = RunMonitor(PROBLEM, PLAN)
    assert monitor.remaining() is None
    for number, state in enumerate(states(), start=1):
        monitor.look(state)
        assert (monitor.looks, monitor.observed) == (number, state)
    monitor.finish()
    assert monitor.standings() == (('(always (not (on c b)))', Status.SATISFIED),)


def test_an_end_without_the_goal_is_told() -> None:
    monitor = RunMonitor(PROBLEM, PLAN)
    monitor.look(PROBLEM.init)
    with pytest.raises(SafegenError, match=r'lacks \(on a b\) and \(on c a\)') as caught:
        monitor.finish()
    assert caught.value.code is ErrorCode.GOAL_MISMATCH


def test_a_state_that_differs_is_where_the_rest_of_the_task_begins() -> None:
    monitor = RunMonitor(PROBLEM, PLAN)
    monitor.look(PROBLEM.init)
    with pytest.raises(SafegenError, match=r'after step 1 \(pickup a\) .*missing \(holding a\)'):
        monitor.look(PROBLEM.init)
    rest = monitor.remaining()
    assert rest is not None
    assert rest.init == PROBLEM.init


@pytest.mark.parametrize(
    ('state', 'code'),
    [
        (PROBLEM.init | {('on', 'c', 'b')}, ErrorCode.MONITOR_VIOLATION),
        (PROBLEM.init | {('on', 'a', 'z')}, ErrorCode.STATE_MISMATCH),
        (PROBLEM.init | {('flies', 'a')}, ErrorCode.STATE_MISMATCH),
        (PROBLEM.init | {('clear',)}, ErrorCode.STATE_MISMATCH),
    ],
    ids=['a broken constraint', 'no such object', 'no such predicate', 'too few arguments'],
)
def test_nothing_is_left_of_a_broken_constraint_or_an_unknown_world(
    state: State, code: ErrorCode
) -> None:
    monitor = RunMonitor(PROBLEM, PLAN)
    monitor.look(PROBLEM.init)
    with pytest.raises(SafegenError) as caught:
        monitor.look(state)
    assert caught.value.code is code
    assert monitor.remaining() is None


HEATING = read_domain("""(define (domain heating) (:predicates (warm) (done))
  (:durative-action heat :parameters () :duration (= ?duration 5) :condition ()
    :effect (at end (warm)))
  (:durative-action rest :parameters () :duration (= ?duration 5) :condition ()
    :effect (at end (done))))""")


def _timed(constraint: str, now: list[float]) -> RunMonitor:
    text = f'(:domain heating) (:init) (:goal (done)) (:constraints {constraint})'
    problem = read_problem(f'(define (problem p) {text})', HEATING)
    return RunMonitor(problem, parse_plan('(heat)(rest)'), lambda: now[0])


WARM, DONE = frozenset({('warm',)}), frozenset({('warm',), ('done',)})


DRAINED = read_problem(
    """(define (problem p) (:domain d) (:init (= (battery) 30) (= (speed) 0.5)) (:goal (done))
    (:constraints (always (>= (battery) 10))))""",
    read_domain(
        """(define (domain d) (:predicates (done)) (:functions (battery) (speed))
        (:action work :parameters () :precondition (> (speed) 0)
          :effect (and (done) (decrease (battery) 15))))"""
    ),
)


@pytest.mark.parametrize(
    ('battery', 'code', 'words'),
    [
        ('(= (battery) 15)', None, ''),
        ('(= (battery) 15.0)', None, ''),
        ('(= (battery) 14.9)', ErrorCode.STATE_MISMATCH, 'missing (= (battery) 15), unexpected'),
        ('(= (battery) 9)', ErrorCode.MONITOR_VIOLATION, '(>= (battery) 10)) ((battery) is 9)'),
        ('', ErrorCode.MONITOR_VIOLATION, '((battery) has no value)'),
        ('(= (load) 1)', ErrorCode.STATE_MISMATCH, '(= (load) 1) is observed, and is not an atom'),
    ],
)
def test_numbers_are_observed_exactly(battery: str, code: ErrorCode | None, words: str) -> None:
    monitor = RunMonitor(DRAINED, parse_plan('(work)'))
    monitor.look(DRAINED.init)
    facts = [text for text in ('(done)', '(= (speed) 0.5)', battery) if text]
    observed = frozenset(map(fact_of, facts))
    if code is None:
        monitor.look(observed)
        monitor.finish()
        return
    with pytest.raises(SafegenError) as caught:
        monitor.look(observed)
    assert caught.value.code is code
    assert words in caught.value.message


def test_a_deadline_is_watched_by_the_clock() -> None:
    now = [100.0]
    monitor = _timed('(within 6 (warm))', now)
    monitor.look(frozenset())
    assert monitor.due_s() == 6.0
    now[0] = 104.0
    assert monitor.due_s() == 2.0
    monitor.check_time()
    now[0] = 106.5
    text = r'step 1 \(heat\) is not done in time: \(within 6 \(warm\)\) \(at 6.000 s\)'
    with pytest.raises(SafegenError, match=text) as caught:
        monitor.check_time()
    assert caught.value.code is ErrorCode.MONITOR_VIOLATION
    with pytest.raises(SafegenError, match=r'breaks \(within 6 \(warm\)\)'):
        monitor.look(WARM)


def test_a_deadline_that_is_met_is_due_no_more() -> None:
    now = [0.0]
    monitor = _timed('(always-within 4 (warm) (done))', now)
    monitor.look(frozenset())
    assert monitor.due_s() is None
    now[0] = 50.0
    monitor.look(WARM)
    assert monitor.due_s() == 4.0
    assert monitor.remaining() is None
    now[0] = 54.0
    monitor.look(DONE)
    assert monitor.due_s() is None
    monitor.finish()
    assert monitor.standings() == (('(always-within 4 (warm) (done))', Status.SATISFIED),)


@pytest.mark.parametrize(
    ('constraint', 'clocked'),
    [
        ('(within 20 (warm))', True),
        ('(hold-during 8 9 (warm))', True),
        ('(hold-after 30 (warm))', True),
        ('(always-within 4 (warm) (done))', True),
        ('(sometime (warm))', False),
    ],
)
def test_no_plan_goes_on_where_the_clock_of_the_run_counts(constraint: str, clocked: bool) -> None:
    now = [0.0]
    monitor = _timed(constraint, now)
    monitor.look(frozenset())
    now[0] = 5.0
    with pytest.raises(SafegenError, match='is not as proved: missing') as caught:
        monitor.look(frozenset())
    assert caught.value.code is ErrorCode.STATE_MISMATCH
    rest = monitor.remaining()
    if not clocked:
        assert rest is not None
        assert rest.constraints == monitor.problem.constraints
        return
    assert rest is None
    why = f'no other plan may go on, since {constraint} counts seconds from the start of the run'
    assert why in caught.value.message


def test_a_window_that_is_not_kept_at_the_end_is_told() -> None:
    now = [0.0]
    monitor = _timed('(hold-after 60 (not (warm)))', now)
    for state in (frozenset(), WARM, DONE):
        monitor.look(state)
    with pytest.raises(SafegenError, match=r'never satisfied \(hold-after 60'):
        monitor.finish()


DERIVED = read_problem(
    """(define (problem t) (:domain tower) (:objects a b c) (:init (on b c)) (:goal (above a c))
      (:constraints (always (not (above c a)))))""",
    read_domain(
        """(define (domain tower) (:requirements :derived-predicates)
          (:predicates (on ?x ?y) (above ?x ?y))
          (:derived (above ?x ?y) (or (on ?x ?y) (exists (?z) (and (on ?x ?z) (above ?z ?y)))))
          (:action put :parameters (?x ?y) :precondition (not (above ?y ?x)) :effect (on ?x ?y)))"""
    ),
)


def test_derived_atoms_follow_from_what_is_observed() -> None:
    monitor = RunMonitor(DERIVED, parse_plan('(put a b)'))
    monitor.look(DERIVED.init)
    after = DERIVED.init | {('on', 'a', 'b')}
    monitor.look(after)
    assert monitor.observed == after
    monitor.finish()


@pytest.mark.parametrize(
    ('more', 'code'),
    [
        (('on', 'c', 'a'), ErrorCode.MONITOR_VIOLATION),
        (('above', 'a', 'b'), ErrorCode.STATE_MISMATCH),  # which nothing but the rules may state
    ],
)
def test_a_derived_atom_that_is_wrong_stops_the_run(more: tuple[str, ...], code: ErrorCode) -> None:
    monitor = RunMonitor(DERIVED, parse_plan('(put a b)'))
    monitor.look(DERIVED.init)
    with pytest.raises(SafegenError) as caught:
        monitor.look(DERIVED.init | {('on', 'a', 'b'), more})
    assert caught.value.code is code

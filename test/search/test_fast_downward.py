# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Fast Downward solves the compiled task; its plans verify, and nothing of it is left behind."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from support import strategies
from support.breadth_first import solve
from support.finite_domain import Simulator
from support.strategies import three_blocks

from safegen_ros.errors import Canceled, ErrorCode, SafegenError
from safegen_ros.pddl.model import And, AtomFormula, Or, Problem
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.pddl.writer import domain_text, problem_text
from safegen_ros.search import fast_downward
from safegen_ros.search.budget import Budget, SearchLimit, Unsolvable
from safegen_ros.search.fast_downward import fast_downward_available, solve_with_fast_downward
from safegen_ros.search.programs import ProgramResult
from safegen_ros.search.regression import compile_constraints
from safegen_ros.search.sas import Axiom, SasTask
from safegen_ros.verify.validator import Validator

PATIENCE_S = 60.0


def _solve(problem: Problem, *, optimal: bool = False, **limits: Any) -> Plan:
    budget = Budget(**{'time_limit_s': PATIENCE_S, 'memory_limit_mb': 1024.0, **limits})
    return solve_with_fast_downward(problem, budget, optimal=optimal).plan


def _translated(problem: Problem) -> SasTask:
    folder = fast_downward._folder()
    assert folder is not None
    return fast_downward._translate(problem, folder, Budget(PATIENCE_S, 1024))


@pytest.mark.slow
@strategies.examples(13)
@given(strategies.SEEDS)
def test_what_the_translator_grounds_is_what_the_validator_follows(seed: int) -> None:
    """Random walks: operators that are missing are those that can never apply or do nothing."""
    rng = random.Random(seed)
    problem = strategies.toggles(rng, seed % 4 == 1) if seed % 2 else strategies.blocks(rng, 3)
    if rng.random() < 0.5:  # a goal that is seldom reached hides what constraints say
        problem = replace(problem, goal=And(()))
    validator = Validator(problem)
    task = _translated(problem)
    try:
        compiled = compile_constraints(problem, task)
    except Unsolvable:
        assert not validator.verify(Plan()).ok
        return
    judge, plain = Simulator(compiled), Simulator(task)
    names = sorted({operator.name for operator in compiled.operators})
    for _ in range(5):
        steps: list[Step] = []
        state, judged = plain.initial, judge.initial
        for _ in range(7):
            assert validator.verify(Plan(tuple(steps))).ok == judge.solved(judged)
            possible = [name for name in names if judge.apply(judged, name)]
            if not possible:
                break
            name = rng.choice(possible)
            action, *arguments = name.split()
            steps.append(Step(action, tuple(arguments)))
            there, after = plain.apply(state, name), judge.apply(judged, name)
            assert there is not None
            assert after is not None
            state, judged = there, after


@pytest.mark.parametrize(
    ('goal', 'constraints', 'length'),
    [
        ('(on c b)', '(and)', 0),
        ('(on a c)', '(sometime-before (on a c) (on-table c))', 4),
        ('(on c b)', '(and (sometime (on b a)) (always (not (on-table c))))', None),
        ('(on c b)', '(sometime (on b a))', 6),
        ('(or (on a b) (and (on b c) (on c a)))', '(within 4 (holding a))', 4),
        ('(on a b)', '(hold-during 3 4 (holding c))', 6),
        ('(on a b)', '(hold-after 2 (on c b))', None),
        ('(on a b)', '(always-within 1 (clear b) (holding a))', None),
        ('(on a b)', '(always-within 2 (clear b) (holding a))', 4),
    ],
)
def test_known_lengths(goal: str, constraints: str, length: int | None) -> None:
    problem = three_blocks(goal, constraints)
    if length is None:
        with pytest.raises(Unsolvable, match='problem small has no plan'):
            _solve(problem)
    else:
        assert len(_solve(problem, optimal=True)) == length


def test_a_plan_may_have_to_wait() -> None:
    """No operator but one without effect fills the time until the window is over."""
    domain = read_domain(
        """(define (domain lamp) (:predicates (lit))
          (:action look :parameters () :precondition (and) :effect (and))
          (:action press :parameters () :precondition (lit) :effect (not (lit))))"""
    )
    text = """(define (problem night) (:domain lamp) (:init (lit)) (:goal (not (lit)))
      (:constraints (hold-during 0 3 (lit))))"""
    problem = read_problem(text, domain)
    assert str(_solve(problem)).split('\n') == ['(look)', '(look)', '(press)']


TYPES = """(define (domain typed)
  (:types bench - (either box site) box site object)
  (:predicates (seen ?x - (either box site object)) (all))
  (:action look :parameters (?x - (either bench object)) :precondition (not (seen ?x))
    :effect (seen ?x))
  (:action mark :parameters (?x - box) :effect (forall (?y - site) (seen ?y)))
  (:action close :parameters ()
    :precondition (and (forall (?x - box) (seen ?x)) (exists (?x - object) (seen ?x)))
    :effect (all)))"""


@pytest.mark.parametrize(
    ('objects', 'length'),
    [
        ('b - box s - site o - object', None),
        ('b - bench s - site o - object', 3),
        ('b - bench o - object', 3),
        ('b - (either box site) o - object', 3),
        ('s - site o - object', 2),
        ('s - site', None),
    ],
)
def test_types_mean_to_the_translator_what_they_mean_to_us(
    objects: str, length: int | None
) -> None:
    text = f'(define (problem typed-1) (:domain typed) (:objects {objects}) (:init) (:goal (all)))'
    problem = read_problem(text, read_domain(TYPES))
    try:
        wanted = solve(problem)
    except Unsolvable:
        assert length is None
        with pytest.raises(Unsolvable):
            _solve(problem, optimal=True)
    else:
        assert len(wanted) == length
        assert len(_solve(problem, optimal=True)) == length


def _towers(count: int) -> Problem:
    """A problem that takes a while."""
    rng = random.Random(1)
    return strategies.blocks(rng, count, constraints=0)


def test_the_time_limit_is_kept() -> None:
    others = _children(os.getpid())  # such as those that share memory for other tests
    with pytest.raises(SearchLimit, match='time limit') as caught:
        _solve(_towers(12), time_limit_s=0.3, optimal=True)
    assert caught.value.code is ErrorCode.PLANNING_TIMEOUT
    assert _children(os.getpid()) <= others


@pytest.mark.parametrize('axioms', [False, True])
def test_landmarks_have_half_of_the_time_and_the_others_the_rest(
    monkeypatch: pytest.MonkeyPatch, axioms: bool
) -> None:
    tried: list[tuple[str, float]] = []

    def run(command: list[str], part: Budget, *files: object, **more: object) -> ProgramResult:
        tried.append((command[-1], part.time_limit_s))
        raise SearchLimit('it takes too long')

    task = _translated(three_blocks('(on a b)'))
    if axioms:
        task = replace(task, rules=(Axiom((), 0, 0),))
    monkeypatch.setattr(fast_downward, 'run_program', run)
    with pytest.raises(SearchLimit):
        fast_downward._search('small', task, False, None, Path(), Budget(PATIENCE_S, 1024))
    names = [fast_downward._LAMA, fast_downward._TYPES, *[fast_downward._BLIND] * axioms]
    assert [name for name, _ in tried] == names
    assert 0.5 * PATIENCE_S - 1 < tried[0][1] <= 0.5 * PATIENCE_S
    assert (
        tried[-1][1] > PATIENCE_S - 1
    )  # here no time has passed: the last one has all that is left


@pytest.mark.nightly
def test_the_memory_limit_is_kept() -> None:
    # Two blocks are never held at once, which only a search of all states would find out.
    both = And((AtomFormula('holding', ('b1',)), AtomFormula('holding', ('b2',))))
    problem = replace(_towers(12), goal=Or((_towers(12).goal, both)))
    with pytest.raises(SearchLimit, match='memory limit') as caught:
        _solve(problem, memory_limit_mb=32, optimal=True)
    assert caught.value.code is ErrorCode.PLANNING_TIMEOUT
    with pytest.raises(SearchLimit, match='memory limit'):
        _solve(_towers(40), memory_limit_mb=40)


def test_a_cancel_is_heard_while_a_program_runs() -> None:
    others = _children(os.getpid())

    def cancelled() -> bool:
        return not _children(os.getpid()) <= others

    with pytest.raises(Canceled) as caught:
        _solve(_towers(12), optimal=True, cancelled=cancelled)
    assert caught.value.code is ErrorCode.PLANNING_CANCELED
    assert _children(os.getpid()) <= others


def _children(parent: int) -> set[int]:
    """The processes that some process has started and not yet waited for."""
    found: set[int] = set()
    for path in Path(f'/proc/{parent}/task').glob('*/children'):
        with suppress(OSError):  # the thread may end between the open and the read
            found.update(map(int, path.read_text().split()))
    return found


def _runs(process: int) -> bool:
    try:
        return Path(f'/proc/{process}/stat').read_text().rpartition(')')[2].split()[0] != 'Z'
    except OSError:  # it may end between the open and the read as well
        return False


def test_the_programs_end_with_the_process_that_started_them() -> None:
    code = """if True:
        import sys
        from safegen_ros.pddl.reader import read_domain, read_problem
        from safegen_ros.search.budget import Budget
        from safegen_ros.search.fast_downward import solve_with_fast_downward
        domain = read_domain(sys.argv[1])
        solve_with_fast_downward(read_problem(sys.argv[2], domain), Budget(60, 500), optimal=True)
    """
    texts = domain_text(strategies.BLOCKSWORLD), problem_text(_towers(12))
    parent = subprocess.Popen([sys.executable, '-c', code, *texts])
    deadline = time.monotonic() + PATIENCE_S
    try:
        children: set[int] = set()
        while not children and time.monotonic() < deadline:
            children = _children(parent.pid)
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    assert children
    while any(map(_runs, children)) and time.monotonic() < deadline:
        pass
    assert not any(map(_runs, children))


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fast_downward_available()
    monkeypatch.setattr(fast_downward, '_PACKAGE', 'no_such_package')
    assert not fast_downward_available()
    with pytest.raises(SafegenError, match='install the Python package up-fast-downward'):
        _solve(three_blocks('(on a b)'))


def test_a_failure_shows_what_the_program_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_downward, '_attempts', lambda task, optimal: [(1.0, 'nonsense()')])
    with pytest.raises(SafegenError, match=r'search component .* ended with code 3\d: .*nonsense'):
        _solve(three_blocks('(on a b)'))
    monkeypatch.setattr(fast_downward, '_TRANSLATE', ('fast_downward.translate', '--nonsense'))
    with pytest.raises(SafegenError, match=r'the translator of .* ended with code 2: .*--nonsense'):
        _solve(three_blocks('(on a b)'))


def test_a_plan_that_does_not_verify_is_not_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    def compiled(problem: Problem, task: SasTask, checkpoint: object) -> SasTask:
        return compile_constraints(replace(problem, constraints=()), task)

    monkeypatch.setattr(fast_downward, 'compile_constraints', compiled)
    with pytest.raises(SafegenError, match=r'does not verify: .*always'):
        _solve(three_blocks('(on a b)', '(always (on c b))'))


@pytest.mark.parametrize('seen', ['seen', 'increase'])
def test_names_that_the_translator_reserves_are_renamed(seen: str) -> None:
    domain = read_domain(
        '(define (domain d) (:types number - object small - number) (:predicates (number ?n - '
        f'number) ({seen} ?n - number)) (:action see :parameters (?n - number) :precondition (and '
        f'(number ?n) (not ({seen} ?n))) :effect ({seen} ?n)))'
    )
    problem = read_problem(
        '(define (problem p) (:domain d) (:objects number - small number-0 - number) (:init '
        f'(number number)) (:goal ({seen} number)))',
        domain,
    )
    assert str(_solve(problem)) == '(see number)'

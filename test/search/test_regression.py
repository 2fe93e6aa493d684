# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The compiled task accepts exactly the plans that the validator accepts."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from support import strategies
from support.finite_domain import Simulator, Translator, positions

from safegen_ros.pddl.model import And, Problem
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.search import sas_builder as draft
from safegen_ros.search.budget import Unsolvable
from safegen_ros.search.regression import compile_constraints
from safegen_ros.search.sas import SasTask
from safegen_ros.verify.validator import Validator

STEPS = 7


def _random_problem(seed: int) -> tuple[Problem, SasTask]:
    rng = random.Random(seed)
    if seed % 2:
        problem, groups = strategies.toggles(rng, derived=seed % 4 == 1), []
    else:
        problem = strategies.blocks(rng, rng.randint(2, 3))
        groups = positions(problem)
    if rng.random() < 0.5:  # a goal that is seldom reached hides what constraints say
        problem = replace(problem, goal=And(()))
    return problem, Translator(problem, groups).task


LAMPS = read_domain(
    """(define (domain lamps) (:types place)
      (:constants p1 p2 p3 - place) (:predicates (lit) (red) (at ?p - place))
      (:action light :parameters () :effect (lit))
      (:action quench :parameters () :precondition (lit) :effect (and (not (lit)) (red)))
      (:action switch :parameters ()
        :effect (and (when (lit) (not (lit))) (when (not (lit)) (lit)) (not (red))))
      (:action slide :parameters () :precondition (or (lit) (and (red) (at p1)))
        :effect (when (red) (and (at p3) (not (at p1)) (not (at p2)))))
      (:action jump :parameters (?p - place)
        :effect (and (at ?p) (forall (?q - place) (when (not (= ?p ?q)) (not (at ?q)))))))"""
)
FORMULAS = (
    '(lit)', '(not (lit))', '(at p1)', '(not (at p2))', '(or (lit) (at p2))',
    '(and (not (lit)) (at p2))', '(imply (lit) (and (red) (not (at p1))))',
    '(or (and (lit) (red)) (at p3) (and (not (red)) (at p1)))', '(and)', '(or)',
)  # fmt: skip
DEPTH = 3


def _lamps(rng: random.Random, constraint: str) -> Problem:
    init = (
        f'(at {rng.choice(["p1", "p2"])}) {rng.choice(["(lit)", ""])} {rng.choice(["(red)", ""])}'
    )
    goal = rng.choice(['(and)', '(and)', rng.choice(FORMULAS)])
    text = f"""(define (problem lamps-1) (:domain lamps) (:objects)
      (:init {init}) (:goal {goal}) (:constraints {constraint}))"""
    return read_problem(text, LAMPS)


def _compare(problem: Problem, compiled: SasTask | None, plain: Simulator) -> int:
    """Judges every plan up to a depth by both; how many were accepted."""
    validator = Validator(problem)
    judge = Simulator(compiled) if compiled else None
    names = sorted({operator.name for operator in plain.task.operators})
    waiting = [(Plan(), plain.initial, judge.initial if judge else None)]
    accepted = 0
    while waiting:
        plan, state, judged = waiting.pop()
        wanted = validator.verify(plan).ok
        assert wanted == (judge is not None and judged is not None and judge.solved(judged)), plan
        accepted += wanted
        for name in names if len(plan) < DEPTH else ():
            after = plain.apply(state, name)
            then = None if judge is None or judged is None else judge.apply(judged, name)
            assert after is not None or then is None
            if after is not None:
                action, *arguments = name.split()
                step = Step(action, tuple(arguments))
                waiting.append((Plan((*plan.steps, step)), after, then))
    return accepted


@pytest.mark.slow
@pytest.mark.parametrize('limits', [(8, 64), (1, 1)], ids=['written out', 'by flags and axioms'])
@pytest.mark.parametrize('operator', strategies.OPERATORS)
def test_every_short_plan_is_judged_alike(
    operator: str, limits: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draft, 'MAX_COPIES', limits[0])
    monkeypatch.setattr(draft, 'MAX_CUBES', limits[1])
    rng = random.Random(operator)
    numbers, count = strategies.OPERATORS[operator]
    accepted = 0
    for _ in range(8):
        drawn = [rng.randint(0, DEPTH) for _ in range(numbers)]
        if operator == 'hold-during':  # an empty window is refused
            drawn = [min(drawn), max(*drawn, min(drawn) + 1)]
        times = ' '.join(map(str, drawn))
        formulas = ' '.join(rng.choice(FORMULAS) for _ in range(count))
        problem = _lamps(rng, f'({operator} {times} {formulas})')
        plain = Translator(problem, [[('at', place) for place in problem.objects]]).task
        try:
            compiled = compile_constraints(problem, plain)
        except Unsolvable:
            compiled = None
        accepted += _compare(problem, compiled, Simulator(plain))
    assert accepted > 10


def _walk(rng: random.Random, problem: Problem, task: SasTask, compiled: SasTask | None) -> int:
    """A random plan, each prefix of it judged by both; how many prefixes were accepted."""
    validator = Validator(problem)
    plain = Simulator(task)
    names = sorted({operator.name for operator in task.operators})
    state, steps, accepted = plain.initial, [], 0
    judge = Simulator(compiled) if compiled else None
    judged = judge.initial if judge else None
    for _ in range(STEPS + 1):
        wanted = validator.verify(Plan(tuple(steps))).ok
        assert wanted == (judged is not None and judge is not None and judge.solved(judged))
        accepted += wanted
        possible = [(name, after) for name in names if (after := plain.apply(state, name))]
        if not possible:
            break
        name, state = rng.choice(possible)
        action, *arguments = name.split()
        steps.append(Step(action, tuple(arguments)))
        if judge is not None and judged is not None:
            judged = judge.apply(judged, name)
    return accepted


@pytest.mark.slow
@strategies.examples(300)
@given(strategies.SEEDS)
def test_the_compiled_task_accepts_what_the_validator_accepts(seed: int) -> None:
    problem, task = _random_problem(seed)
    try:
        compiled = compile_constraints(problem, task)
    except Unsolvable:
        compiled = None
    rng = random.Random(seed)
    for _ in range(5):
        _walk(rng, problem, task, compiled)

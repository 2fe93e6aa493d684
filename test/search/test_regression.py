# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The compiled task accepts exactly the plans that the validator accepts."""

from __future__ import annotations

import random
from dataclasses import replace

import strategies
from finite_domain import Simulator, Translator, positions
from hypothesis import given, settings

from safegen_ros.pddl.model import And, Problem
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.search.outcome import Unsolvable
from safegen_ros.search.regression import compile_constraints
from safegen_ros.search.sas import SasTask
from safegen_ros.verify.validator import Validator

STEPS = 7


def _random_problem(seed: int) -> tuple[Problem, SasTask]:
    rng = random.Random(seed)
    if seed % 2:
        problem, groups = strategies.toggles(rng), []
    else:
        problem = strategies.blocks(rng, rng.randint(2, 3))
        groups = positions(problem)
    if rng.random() < 0.5:  # a goal that is seldom reached hides what constraints say
        problem = replace(problem, goal=And(()))
    return problem, Translator(problem, groups).task


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


@settings(strategies.SUITE, max_examples=300)
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

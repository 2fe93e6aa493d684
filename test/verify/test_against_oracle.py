# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The validator against whole-trajectory definitions that share no code with it.

`_holds` spells out the table of trajectory operators with indices of states, `_true` and `_apply`
the meaning of formulas and actions; none of them is incremental.
"""

from __future__ import annotations

import random
from itertools import product

import strategies
from hypothesis import given, settings

from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.model import (
    And,
    Atom,
    AtomFormula,
    Constraint,
    Equals,
    Forall,
    Formula,
    Imply,
    Not,
    Or,
    Problem,
)
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.verdict import Category
from safegen_ros.verify.monitors import MonitorSet, Status
from safegen_ros.verify.validator import Validator

State = frozenset[Atom]
Env = dict[str, str]


def _range(problem: Problem, wanted: str) -> list[str]:
    types, found = problem.domain.types, []
    for name, kind in problem.objects.items():
        line = [kind]
        while types.get(line[-1], '') not in ('', line[-1]):
            line.append(types[line[-1]])
        if wanted in line or (wanted == 'object' and 'object' not in types):
            found.append(name)
    return found


def _envs(problem: Problem, variables: tuple[tuple[str, str], ...], env: Env) -> list[Env]:
    ranges = [_range(problem, kind) for _, kind in variables]
    names = [name for name, _ in variables]
    return [{**env, **dict(zip(names, values, strict=True))} for values in product(*ranges)]


def _true(f: Formula, state: State, problem: Problem, env: Env) -> bool:
    match f:
        case AtomFormula():
            return (f.predicate, *(env.get(t, t) for t in f.terms)) in state
        case Equals():
            return env.get(f.left, f.left) == env.get(f.right, f.right)
        case Not():
            return not _true(f.body, state, problem, env)
        case And():
            return all(_true(p, state, problem, env) for p in f.parts)
        case Or():
            return any(_true(p, state, problem, env) for p in f.parts)
        case Imply():
            return not _true(f.premise, state, problem, env) or _true(
                f.conclusion, state, problem, env
            )
    truths = [_true(f.body, state, problem, e) for e in _envs(problem, f.variables, env)]
    return all(truths) if isinstance(f, Forall) else any(truths)


def _apply(problem: Problem, step: Step, state: State) -> State | None:
    schema = problem.domain.actions[step.action]
    env = {name: o for (name, _), o in zip(schema.parameters, step.arguments, strict=True)}
    if not _true(schema.precondition, state, problem, env):
        return None
    added, deleted = set(), set()
    for effect in schema.effects:
        for inner in _envs(problem, effect.variables, env):
            if _true(effect.condition, state, problem, inner):
                added |= {(a.predicate, *(inner.get(t, t) for t in a.terms)) for a in effect.add}
                deleted |= {
                    (a.predicate, *(inner.get(t, t) for t in a.terms)) for a in effect.delete
                }
    return frozenset((state - deleted) | added)


def _holds(c: Constraint, states: list[State], problem: Problem) -> bool:
    f = [_true(c.arguments[0], state, problem, {}) for state in states]
    h = [_true(c.arguments[-1], state, problem, {}) for state in states]
    indices = range(len(states))
    match c.operator:
        case 'always':
            return all(f)
        case 'sometime':
            return any(f)
        case 'at-most-once':
            when = [i for i in indices if f[i]]
            return not when or when == list(range(when[0], when[-1] + 1))
        case 'sometime-before':
            return all(any(h[j] for j in range(i)) for i in indices if f[i])
    raise AssertionError(c.operator)


def expected(problem: Problem, plan: Plan) -> tuple[Category, int]:
    """Category and failing step: the earliest failure by state, constraints before actions."""
    lasting = [c for c in problem.constraints if c.operator != 'sometime']
    states, count = [problem.init], len(plan)
    for index, step in enumerate(plan.steps):
        if not all(_holds(c, states, problem) for c in lasting):
            return Category.SAFETY_VIOLATION, max(index - 1, 0)
        after = _apply(problem, step, states[-1])
        if after is None:
            return Category.PRECONDITION_VIOLATION, index
        states.append(after)
    if not _true(problem.goal, states[-1], problem, {}):
        return Category.GOAL_NOT_SATISFIED, -1
    if not all(_holds(c, states, problem) for c in lasting):
        return Category.SAFETY_VIOLATION, count - 1
    if not all(_holds(c, states, problem) for c in problem.constraints):
        return Category.SAFETY_VIOLATION, -1
    return Category.SUCCESS, -1


@settings(strategies.SUITE, max_examples=250)
@given(strategies.SEEDS)
def test_verdict_is_what_the_definitions_say(seed: int) -> None:
    rng = random.Random(seed)
    problem = strategies.toggles(rng) if rng.random() < 0.6 else strategies.blocks(rng, 3)
    validator = Validator(problem)
    for _ in range(4):
        plan = strategies.plan(rng, problem)
        verdict = validator.verify(plan)
        assert (verdict.category, verdict.failing_step) == expected(problem, plan), verdict.reason
        assert validator.verify(str(plan)) == verdict


@settings(strategies.SUITE, max_examples=300)
@given(strategies.SEEDS)
def test_monitors_agree_on_any_trajectory(seed: int) -> None:
    """States drawn at random, so that every order of truth and falsehood turns up."""
    rng = random.Random(seed)
    problem = strategies.toggles(rng)
    pool = [
        frozenset(strategies.ground_atom(rng, problem.domain, problem.objects) for _ in range(k))
        for k in range(4)
    ]
    for _ in range(5):
        states = [rng.choice(pool) for _ in range(rng.randint(1, 6))]
        table = AtomTable(problem, fold_static=False)
        monitors = MonitorSet(problem, table)
        standing = monitors.start(table.encode(states[0]))
        for index in range(len(states)):
            if index:
                standing = monitors.progress(standing, table.encode(states[index]))
            for monitor in monitors.monitors:
                holds = _holds(monitor.constraint, states[: index + 1], problem)
                status = monitor.status(standing)
                assert (status is Status.SATISFIED) == holds
                if status is Status.VIOLATED:
                    assert not _holds(monitor.constraint, states, problem)


def test_the_generator_reaches_every_category() -> None:
    """The properties above would mean little if most plans failed in one way."""
    seen: dict[tuple[Category, bool], int] = {}
    for seed in range(300):
        rng = random.Random(seed)
        problem = strategies.toggles(rng) if seed % 2 else strategies.blocks(rng, 3)
        verdict = Validator(problem).verify(strategies.plan(rng, problem))
        key = (verdict.category, verdict.failing_step < 0)
        seen[key] = seen.get(key, 0) + 1
    assert seen[Category.SAFETY_VIOLATION, False] >= 15
    assert seen[Category.SAFETY_VIOLATION, True] >= 5
    assert seen[Category.PRECONDITION_VIOLATION, False] >= 15
    assert seen[Category.GOAL_NOT_SATISFIED, True] >= 15
    assert seen[Category.SUCCESS, True] >= 15

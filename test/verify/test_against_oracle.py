# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The validator against whole-trajectory definitions that share no code with it.

`_holds` and `_broken` spell out the table of trajectory operators with indices of states, `_true`
and `_apply` the meaning of formulas and actions; none of them is incremental.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import pytest
from hypothesis import given
from support import strategies

from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.deciding import without_costs
from safegen_ros.pddl.model import (
    And,
    Atom,
    AtomFormula,
    Constraint,
    Domain,
    Equals,
    Forall,
    Formula,
    Imply,
    Not,
    Or,
    Problem,
)
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.pddl.writer import constraint_text
from safegen_ros.verdict import Category, Verdict
from safegen_ros.verify.monitors import MonitorSet, Status
from safegen_ros.verify.validator import Validator

State = frozenset[Atom]
Env = dict[str, str]


def _range(problem: Problem, wanted: str) -> list[str]:
    """The objects of a type: `(either a b)` has those of both, an object declared so is of both."""
    types, found = problem.domain.types, []
    for name, declared in problem.objects.items():
        own = set(declared.split('&'))
        for _ in types:
            own |= {parent for kind in own for parent in types.get(kind, '').split('&') if parent}
        if not {'object'} & types.keys():
            own.add('object')
        if own & set(wanted.split('|')):
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
    truths = (_true(f.body, state, problem, e) for e in _envs(problem, f.variables, env))
    return all(truths) if isinstance(f, Forall) else any(truths)


def _derive(problem: Problem, state: State) -> State:
    """The state with the derived atoms, as the well-founded model has them.

    What surely holds and what may hold close in on each other (Van Gelder, "The Alternating
    Fixpoint of Logic Programs with Negation", 1993); no order of the rules is worked out.
    """
    surely = maybe = state
    while True:
        maybe = _least(problem, state, surely)
        better = _least(problem, state, maybe)
        if better == surely:
            assert surely == maybe, 'the rules are not stratified'
            return surely
        surely = better


def _least(problem: Problem, state: State, denied: State) -> State:
    """The least model when a derived atom is taken for false where it is not in `denied`."""
    found = state
    while True:
        more = found | {
            (rule.predicate, *(env[name] for name, _ in rule.variables))
            for rule in problem.domain.derived
            for env in _envs(problem, rule.variables, {})
            if _signed(rule.body, True, found, denied, problem, env)
        }
        if more == found:
            return found
        found = more


def _signed(f: Formula, sign: bool, true: State, denied: State, problem: Problem, env: Env) -> bool:
    """Whether a formula, or its negation, holds with the atoms of two states by their sign."""
    match f:
        case AtomFormula():
            return _true(f, true if sign else denied, problem, env) == sign
        case Equals():
            return _true(f, true, problem, env) == sign
        case Not():
            return _signed(f.body, not sign, true, denied, problem, env)
        case Imply():
            return _signed(Or((Not(f.premise), f.conclusion)), sign, true, denied, problem, env)
        case And() | Or():
            truths = (_signed(p, sign, true, denied, problem, env) for p in f.parts)
        case _:
            envs = _envs(problem, f.variables, env)
            truths = (_signed(f.body, sign, true, denied, problem, e) for e in envs)
    return (all if isinstance(f, (And, Forall)) == sign else any)(truths)


def _apply(problem: Problem, step: Step, state: State) -> State | None:
    schema = problem.domain.actions[step.action]
    derived = problem.domain.derived_predicates()
    base = frozenset(atom for atom in state if atom[0] not in derived)
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
    return _derive(problem, frozenset((base - deleted) | added))


def _indices(truths: list[bool]) -> list[int]:
    return [index for index, truth in enumerate(truths) if truth]


def _holds(c: Constraint, states: list[State], problem: Problem) -> bool:
    """Whether a constraint is satisfied by a trajectory that ends with the last of these states."""
    f = _indices([_true(c.arguments[0], state, problem, {}) for state in states])
    h = _indices([_true(c.arguments[-1], state, problem, {}) for state in states])
    last = len(states) - 1
    match c.operator:
        case 'always':
            return len(f) == len(states)
        case 'sometime':
            return f != []
        case 'at-most-once':
            return f == [] or f == list(range(f[0], f[-1] + 1))
        case 'sometime-before':
            return all(any(j < i for j in h) for i in f)
        case 'sometime-after':
            return all(any(j >= i for j in h) for i in f)
        case 'at end':
            return last in f
        case 'within':
            return any(i <= c.times[0] for i in f)
        case 'always-within':
            return all(any(i <= j <= i + c.times[0] for j in h) for i in f)
        case 'hold-during':
            window = range(c.times[0], min(c.times[1], last + 1))
            return all(i in f for i in window) and (last in f or last >= c.times[0])
        case 'hold-after':
            return last in f and all(i in f for i in range(c.times[0], last + 1))
    raise AssertionError(c.operator)


def _broken(c: Constraint, states: list[State], problem: Problem) -> bool:
    """Whether no continuation helps any more: what is still owed can be done in a later state."""
    last = len(states) - 1
    match c.operator:
        case 'sometime' | 'sometime-after' | 'at end':
            return False
        case 'hold-during' | 'hold-after' if last < c.times[0]:
            return False
        case 'within':
            return c.times[0] < last and not _holds(c, states, problem)
        case 'always-within':
            # only what was owed before the last `times[0]` states is overdue
            due = max(last - c.times[0], 0)
            f = _indices([_true(c.arguments[0], state, problem, {}) for state in states[:due]])
            h = _indices([_true(c.arguments[1], state, problem, {}) for state in states])
            return not all(any(i <= j <= i + c.times[0] for j in h) for i in f)
    return not _holds(c, states, problem)


@dataclass(frozen=True)
class Expected:
    """What the definitions say of a plan."""

    category: Category
    step: int
    state: int
    broken: set[tuple[str, int, int]]  # the constraint, the state and the step that broke it
    blocked: bool = False


def _walk(problem: Problem, plan: Plan) -> list[State]:
    """The states that a plan goes through, as far as its steps apply."""
    states = [_derive(problem, problem.init)]
    for step in plan.steps:
        after = _apply(problem, step, states[-1])
        if after is None:
            break
        states.append(after)
    return states


def expected(problem: Problem, plan: Plan) -> Expected:
    """The earliest failure by state, constraints before actions, goals before what is open."""
    states, count = _walk(problem, plan), len(plan)
    prefixes = [states[: index + 1] for index in range(len(states))]
    when = {
        c: next(k for k, prefix in enumerate(prefixes) if _broken(c, prefix, problem))
        for c in problem.constraints
        if _broken(c, states, problem)
    }
    last = len(states) - 1
    overdue = {(constraint_text(c), k, k - 1) for c, k in when.items()}
    first = min(when.values(), default=count + 1)
    if first < count and first <= last:
        blocked = first == last
        step = max(first - 1, 0)
        return Expected(Category.SAFETY_VIOLATION, step, first, overdue, blocked)
    if last < count:
        return Expected(Category.PRECONDITION_VIOLATION, last, last, set())
    owed = {
        (constraint_text(c), last, -1)
        for c in problem.constraints
        if c not in when and not _holds(c, states, problem)
    }
    if not _true(problem.goal, states[-1], problem, {}):
        return Expected(Category.GOAL_NOT_SATISFIED, -1, last, overdue | owed)
    if overdue or owed:
        step = count - 1 if overdue else -1
        return Expected(Category.SAFETY_VIOLATION, step, last, overdue | owed)
    return Expected(Category.SUCCESS, -1, -1, set())


def _told(verdict: Verdict) -> Expected:
    """What a verdict says, in the terms of the definitions."""
    broken = {(each.text, each.state, each.step) for each in verdict.broken}
    return Expected(
        verdict.category,
        verdict.failing_step,
        verdict.failing_state,
        broken,
        verdict.step_blocked,
    )


@pytest.mark.slow
@strategies.examples(300)
@given(strategies.SEEDS)
def test_verdict_is_what_the_definitions_say(seed: int) -> None:
    rng = random.Random(seed)
    problem = strategies.problem(rng) if rng.random() < 0.7 else strategies.toggles(rng, True)
    validator = Validator(problem)
    for _ in range(4):
        plan = strategies.plan(rng, problem)
        verdict = validator.verify(plan)
        assert _told(verdict) == expected(problem, plan), verdict.reason
        assert len(verdict.broken) == len({each.text for each in verdict.broken})
        assert validator.verify(str(plan)) == verdict


@pytest.mark.slow
@strategies.examples(150)
@given(strategies.SEEDS)
def test_a_task_that_was_read_means_what_was_written(seed: int) -> None:
    """Trees of constraints in the domain and the problem, with action costs now and then."""
    rng = random.Random(seed)
    problem, own = strategies.quantified_toggles(rng)
    domain_source, problem_source = strategies.written(rng, problem, own)
    read = read_problem(problem_source, read_domain(domain_source))
    assert without_costs(read) == problem
    plan = strategies.plan(rng, problem)
    verdict = Validator(read).verify(plan)
    assert _told(verdict) == expected(problem, plan), verdict.reason


@pytest.mark.slow
@strategies.examples(400)
@given(strategies.SEEDS)
def test_monitors_agree_on_any_trajectory(seed: int) -> None:
    """States drawn at random, so that every order of truth and falsehood turns up."""
    rng = random.Random(seed)
    problem = strategies.toggles(rng, derived=rng.random() < 0.3)
    pool = [
        frozenset(strategies.ground_atom(rng, problem.domain, problem.objects) for _ in range(k))
        for k in range(4)
    ]
    derived = {state: _derive(problem, state) for state in pool}
    table = AtomTable(problem, fold_static=False)
    monitors = MonitorSet(problem, table)
    for _ in range(5):
        states = [rng.choice(pool) for _ in range(rng.randint(1, 8))]
        bits = [table.encode(state) for state in states]
        standing = monitors.start(bits[0])
        for index in range(len(states)):
            if index:
                changed = bits[index] ^ bits[index - 1]
                after = monitors.progress(standing, bits[index])
                assert after == monitors.progress(standing, bits[index], changed)
                standing = after
            prefix = [derived[state] for state in states[: index + 1]]
            for monitor in monitors.monitors:
                status = monitor.status(standing)
                assert (status is Status.SATISFIED) == _holds(monitor.constraint, prefix, problem)
                assert (status is Status.VIOLATED) == _broken(monitor.constraint, prefix, problem)
            violated = [m for m in monitors.monitors if m.status(standing) is Status.VIOLATED]
            assert monitors.broken(standing) == bool(violated)
            assert list(monitors.violated(standing)) == violated


def _continuations(states: list[State], pool: list[State], longest: int) -> Iterator[list[State]]:
    for length in range(longest + 1):
        for tail in product(pool, repeat=length):
            yield [*states, *tail]


@strategies.examples(60)
@given(strategies.SEEDS)
def test_violated_means_that_no_continuation_helps(seed: int) -> None:
    """By trying them all: over the states of two atoms, to a length that outlasts every clock."""
    rng = random.Random(seed)
    operator = rng.choice(list(strategies.OPERATORS))
    numbers, count = strategies.OPERATORS[operator]
    # a formula that can become true and false again, so that only the order of states matters
    literals = [AtomFormula('p', ()), AtomFormula('q', ()), Not(AtomFormula('p', ()))]
    arguments = tuple(rng.choice(literals) for _ in range(count))
    times = tuple(rng.randint(0, 2) for _ in range(numbers))
    c = Constraint(operator, arguments, times)
    domain = Domain('two', {}, {}, {'p': (), 'q': ()}, {})
    problem = Problem('two', domain, {}, frozenset(), And(()), (c,))
    pool: list[State] = [frozenset(), frozenset({('p',)}), frozenset({('q',)})]
    pool.append(pool[1] | pool[2])
    table = AtomTable(problem, fold_static=False)
    monitors = MonitorSet(problem, table)
    for _ in range(6):
        states = [rng.choice(pool) for _ in range(rng.randint(1, 5))]
        standing = monitors.start(table.encode(states[0]))
        for state in states[1:]:
            standing = monitors.progress(standing, table.encode(state))
        saved = any(_holds(c, longer, problem) for longer in _continuations(states, pool, 2))
        assert monitors.lost(standing) == (not saved), (c, states)
        if _broken(c, states, problem):
            assert not saved
        elif operator in ('within', 'always-within'):
            # VAL lets a deadline pass by one state before it says so, and so does our validator
            assert saved or _broken(c, [*states, pool[0]], problem)
        else:
            assert saved, (c, states)


@pytest.mark.nightly
def test_the_generator_reaches_every_category() -> None:
    """The properties above would mean little if most plans failed in one way."""
    verdicts: Counter[tuple[Category, bool]] = Counter()
    operators: Counter[tuple[str, str]] = Counter()
    for seed in range(800):
        rng = random.Random(seed)
        problem = strategies.problem(rng)
        plan = strategies.plan(rng, problem)
        verdict = Validator(problem).verify(plan)
        verdicts[verdict.category, verdict.failing_step < 0] += 1
        states = _walk(problem, plan)
        for c in problem.constraints:
            broken, holds = _broken(c, states, problem), _holds(c, states, problem)
            operators[c.operator, 'broken' if broken else 'kept' if holds else 'owed'] += 1
    assert verdicts[Category.SAFETY_VIOLATION, False] >= 20
    assert verdicts[Category.SAFETY_VIOLATION, True] >= 10
    assert verdicts[Category.PRECONDITION_VIOLATION, False] >= 20
    assert verdicts[Category.GOAL_NOT_SATISFIED, True] >= 20
    assert verdicts[Category.SUCCESS, True] >= 20
    for operator in strategies.OPERATORS:
        assert operators[operator, 'kept'] >= 20
        at_once = operator not in ('sometime', 'sometime-after', 'at end')
        assert operators[operator, 'broken' if at_once else 'owed'] >= 5, (operator, operators)

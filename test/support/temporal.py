# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Random tasks with durative actions, drawn from a seed as in `strategies`."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from safegen_ros.errors import PddlError
from safegen_ros.pddl.deciding import settled
from safegen_ros.pddl.durative import Remembering
from safegen_ros.pddl.facts import is_value, told_value
from safegen_ros.pddl.flatten import NotSequential, flatten
from safegen_ros.pddl.ground import GroundAction, Grounder
from safegen_ros.pddl.model import (
    DURATION,
    Action,
    And,
    AtomFormula,
    Comparison,
    Constraint,
    Domain,
    DurativeAction,
    Effect,
    Moment,
    NumericEffect,
    Problem,
    TimedLiteral,
    conjuncts,
    walk,
)
from safegen_ros.pddl.numbers import NoNumber
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.pddl.reader import read_domain
from safegen_ros.pddl.writer import domain_text
from safegen_ros.verify.timed_actions import TimedActions
from support import strategies

ROUNDS = Path(__file__).with_name('rounds.pddl').read_text(encoding='utf-8')
"""Looking at a thing takes charge, and so time to load it; plans below break one rule each."""

TWO_ROUNDS = """
(define (problem two) (:domain rounds) (:objects a b) (:init (lamp) (= (charge) 10))
  (:goal (and (seen a) (seen b)))
  (:constraints (and (always (>= (charge) 5)) (within 2 (seen b)))))
"""

RIGHT = '(load)\n(look a)\n(look b)'
RIGHT_TIMED = '0: (load) [0.8]\n0.9: (look a) [0.4]\n1.4: (look b) [0.4]'

FLAT = '(look a)\n(look b)'
LATE = '(load)\n(look a)\n(load)\n(look b)'
DIMMED = '0: (load) [0.8]\n0.9: (look a) [0.4]\n1: (dim) [0.1]\n1.4: (look b) [0.4]'

Effects = tuple[tuple[Moment, Effect], ...]

ANY = Decimal(1)  # no effect depends on it
DURATIONS = ('1', '1', '2', '0.5', '2.5')


def problem(rng: random.Random, numbers: bool = False) -> Problem:
    """A random problem of which most actions take time; its deadlines are in seconds."""
    found = strategies.toggles(rng, derived=rng.random() < 0.3, numbers=numbers)
    actions = [
        replace(
            each, effects=tuple(e for _, e in _clear([(Moment.AT_END, e) for e in each.effects]))
        )
        for each in found.domain.actions.values()
    ]
    durative: dict[str, DurativeAction] = {}
    flat: dict[str, Action] = {}
    for number, action in enumerate(actions):
        flat[action.name] = action
        if number and rng.random() < 0.2:
            continue
        try:
            lasting = _durative(rng, action)
            flat[action.name] = flatten(lasting)
            durative[action.name] = lasting
        except NotSequential:
            continue
    domain = replace(found.domain, actions=flat, durative=durative)
    if not durative or not _readable(domain):
        return problem(rng, numbers)
    windows = ('hold-during', 'hold-after')  # of which VAL is not a judge either
    constraints = tuple(
        _in_seconds(c) for c in found.constraints if c.operator not in windows or rng.random() < 0.2
    )
    facts = frozenset(filter(is_value, found.init))  # other functions decide now
    values = {**found.values, **dict(map(told_value, facts))}
    init = found.init - facts
    found = replace(found, domain=domain, constraints=constraints, init=init, values=values)
    return settled(replace(found, timed=_timed(rng, found) if rng.random() < 0.4 else ()))


def _readable(domain: Domain) -> bool:
    """Whether no later condition asks for what is derived from a change at start."""
    try:
        return bool(read_domain(domain_text(domain)))
    except PddlError:
        return False


def wishing(rng: random.Random) -> Problem:
    """A random problem with preferences of every kind, a metric over them, and no other goal."""
    found = strategies.wishing(rng, problem(rng))
    preferences = tuple(
        replace(each, constraints=tuple(map(_in_seconds, each.constraints)))
        for each in found.preferences
    )
    return replace(found, preferences=preferences)


def _in_seconds(constraint: Constraint) -> Constraint:
    return replace(constraint, times=(), exact=tuple(map(Decimal, constraint.times)))


def _timed(rng: random.Random, problem: Problem) -> tuple[TimedLiteral, ...]:
    """Random timed literals, on the grid of the plans."""
    objects, drawn = problem.objects_by_type(), {}
    predicates = sorted(problem.domain.predicates.keys() - problem.domain.derived_predicates())
    for _ in range(rng.randint(1, 4)):
        predicate = rng.choice(predicates)
        ranges = [objects[kind] for kind in problem.domain.predicates[predicate]]
        if all(ranges):
            atom = (predicate, *map(rng.choice, ranges))
            drawn[Decimal(rng.randint(0, 12)) / 2, atom] = rng.random() < 0.5
    return tuple(TimedLiteral(*key, value) for key, value in sorted(drawn.items()))


def _durative(rng: random.Random, action: Action) -> DurativeAction:
    moments = list(Moment)
    conditions = tuple((rng.choice(moments), part) for part in conjuncts(action.precondition))
    ends = (Moment.AT_START, Moment.AT_END)
    effects: Effects = tuple((rng.choice(ends), effect) for effect in action.effects)
    if rng.random() < 0.95:
        effects = _clear(effects)
    duration = (('=', Decimal(rng.choice(DURATIONS))),)
    numeric = [(rng.choice(ends), effect) for effect in action.numeric]
    timely = [(m, replace(e, value=DURATION) if rng.random() < 0.2 else e) for m, e in numeric]
    memory = Remembering(action.name, action.parameters, ())
    both = tuple(
        (m, _remembered(rng, memory, e))
        if m is Moment.AT_END and e.condition != And(()) and rng.random() < 0.5
        else (m, e)
        for m, e in (*effects, *timely)
    )
    remembered = tuple(memory.effects)
    return DurativeAction(action.name, action.parameters, duration, conditions, both, remembered)


def _remembered(
    rng: random.Random, memory: Remembering, effect: Effect | NumericEffect
) -> Effect | NumericEffect:
    """The effect under its conditions at start, or over all."""
    asked = tuple(conjuncts(effect.condition))
    numeric = any(isinstance(part, Comparison) for each in asked for part in walk(each))
    early = numeric or rng.random() < 0.5
    moment = Moment.AT_START if early else Moment.OVER_ALL
    return memory.under(replace(effect, condition=And(())), moment, asked)


def _clear(effects: Iterable[tuple[Moment, Effect]]) -> Effects:
    """Those that VAL can judge: none deletes what one adds, or depends on what one changes."""
    kept: list[tuple[Moment, Effect]] = []
    for moment, effect in effects:
        together = [each for m, each in kept if m is moment] + [effect]
        added = {atom.predicate for each in together for atom in each.add}
        deleted = {atom.predicate for each in together for atom in each.delete}
        asked = (part for each in together for part in walk(each.condition))
        read = {part.predicate for part in asked if isinstance(part, AtomFormula)}
        if not (added & deleted or read & (added | deleted)):
            kept.append((moment, effect))
    return tuple(kept)


def plan(rng: random.Random, problem: Problem) -> Plan:
    """A random plan whose steps follow each other or overlap, on a grid of half seconds.

    Steps that apply are drawn more often, each at a moment at which others start or end, or beside
    one; now and then a step is drawn blindly, or has a wrong duration.
    """
    timed = TimedActions(problem)
    steps = [a.step for a in Grounder(problem).all_actions()]
    state, now = timed.table.encode(problem.init), Decimal(0)
    placed: list[tuple[Decimal, Decimal, Step]] = []
    for _ in range(rng.randint(0, 6) if steps else 0):
        possible = [s for s in steps if timed.happenings(s, ANY)[0].applicable(state)]
        step = rng.choice(possible if possible and rng.random() < 0.85 else steps)
        duration = Decimal(0)
        if step.action in problem.domain.durative:
            ((_, bound),) = timed.duration(step, state)
            duration = Decimal(str(float(bound or 0)))
            if rng.random() < 0.04:
                duration += Decimal('0.5')
        if rng.random() < 0.5:
            state = _after(state, timed.happenings(step, duration))
            placed.append((now, duration, step))
            now += duration + rng.choice((Decimal(0), Decimal('0.5')))
        else:
            start = max(Decimal(0), now - rng.choice((Decimal(0), Decimal('0.5'), Decimal(1))))
            placed.append((start, duration, step))
            state = _after(state, timed.happenings(step, duration)[:1])
    placed.sort(key=lambda each: each[0])
    return Plan(tuple(step for _, _, step in placed), tuple((at, long) for at, long, _ in placed))


def _after(state: int, happenings: list[GroundAction]) -> int:
    """The state after some happenings; the same where numbers cannot be changed."""
    try:
        for action in happenings:
            state = action.apply(state)
    except NoNumber:
        return state
    return state

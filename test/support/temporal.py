# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Random tasks with durative actions, drawn from a seed as in `strategies`."""

from __future__ import annotations

import random
from dataclasses import replace
from decimal import Decimal

from safegen_ros.pddl.flatten import flatten
from safegen_ros.pddl.model import Action, DurativeAction, Moment, Problem, conjuncts
from support import strategies

DURATIONS = ('1', '1', '2', '0.5', '2.5')


def problem(rng: random.Random) -> Problem:
    """A random problem of which most actions take time; its deadlines are in seconds."""
    found = strategies.toggles(rng)
    actions = found.domain.actions.values()
    durative = {
        action.name: _durative(rng, action)
        for number, action in enumerate(actions)
        if not number or rng.random() < 0.7
    }
    flat = {a.name: flatten(durative[a.name]) if a.name in durative else a for a in actions}
    domain = replace(found.domain, actions=flat, durative=durative)
    constraints = tuple(
        replace(c, times=(), exact=tuple(map(Decimal, c.times))) for c in found.constraints
    )
    return replace(found, domain=domain, constraints=constraints)


def _durative(rng: random.Random, action: Action) -> DurativeAction:
    moments = list(Moment)
    conditions = tuple((rng.choice(moments), part) for part in conjuncts(action.precondition))
    effects = tuple(
        (rng.choice((Moment.AT_START, Moment.AT_END)), effect) for effect in action.effects
    )
    duration = (('=', Decimal(rng.choice(DURATIONS))),)
    return DurativeAction(action.name, action.parameters, duration, conditions, effects)

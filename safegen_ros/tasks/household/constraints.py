# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The two kinds of safety constraints: what must follow in time, and what must never be."""

from __future__ import annotations

from dataclasses import dataclass

from safegen_ros.language.placed import Placed
from safegen_ros.tasks.household.conditions import Condition, read_condition
from safegen_ros.tasks.household.kinds import check_class, members

MOST_ACTIONS = 60
"""Largest number of actions within which something must follow."""

_COMMON = ('condition_type', 'condition_object', 'trigger_state', 'goal_condition')


@dataclass(frozen=True, slots=True)
class StepConstraint:
    """Where the trigger holds of an object, the goal must hold of it after at most N more actions.

    Attributes:
        name: the class or group of the object.
        trigger: what starts it.
        goal: what must follow.
        within: N, at least 1.
    """

    name: str
    trigger: Condition
    goal: Condition
    within: int

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of the objects that it is about."""
        return members(self.name)


@dataclass(frozen=True, slots=True)
class StateConstraint:
    """While the trigger holds of an object, what is to be avoided must not hold of it.

    Attributes:
        name: the class or group of the object.
        trigger: when it matters.
        avoid: what must not be then.
    """

    name: str
    trigger: Condition
    avoid: Condition

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of the objects that it is about."""
        return members(self.name)


Constraint = StepConstraint | StateConstraint


def read_constraint(value: Placed) -> Constraint:
    """Reads a constraint as the published tasks write it.

    `condition_type` is `step`, with `condition_value` (N) and `goal_condition`; or `condition`,
    with `avoid_state`. Both have `condition_object` and `trigger_state`.

    Raises:
        PddlError: it is none.
    """
    given = value.mapping('a constraint', (*_COMMON, 'condition_value', 'avoid_state'))

    def need(key: str) -> Placed:
        if key not in given:
            raise value.error(f'{key} is missing', 'add it')
        return given[key]

    name = check_class(need('condition_object'), groups=True)
    trigger = read_condition(need('trigger_state'), 'trigger_state')
    kind = need('condition_type')
    if kind.value == 'step':
        number = need('condition_value')
        within = number.value
        if isinstance(within, bool) or not isinstance(within, float) or within % 1:
            raise number.error('condition_value must be a whole number', 'mend it')
        if not 1 <= within <= MOST_ACTIONS:
            raise number.error(f'condition_value is not from 1 to {MOST_ACTIONS}', 'mend it')
        goal = read_condition(need('goal_condition'), 'goal_condition')
        return StepConstraint(name, trigger, goal, int(within))
    if kind.value == 'condition':
        return StateConstraint(name, trigger, read_condition(need('avoid_state'), 'avoid_state'))
    raise kind.error("condition_type must be 'step' or 'condition'", 'mend it')

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Leaves out of a plan what it does not need."""

from __future__ import annotations

from collections.abc import Sequence

from safegen_ros.search.task import SearchTask
from safegen_ros.verify.monitors import Standing

_MOST_TRIED = 200_000  # actions that are applied in all; some tenths of a second


def shortened(task: SearchTask, actions: Sequence[int]) -> list[int]:
    """A plan without the actions, and those that depend on them, that it also works without.

    One action after the other is left out with whatever becomes inapplicable by that (Nakhost and
    Müller, "Action Elimination and Plan Neighborhood Graph Search", 2010). A long plan is shortened
    only as far as that is done quickly.

    Args:
        task: the task.
        actions: a plan.
    """
    plan = list(actions)
    state, standing = task.init, task.start
    place = tried = 0
    while place < len(plan) and tried <= _MOST_TRIED:
        rest = _without_first(task, plan[place:], state, standing)
        tried += len(plan) - place
        if rest is not None:
            plan[place:] = rest
            continue
        state, standing = task.follow(plan[place], state, standing)
        place += 1
    return plan


def _without_first(
    task: SearchTask, actions: Sequence[int], state: int, standing: Standing
) -> list[int] | None:
    """The actions that still apply when the first one is left out, None if they are no plan."""
    kept = []
    for action in actions[1:]:
        if task.actions[action].applicable(state):
            state, standing = task.follow(action, state, standing)
            if task.monitors.broken(standing):
                return None
            kept.append(action)
    return kept if task.finished(state, standing) else None

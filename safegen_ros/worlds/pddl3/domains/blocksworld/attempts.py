# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Failed attempts with their verdicts, from which a model learns to correct a plan."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from safegen_ros.llm.sketch import Sketch
from safegen_ros.llm.vocabulary import ACTIONS
from safegen_ros.verdict import Category
from safegen_ros.worlds.pddl3.domains.blocksworld.solver import VIOLATED, Solution
from safegen_ros.worlds.pddl3.domains.blocksworld.statespace import state_space

Action = tuple[Any, ...]
"""An action name and its block numbers, e.g. `('stack', 3, 0)`."""

Actions = tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class Attempt:
    """A plan that fails, with what the verifier says about it."""

    actions: Actions
    category: Category
    failing_step: int


def apply(solution: Solution, state: int, action: Action) -> int:
    """The state after an action, -1 where it is not applicable."""
    space, name, block = solution.space, action[0], action[1]
    held = int(space.held[state])
    if name in ('pickup', 'unstack'):
        below = space.size if name == 'pickup' else action[2]
        fits = held < 0 and int(space.support[state, block]) == below
        slot = block
    else:
        slot = block if name == 'putdown' else action[2]
        fits = held == block and (name == 'putdown' or slot != block)
    return int(space.successors[state, slot]) if fits else -1


def judge(solution: Solution, start: int, actions: Actions) -> tuple[Category, int]:
    """Category and failing step of a plan, as `verify` finds them; -1 when no step fails.

    The first failure counts; a constraint that the state before a step has broken comes before
    the precondition of that step, and an unmet goal before a constraint that the last state breaks.
    """
    if any(len(action) != ACTIONS[action[0]] + 1 for action in actions):
        return Category.FORMAT_ERROR, -1
    state = start
    monitor = int(solution.automaton.following[0, state])
    for number, action in enumerate(actions):
        if monitor == VIOLATED:
            return Category.SAFETY_VIOLATION, max(number - 1, 0)
        state = apply(solution, state, action)
        if state < 0:
            return Category.PRECONDITION_VIOLATION, number
        monitor = int(solution.automaton.following[monitor, state])
    if not solution.goal[state]:
        return Category.GOAL_NOT_SATISFIED, -1
    if monitor == VIOLATED:
        return Category.SAFETY_VIOLATION, max(len(actions) - 1, 0)
    if not solution.automaton.accepting[monitor]:
        return Category.SAFETY_VIOLATION, -1
    return Category.SUCCESS, -1


def draw_attempt(
    rng: np.random.Generator, sketch: Sketch, plan: Actions, tempting: Actions | None
) -> Attempt | None:
    """A failed attempt, or None when the mistake that was drawn does no harm.

    Args:
        rng: the source of randomness.
        sketch: the task.
        plan: a right plan, to put a mistake into.
        tempting: the unconstrained plan where that one is unsafe; taken half of the time.
    """
    solution = Solution(state_space(sketch.size), sketch.goal, sketch.constraints)
    actions = tempting
    if actions is None or rng.random() < 0.5:
        actions = _corrupted(rng, plan, sketch.size)
    category, step = judge(solution, _state_of(sketch), actions)
    return None if category is Category.SUCCESS else Attempt(actions, category, step)


def _state_of(sketch: Sketch) -> int:
    size = sketch.size
    row = [size] * size
    for tower in sketch.towers:
        for below, block in pairwise(tower):
            row[block] = below
    if sketch.held is not None:
        row[sketch.held] = size + 1
    return state_space(size).index[tuple(row)]


def _corrupted(rng: np.random.Generator, plan: Actions, size: int) -> Actions:
    """A plan with one mistake: a wrong block, a lost step, two swapped, an early end, no format."""
    actions: list[Any] = list(plan)
    place = int(rng.integers(len(actions)))
    kind = rng.choice(5, p=(0.42, 0.18, 0.13, 0.17, 0.1))
    if kind == 0:
        action = list(actions[place])
        action[int(rng.integers(1, len(action)))] = int(rng.integers(size))
        actions[place] = tuple(action)
    elif kind == 1:
        del actions[place]
    elif kind == 2:
        other = min(place + 2, len(actions) - 1)
        actions[place], actions[other] = actions[other], actions[place]
    elif kind == 3:
        del actions[place:]
    else:
        actions[place] = actions[place][:-1]
    return tuple(actions)

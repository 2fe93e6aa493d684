# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Shortest safe plans from every state at once, by backward search over states and automata.

Each constraint is a small automaton whose state changes when a world state is entered (s0 is
entered from nowhere). Their product with the state space is searched backwards from all goal
states; the distance to go is then known for every start, and optimal plans for many starts are
read off together. Semantics: PDDL3 as `verify` implements it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from safegen_ros.llm.sketch import Constraint, Formula, conjunction
from safegen_ros.worlds.pddl3.domains.blocksworld.statespace import BoolArray, IntArray, StateSpace

VIOLATED = -1
FAR = np.int16(32767)


@dataclass(frozen=True)
class Automaton:
    """Constraints over one state space.

    Attributes:
        following: shape (M, S); the automaton state after entering s from m, or `VIOLATED`.
            Row 0 is also the state before s0 is entered.
        accepting: shape (M,); whether a plan may end there.
        parts: shape (M, K); the state of each single constraint.
    """

    following: IntArray
    accepting: BoolArray
    parts: IntArray


def automaton(space: StateSpace, constraints: Sequence[Constraint]) -> Automaton:
    """The product of the automata of all constraints."""
    count = len(space.support)
    following = np.zeros((1, count), dtype=np.int32)
    accepting = np.ones(1, dtype=np.bool_)
    parts = np.zeros((1, 0), dtype=np.int32)
    for constraint in constraints:
        table, accepts = _single(space, constraint)
        states = len(table)
        left, right = np.divmod(np.arange(len(following) * states), states)
        one, two = following[left], table[right]
        broken = (one == VIOLATED) | (two == VIOLATED)
        following = np.where(broken, VIOLATED, one * states + two).astype(np.int32)
        accepting = accepting[left] & accepts[right]
        parts = np.column_stack([parts[left], right]).astype(np.int32)
    return Automaton(following, accepting, parts)


def _single(space: StateSpace, constraint: Constraint) -> tuple[IntArray, BoolArray]:
    operator, first = constraint[0], space.truth(constraint[1])
    if operator == 'always':
        table, accepting = [np.where(first, 0, VIOLATED)], [True]
    elif operator == 'sometime':
        table, accepting = [np.where(first, 1, 0), np.ones_like(first)], [False, True]
    elif operator == 'sometime-before':
        second = space.truth(constraint[2])
        # Not seen: the first formula may not hold yet, not even together with the second.
        waiting = np.where(first, VIOLATED, np.where(second, 1, 0))
        table, accepting = [waiting, np.ones_like(first)], [True, True]
    elif operator == 'at-most-once':
        never, during, after = np.where(first, 1, 0), np.where(first, 1, 2), np.where(first, -1, 2)
        table, accepting = [never, during, after], [True, True, True]
    else:
        raise ValueError(f'no such constraint operator: {operator}')
    return np.array(table, dtype=np.int32), np.array(accepting, dtype=np.bool_)


class Solution:
    """Distances to go for one goal and one set of constraints.

    Args:
        space: the states.
        goal: conjuncts.
        constraints: as in `Sketch`.

    Attributes:
        distance: shape (M, S), steps to go; `FAR` where there is no safe plan.
    """

    def __init__(
        self, space: StateSpace, goal: Sequence[Formula], constraints: Sequence[Constraint]
    ) -> None:
        self.space = space
        self.conjuncts = tuple(goal)
        self.constraints = tuple(constraints)
        self.goal = space.truth(conjunction(goal))
        self.automaton = automaton(space, constraints)
        self._support_goal = np.full(space.size, -1, dtype=np.int32)
        for literal in goal:
            if literal[0] == 'on':
                self._support_goal[literal[1]] = literal[2]
            elif literal[0] == 'on-table':
                self._support_goal[literal[1]] = space.size
        self.distance = self._search()

    def _search(self) -> npt.NDArray[np.int16]:
        following, successors = self.automaton.following, self.space.successors
        states = following.shape[1]
        distance = np.full(following.shape, FAR, dtype=np.int16)
        distance[self.automaton.accepting] = np.where(self.goal, np.int16(0), FAR)
        flat = distance.ravel()
        frontier = np.flatnonzero(flat == 0)
        steps = 0
        while frontier.size:
            steps += 1
            here, state = np.divmod(frontier, states)
            for before in range(len(following)):
                entered = state[following[before, state] == here]
                sources = successors[entered].ravel()
                cells = before * states + sources[sources >= 0]
                cells = cells[flat[cells] == FAR]
                flat[cells] = steps
            frontier = np.flatnonzero(flat == steps)
        return distance

    def first(self, states: IntArray) -> IntArray:
        """The automaton state after entering s0, or `VIOLATED`."""
        entered: IntArray = self.automaton.following[0, states]
        return entered

    def start_distance(self) -> npt.NDArray[np.int16]:
        """Length of the shortest safe plan from each state, shape (S,); `FAR` where none."""
        first = self.automaton.following[0]
        every = np.arange(len(first))
        return np.where(first == VIOLATED, FAR, self.distance[first, every])

    def plans(self, starts: IntArray, rank: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """One optimal plan per start, ties broken the same way for every renaming.

        Placing a block where the goal wants it comes first, then putting it on the table, then
        the lowest rank.

        Args:
            starts: shape (B,), each with a finite distance.
            rank: shape (B, n), the canonical rank of each block.

        Returns:
            states, shape (B, T + 1); automaton states, the same shape; slots, shape (B, T).
            Plans that are shorter than T are padded with -1.
        """
        state, here = starts.astype(np.int32), self.first(starts)
        states, monitors, slots = [state], [here], []
        left = self.distance[here, state].astype(np.int32)
        while left.any():
            slot = self._best(state, here, left, rank)
            done = left == 0
            state = np.where(done, state, self.space.successors[state, slot])
            here = np.where(done, here, self.automaton.following[here, state])
            left = np.maximum(left - 1, 0)
            slots.append(np.where(done, -1, slot))
            states.append(np.where(done, -1, state))
            monitors.append(np.where(done, -1, here))
        width = np.array(slots, dtype=np.int32).reshape(len(slots), len(starts)).T
        return np.array(states).T, np.array(monitors).T, width

    def _best(self, state: IntArray, here: IntArray, left: IntArray, rank: IntArray) -> IntArray:
        target = self.space.successors[state]
        entered = self.automaton.following[here[:, None], np.maximum(target, 0)]
        togo = self.distance[np.maximum(entered, 0), np.maximum(target, 0)]
        usable = (target >= 0) & (entered >= 0) & (togo == left[:, None] - 1)
        held = self.space.held[state]
        block = np.maximum(held, 0)
        slot = np.arange(self.space.size)[None, :]
        to_table = slot == block[:, None]
        place = np.where(to_table, self.space.size, slot)
        wanted = place == self._support_goal[block][:, None]
        holding_cost = np.where(wanted, -1, np.where(to_table, 0, 1 + rank))
        cost = np.where(held[:, None] >= 0, holding_cost, rank)
        best: IntArray = np.where(usable, cost, 1000).argmin(axis=1).astype(np.int32)
        return best

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which words of an answer may come next, so that nothing but a safe plan to the goal can be said.

A text is followed word by word. Its beginning always consists of allowed steps, none of which
returns to an earlier state, and the beginning of one more move. It may end only where the goal is
reached, or, where the next step alone is asked for, behind a step to a new state.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

from safegen_ros.tasks.boxnet.astar import Routes
from safegen_ros.tasks.boxnet.model import Move, Plan, State, Step, Task
from safegen_ros.tasks.boxnet.verifier import take_step
from safegen_ros.tasks.boxnet.words import THEN, move_words

Words = tuple[str, ...]


class MaskState(NamedTuple):
    """Where a text stands between two moves.

    Attributes:
        state: before the step that is being said.
        moves: of that step so far, all of which may be made at once.
    """

    state: State
    moves: frozenset[Move] = frozenset()


class MoveMask:
    """The moves of one task that may be said, with where they lead.

    Moves are those of `Admissible.moves`: an object that is not at its target is carried to any
    point in reach, or an arm goes to it. Nothing here distinguishes a good move from a bad one.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self._admissible = Admissible(task)
        self._moves: dict[MaskState, dict[Words, MaskState]] = {}
        self._taken: dict[MaskState, State | None] = {}

    def moves(self, at: MaskState) -> dict[Words, MaskState]:
        """The words of each move that the step may have beside those that it has."""
        found = self._moves.get(at)
        if found is None:
            found = self._moves[at] = {
                tuple(move_words(self.task, at.state, move)): MaskState(at.state, at.moves | {move})
                for move in self._admissible.moves(at.state, step_of(at))
            }
        return found

    def taken(self, at: MaskState) -> State | None:
        """The state behind the step as far as it is said; None where it has no moves."""
        if at not in self._taken:
            after = take_step(self.task, at.state, step_of(at))
            self._taken[at] = after if at.moves and isinstance(after, State) else None
        return self._taken[at]

    def solved(self, at: MaskState) -> bool:
        """Whether the step as far as it is said reaches the goal."""
        after = self.taken(at)
        return after is not None and self.task.solved(after)

    def may_be_taken(self, at: MaskState, visited: Collection[State]) -> bool:
        """Whether the step leads to a new state."""
        after = self.taken(at)
        return after is not None and after not in visited

    def leads_on(self, at: MaskState, visited: Collection[State]) -> bool:
        """Whether the step, or one with more moves, leads to a new state."""
        return self.may_be_taken(at, visited) or any(
            self.leads_on(more, visited) for more in self.moves(at).values()
        )


def step_of(at: MaskState) -> Step:
    """The moves of the step as far as it is said, by robot."""
    return tuple(sorted(at.moves, key=lambda move: move.robot))


class MaskedPlan:
    """One text.

    Args:
        visited: states not to go back to, beside those that the text goes through.
        whole: whether it is a whole plan; else the next step.
    """

    def __init__(
        self, joint: MoveMask, state: State, visited: Collection[State], *, whole: bool
    ) -> None:
        self._joint, self._whole = joint, whole
        self._at = MaskState(state)
        self._visited = {*visited, state}
        self._begun: Words = ()
        self._open = self._units()

    def next_words(self) -> set[str]:
        """The words that may come next; none where nothing may."""
        return {words[len(self._begun)] for words in self._open}

    def may_end(self) -> bool:
        """Whether the text may end here."""
        if self._begun:
            return False
        if self._joint.solved(self._at):
            return True
        return not self._whole and self._joint.may_be_taken(self._at, self._visited)

    def take(self, word: str) -> None:
        """Goes on with a word; one of `next_words`."""
        self._begun = (*self._begun, word)
        after = self._open.get(self._begun)
        if after is None:
            at = len(self._begun) - 1
            self._open = {words: m for words, m in self._open.items() if words[at] == word}
            return
        self._begun, self._at = (), after
        if not after.moves:
            self._visited.add(after.state)
        self._open = self._units()

    def _units(self) -> dict[Words, MaskState]:
        """What may be said behind the last whole move."""
        at, joint = self._at, self._joint
        if joint.solved(at):
            return {}
        found = {w: m for w, m in joint.moves(at).items() if joint.leads_on(m, self._visited)}
        after = joint.taken(at)
        if self._whole and after is not None and after not in self._visited:
            found[THEN,] = MaskState(after)
        return found


class Admissible:
    """The moves that may be taken in a state, beside others of the same step."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self._routes = Routes(task)

    def moves(self, state: State, begun: Step = ()) -> list[Move]:
        """The useful moves of robots that have none yet, with which a step may still be taken.

        An object that is not at its target is carried to any point in reach, and an arm goes to
        such an object; other moves of arms bring nothing about.
        """
        busy = {move.robot for move in begun}
        return [
            move
            for robot in range(len(state.tips))
            if robot not in busy
            for move in self._useful(robot, state)
            if self._may(state, (*begun, move))
        ]

    def _useful(self, robot: int, state: State) -> list[Move]:
        tip = state.tips[robot]
        found = list[Move]()
        for place, target in zip(state.objects, self.task.targets, strict=True):
            if place == target or not self.task.reaches(robot, place):
                continue
            if place == tip:
                ends = (end for end in self._routes.reach[robot] if end != tip)
                found += [self.task.move(robot, tip, end, True) for end in ends]
            else:
                found.append(self.task.move(robot, tip, place, False))
        return found

    def _may(self, state: State, step: Step) -> bool:
        return isinstance(take_step(self.task, state, step), State)

    def filtered(self, state: State, step: Step) -> Step:
        """A step without the moves that may not be taken beside those before them.

        Each move begins at the tip of its robot, wherever it is said to begin.
        """
        kept: Step = ()
        for move in step:
            move = replace(move, start=state.tips[move.robot])
            if self._may(state, (*kept, move)):
                kept = (*kept, move)
        return kept

    def filtered_plan(self, plan: Plan) -> Plan:
        """A plan with each step filtered in the state that those before it lead to."""
        state, steps = self.task.start, list[Step]()
        for step in plan:
            kept = self.filtered(state, step)
            after = take_step(self.task, state, kept)
            if isinstance(after, State):
                steps.append(kept)
                state = after
        return tuple(step for step in steps if step)

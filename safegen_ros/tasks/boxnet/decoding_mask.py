# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which words of an answer may come next, so that nothing but a safe plan to the goal can be said.

A text is followed word by word. Its beginning always consists of allowed steps, none of which
returns to an earlier state, and the beginning of one more move. It may end only where the goal is
reached, or, where the next step alone is asked for, behind a step to a new state.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from safegen_ros.llm.backend import Cancelled, Message
from safegen_ros.llm.decoding.guide import WordWriter
from safegen_ros.tasks.boxnet.astar import Routes
from safegen_ros.tasks.boxnet.geometry import Point
from safegen_ros.tasks.boxnet.model import Move, Plan, State, Step, Task
from safegen_ros.tasks.boxnet.verifier import take_step
from safegen_ros.tasks.boxnet.words import THEN, move_words, wait_words

Words = tuple[str, ...]


class MaskState(NamedTuple):
    """Where a text stands between two moves.

    Attributes:
        state: before the step that is being said.
        moves: of that step so far, all of which may be made at once.
        waits: places of objects that had their thought in it already.
    """

    state: State
    moves: frozenset[Move] = frozenset()
    waits: frozenset[Point] = frozenset()


class MoveMask:
    """The moves of one task that may be said, with where they lead.

    Moves are those of `Admissible.weighed`: an object that is not at its target is carried to any
    point in reach, or an arm goes to it. Nothing here distinguishes a good move from a bad one.
    Each may be said to wait instead, one for each object, and so may an object whose target is
    taken.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self._admissible = Admissible(task)
        self._moves: dict[MaskState, dict[Words, MaskState]] = {}
        self._taken: dict[MaskState, State | None] = {}

    def moves(self, at: MaskState) -> dict[Words, MaskState]:
        """The words of each move that the step may have, or think of, beside those that it has."""
        found = self._moves.get(at)
        if found is None:
            found = self._moves[at] = {}
            waits = {tuple(words): of for of, words in wait_words(self.task, at.state).items()}
            for move, may in self._admissible.weighed(at.state, step_of(at)):
                said, waiting = (
                    tuple(move_words(self.task, at.state, move, made=made))
                    for made in (True, False)
                )
                waits[waiting] = _place(move)
                if may:
                    found[said] = at._replace(moves=at.moves | {move})
            thought = at.waits | {_place(move) for move in at.moves}
            found |= {
                words: at._replace(waits=at.waits | {of})
                for words, of in waits.items()
                if of not in thought
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
            self.leads_on(more, visited)
            for more in self.moves(at).values()
            if more.moves != at.moves
        )


def _place(move: Move) -> Point:
    """Where the object of a move is."""
    return move.start if move.carry else move.end


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

    def weighed(self, state: State, begun: Step) -> Iterator[tuple[Move, bool]]:
        """The useful moves that are not begun, and whether such a step may be taken with them.

        An object that is not at its target is carried to any point in reach, and an arm goes to
        such an object. In BoxNet3D, where idle arms are in the way, it goes to where it rests, too.
        """
        busy = {move.robot for move in begun}
        for robot in range(len(state.tips)):
            for move in self._useful(robot, state):
                if move not in begun:
                    yield move, robot not in busy and self._may(state, (*begun, move))

    def _useful(self, robot: int, state: State) -> list[Move]:
        tip, rest = state.tips[robot], self.task.rest_tip(robot)
        found = list[Move]()
        if tip != rest and not self.task.is_flat:
            found.append(self.task.move(robot, tip, rest, False))
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


MOST_SCORED = 3_000
"""Ways to go on that the model is asked about in one search."""

_NEVER = float('-inf')


class _Text(NamedTuple):
    """A plan so far, or with the score of its end a whole one.

    Attributes:
        written: the words behind the last request.
    """

    score: float
    at: MaskState
    steps: tuple[Step, ...]
    written: Words


class MoveBeam:
    """Searches the texts that may be written for plans of one task.

    The model's probabilities alone decide where to look; no distance to the goal does. With random
    weights instead of the model, the same search shows the model's share of a result.

    Args:
        joint: what may be said.
        asked: the messages that ask for a plan from a state, or for the next step.
        whole: whether a whole plan is asked for once; else the model is asked for each step, in the
            state after those before.
        most_steps: longest plan that is looked for.
    """

    def __init__(
        self,
        joint: MoveMask,
        model: WordWriter,
        asked: Callable[[State], Sequence[Message]],
        *,
        whole: bool,
        most_steps: int,
    ) -> None:
        self._joint, self._model, self._asked = joint, model, asked
        self._whole, self._most_steps = whole, most_steps

    def search(self, width: int, cancelled: Cancelled) -> Plan | None:
        """A plan; None where the search came to its end without one.

        It goes move by move and keeps the most likely texts to different moments, never one to a
        moment that an earlier one stood at. The first move with which plans are whole ends the
        search with the most likely of them.

        Raises:
            BackendError: the model cannot answer.
            Canceled: `cancelled` said so.
        """
        start = MaskState(self._joint.task.start)
        beam, seen, scored = [_Text(0.0, start, (), ())], {start}, 0
        while beam and scored < MOST_SCORED:
            plans, others = dict[MaskState, _Text](), dict[MaskState, _Text]()
            for text in beam:
                for found in self._longer(text, seen, cancelled):
                    scored += 1
                    kept = plans if self._joint.solved(found.at) else others
                    known = kept.get(found.at)
                    if found.score > _NEVER and (known is None or known.score < found.score):
                        kept[found.at] = found
            # A whole plan has the score of its end, too.
            whole = [
                text._replace(score=text.score + self._ask(text, [], cancelled)[1])
                for text in plans.values()
            ]
            if whole:
                best = max(whole, key=lambda text: text.score)
                return (*best.steps, step_of(best.at))
            beam = heapq.nlargest(width, others.values(), key=lambda text: text.score)
            seen.update(text.at for text in beam)
        return None

    def _longer(self, text: _Text, seen: set[MaskState], cancelled: Cancelled) -> list[_Text]:
        """A text with a move more, or with its step at its end."""
        joint, at = self._joint, text.at
        moves = {words: m for words, m in joint.moves(at).items() if m not in seen}
        after = joint.taken(at)
        begun = MaskState(after) if after is not None else at
        room = len(text.steps) + 1 < self._most_steps
        may_go_on = begun not in seen and room
        choices = [*moves, *([(THEN,)] if may_go_on and self._whole else [])]
        scores, end = self._ask(text, choices, cancelled)
        found = [
            _Text(text.score + score, m, text.steps, (*text.written, *words))
            for score, (words, m) in zip(scores, moves.items(), strict=False)
        ]
        if may_go_on:
            steps = (*text.steps, step_of(at))
            if self._whole:
                found.append(_Text(text.score + scores[-1], begun, steps, (*text.written, THEN)))
            else:
                found.append(_Text(text.score + end, begun, steps, ()))
        return found

    def _ask(
        self, text: _Text, choices: Sequence[Words], cancelled: Cancelled
    ) -> tuple[list[float], float]:
        state = self._joint.task.start if self._whole else text.at.state
        return self._model.scores(self._asked(state), text.written, choices, cancelled)

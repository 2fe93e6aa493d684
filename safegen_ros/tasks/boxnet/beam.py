# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Beam search over moves of many arms: the model says how likely, the checker says what at all.

The search covers texts of `decoding_mask`: all moves in them may be made, and no state is entered
twice. The model's probabilities alone decide where to look; no distance to the goal does. With
random weights instead of the model, the same search shows the model's share of a result.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import NamedTuple

from safegen_ros.llm.backend import Cancelled, Message
from safegen_ros.llm.decoding.guide import WordWriter
from safegen_ros.tasks.boxnet.decoding_mask import MaskState, MoveMask, Words, step_of
from safegen_ros.tasks.boxnet.model import Plan, State, Step
from safegen_ros.tasks.boxnet.words import THEN

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
    """Searches plans for one task.

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

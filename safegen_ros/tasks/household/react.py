# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The ReAct agent: a model behind any backend thinks and acts on its whole run so far."""

from __future__ import annotations

from dataclasses import replace

from safegen_ros.llm.backend import Backend, Cancelled, Sampling, never
from safegen_ros.tasks.household.answers import AnswerError, read_answer
from safegen_ros.tasks.household.episode import Briefing
from safegen_ros.tasks.household.observation import Observation
from safegen_ros.tasks.household.prompt import messages

_LONGEST = 500  # characters of an answer that could not be read, as the model sees it again


class ReactAgent:
    """Asks a model for each step.

    Args:
        backend: the model.
        sampling: how it answers; each question has the next seed.
        cancelled: whether to stop.
    """

    def __init__(self, backend: Backend, sampling: Sampling, cancelled: Cancelled = never) -> None:
        self._cancelled = cancelled
        self._backend = backend
        self._sampling = sampling
        self._briefing: Briefing
        self._turns: list[tuple[str, str]] = []
        self._asked = 0

    def begin(self, briefing: Briefing, observation: Observation) -> None:
        """Starts a new run."""
        self._briefing = briefing
        self._turns = []
        self._asked = 0

    def answer(self, observation: Observation, complaint: str) -> str:
        """What the model answers; raises as `Backend.generate`."""
        if not complaint:
            self._turns.append((observation.text(first=not self._turns), ''))
        asked = messages(self._briefing, self._turns, complaint)
        sampling = replace(self._sampling, seed=self._sampling.seed + self._asked)
        self._asked += 1
        text = self._backend.generate(asked, sampling, self._cancelled).text
        self._turns[-1] = (self._turns[-1][0], _kept(text))
        return text


def _kept(text: str) -> str:
    """An answer as the model sees it again in the run so far."""
    try:
        return str(read_answer(text))
    except AnswerError:
        return ' '.join(text[:_LONGEST].split())

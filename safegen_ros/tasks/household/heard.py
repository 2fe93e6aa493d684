# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Agents whose answers somebody is told of, and answers that are given again."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence

from safegen_ros.tasks.household.actions import ENDINGS, Verb
from safegen_ros.tasks.household.episode import Agent, Briefing, Moment
from safegen_ros.tasks.household.execution import named
from safegen_ros.tasks.household.observation import Observation
from safegen_ros.tasks.task import StepAnswer, Steps
from safegen_ros.verdict import Category, Verdict


class Answering:
    """Gives answers again; behind the last one it ends the run.

    Attributes:
        over: whether that was needed.
    """

    def __init__(self, answers: Sequence[str]) -> None:
        self.over = False
        self._answers = iter(answers)

    def begin(self, briefing: Briefing, observation: Observation) -> None:
        """Needs to know nothing."""

    def answer(self, observation: Observation, complaint: str) -> str:
        """The next answer, whatever is seen."""
        text = next(self._answers, None)
        if text is not None:
            return text
        self.over = True
        return json.dumps({'think': '', 'action': Verb.FAILURE.value})


class Heard:
    """An agent whose answers somebody is told of, with what is said of each.

    Args:
        agent: who answers.
        told: is told.
    """

    def __init__(self, agent: Agent, told: Callable[[StepAnswer], None]) -> None:
        self._agent, self._told = agent, told
        self._text, self._asked, self._taken = '', time.monotonic(), 0

    def begin(self, briefing: Briefing, observation: Observation) -> None:
        """Hands it on."""
        self._agent.begin(briefing, observation)

    def answer(self, observation: Observation, complaint: str) -> str:
        """The answer of the agent; that it is asked for is what is said of the one before."""
        if complaint:
            self._tell((), Verdict(Category.FORMAT_ERROR, complaint, 0))
        self._asked = time.monotonic()
        self._text = self._agent.answer(observation, complaint)
        return self._text

    def moment(self, moment: Moment) -> None:
        """Takes in what became of the last answer."""
        action, said = moment.action, moment.observation.feedback.message
        ends = action is None or action.verb in ENDINGS
        steps: Steps = () if action is None or ends else ((named(action),),)
        category = Category.SAFETY_VIOLATION if moment.blocked else moment.category
        verdict = Verdict(category, moment.warning or said, -1, len(steps), broken=moment.broken)
        self._tell(steps, verdict)
        self._taken += category is Category.SUCCESS and not ends

    def _tell(self, steps: Steps, verdict: Verdict) -> None:
        seconds = time.monotonic() - self._asked
        self._told(StepAnswer(self._text, steps, verdict, self._taken, seconds))

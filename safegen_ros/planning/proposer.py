# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Asks a language model for a plan: prompt style and backend put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from safegen_ros.errors import SafegenError
from safegen_ros.llm.backend import Backend, Sampling
from safegen_ros.planning.loop import Attempt, UnsuitableTask
from safegen_ros.worlds.pddl3.prompts.styles import PromptStyle
from safegen_ros.worlds.pddl3.task import Pddl3Task


class ModelProposer:
    """Proposes plans for one task.

    Args:
        task: what to plan.
        backend: the model.
        style: how the task and the feedback are put to this model.
        sampling: temperature and the rest; its seed is the seed of the first attempt, and each
            later attempt takes the next one, so that a run can be repeated exactly.
    """

    def __init__(
        self, task: Pddl3Task, backend: Backend, style: PromptStyle, sampling: Sampling
    ) -> None:
        self.task = task
        self.backend = backend
        self.style = style
        self.sampling = sampling

    def __call__(
        self, history: Sequence[Attempt], number: int, cancelled: Callable[[], bool]
    ) -> str:
        """The text of one proposal, with the names of the task.

        Raises:
            BackendError: the model failed.
            Canceled: `cancelled` said so.
            UnsuitableTask: the task cannot be put to this model.
        """
        problem = self.task.problem
        try:
            tried = [(a.text, a.verdict) for a in history]
            messages = self.style.messages(problem, tried, self.task.format)
        except SafegenError as error:
            raise UnsuitableTask(error.message) from error
        sampling = replace(self.sampling, seed=self.sampling.seed + number - 1)
        completion = self.backend.generate(messages, sampling, cancelled)
        return self.style.plan_text(completion.text, problem)

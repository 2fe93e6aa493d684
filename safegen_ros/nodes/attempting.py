# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the planner tells while it plans: each phase, and each attempt once it is written down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from safegen_msgs import msg
from safegen_ros.nodes import conversions
from safegen_ros.planning.loop import Attempt, Progress
from safegen_ros.worlds.task import ActionTask


@dataclass(frozen=True, slots=True)
class Teller:
    """Called with the progress of one planning.

    Attributes:
        task: that is planned for.
        before: attempts of its goal for earlier plans.
        replan: number of the replan.
        attempts: most that there will be, without the search.
        judged: told of each attempt first; what it raises ends the planning.
        passed: told likewise why the next planner is asked.
        notify: told of everything.
    """

    task: ActionTask
    before: int
    replan: int
    attempts: int
    judged: Callable[[msg.Attempt], None]
    passed: Callable[[str], None]
    notify: Callable[[msg.PlanningProgress], None]

    def message(self, attempt: Attempt) -> msg.Attempt:
        """An attempt with the steps that were read from it."""
        steps = self.task.steps_of(attempt.text)
        return conversions.attempt_to_msg(attempt, steps, self.before, self.replan)

    def __call__(self, progress: Progress) -> None:
        """Tells it."""
        if progress.detail:
            self.passed(progress.detail)
        message = msg.PlanningProgress(
            phase=progress.phase,
            source=progress.source,
            attempt_number=min(progress.number, 255),
            max_attempts=min(self.attempts, 255),
            detail=progress.detail,
        )
        if progress.attempt is not None:
            message.attempt = self.message(progress.attempt)
            self.judged(message.attempt)
        self.notify(message)

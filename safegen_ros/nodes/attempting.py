# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The progress of one planning: its journal, its feedback, and the topic of attempts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from safegen_msgs import msg
from safegen_ros.nodes.remote import RemoteValidator
from safegen_ros.planning.loop import Attempt, Progress
from safegen_ros.record.events import PassedEvent
from safegen_ros.ros import conversions, record_conversions
from safegen_ros.tasks.task import ActionTask


class AttemptLog:
    """Writes the attempts of a planning into the journal, then publishes them.

    Args:
        note: writes a record into the journal of the goal.
        publish: on the topic of attempts.
        validator: that judges the attempts.
        asked: record of the goal that says that VAL judges, too.
    """

    def __init__(
        self,
        note: Callable[[Any], None],
        publish: Callable[[msg.Attempt], None],
        validator: RemoteValidator,
        asked: Any,
    ) -> None:
        self._note, self._publish = note, publish
        self._validator, self._asked = validator, asked
        self._noted = False

    def judged(self, attempt: msg.Attempt) -> None:
        """Takes an attempt with its verdict."""
        if self._validator.second_opinion and not self._noted:  # known with the first verdict
            self._noted = True
            self._note(self._asked)
        self._note(record_conversions.attempt_record(attempt))
        self._publish(attempt)

    def passed(self, reason: str) -> None:
        """Takes the reason why the next planner is asked."""
        self._note(PassedEvent(reason))


@dataclass(frozen=True, slots=True)
class Teller:
    """Called with the progress of one planning.

    Attributes:
        task: that is planned for.
        before: attempts of its goal for earlier plans.
        replan: number of the replan.
        attempts: most that there will be, without the search.
        log: writes each attempt down first; what it raises ends the planning.
        notify: gets the feedback of the goal.
    """

    task: ActionTask
    before: int
    replan: int
    attempts: int
    log: AttemptLog
    notify: Callable[[msg.PlanningProgress], None]

    def message(self, attempt: Attempt) -> msg.Attempt:
        """An attempt with the steps that were read from it."""
        steps = self.task.steps_of(attempt.text)
        return conversions.attempt_to_msg(attempt, steps, self.before, self.replan)

    def __call__(self, progress: Progress) -> None:
        """Tells it."""
        if progress.detail:
            self.log.passed(progress.detail)
        message = msg.PlanningProgress(
            phase=progress.phase,
            source=progress.source,
            attempt_number=min(progress.number, 255),
            max_attempts=min(self.attempts, 255),
            detail=progress.detail,
        )
        if progress.attempt is not None:
            message.attempt = self.message(progress.attempt)
            self.log.judged(message.attempt)
        self.notify(message)

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which run each event of a stack belongs to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from safegen_ros.record.events import EndEvent, GoalEvent, ObservedEvent, StepEvent, TaskEvent
from safegen_ros.record.node_journal import Executions

MOST_GOALS = 200
"""Goals without a run whose events are kept, as they may be claimed yet."""


class RunEvents:
    """Sorts the events of a stack by the run that they belong to.

    Events of a goal before it is claimed are kept, as topics have no common order.

    Args:
        note: gets the run, by its goal, and each event of it, in order; a begin and an end of an
            execution that a run leads to are not among its events.
    """

    def __init__(self, note: Callable[[str, Any], None]) -> None:
        self._note = note
        self._runs: dict[str, str] = {}
        self._heard: dict[str, list[Any]] = {}
        self._executions: dict[str, Executions] = {}
        self._stepwise: set[str] = set()

    def take(self, goal: str, event: Any) -> None:
        """Takes an event of a goal; one of no goal, as a stop, is of no run."""
        if not goal:
            return
        self._heard.setdefault(goal, []).append(event)
        if goal in self._runs:
            self._pass(goal, event)
        elif len(self._heard) > MOST_GOALS:
            del self._heard[next(each for each in self._heard if each not in self._runs)]

    def claim(self, goal: str, run: str = '') -> None:
        """States that a goal is a run, or belongs to one; passes on what was heard of it."""
        if self._runs.get(goal) == (run or goal):
            return
        self._runs[goal] = run or goal
        for event in tuple(self._heard.get(goal, ())):
            self._pass(goal, event)

    def run_of(self, goal: str) -> str:
        """The run that a goal belongs to; empty where it is not claimed."""
        return self._runs.get(goal, '')

    def ended(self, run: str) -> bool:
        """Whether the end of a run was heard, and that of every execution it has led to."""
        return all(
            any(isinstance(event, EndEvent) for event in self._heard.get(goal, ()))
            for goal, of in self._runs.items()
            if of == run
        )

    def forget(self, run: str) -> None:
        """Keeps nothing of a run any more."""
        for goal in [goal for goal, of in self._runs.items() if of == run]:
            del self._runs[goal]
            self._heard.pop(goal, None)
        self._executions.pop(run, None)
        self._stepwise.discard(run)

    def _pass(self, goal: str, event: Any) -> None:
        run = self._runs[goal]
        if goal != run:
            event = self._executions.setdefault(run, Executions()).fit(goal, event)
            # Step by step the planner says which steps there were.
            if event is None or (
                run in self._stepwise and isinstance(event, StepEvent | ObservedEvent)
            ):
                return
        elif isinstance(event, TaskEvent) and event.stepwise:
            self._stepwise.add(run)
        self._note(run, event)
        if isinstance(event, GoalEvent) and event.id != goal:
            self.claim(event.id, run)

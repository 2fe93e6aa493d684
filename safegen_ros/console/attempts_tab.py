# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What was asked for, and every attempt at it as it comes."""

from __future__ import annotations

from safegen_ros.console.cards import attempt_html
from safegen_ros.console.shown import goal_html
from safegen_ros.console.state import GoalView, Snapshot
from safegen_ros.console.widgets import Html, Parts

SHOWN = 12
"""Most attempts that are shown, the newest first; all are in the record."""


class AttemptsTab:
    """What became of the goal up to now.

    Args:
        parts: what it is made of; a tab of the page is open.
    """

    def __init__(self, parts: Parts) -> None:
        self._goal = Html(parts.gui)
        # Always the same places, so that hours of goals leave nothing behind in the page.
        self._places = [Html(parts.gui) for _ in range(SHOWN)]
        self._drawn: dict[tuple[str, int, bool], str] = {}

    def update(self, snapshot: Snapshot) -> None:
        """Shows what is known."""
        self._goal.show(goal_html(snapshot.goal))
        shown = self._attempts(snapshot.goal)
        for place, content in zip(self._places, (*shown, *('',) * SHOWN), strict=False):
            place.show(content)

    def _attempts(self, goal: GoalView | None) -> tuple[str, ...]:
        if goal is None:
            self._drawn = {}
            return ()
        drawn = {}
        for attempt in goal.attempts[::-1][:SHOWN]:
            problem = goal.problems.get(attempt.replan)
            key = (goal.id, attempt.number, problem is not None)
            drawn[key] = self._drawn.get(key) or attempt_html(attempt, problem)
        self._drawn = drawn
        return tuple(drawn.values())

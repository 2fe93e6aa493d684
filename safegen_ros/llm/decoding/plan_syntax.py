# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How the steps of a plan are written for a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from safegen_ros.pddl.plan import Plan, Step


@dataclass(frozen=True, slots=True)
class Spelling:
    """A way to write plans.

    Attributes:
        step: the text of one step; no step's text is how another one's with a separator begins.
        separator: what stands between two steps, and in no step's text where a step could end.
    """

    step: Callable[[Step], str]
    separator: str

    def plan(self, plan: Plan) -> str:
        """The text of a plan."""
        return self.separator.join(map(self.step, plan.steps))

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What changes from one attempt of a model to the next: what it is told, how hot, what is kept."""

from __future__ import annotations

from dataclasses import dataclass

from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.planning.loop import History, gist
from safegen_ros.verify.admissible import Shield


@dataclass(frozen=True, slots=True)
class Temperatures:
    """The sampling temperature of each attempt [1].

    Attributes:
        first: of the first one.
        step: how much hotter each later one is; twice as much after one that repeated another.
        most: where it stops rising.
    """

    first: float
    step: float = 0.1
    most: float = 1.0

    def after(self, history: History) -> float:
        """The temperature of the attempt that follows others."""
        repeated = len(history) - len({gist(attempt.text) for attempt in history})
        risen = self.first + self.step * (len(history) + repeated)
        return max(self.first, min(self.most, risen))


def valid_beginning(plan: Plan, shield: Shield) -> Plan:
    """The steps of a plan before the first that is not admissible or leads to no new situation."""
    situation = shield.start
    seen, kept = {situation}, list[Step]()
    for step in plan.steps:
        after = shield.after(situation, step)
        if after is None or after in seen:
            break
        seen.add(after)
        kept.append(step)
        situation = after
    return Plan(tuple(kept))

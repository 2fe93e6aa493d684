# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What an execution has to know of a plan, its task and its cell, in whatever world they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from safegen_ros.pddl.model import State
from safegen_ros.pddl.plan import Step
from safegen_ros.verdict import Verdict

ConcurrentStep = tuple[Step, ...]
"""What is done at once: an action of each robot that does something."""


class Stoppable(Protocol):
    """What moves, and can be told not to."""

    def stop(self) -> None:
        """Ends all motion at once, from any thread, and latches."""
        ...

    def reset_stop(self) -> None:
        """Allows motion again."""
        ...


class Monitor(Protocol):
    """Follows the observed states of one execution, such as `RunMonitor`.

    Attributes:
        looks: how many were observed; the first one is the initial state.
    """

    looks: int

    def look(self, observed: State) -> None:
        """Takes in the initial state, then that after each step; raises where one is not right."""
        ...

    def finish(self) -> None:
        """Raises where the state after the last step is not what was asked for."""
        ...


class Job(Protocol):
    """A plan for a task of some world, and the cell that carries it out."""

    @property
    def steps(self) -> Sequence[ConcurrentStep]:
        """Of the plan."""
        ...

    @property
    def cell(self) -> Stoppable:
        """What moves."""
        ...

    @property
    def monitor(self) -> Monitor:
        """Judges what is observed."""
        ...

    def verify(self) -> Verdict:
        """The verdict on the plan, found here and now."""
        ...

    def prepare(self) -> None:
        """Brings the cell into the initial state, or raises."""
        ...

    def take(self, step: ConcurrentStep) -> None:
        """Carries out one step, or raises."""
        ...

    def observe(self) -> State:
        """What is observed to hold now, or raises."""
        ...

    def remaining(self) -> object | None:
        """What is left of the task, as its world says it; None where that cannot be said."""
        ...

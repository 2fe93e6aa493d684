# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""BoxNet3D: arms that swing about their bases, and their tasks."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

from safegen_ros.tasks.boxnet.model import Task
from safegen_ros.tasks.boxnet.spatial.depth import ANALYTIC
from safegen_ros.tasks.boxnet.spatial.kinematic import KINEMATIC
from safegen_ros.tasks.boxnet.spatial.model import SpatialMap
from safegen_ros.tasks.boxnet.verifier import StepRules


@dataclass(frozen=True)
class SpatialTask(SpatialMap):
    """A map with what judges its steps.

    Attributes:
        rules: as of `Task.rules`; not part of the task.
    """

    rules: StepRules = field(default=ANALYTIC, compare=False, repr=False)

    @cached_property
    def judges(self) -> tuple[Task, ...]:
        """The task by the rules, and by arms of real shape."""
        return self, replace(self, rules=KINEMATIC)

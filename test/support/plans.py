# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plans in few words."""

from __future__ import annotations

from collections.abc import Sequence

from safegen_ros.pddl.plan import Plan, Step


def make_plan(steps: Sequence[Sequence[str]]) -> Plan:
    """A plan from `(action, argument, ...)` sequences."""
    return Plan(tuple(Step(name, tuple(arguments)) for name, *arguments in steps))

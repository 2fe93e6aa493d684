# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the statistics tell of a row that does not stand in it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from safegen_ros.datasets.pddl3.problems import row_problem
from safegen_ros.datasets.pddl3.rows import Row
from safegen_ros.tasks.pddl3.domains.isomorphism import canonical_problem
from safegen_ros.verify.validator import verify


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found out about a row.

    Attributes:
        broken: the PDDL3 operators of those constraints that its unconstrained plan breaks.
        bare_key: equal for two problems when renaming objects makes them equal, constraints apart.
    """

    broken: frozenset[str]
    bare_key: str


def finding(row: Row) -> Finding:
    """What can be found out about a row.

    Raises:
        PddlError: its text is no problem of its domain.
    """
    problem = row_problem(row)
    broken = frozenset(
        constraint.operator
        for constraint in problem.constraints
        if not verify(replace(problem, constraints=(constraint,)), row.unconstrained_plan).ok
    )
    return Finding(broken, canonical_problem(replace(problem, constraints=())).key)


def examined(row: Row) -> tuple[Row, Finding]:
    """A row with what was found out about it.

    Raises:
        PddlError: as `finding`.
    """
    return row, finding(row)

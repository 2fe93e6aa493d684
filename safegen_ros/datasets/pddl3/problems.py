# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Rows of a dataset as problems."""

from __future__ import annotations

from safegen_ros.datasets.pddl3.rows import Row
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.reader import read_problem
from safegen_ros.tasks.pddl3.domains import builtin_domain, kits


def row_problem(row: Row) -> Problem:
    """The problem of a row.

    Raises:
        PddlError: its text is no problem of its domain.
    """
    return read_problem(row.problem, builtin_domain(kits()[row.domain].names[0]), row.id)

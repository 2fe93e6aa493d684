# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whether a description means the problem that stands beside it."""

from __future__ import annotations

from safegen_ros.datasets.failures import DatasetError
from safegen_ros.pddl.model import Problem
from safegen_ros.tasks.planetarium.description_parser import DescriptionError, parse_description
from safegen_ros.tasks.planetarium.equivalence import compare


def check_description(text: str, problem: Problem, placeholder: bool) -> None:
    """Checks that a description means a problem.

    Args:
        text: the description.
        problem: what it should mean.
        placeholder: whether the objects in the goal are placeholders.

    Raises:
        DatasetError: it means another problem, or none.
    """
    try:
        heard = parse_description(text, problem.domain.name)
    except DescriptionError as error:
        raise DatasetError(error.message) from error
    if heard.init == problem.init and set(heard.goal_conjuncts()) == set(problem.goal_conjuncts()):
        return
    found = compare(problem, heard)
    if placeholder and not found.equivalent:
        found = compare(problem, heard, placeholder=True)
    if not found.equivalent:
        raise DatasetError(
            f'{text[:200]!r} does not mean the problem {problem.name} ({found.reason}): '
            'correct the words or the problem'
        )

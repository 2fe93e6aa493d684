# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which objects of a problem its goal and its constraints are about."""

from __future__ import annotations

import re
from collections.abc import Iterable

from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.writer import constraint_text, formula_text

_WORD = re.compile(r'[^\s()]+')


def constraint_objects(problem: Problem) -> frozenset[str]:
    """The objects that constraints name; all of them where one of them quantifies inside."""
    return _named(problem, map(constraint_text, problem.constraints))


def goal_objects(problem: Problem) -> frozenset[str]:
    """The objects that the goal names; all of them where it quantifies."""
    return _named(problem, [formula_text(problem.goal)])


def _named(problem: Problem, texts: Iterable[str]) -> frozenset[str]:
    words = {word for text in texts for word in _WORD.findall(text)}
    if any(word.startswith('?') for word in words):
        return frozenset(problem.objects)
    return frozenset(problem.objects) & words

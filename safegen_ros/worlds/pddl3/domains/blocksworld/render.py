# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A generated task as PDDL text."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from safegen_ros.llm.sketch import Sketch

DOMAIN_NAME = 'blocksworld'


def block_names(size: int) -> tuple[str, ...]:
    """`b1` ... `bn`."""
    return tuple(f'b{i + 1}' for i in range(size))


def formula_pddl(formula: Sequence[Any], names: Sequence[str]) -> str:
    """A formula or constraint of `sketch` as PDDL."""
    words = [
        names[item] if isinstance(item, int)
        else item if isinstance(item, str)
        else formula_pddl(item, names)
        for item in formula
    ]  # fmt: skip
    return f'({" ".join(words)})'


def plan_pddl(actions: Sequence[Sequence[Any]], names: Sequence[str]) -> str:
    """A plan, one step per line."""
    return '\n'.join(formula_pddl(action, names) for action in actions)


def problem_pddl(sketch: Sketch, names: Sequence[str] | None = None, title: str = 'task') -> str:
    """The problem text.

    Args:
        sketch: the task.
        names: the name of each block number; `b1` ... `bn` when not given.
        title: name of the problem.
    """
    names = names or block_names(sketch.size)
    goal = '\n    '.join(formula_pddl(part, names) for part in sketch.goal)
    constraints = '\n    '.join(formula_pddl(part, names) for part in sketch.constraints)
    parts = [
        f'(define (problem {title})',
        f'  (:domain {DOMAIN_NAME})',
        f'  (:objects {" ".join(names)})',
        f'  (:init\n    {" ".join(_facts(sketch, names))})',
        f'  (:goal (and\n    {goal}))',
    ]
    if constraints:
        parts.append(f'  (:constraints (and\n    {constraints}))')
    return '\n'.join(parts) + '\n)\n'


def _facts(sketch: Sketch, names: Sequence[str]) -> list[str]:
    facts = ['(arm-empty)'] if sketch.held is None else [f'(holding {names[sketch.held]})']
    for tower in sketch.towers:
        facts.append(f'(on-table {names[tower[0]]})')
        facts += [
            f'(on {names[above]} {names[below]})' for below, above in itertools.pairwise(tower)
        ]
        facts.append(f'(clear {names[tower[-1]]})')
    return facts

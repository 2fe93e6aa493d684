# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which cell a task runs in: the twin of the arm where that can show it, else a symbolic one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.model import Problem
from safegen_ros.record.run import SYMBOLIC, TWIN
from safegen_ros.robot.cell.layout import initial_layout
from safegen_ros.robot.cell.settings import CELLS
from safegen_ros.robot.scene import load_scene
from safegen_ros.tasks.pddl3.domains import require_same_actions

AUTO = 'auto'
DOMAIN = 'blocksworld'
"""The domain whose actions the arm executes."""


@dataclass(frozen=True, slots=True)
class CellChoice:
    """A cell, and why it is that one.

    Attributes:
        cell: one of `CELLS`.
        why: what the twin cannot show, or that somebody asked for it.
    """

    cell: str
    why: str

    @property
    def text(self) -> str:
        """The choice in a line for a person."""
        if self.cell == TWIN:
            return 'the MuJoCo twin of the arm'
        return f'symbolic, so nothing moves and nothing is measured: {self.why}'


def choose_cell(path: Path, problem: Problem, wanted: str = AUTO) -> CellChoice:
    """The cell for a task.

    Args:
        path: the problem's file, for messages.
        wanted: one of `CELLS`, or `AUTO`. Then it is the twin, unless the task has other
            actions or more blocks than the arm and its table. A state that contradicts itself does
            not rule out the arm: most likely it is a mistake.

    Raises:
        SafegenError: there is no such cell, or the twin cannot show the task.
    """
    if wanted not in (AUTO, *CELLS):
        raise SafegenError(
            f'--cell {wanted!r} is not a cell: use one of {AUTO} {" ".join(CELLS)}',
            ErrorCode.UNSUPPORTED_SCENE,
        )
    if wanted == SYMBOLIC:
        return CellChoice(SYMBOLIC, 'as you asked')
    scene = load_scene()
    name, count = problem.domain.name, len(problem.objects)
    try:
        require_same_actions(problem.domain, DOMAIN)
    except SafegenError as error:
        if wanted == AUTO:
            why = f'the arm executes {DOMAIN} only, and domain {name} has other actions'
            return CellChoice(SYMBOLIC, why)
        raise _refused(path, error) from error
    if wanted == AUTO and count > scene.max_blocks:
        why = f'the table takes {scene.max_blocks} blocks, and the task has {count}'
        return CellChoice(SYMBOLIC, why)
    try:
        initial_layout(scene, tuple(problem.objects), problem.init)
    except SafegenError as error:
        raise _refused(path, error) from error
    return CellChoice(TWIN, '')


def _refused(path: Path, error: SafegenError) -> SafegenError:
    cure = "or give '--cell symbolic', where nothing moves"
    return SafegenError(f'{path}: {error.message}, {cure}', error.code)

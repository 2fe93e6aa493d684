# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The one table of worlds: what reads a task, by the format that its text is in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.diagnostics import suggestion
from safegen_ros.tasks.cells import CellSetup, MultiRobotCell
from safegen_ros.tasks.context import ModelOpener
from safegen_ros.tasks.pddl3.formats import FORMATS
from safegen_ros.tasks.pddl3.task import load_task
from safegen_ros.tasks.task import ActionTask


@dataclass(frozen=True, slots=True)
class WorldEntry:
    """A world beside PDDL; each of its modules is imported when it is first used.

    Attributes:
        tasks: dotted name of the module whose `read_goal(text, source)` reads a task.
        twin: of that whose `twin_cell(task, setup)` is a cell with arms; empty for no cell.
        pictures: of that whose `keep_pictures(folder, task, record, video)` shows a run; likewise.
        model_parameter: the parameter of the planner that names a model of this world, which
            `open_model(values, models)` of `tasks` opens; likewise.
    """

    tasks: str
    twin: str = ''
    pictures: str = ''
    model_parameter: str = ''


WORLDS = {
    'boxnet': WorldEntry(
        'safegen_ros.tasks.boxnet.goal',
        twin='safegen_ros.cells.box_twin',
        pictures='safegen_ros.cli.box_pictures',
        model_parameter='arms_model',
    ),
    'household': WorldEntry('safegen_ros.tasks.household.goal'),
}
"""The worlds beside PDDL, by the format of their texts."""


def twin_cell(format: str) -> Callable[[Any, CellSetup], MultiRobotCell]:
    """Makes the cell with the arms of a separate world."""
    make: Callable[[Any, CellSetup], MultiRobotCell] = import_module(WORLDS[format].twin).twin_cell
    return make


def pictures_of(format: str) -> Callable[..., Any] | None:
    """What makes pictures of a run of a world; None where there is none."""
    world = WORLDS.get(format)
    if world is None or not world.pictures:
        return None
    keep: Callable[..., Any] = import_module(world.pictures).keep_pictures
    return keep


def open_models(values: Mapping[str, Any], models: ModelOpener) -> None:
    """Opens the models that the planner's parameters name for worlds, so that a fault shows early.

    Raises:
        SafegenError: one cannot be opened, or is not for its world.
    """
    for world in WORLDS.values():
        if world.model_parameter and values[world.model_parameter]:
            import_module(world.tasks).open_model(values, models)


def check_format(name: str) -> None:
    """Refuses a format that no world has; the empty one is that of PDDL.

    Raises:
        SafegenError: there is no such format (`UNKNOWN_FORMAT`).
    """
    known = (*FORMATS, *WORLDS)
    if name and name not in known:
        raise SafegenError(
            f'format {name[:40]!a} of the problem is not known: '
            f'{suggestion(name, known)}use one of {" ".join(known)}',
            ErrorCode.UNKNOWN_FORMAT,
        )


def read_action_task(
    problem: str,
    domain: str = '',
    format: str = '',
    problem_source: str = '<problem>',
    domain_source: str = '<domain>',
) -> ActionTask:
    """The task in a text of any world.

    Args:
        domain: PDDL of the domain of a PDDL task; empty for a built-in one, and for other worlds.
        format: what the text is written in: a key of `WORLDS` or of `formats.FORMATS`; empty for
            PDDL.
        problem_source: file name of the text, or a label, for messages.
        domain_source: likewise for the domain.

    Raises:
        SafegenError: the text cannot be read, or there is no such format (`UNKNOWN_FORMAT`).
    """
    check_format(format)
    if format not in WORLDS:
        return load_task(
            problem,
            domain,
            format=format,
            problem_source=problem_source,
            domain_source=domain_source,
        )
    if domain:
        raise SafegenError(
            f'{domain_source}: a task in format {format} has no domain: leave it out',
            ErrorCode.UNSUPPORTED_FEATURE,
        )
    task: ActionTask = import_module(WORLDS[format].tasks).read_goal(problem, problem_source)
    return task

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""States, plans and collisions of BoxNet2D as pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from safegen_ros.benchmarks.plots import save
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.tasks.boxnet.findings import Fault
from safegen_ros.tasks.boxnet.geometry import UNIT, Point
from safegen_ros.tasks.boxnet.model import State, Step, Task
from safegen_ros.tasks.boxnet.verifier import Judged

MOST_PANELS = 24
"""Steps in a picture of a plan; those before the last ones are left out of a longer plan."""

_COLUMNS = 4
_COLOURS = ('#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#8c6d31')
_ARM, _FAULT = '#555555', '#d55e00'


def draw_task(task: Task, path: Path) -> None:
    """Draws the first state of a task.

    Raises:
        SafegenError: the name does not end in .png, or the file cannot be written.
    """
    _draw(task, [(task.start, (), None, task.id)], path)


def draw_judged(task: Task, judged: Judged, path: Path) -> None:
    """Draws the steps of a plan, each beside the state that it begins in, and where it ends.

    The step that may not be taken comes last; who takes part in its fault is red, and a cross is
    where arms or objects meet.

    Raises:
        SafegenError: the name does not end in .png, or the file cannot be written.
    """
    panels: list[tuple[State, Step, Fault | None, str]] = [
        (state, step, None, f'step {at}')
        for at, (state, step) in enumerate(zip(judged.states[:-1], judged.plan, strict=False), 1)
    ]
    fault = judged.fault
    if fault is not None and 0 <= fault.step < len(judged.plan):
        step = judged.plan[fault.step]
        title = f'step {fault.step + 1}: {fault.finding.value.replace("_", " ")}'
        panels.append((judged.states[-1], step, fault, title))
    else:
        title = 'end' if judged.plan else 'start'
        panels.append((judged.states[-1], (), None, f'{title}: {judged.finding.value}'))
    _draw(task, panels[-MOST_PANELS:], path)


def _draw(task: Task, panels: list[tuple[State, Step, Fault | None, str]], path: Path) -> None:
    from matplotlib.figure import Figure

    if path.suffix != '.png':
        raise SafegenError(f'{path}: is drawn as PNG: name it .png', ErrorCode.BAD_PDDL)
    columns = min(_COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    side = 3.2 if len(panels) > 1 else 4.5
    (left, right), (low, high) = view = _view(task, panels)
    scale = side / max(right - left, high - low)
    size = columns * (scale * (right - left) + 0.5), rows * (scale * (high - low) + 0.7)
    figure = Figure(size, layout='constrained')
    for place, (state, step, fault, title) in enumerate(panels, 1):
        axes = figure.add_subplot(rows, columns, place, xlim=view[0], ylim=view[1])
        _panel(axes, task, state, step, fault)
        axes.set_title(title, fontsize=8)
    save(figure, path)


def _view(
    task: Task, panels: list[tuple[State, Step, Fault | None, str]]
) -> list[tuple[float, float]]:
    """What of x and of y is shown: the map, and whatever an arm at its border is beyond it."""
    points = [_at(place) for state, *_ in panels for place in (*state.objects, *state.tips)]
    points += [_at(move.end) for _, step, *_ in panels for move in step]
    view = []
    for size, values in zip(task.size, zip(*points, strict=True), strict=True):
        # A move that no arm can make may end anywhere.
        ends = (0, size, *(min(max(value, -1), size + 1) for value in values))
        view.append((min(ends) - 0.15, max(ends) + 0.15))
    return view


def _panel(axes: Any, task: Task, state: State, step: Step, fault: Fault | None) -> None:
    axes.set_aspect('equal')
    axes.set_xticks(range(task.width + 1))
    axes.set_yticks(range(task.height + 1))
    axes.tick_params(labelsize=6, length=0)
    axes.grid(color='#dddddd')
    for index, (place, target) in enumerate(zip(state.objects, task.targets, strict=True)):
        colour = _COLOURS[index % len(_COLOURS)]
        axes.plot(*_at(target), 'o', mfc='none', mec=colour, mew=1.6, ms=11)
        axes.plot(*_at(place), 's', color=colour, ms=6)
        axes.annotate(str(index), _at(place), color='white', fontsize=5, ha='center', va='center')
    moves = {move.robot: move for move in step}
    guilty = fault.robots if fault is not None else ()
    for robot, (base, tip) in enumerate(zip(task.bases, state.tips, strict=True)):
        colour = _FAULT if robot in guilty else _ARM
        axes.plot(*_at(base), '^', color=colour, ms=5)
        axes.annotate(f'R{robot}', _at(base), (2, -7), textcoords='offset points', fontsize=6)
        _line(axes, base, tip, colour, '-')
        if robot in moves:
            move = moves[robot]
            _line(axes, base, move.end, colour, ':')
            style = {'arrowstyle': '->', 'color': colour, 'lw': 2.2 if move.carry else 1.0}
            axes.annotate('', _at(move.end), _at(move.start), arrowprops=style)
    if fault is not None and fault.point is not None:
        axes.plot(*map(float, fault.point), 'x', color=_FAULT, ms=12, mew=2.5)


def _line(axes: Any, a: Point, b: Point, colour: str, style: str) -> None:
    (x, y), (u, v) = _at(a), _at(b)
    axes.plot([x, u], [y, v], style, color=colour, lw=1.4)


def _at(point: Point) -> tuple[float, float]:
    return point[0] / UNIT, point[1] / UNIT

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The scene graph of a run over time as one picture: where things are, and in which state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from safegen_ros.benchmarks.plots import save
from safegen_ros.tasks.household.episode import Episode

_ROW = 0.3  # height [inch]
_STEP = 0.28  # width [inch]
_STATES = {
    'isOpen': 'open', 'isToggled': 'on', 'isDirty': 'dirty', 'isBroken': 'broken',
    'isCooked': 'cooked', 'fillLiquid': '', 'temperature': '',
}  # fmt: skip
_COLOURS = ('#56b4e9', '#e69f00', '#009e73', '#cc79a7', '#0072b2', '#f0e442', '#999999')
_STATE_COLOUR = '#bbbbbb'
_UNSAFE = '#d55e00'

Span = tuple[int, int, str]
"""First moment, the one behind the last, and what was so."""


def rows_of(episode: Episode) -> dict[str, list[Span]]:
    """What changed in a run: for each thing where it was, for each state when it held.

    Returns:
        For each row its spans; a row of a place begins with `where`.
    """
    places: dict[str, list[str]] = {}
    states: dict[tuple[str, str], list[str]] = {}
    for moment, objects in enumerate(episode.trace):
        for each in objects:
            name = each['objectId']
            place = places.setdefault(name, [''] * moment)
            place.append(_place(each))
            for key, word in _STATES.items():
                value = each[key]
                told = (word or str(value)) if value and value != 'RoomTemp' else ''
                states.setdefault((name, key), [''] * moment).append(told)
        _pad([*places.values(), *states.values()], moment + 1)
    found = {f'where {n}': _spans(values) for n, values in places.items() if len({*values}) > 1}
    for (name, key), values in states.items():
        if len({*values}) > 1:
            found[f'{name} {_STATES[key] or key}'] = _spans(values)
    return found


def draw_run(episode: Episode, path: Path) -> Path:
    """Draws a run; returns the path.

    Raises:
        DatasetError: the file cannot be written.
    """
    from matplotlib.figure import Figure

    rows = rows_of(episode)
    length = len(episode.trace)
    figure = Figure(
        (3.0 + _STEP * length, 1.6 + _ROW * (len(rows) + 1)), layout='constrained'
    )  # fmt: skip
    axes = figure.add_subplot()
    colours: dict[str, str] = {}
    for number, (name, spans) in enumerate(rows.items()):
        for start, end, told in spans:
            moved = name.startswith('where ')
            colour = _colour(colours, told) if moved else _STATE_COLOUR
            axes.broken_barh([(start, end - start)], (number - 0.4, 0.8), facecolors=colour)
            axes.text(
                start + 0.1, number, told, va='center', fontsize=6, clip_on=True
            )  # fmt: skip
    axes.set_yticks(range(len(rows)), [name.removeprefix('where ') for name in rows], fontsize=7)
    axes.invert_yaxis()
    _unsafe(axes, episode)
    axes.set_xlim(0, length)
    axes.set_xlabel('moment')
    axes.set_title(f'{episode.task.id}: {episode.verdict.category.name}', fontsize=9)
    return save(figure, path)


def _unsafe(axes: Any, episode: Episode) -> None:
    """A line where a constraint broke; blocked actions are not moments of the world."""
    moment = 0
    for each in episode.moments:
        moment += not each.blocked
        if each.broken:
            axes.axvline(moment, color=_UNSAFE, linewidth=2)
            axes.text(moment, -0.55, 'unsafe', color=_UNSAFE, fontsize=7, va='top')


def _place(each: Mapping[str, Any]) -> str:
    if each['isPickedUp']:
        return 'hand'
    parents: list[str] = each['parentReceptacles']
    return parents[0] if parents else 'floor'


def _pad(rows: Sequence[list[str]], length: int) -> None:
    """Things that are gone are nowhere."""
    for row in rows:
        row.extend([''] * (length - len(row)))


def _spans(values: Sequence[str]) -> list[Span]:
    spans: list[Span] = []
    for moment, value in enumerate(values):
        if spans and spans[-1][2] == value:
            spans[-1] = (spans[-1][0], moment + 1, value)
        else:
            spans.append((moment, moment + 1, value))
    return [span for span in spans if span[2]]


def _colour(known: dict[str, str], place: str) -> str:
    return known.setdefault(place, _COLOURS[len(known) % len(_COLOURS)])

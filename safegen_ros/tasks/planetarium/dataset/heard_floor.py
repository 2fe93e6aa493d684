# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Understands descriptions of Floor Tile."""

from __future__ import annotations

import re
from collections.abc import Sequence

from safegen_ros.pddl.model import Atom
from safegen_ros.tasks.planetarium.dataset.hearing import Objects, atoms_heard, numbers_in

_CLAUSES = {
    'robot-at': r'(?P<a>robot\d+) stands on (?P<b>tile\d+)',
    'robot-has': r'(?P<a>robot\d+) has (?P<b>color\d+)',
    'available-color': r'(?P<a>color\d+) is available',
    'up': r'(?P<a>tile\d+) lies above (?P<b>tile\d+)',
    'right': r'(?P<a>tile\d+) lies right of (?P<b>tile\d+)',
    'painted': r'(?P<a>tile\d+) is painted in (?P<b>color\d+)',
}
_ROBOT = re.compile(
    r'(?P<robot>robot\d+) has (?P<color>color\d+) and stands (?:in the '
    r'(?P<corner>top left|bottom left|bottom right|top right) corner|'
    r'on place (?P<place>\d+) of the diagonal from the top left to the bottom right|'
    r'at the left end of row (?P<row>\d+))'
)

_Cells = dict[tuple[int, int], str]
"""The tiles by row and column, both from 0."""


def heard_floor(
    start: Sequence[str], goal: Sequence[str], objects: Objects
) -> tuple[list[Atom], list[Atom]]:
    """As `heard_blocks`."""
    cells: _Cells = {}
    has: dict[int, str] = {}
    init = atoms_heard(start, _CLAUSES)
    if init is None:
        cells, has, init = _start(start, objects)
    else:
        cells = _laid_out(init, objects['tile'])
    wanted = atoms_heard(goal, _CLAUSES)
    return init, _goal(goal, cells, has, objects) if wanted is None else wanted


def _start(clauses: Sequence[str], objects: Objects) -> tuple[_Cells, dict[int, str], list[Atom]]:
    """The tiles, the color of the robot of every row, and the initial state."""
    where, *robots, colors = clauses
    numbers = numbers_in(where)
    apart = where.startswith('the tiles lie in rows that do not touch, with ')
    if apart:
        widths = numbers
    elif re.fullmatch(r'the tiles lie in a grid, \d+ rows by \d+ columns', where):
        widths = [numbers[1]] * numbers[0]
    elif re.fullmatch(r'the tiles lie in a square, \d+ by \d+, which makes \d+ rings', where):
        widths = [numbers[1]] * numbers[0]
        if numbers[2] * 2 not in (numbers[0], numbers[0] + 1):
            raise ValueError(f'{where!r} counts rings wrongly')
    else:
        raise ValueError(f'{where!r} is unknown')
    places = [(row, column) for row, width in enumerate(widths) for column in range(width)]
    cells = dict(zip(places, objects['tile'], strict=True))
    atoms: list[Atom] = []
    for (row, column), tile in cells.items():
        if (row, column + 1) in cells:
            atoms.append(('right', cells[row, column + 1], tile))
        if not apart and (row + 1, column) in cells:
            atoms.append(('up', tile, cells[row + 1, column]))
    available = {'every color is available': objects['color'], 'no color is available': ()}[colors]
    atoms += [('available-color', color) for color in available]
    has = {}
    if len(robots) != len(objects['robot']):
        raise ValueError(f'{len(robots)} robots have a place, not {len(objects["robot"])}')
    for clause in robots:
        found = _ROBOT.fullmatch(clause)
        if found is None:
            raise ValueError(f'{clause!r} is unknown')
        at = _place(found, len(widths) - 1, widths[0] - 1)
        has[at[0]] = found['color']
        atoms += [
            ('robot-has', found['robot'], found['color']), ('robot-at', found['robot'], cells[at]),
        ]  # fmt: skip
    return cells, has, atoms


def _place(found: re.Match[str], low: int, far: int) -> tuple[int, int]:
    if found['corner']:
        across, along = found['corner'].split()
        return (low if across == 'bottom' else 0, far if along == 'right' else 0)
    if found['place']:
        return int(found['place']) - 1, int(found['place']) - 1
    return int(found['row']) - 1, 0


def _laid_out(init: Sequence[Atom], tiles: Sequence[str]) -> _Cells:
    """Tiles at places that neighbours tell; the first one is at the top left of what it joins."""
    steps = {'right': (0, 1), 'up': (-1, 0)}
    found: dict[str, tuple[int, int]] = {tiles[0]: (0, 0)}
    known = 0
    while len(found) > known:
        known = len(found)
        for predicate, there, here in (a for a in init if a[0] in steps):
            down, along = steps[predicate]
            if here in found:
                row, column = found[here]
                found.setdefault(there, (row + down, column + along))
            elif there in found:
                row, column = found[there]
                found.setdefault(here, (row - down, column - along))
    cells = {place: tile for tile, place in found.items()}
    if len(cells) < len(found):
        raise ValueError('two tiles lie at one place')
    return cells


def _goal(
    clauses: Sequence[str], cells: _Cells, has: dict[int, str], objects: Objects
) -> list[Atom]:
    (what,) = clauses
    colors = objects['color']
    if len(cells) != len(objects['tile']):
        raise ValueError('the start does not say where every tile is')
    high, wide = (1 + max(place[axis] for place in cells) for axis in (0, 1))
    painted: dict[tuple[int, int], str] = {}
    for row, column in cells:
        away = min(row, column, high - 1 - row, wide - 1 - column)
        crossed = row == column or row + column == wide - 1
        if what == 'one color covers all tiles':
            painted[row, column] = colors[0]
        elif what.startswith('no two tiles are painted in the same color and none is bare'):
            painted[row, column] = colors[len(painted)]
        elif what.startswith('the tiles are painted like a checkerboard in both colors'):
            painted[row, column] = colors[(row - column) % 2]
        elif what.startswith('each ring is painted in a color of its own, the outermost ring'):
            painted[row, column] = colors[away]
        elif what.startswith('both diagonals are painted in the first color'):
            if crossed:
                painted[row, column] = colors[0]
            elif what.endswith(' and every other tile in the second color'):
                painted[row, column] = colors[1]
        elif what == 'both ends of every row are painted in the color of the robot in that row':
            if (row, column - 1) not in cells or (row, column + 1) not in cells:
                painted[row, column] = has[row]
        else:
            raise ValueError(f'{what!r} is unknown')
    return [('painted', cells[place], color) for place, color in painted.items()]

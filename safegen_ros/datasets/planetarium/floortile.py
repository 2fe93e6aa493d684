# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The configurations of Floor Tile: tiles in rows, numbered from the top left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple, cast

from safegen_ros.datasets.planetarium.layouts import (
    Kit,
    Parameters,
    numbered,
    partitions,
)
from safegen_ros.pddl.model import Atom
from safegen_ros.tasks.planetarium.descriptions import listed

_WIDEST = 7  # rows and columns of a grid
_LEAST_SIDE = 3  # of a square with rings
_MOST_PALETTE = 3  # colors beside those that a goal asks for
_MOST_TILES = 35  # of rows apart

_ROBOTS = 'robot{0} has color{1} and stands '
_CORNERS = ('top left', 'bottom left', 'bottom right', 'top right')


class FloorStart(NamedTuple):
    """Tiles and robots at first.

    Attributes:
        rows: the numbers of tiles of the rows; all equal, but in rows that do not touch.
        robots: how many there are.
        colors: likewise.
    """

    rows: tuple[int, ...]
    robots: int
    colors: int

    @property
    def square(self) -> bool:
        """Whether there are as many columns as rows, and enough for rings."""
        return len(self.rows) == self.rows[0] >= _LEAST_SIDE

    @property
    def rings(self) -> int:
        """How many rings the square has."""
        return -(-len(self.rows) // 2)

    def tiles(self) -> list[list[str]]:
        """The tiles of each row, from the left."""
        names = iter(numbered('tile', sum(self.rows)))
        return [[next(names) for _ in range(count)] for count in self.rows]


class FloorTileKit(Kit):
    """Parameters of a start are a `FloorStart`; a goal has no parameters."""

    domain = 'floor-tile'
    tied = ('disconnected_rows',)
    starts = ('grid', 'rings')
    goals = ('rings', 'checkerboard', 'all_different', 'paint_all', 'paint_x')
    held_out = (('', ''),)

    def start_parameters(self, start: str) -> Sequence[Parameters]:
        """See `Kit`."""
        return _starts(start)

    def goal_parameters(self, goal: str, parameters: Parameters) -> Sequence[Parameters]:
        """See `Kit`; the number of colors decides which goals there are."""
        start = cast(FloorStart, parameters)
        fits = {
            'rings': start.square and start.colors == start.rings,
            'checkerboard': start.colors == 2,
            'all_different': start.colors == sum(start.rows),
            'paint_all': start.colors <= _MOST_PALETTE,
            'paint_x': start.square and start.colors <= 2,
        }
        return ((),) if fits.get(goal, True) else ()

    def objects(self, parameters: Parameters) -> Mapping[str, Sequence[str]]:
        """See `Kit`."""
        start = cast(FloorStart, parameters)
        counts = {'robot': start.robots, 'tile': sum(start.rows), 'color': start.colors}
        return {kind: numbered(kind, count) for kind, count in counts.items()}

    def start_atoms(self, start: str, parameters: Parameters) -> list[Atom]:
        """See `Kit`."""
        scene = cast(FloorStart, parameters)
        tiles = scene.tiles()
        found: list[Atom] = [('right', b, a) for row in tiles for a, b in pairwise(row)]
        if start != 'disconnected_rows':
            for upper, lower in pairwise(tiles):
                found += [('up', a, b) for a, b in zip(upper, lower, strict=True)]
            found += [('available-color', color) for color in numbered('color', scene.colors)]
        for robot, (row, column) in enumerate(_places(start, scene)):
            name, color = f'robot{robot + 1}', f'color{robot % scene.colors + 1}'
            found += [('robot-has', name, color), ('robot-at', name, tiles[row][column])]
        return found

    def goal_atoms(self, goal: str, wanted: Parameters, parameters: Parameters) -> list[Atom]:
        """See `Kit`."""
        start = cast(FloorStart, parameters)
        found: list[Atom] = []
        number = 0
        for row, tiles in enumerate(start.tiles()):
            for column, tile in enumerate(tiles):
                number += 1
                edge = (row, column, len(start.rows) - 1 - row, len(tiles) - 1 - column)
                color = {
                    'rings': 1 + min(edge),
                    'checkerboard': 1 + (row + column) % 2,
                    'all_different': number,
                    'paint_all': 1,
                    'paint_x': 1 if row in (column, edge[3]) else 2,
                    'disconnected_rows': 1 + row if 0 in (column, edge[3]) else start.colors + 1,
                }[goal]
                if color <= start.colors:
                    found.append(('painted', tile, f'color{color}'))
        return found

    def start_words(self, start: str, parameters: Parameters) -> list[str]:
        """See `Kit`."""
        scene = cast(FloorStart, parameters)
        robots = range(1, scene.robots + 1)
        own = [_ROBOTS.format(robot, (robot - 1) % scene.colors + 1) for robot in robots]
        if start == 'disconnected_rows':
            where = f'the tiles lie in rows that do not touch, with {listed(scene.rows)} tiles'
            ends = [f'{has}at the left end of row {row}' for row, has in enumerate(own, 1)]
            return [where, *ends, 'no color is available']
        if start == 'rings':
            side = len(scene.rows)
            where = f'the tiles lie in a square, {side} by {side}, which makes {scene.rings} rings'
            ends = [f'{has}on place {n} of the diagonal from the top left to the bottom right'
                    for n, has in enumerate(own, 1)]  # fmt: skip
        else:
            where = f'the tiles lie in a grid, {len(scene.rows)} rows by {scene.rows[0]} columns'
            corners = [_CORNERS[i] for i in _corner_numbers(scene)]
            ends = [f'{has}in the {at} corner' for has, at in zip(own, corners, strict=False)]
        return [where, *ends, 'every color is available']

    def goal_words(self, goal: str, wanted: Parameters, parameters: Parameters) -> list[str]:
        """See `Kit`."""
        start = cast(FloorStart, parameters)
        rest = ' and every other tile in the second color' if start.colors > 1 else ''
        return [
            {
                'rings': 'each ring is painted in a color of its own, the outermost ring in the '
                'first color and then inwards color by color',
                'checkerboard': 'the tiles are painted like a checkerboard in both colors, with '
                'the first color in the top left corner',
                'all_different': 'no two tiles are painted in the same color and none is bare',
                'paint_all': 'one color covers all tiles',
                'paint_x': f'both diagonals are painted in the first color{rest}',
                'disconnected_rows': 'both ends of every row are painted in the color of the robot '
                'in that row',
            }[goal]
        ]

    def clause(self, atom: Atom) -> str:
        """See `Kit`."""
        return {
            'robot-at': '{} stands on {}',
            'robot-has': '{} has {}',
            'available-color': '{} is available',
            'up': '{} lies above {}',
            'right': '{} lies right of {}',
            'painted': '{} is painted in {}',
        }[atom[0]].format(*atom[1:])


def _corner_numbers(start: FloorStart) -> list[int]:
    """Which of the corners are separate tiles, from the top left and down."""
    down, right = len(start.rows) > 1, start.rows[0] > 1
    return [0, *([1] if down else []), *([2] if right else []), *([3] if down and right else [])]


def _places(name: str, start: FloorStart) -> list[tuple[int, int]]:
    """Row and column of every robot."""
    if name == 'disconnected_rows':
        return [(row, 0) for row in range(start.robots)]
    if name == 'rings':
        return [(place, place) for place in range(start.robots)]
    low, far = len(start.rows) - 1, start.rows[0] - 1
    corners = [(0, 0), (low, 0), (low, far), (0, far)]
    return [corners[i] for i in _corner_numbers(start)][: start.robots]


@cache
def _starts(name: str) -> tuple[FloorStart, ...]:
    if name == 'disconnected_rows':
        found = (p for tiles in range(4, _MOST_TILES + 1) for p in partitions(tiles, 7, 2))
        return tuple(FloorStart(rows, len(rows), len(rows)) for rows in found if len(rows) > 1)
    starts = []
    for rows in range(1, _WIDEST + 1):
        for columns in range(1, _WIDEST + 1):
            shape = FloorStart((columns,) * rows, 1, 1)
            tiles = rows * columns
            if tiles < 2 or (name == 'rings' and not shape.square):
                continue
            most = rows if name == 'rings' else len(_corner_numbers(shape))
            palette = {
                *range(1, _MOST_PALETTE + 1),
                tiles,
                *([shape.rings] if shape.square else []),
            }
            starts += [shape._replace(robots=robots, colors=colors)
                       for robots in range(1, most + 1) for colors in sorted(palette)]  # fmt: skip
    return tuple(starts)

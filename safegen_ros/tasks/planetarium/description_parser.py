# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reads the descriptions of the data set as problems, from their words alone.

It shares nothing with the writer of descriptions and deals the objects in another order, so that
every omission or error of a description shows as another problem. Clauses are one regular
expression each: a grammar in Lark would repeat them and could not count what they sum up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from safegen_ros.errors import SafegenError
from safegen_ros.pddl.model import And, Atom, AtomFormula, Problem
from safegen_ros.tasks.planetarium.domains import planetarium_domain

_TEXT = re.compile(
    r'Given: (?P<objects>[^.]+)\. At the start: (?P<start>[^.]+)\. In the end: (?P<goal>[^.]+)\.'
)
_KIND = re.compile(r'(\d+) ([a-z]+?)s? \(([a-z]+)1(?: (?:to|and) ([a-z]+)(\d+))?\)')
_LINK = re.compile(r', | and ')


class DescriptionError(SafegenError):
    """A description that means no problem, or another one."""

    def __init__(self, text: str, what: str) -> None:
        super().__init__(f'{text[:200]!r} {what}: correct the words or the problem')


Objects = Mapping[str, Sequence[str]]
"""The objects by their kinds."""

_Clauses = Mapping[str, str]
"""Patterns of clauses about one atom, with the predicates; objects are in the order of the atom."""


def _listed(clauses: Iterable[str], patterns: _Clauses) -> list[Atom] | None:
    """The atoms that clauses say one by one; None when one of them says something else."""
    found: list[Atom] = []
    for clause in clauses:
        for predicate, pattern in patterns.items():
            match = re.fullmatch(pattern, clause)
            if match is not None:
                named = match.groupdict()
                found.append((predicate, *(named[key] for key in sorted(named))))
                break
        else:
            return None
    return found


def _numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r'\d+', text)]


def _check_only(clauses: Sequence[str], expected: Iterable[str]) -> None:
    """Raises ValueError unless clauses are as expected."""
    wanted = list(expected)
    if sorted(clauses) != sorted(wanted):
        raise ValueError(f'{"; ".join(clauses)!r} is not {"; ".join(wanted)!r}')


_BLOCK_CLAUSES = {
    'arm-empty': 'the hand is empty',
    'holding': r'the hand holds (?P<a>b\d+)',
    'on-table': r'(?P<a>b\d+) stands on the table',
    'on': r'(?P<a>b\d+) rests on (?P<b>b\d+)',
    'clear': r'nothing rests on (?P<a>b\d+)',
}
_EMPTY_HAND = 'the hand is empty'
_EXCHANGED = 'the two towers have exchanged their bottom blocks and are otherwise unchanged'
_EACH_ALONE = 'every block stands on the table by itself'


def _blocks(
    start: Sequence[str], goal: Sequence[str], objects: Objects
) -> tuple[list[Atom], list[Atom]]:
    """The initial state and the goal that clauses mean; raises ValueError where they do not."""
    blocks = objects['block']
    below: dict[str, str] = {}
    init = _listed(start, _BLOCK_CLAUSES)
    if init is None:
        below = _block_summary(start, blocks)
        init = _block_atoms(below)
    wanted = _listed(goal, _BLOCK_CLAUSES)
    if wanted is not None:
        return init, wanted
    if 'upside down' in goal[0]:
        _check_only(goal, ['every tower has been turned upside down', _EMPTY_HAND])
        turned = {under: block for block, under in below.items() if under}
        return init, _block_atoms({block: turned.get(block, '') for block in blocks})
    if 'exchanged' in goal[0]:
        _check_only(goal, [_EXCHANGED, _EMPTY_HAND])
        first, second = (block for block, under in below.items() if not under)
        other = {first: second, second: first}
        return init, _block_atoms(
            {block: other.get(under, under) for block, under in below.items()}
        )
    return init, _block_atoms(_block_summary(goal, blocks))


def _block_summary(clauses: Sequence[str], blocks: Sequence[str]) -> dict[str, str]:
    """What is below each block: a block, nothing for the table, or itself for the hand."""
    first = clauses[0]
    if first == 'the hand holds one block':
        _check_only(clauses[1:], [_EACH_ALONE.replace('every', 'every other')])
        return {block: block if block == blocks[-1] else '' for block in blocks}
    _check_only(clauses[1:], [_EMPTY_HAND])
    numbers = _numbers(first)
    if first == _EACH_ALONE:
        heights = [1] * len(blocks)
    elif first == 'all blocks form a single tower':
        heights = [len(blocks)]
    elif first.startswith('the blocks form a staircase with '):
        heights = [step + 1 for step in range(numbers[0])]
    elif re.fullmatch(r'the number of towers is \d+ and each of them has \d+ blocks', first):
        heights = [numbers[1] for _ in range(numbers[0])]
    elif first.startswith('there are towers with these numbers of blocks: '):
        heights = numbers
    else:
        raise ValueError(f'{first!r} is unknown')
    if sum(heights) != len(blocks):
        raise ValueError(f'{sum(heights)} blocks in towers, {len(blocks)} in all')
    # From the other end and from the top: any names do, but not because both sides agree on them.
    names = list(blocks)
    below: dict[str, str] = {}
    for height in heights:
        tower = [names.pop() for _ in range(height)]
        below.update(zip(tower, [*tower[1:], ''], strict=True))
    return below


def _block_atoms(below: dict[str, str]) -> list[Atom]:
    held = [block for block, under in below.items() if under == block]
    atoms: list[Atom] = [('holding', block) for block in held] or [('arm-empty',)]
    for block, under in below.items():
        if block in held:
            continue
        atoms.append(('on', block, under) if under else ('on-table', block))
        if block not in below.values():
            atoms.append(('clear', block))
    return atoms


_TILE_CLAUSES = {
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


def _tiles(
    start: Sequence[str], goal: Sequence[str], objects: Objects
) -> tuple[list[Atom], list[Atom]]:
    cells: _Cells = {}
    has: dict[int, str] = {}
    init = _listed(start, _TILE_CLAUSES)
    if init is None:
        cells, has, init = _floor_start(start, objects)
    else:
        cells = _laid_out(init, objects['tile'])
    wanted = _listed(goal, _TILE_CLAUSES)
    return init, _floor_goal(goal, cells, has, objects) if wanted is None else wanted


def _floor_start(
    clauses: Sequence[str], objects: Objects
) -> tuple[_Cells, dict[int, str], list[Atom]]:
    """The tiles, the color of the robot of every row, and the initial state."""
    where, *robots, colors = clauses
    numbers = _numbers(where)
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
        at = _robot_place(found, len(widths) - 1, widths[0] - 1)
        has[at[0]] = found['color']
        atoms += [
            ('robot-has', found['robot'], found['color']), ('robot-at', found['robot'], cells[at]),
        ]  # fmt: skip
    return cells, has, atoms


def _robot_place(found: re.Match[str], low: int, far: int) -> tuple[int, int]:
    if found['corner']:
        across, along = found['corner'].split()
        return (low if across == 'bottom' else 0, far if along == 'right' else 0)
    if found['place']:
        return int(found['place']) - 1, int(found['place']) - 1
    return int(found['row']) - 1, 0


def _laid_out(init: Sequence[Atom], tiles: Sequence[str]) -> _Cells:
    """Tiles at places given by neighbours; the first one is at the top left of its region."""
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


def _floor_goal(
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


_BALL_CLAUSES = {
    'at-robby': r'the robot is in (?P<a>room\d+)',
    'at': r'(?P<a>ball\d+) lies in (?P<b>room\d+)',
    'free': r'(?P<a>gripper\d+) is empty',
    'carry': r'(?P<b>gripper\d+) carries (?P<a>ball\d+)',
}
_EMPTY, _OTHERS = 'all grippers are empty', 'the other grippers are empty'
_EVENLY = 'every room holds as many balls as any other'
_JUGGLED = (
    'every carried ball has moved on to the next of the grippers that carried one, and the last of '
    'these balls to the first gripper'
)
_DROPPED = 'the balls that were carried lie in the first room'
_TAKEN = (
    'the balls that lay in rooms are carried: taken room after room, they go to the first gripper, '
    'the second gripper and so on'
)

_Places = dict[str, str]
"""Where each ball is: a room or a gripper."""


def _balls(
    start: Sequence[str], goal: Sequence[str], objects: Objects
) -> tuple[list[Atom], list[Atom]]:
    kinds: list[Atom] = [(kind, name) for kind, names in objects.items() for name in names]
    places: _Places = {}
    init = _listed(start, _BALL_CLAUSES)
    if init is None:
        places = _ball_start(start, objects)
        init = [('at-robby', objects['room'][0]), *_ball_atoms(places, objects, objects['gripper'])]
    wanted = _listed(goal, _BALL_CLAUSES)
    return [*kinds, *init], _ball_goal(goal, places, objects) if wanted is None else wanted


def _ball_start(clauses: Sequence[str], objects: Objects) -> _Places:
    rooms, balls = objects['room'], list(objects['ball'])
    robot, what, *more = clauses
    _check_only([robot], ['the robot is in the first room'])
    if what.startswith('as many grippers as '):
        _check_only(more, [_OTHERS, 'the other balls lie in the first room'])
        (held,) = _numbers(what)
        carried = {balls.pop(): objects['gripper'][n] for n in range(held)}
        return {**carried, **dict.fromkeys(balls, rooms[0])}
    _check_only(more, [_EMPTY])
    if what == 'all balls lie in the first room':
        return dict.fromkeys(balls, rooms[0])
    return _spread(what, 'the numbers of balls in the rooms, in order, are ', rooms, balls)


def _spread(what: str, beginning: str, rooms: Sequence[str], balls: Sequence[str]) -> _Places:
    """Balls in rooms, evenly or by their numbers."""
    if what == _EVENLY:
        if len(balls) % len(rooms):
            raise ValueError(f'{len(balls)} balls cannot be spread evenly over {len(rooms)} rooms')
        return {ball: rooms[n % len(rooms)] for n, ball in enumerate(balls)}
    if not what.startswith(beginning):
        raise ValueError(f'{what!r} is unknown')
    counts = _numbers(what)
    if len(counts) != len(rooms) or sum(counts) != len(balls):
        raise ValueError(f'{what!r} does not fit {len(balls)} balls and {len(rooms)} rooms')
    rest = list(balls)
    return {rest.pop(): room for room, many in zip(rooms, counts, strict=True) for _ in range(many)}


def _ball_goal(clauses: Sequence[str], start: _Places, objects: Objects) -> list[Atom]:
    rooms, balls, grippers = (list(objects[kind]) for kind in ('room', 'ball', 'gripper'))
    what, *more = clauses
    if what == 'every ball is carried by a gripper':
        _check_only(more, [])
        return _ball_atoms(dict(zip(balls, grippers, strict=False)), objects, ())
    if re.fullmatch(r'exactly \d+ of the grippers carry one ball each', what):
        _check_only(more, [_OTHERS])
        pairs = dict(zip(balls[: _numbers(what)[0]], reversed(grippers), strict=False))
        return _ball_atoms(pairs, objects, grippers)
    carried = {place: ball for ball, place in start.items() if place in grippers}
    if what == _JUGGLED:
        _check_only(more, [_OTHERS, 'all other balls lie where they lay'])
        hands = sorted(carried, key=grippers.index)
        moved = {carried[hand]: after for hand, after in zip(hands, [*hands[1:], hands[0]],
                                                             strict=True)}  # fmt: skip
        return _ball_atoms({**start, **moved}, objects, grippers)
    if what == _DROPPED:
        _check_only(more, [_TAKEN])
        lying = sorted((b for b in start if start[b] in rooms), key=lambda b: rooms.index(start[b]))
        taken = dict(zip(lying, grippers, strict=False))
        return _ball_atoms({**dict.fromkeys(carried.values(), rooms[0]), **taken}, objects, ())
    _check_only(more, [_EMPTY])
    return _ball_atoms(_arranged(what, start, rooms, balls), objects, grippers)


def _arranged(what: str, start: _Places, rooms: list[str], balls: list[str]) -> _Places:
    """Balls in rooms, in a goal where all grippers are empty."""
    if what == 'all balls lie together in one room':
        return dict.fromkeys(balls, rooms[0])
    if what == 'every ball lies in the room where it did not lie at the start':
        first, second = rooms
        return {ball: second if room == first else first for ball, room in start.items()}
    crowd = re.fullmatch(
        'all balls lie in the room that held the (most|fewest) balls at the start', what
    )
    if crowd is None:
        return _spread(what, 'the numbers of balls in the rooms are ', rooms, balls)
    counts = {room: list(start.values()).count(room) for room in rooms}
    many = (max if crowd[1] == 'most' else min)(counts.values())
    (chosen,) = (room for room in rooms if counts[room] == many)
    return dict.fromkeys(balls, chosen)


def _ball_atoms(places: _Places, objects: Objects, told: Sequence[str]) -> list[Atom]:
    """The atoms of balls at places, and of grippers that are stated to be free otherwise."""
    atoms: list[Atom] = [
        ('at' if place in objects['room'] else 'carry', ball, place)
        for ball, place in places.items()
    ]
    return [*atoms, *(('free', hand) for hand in told if hand not in places.values())]


_READERS: Mapping[
    str, Callable[[Sequence[str], Sequence[str], Objects], tuple[Iterable[Atom], Iterable[Atom]]]
] = {'blocksworld': _blocks, 'gripper': _balls, 'floor-tile': _tiles}


def parse_description(text: str, domain_name: str) -> Problem:
    """The problem that a description means, without looking at any other.

    Raises:
        DescriptionError: it does not say enough, or something that descriptions do not say.
    """
    found = _TEXT.fullmatch(text)
    if found is None:
        raise DescriptionError(text, 'has not the three parts of a description')
    objects = {}
    for kind in _LINK.split(_KIND.sub(lambda m: m.group().replace(' and ', ' to '),
                                      found['objects'])):  # fmt: skip
        said = _KIND.fullmatch(kind)
        if said is None or int(said[5] or 1) != int(said[1]) or (said[4] or said[3]) != said[3]:
            raise DescriptionError(kind, 'names other objects than it counts')
        objects[said[2]] = [f'{said[3]}{n}' for n in range(1, int(said[1]) + 1)]
    try:
        heard = _READERS[domain_name](
            found['start'].split('; '), found['goal'].split('; '), objects
        )
    except (ValueError, IndexError, KeyError) as error:
        raise DescriptionError(text, f'cannot be understood ({error})') from error
    init, goal = map(list, heard)
    domain = planetarium_domain(domain_name)
    kinds = {
        name: kind if domain.types else 'object'
        for kind, names in objects.items()
        for name in names
    }
    strange = {name for atom in (*init, *goal) for name in atom[1:]} - kinds.keys()
    if strange:
        raise DescriptionError(text, f'speaks of {min(strange)}, which it does not name at first')
    formula = And(tuple(AtomFormula(atom[0], atom[1:]) for atom in goal))
    return Problem('understood', domain, kinds, frozenset(init), formula, ())

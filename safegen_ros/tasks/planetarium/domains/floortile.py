# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Floor Tile: robots go wherever tiles lead, and paint stays.

A robot with a color that is not available can paint with it only until it changes to another one.
So whether it still has that color at last depends on the tiles left for the other robots.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from safegen_ros.pddl.model import Atom, State
from safegen_ros.pddl.plan import Step
from safegen_ros.tasks.planetarium.state_rules import GoalRules, StripsTask

_STATIC = ('up', 'right', 'available-color')

_Paint = tuple[str, str]
"""A tile and a color."""


class _Floor:
    """The tiles, and which lie beside which."""

    def __init__(self, init: State) -> None:
        self.beside: dict[str, dict[str, str]] = {}  # a tile, its neighbours, the way there
        for atom in sorted(init):
            if atom[0] in ('up', 'right'):
                there, here = atom[1:]
                back = 'down' if atom[0] == 'up' else 'left'
                self.beside.setdefault(here, {}).setdefault(there, atom[0])
                self.beside.setdefault(there, {}).setdefault(here, back)
        self._islands: dict[str, frozenset[str]] = {}

    def island(self, tile: str) -> frozenset[str]:
        """The tiles that can be reached from one."""
        if tile not in self._islands:
            found, waiting = {tile}, [tile]
            while waiting:
                fresh = self.beside.get(waiting.pop(), {}).keys() - found
                found |= fresh
                waiting += fresh
            self._islands.update(dict.fromkeys(found, frozenset(found)))
        return self._islands[tile]

    def way(self, start: str, ends: Iterable[str]) -> list[tuple[str, str]]:
        """The moves to the nearest of some tiles of the same island, each with where it leads."""
        wanted = set(ends)
        came: dict[str, tuple[str, str]] = {start: ('', '')}
        waiting = deque([start])
        tile = start
        while waiting:
            tile = waiting.popleft()
            if tile in wanted:
                break
            for there, move in self.beside.get(tile, {}).items():
                if there not in came:
                    came[there] = (move, tile)
                    waiting.append(there)
        moves = []
        while tile != start:
            move, before = came[tile]
            moves.append((move, tile))
            tile = before
        return moves[::-1]


@dataclass(frozen=True, slots=True)
class _Robot:
    """A robot at first; empty strings where it has no tile or no color."""

    name: str
    tile: str
    color: str


class FloorTile(GoalRules):
    """The goal states of a Floor Tile problem."""

    domain = 'floor-tile'
    permutes = False

    def __init__(self, task: StripsTask, robots: list[_Robot]) -> None:
        self.goal = task.goal
        self._init = task.init
        self._floor = _Floor(task.init)
        self._robots = robots
        self._static = frozenset(atom for atom in task.init if atom[0] in _STATIC)
        self._available = sorted(a[1] for a in task.init if a[0] == 'available-color')
        self._painted = {(a[1], a[2]) for a in task.init if a[0] == 'painted'}
        self._at = {a[1]: a[2] for a in task.goal if a[0] == 'robot-at'}
        self._has = {a[1]: a[2] for a in task.goal if a[0] == 'robot-has'}
        goal = {(a[1], a[2]) for a in task.goal if a[0] == 'painted'}
        self._todo = sorted(goal - self._painted)
        self._colored = {robot.name: self._order(robot) for robot in robots}
        self._reached = {robot.name: self._reach(robot) for robot in robots}
        # Few kinds of paint, however many tiles: a color, and who gets to the tile.
        self._needs = {(color, self._near(tile)) for tile, color in self._todo}
        self._possible = self._can_be_reached()

    @classmethod
    def of(cls, task: StripsTask) -> FloorTile | None:
        """See `GoalRules`: no robot is at two tiles or has two colors."""
        tiles = [(a[1], a[2]) for a in task.init if a[0] == 'robot-at']
        colors = [(a[1], a[2]) for a in task.init if a[0] == 'robot-has']
        if len(dict(tiles)) < len(tiles) or len(dict(colors)) < len(colors):
            return None
        names = [name for name, kind in task.objects.items() if kind == 'robot']
        at, has = dict(tiles), dict(colors)
        return cls(task, [_Robot(n, at.get(n, ''), has.get(n, '')) for n in names])

    def _can_be_reached(self) -> bool:
        """Whether there is a goal state."""
        counted = sum(atom[0] in ('robot-at', 'robot-has') for atom in self.goal)
        return (
            counted == len(self._at) + len(self._has)
            and all(a in self._static for a in self.goal if a[0] in _STATIC)
            and all(
                self._at.get(robot.name, robot.tile) in (robot.tile, *self._reach(robot))
                and self._has.get(robot.name, robot.color) in self._colors(robot)
                for robot in self._robots
            )
            and self._covered(self._finals())
        )

    def _reach(self, robot: _Robot) -> frozenset[str]:
        return self._floor.island(robot.tile) if robot.tile else frozenset()

    def _order(self, robot: _Robot) -> list[str]:
        if not robot.color:
            return ['']
        return list(dict.fromkeys((robot.color, *self._available)))

    def _colors(self, robot: _Robot) -> list[str]:
        """The colors that a robot can have at last."""
        return self._colored[robot.name]

    def _near(self, tile: str) -> tuple[_Robot, ...]:
        """The robots that can paint a tile if they have the color."""
        if tile not in self._floor.beside:
            return ()
        return tuple(robot for robot in self._robots if tile in self._reached[robot.name])

    def _finals(self) -> dict[str, str]:
        """The last color of every robot, such that what the goal leaves open stands in no way.

        A robot that has changed its color has painted with all that it can paint with.
        """
        finals = {}
        for robot in self._robots:
            kept = robot.color in self._available or not self._available or not robot.color
            finals[robot.name] = robot.color if kept else self._available[0]
        return {**finals, **self._has}

    def _paints(self, robot: _Robot, final: str) -> list[str]:
        """The colors that a robot can paint with if it has one of them at last, in their order."""
        if robot.color == final and final not in self._available:
            return [final] if final else []
        return self._colors(robot)

    def _covered(self, finals: Mapping[str, str]) -> bool:
        """Whether all that has to be painted can be, by robots that end with given colors."""
        paints = {robot.name: self._paints(robot, finals[robot.name]) for robot in self._robots}
        return all(
            any(color in paints[robot.name] for robot in near) for color, near in self._needs
        )

    def _painter(self, paint: _Paint, finals: Mapping[str, str]) -> _Robot | None:
        tile, color = paint
        return next((r for r in self._near(tile) if color in self._paints(r, finals[r.name])), None)

    def goal_state(self) -> State | None:
        """See `GoalRules`; robots go nowhere and paint nothing that the goal does not ask for."""
        if not self._possible:
            return None
        at = {r.name: r.tile for r in self._robots if r.tile} | self._at
        atoms: set[Atom] = {('robot-at', *each) for each in at.items()}
        atoms |= {('robot-has', *each) for each in self._finals().items() if each[1]}
        return self._static | atoms | {('painted', *p) for p in (*self._painted, *self._todo)}

    def _forced(self, atom: Atom) -> bool:
        if atom[0] not in ('robot-at', 'robot-has'):
            return True
        robot = next(robot for robot in self._robots if robot.name == atom[1])
        if atom[0] == 'robot-at':
            return self._reach(robot) <= {atom[2]}
        finals = self._finals()
        others = [color for color in self._colors(robot) if color != atom[2]]
        return not any(self._covered({**finals, robot.name: color}) for color in others)

    def steps_to(self, state: State) -> tuple[Step, ...]:
        """See `GoalRules`; each robot paints what is nearest, with one color after the other."""
        at = {atom[1]: atom[2] for atom in state if atom[0] == 'robot-at'}
        finals = {robot.name: robot.color for robot in self._robots}
        finals.update({atom[1]: atom[2] for atom in state if atom[0] == 'robot-has'})
        paints = sorted((a[1], a[2]) for a in state if a[0] == 'painted')
        work: dict[str, list[_Paint]] = {robot.name: [] for robot in self._robots}
        for paint in paints:
            robot = None if paint in self._painted else self._painter(paint, finals)
            if robot is not None:
                work[robot.name].append(paint)
        steps: list[Step] = []
        for robot in self._robots:
            steps += self._work(robot, work[robot.name], finals[robot.name], at.get(robot.name, ''))
        return tuple(steps)

    def _work(self, robot: _Robot, paints: list[_Paint], color: str, tile: str) -> list[Step]:
        """Has one robot paint, and end at a tile with a color."""
        steps: list[Step] = []
        here, has = robot.tile, robot.color
        for each in dict.fromkeys((robot.color, *sorted({color for _, color in paints}), color)):
            if each != has:
                steps.append(Step('change-color', (robot.name, has, each)))
                has = each
            left = {painted for painted, wanted in paints if wanted == each}
            while left:
                near = {beside for painted in left for beside in self._floor.beside[painted]}
                for move, there in self._floor.way(here, near):
                    steps.append(Step(move, (robot.name, here, there)))
                    here = there
                for painted in sorted(left & self._floor.beside[here].keys()):
                    way = f'paint-{self._floor.beside[here][painted]}'
                    steps.append(Step(way, (robot.name, painted, here, each)))
                    left.remove(painted)
        for move, there in self._floor.way(here, [tile]):
            steps.append(Step(move, (robot.name, here, there)))
            here = there
        if has != color:
            steps.append(Step('change-color', (robot.name, has, color)))
        return steps

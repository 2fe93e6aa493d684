# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""States and steps of BoxNet as atoms and actions, as messages and cells have them.

`(move robot0 0.25 0.25 0.75 0.25)` moves a tip from one point to another; `carry` takes the object
along. A step has one for each robot that acts. The atoms of a state are `(tip robot0 0.25 0.25)`
and `(at object0 0.75 0.25)`.
"""

from __future__ import annotations

from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.pddl.model import State as Atoms
from safegen_ros.pddl.plan import Step as Action
from safegen_ros.robot.cell.execution import ConcurrentStep
from safegen_ros.tasks.boxnet.answers import PlanAnswerError, coordinate
from safegen_ros.tasks.boxnet.geometry import Point, number_text
from safegen_ros.tasks.boxnet.model import Move, State, Step, Task, object_name, robot_name
from safegen_ros.tasks.cells import refused

MOVE, CARRY = 'move', 'carry'

_AT, _TIP = 'at', 'tip'


def atoms(state: State) -> Atoms:
    """What holds in a state."""
    return frozenset(
        (_TIP, short_name(robot_name(n)), *_texts(point)) for n, point in enumerate(state.tips)
    ) | frozenset(
        (_AT, short_name(object_name(n)), *_texts(point)) for n, point in enumerate(state.objects)
    )


def state_of(task: Task, observed: Atoms) -> State:
    """The state with these atoms.

    Raises:
        SafegenError: they are not a state of this map (`STATE_MISMATCH`), or a number is
            unreadable.
    """
    places: dict[str, Point] = {}
    for kind, name, *numbers in (atom for atom in observed if len(atom) == 4):
        if kind in (_AT, _TIP):
            places[name] = _point(numbers[0], numbers[1], f'what is observed of {name}')
    names = [short_name(robot_name(n)) for n in range(len(task.bases))]
    names += [short_name(object_name(n)) for n in range(len(task.targets))]
    if set(places) != set(names) or len(observed) != len(names):
        raise RobotError(
            f'the observation does not have the places of {" ".join(names)}: look at the cell',
            ErrorCode.STATE_MISMATCH,
        )
    found = [places[name] for name in names]
    return State(tuple(found[: len(task.bases)]), tuple(found[len(task.bases) :]))


def actions(step: Step) -> ConcurrentStep:
    """A step of the world as actions, by robot."""
    return tuple(
        Action(
            CARRY if move.carry else MOVE,
            (short_name(robot_name(move.robot)), *_texts(move.start), *_texts(move.end)),
        )
        for move in sorted(step, key=lambda move: move.robot)
    )


def moves(task: Task, step: ConcurrentStep) -> Step:
    """The moves of actions; raises `SafegenError` where they are not moves."""
    robots = {short_name(name): robot for name, robot in task.robots.items()}
    found = tuple(_move(task, action, robots) for action in step)
    if len({move.robot for move in found}) < len(found):
        raise refused('a robot moves twice in a step: give each one move')
    return found


def _move(task: Task, action: Action, robots: dict[str, int]) -> Move:
    if action.action not in (MOVE, CARRY) or len(action.arguments) != 5:
        raise refused(f'{str(action)[:80]} is not a move: write (move robot0 x y x y), or carry')
    name, *numbers = action.arguments
    if name not in robots:
        raise refused(f'{name[:40]!a} is not a robot of this map: use {" ".join(robots)}')
    x, y, u, v = numbers
    start, end = (_point(a, b, str(action)[:80]) for a, b in ((x, y), (u, v)))
    return task.move(robots[name], start, end, action.action == CARRY)


def _point(x: str, y: str, place: str) -> Point:
    try:
        return coordinate(x, place, 0), coordinate(y, place, 0)
    except PlanAnswerError as error:
        raise refused(error.message) from None


def _texts(point: Point) -> tuple[str, str]:
    return number_text(point[0]), number_text(point[1])


def short_name(name: str) -> str:
    """What a robot or an object is called in atoms: `robot0` for `Robot 0`."""
    return name.lower().replace(' ', '')

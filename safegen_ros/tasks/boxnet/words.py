# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Maps, thoughts and moves as the few words that a small model reads and writes.

A map and its task, for the whole plan and for the next step:

    full object0 0.25 0.25 2.75 1.75 object1 2.75 0.25 1.25 0.25 base1,1 1.25 1.25 base2,1 2.25 1.25
    next object0 0.25 0.25 2.75 1.75 object1 2.75 0.25 1.25 0.25 base1,1 1.25 1.25 base2,1 2.25 1.25

Each object has its place and its target, each robot, which is called by its base, the place of its
tip. The answer gives for each move its object, a thought that the world does not see, and then the
move, with `then` between two steps:

    object0 base1,1 1.25 1.25 0.25 0.25 go object1 base2,1 2.25 1.25 2.75 0.25 go then ...

or says `unsolvable`. A move with `wait` is a thought, too: it was weighed and is not made in this
step, as its robot has another one or is in another's way. An object whose target is taken is named
with those that have to leave before, as in `object0 object3 wait`. Nothing is left out that the
rules depend on: where a move begins and whether it carries are the model's own words, and can be
wrong. A map of BoxNet3D has the same words, in metres.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain, takewhile

from safegen_ros.tasks.boxnet.answers import REFUSAL
from safegen_ros.tasks.boxnet.geometry import UNIT, Point, number_text
from safegen_ros.tasks.boxnet.model import Move, Plan, State, Task, object_name, robot_name
from safegen_ros.tasks.boxnet.verifier import judge

WHOLE, NEXT_STEP = 'full', 'next'
THEN, UNSOLVABLE = 'then', 'unsolvable'
_CARRY, _GO, _WAIT = 'take', 'go', 'wait'

_MOVE_WORDS = 6
_BASE = re.compile(r'base[0-9]+,[0-9]+')
_OBJECT = re.compile(r'object([0-9]{1,9})')
_COORDINATE = re.compile(r'-?[0-9]+\.[0-9]+')


def map_words(task: Task, state: State, mode: str) -> list[str]:
    """A map and its task.

    Args:
        mode: `WHOLE` for the whole plan, `NEXT_STEP` for the next step.
    """
    words = [mode]
    for index, (place, target) in enumerate(zip(state.objects, task.targets, strict=True)):
        words += [f'object{index}', *_point_words(place), *_point_words(target)]
    for base, tip in zip(task.bases, state.tips, strict=True):
        words += [_base_word(base), *_point_words(tip)]
    return words


Weighed = Iterable[tuple[Move, bool]]
"""Moves in the order in which they are thought of, and whether each is made."""


def answer_words(
    task: Task, state: State, plan: Plan | None, weigh: Callable[[State], Weighed] | None = None
) -> list[str]:
    """What the model is to answer.

    Args:
        plan: the steps, each of which may be taken; None for a task without a plan.
        weigh: the moves of a step with those that wait; those of the plan alone without it.
    """
    if plan is None:
        return [UNSOLVABLE]
    words = list[str]()
    states = judge(replace(task, start=state), plan).states
    for at, (before, step) in enumerate(zip(states, plan, strict=False)):
        words += [THEN] if at else []
        weighed = weigh(before) if weigh else ((move, True) for move in step)
        said = [move_words(task, before, move, made=made) for move, made in weighed]
        known = {each[0] for each in said}
        said += [wait for wait in wait_words(task, before).values() if wait[0] not in known]
        said.sort(key=_by_object)
        words += chain.from_iterable(said)
    return words


def _by_object(said: list[str]) -> float:
    """Objects in the order of their numbers, and then robots without one."""
    match = _OBJECT.fullmatch(said[0])
    return int(match[1]) if match else math.inf


def wait_words(task: Task, state: State) -> dict[Point, list[str]]:
    """By its place, each object whose target is taken, with all that have to leave before it.

    These are the object at its target, the one at the target of that, and so on, up to one that is
    named already: they stand in a ring.
    """
    at = {place: index for index, place in enumerate(state.objects)}
    taken = {index: at[target] for index, target in enumerate(task.targets) if target in at}
    found = dict[Point, list[str]]()
    for index, (place, target) in enumerate(zip(state.objects, task.targets, strict=True)):
        named = [index]
        while named[-1] in taken and named.count(named[-1]) == 1:
            named.append(taken[named[-1]])
        if target in at and target != place:
            found[place] = [*(f'object{each}' for each in named), _WAIT]
    return found


def move_words(task: Task, state: State, move: Move, *, made: bool = True) -> list[str]:
    """A move, behind the object that it is for: the one that it carries or goes to, if any."""
    place = move.start if move.carry else move.end
    words = [f'object{state.objects.index(place)}'] if place in state.objects else []
    words = wait_words(task, state).get(place, [*words, _WAIT])[:-1]
    words += [_base_word(task.bases[move.robot])]
    words += [*_point_words(move.start), *_point_words(move.end)]
    return [*words, (_CARRY if move.carry else _GO) if made else _WAIT]


def answer_in_json(text: str, task: Task, mode: str) -> str:
    """The words of an answer in the form that the verifier reads, with robots by their names.

    Args:
        task: whose robots are meant; a base without a robot becomes one that is not known.
        mode: as of `map_words`.

    Returns:
        The answer; other text is left as it came.
    """
    words = text.split()
    if words == [UNSOLVABLE]:
        return f'<think> There is no plan. </think>\n{REFUSAL}'
    steps, told = list[str](), list[str]()
    for part in f' {" ".join(words)} '.split(f' {THEN} '):
        moves = _said_moves(part.split(), task, told)
        if not moves:
            return text
        steps.append(f'{{{", ".join(moves)}}}')
    if mode == NEXT_STEP and len(steps) != 1:
        return text
    said = f'[{", ".join(steps)}]' if mode == WHOLE else steps[0]
    thoughts = ' '.join(told) or 'None is for an object.'
    return f'<think> {thoughts} </think>\n```json\n{said}\n```'


def _said_moves(words: Sequence[str], task: Task, told: list[str]) -> list[str]:
    """The moves of a step as in its JSON; empty where the words are not moves."""
    robots = {_base_word(base): robot for robot, base in enumerate(task.bases)}
    moves, at = list[str](), 0
    while at < len(words):
        named = list(takewhile(_OBJECT.fullmatch, words[at:]))
        names = [object_name(int(word.removeprefix('object'))) for word in named]
        at += len(named)
        if names[1:] and words[at : at + 1] == [_WAIT]:
            told.append(f'{names[0]} waits for {names[1]}.')
            at += 1
            continue
        said = _said_move(words[at : at + _MOVE_WORDS], robots, task.is_flat)
        if said is None:
            return []
        at += _MOVE_WORDS
        waits = words[at - 1] == _WAIT
        if names:
            told.append(f'{said[0]} {"waits" if waits else "moves"} for {names[0]}.')
        if not waits:
            moves.append(f'"{said[0]}": {said[1]}')
    return moves


def _said_move(words: Sequence[str], robots: dict[str, int], flat: bool) -> tuple[str, str] | None:
    """A robot and its action, as in the JSON of a step."""
    if len(words) < _MOVE_WORDS or words[-1] not in (_CARRY, _GO, _WAIT):
        return None
    if _BASE.fullmatch(words[0]) is None:
        return None
    if not all(map(_COORDINATE.fullmatch, words[1:5])):
        return None
    x, y, u, v = words[1:5]
    robot = robots.get(words[0])
    name = robot_name(robot) if robot is not None else f'the robot with {words[0]}'
    way = f'[{x}, {y}] -> [{u}, {v}]' if flat else f'Move [{u}, {v}]'
    return name, f'"{way}, {words[-1] == _CARRY}"'


def _base_word(base: Point) -> str:
    return f'base{base[0] // UNIT},{base[1] // UNIT}'


def _point_words(point: Point) -> tuple[str, str]:
    return number_text(point[0]), number_text(point[1])

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Maps, thoughts and moves as the few words that a small model reads and writes.

A map and what is to be done in it, for the whole plan and for the next step:

    full object0 0.25 0.25 2.75 1.75 base1,1 1.25 1.25 base2,1 2.25 1.25
    next object0 0.25 0.25 2.75 1.75 base1,1 1.25 1.25 base2,1 2.25 1.25

Each object has its place and its target, each robot, which is called by its base, the place of its
tip. The answer first thinks: how often each object that is not at its target has to be carried.
Then it moves, with `then` between two steps:

    object0 2 base1,1 1.25 1.25 0.25 0.25 go base2,1 2.25 1.25 1.75 1.75 go then ...

or says `unsolvable`. Nothing is left out that the rules depend on: where a move begins and whether
it carries are the model's own words, and can be wrong.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from safegen_ros.worlds.boxnet.answers import REFUSAL
from safegen_ros.worlds.boxnet.geometry import UNIT, Point, number_text
from safegen_ros.worlds.boxnet.model import Plan, State, Step, Task, object_name, robot_name
from safegen_ros.worlds.boxnet.routes import Routes

WHOLE, NEXT_STEP = 'full', 'next'
_CARRY, _GO, _THEN, _NONE = 'take', 'go', 'then', 'unsolvable'

_MOVE_WORDS = 6
_BASE = re.compile(r'base[0-9]+,[0-9]+')
_OBJECT = re.compile(r'object([0-9]+)')
_COORDINATE = re.compile(r'-?[0-9]+\.[0-9]+')


def map_words(task: Task, state: State, mode: str) -> list[str]:
    """A map and what is asked.

    Args:
        task: whose robots and targets they are.
        state: where things are.
        mode: `WHOLE` for the whole plan, `NEXT_STEP` for the next step.
    """
    words = [mode]
    for index, (place, target) in enumerate(zip(state.objects, task.targets, strict=True)):
        words += [f'object{index}', *_point_words(place), *_point_words(target)]
    for base, tip in zip(task.bases, state.tips, strict=True):
        words += [_base_word(base), *_point_words(tip)]
    return words


def answer_words(task: Task, state: State, plan: Plan | None) -> list[str]:
    """What the model is to answer.

    Args:
        task: whose robots they are.
        state: where the plan begins.
        plan: the steps; None for a task without a plan.
    """
    if plan is None:
        return [_NONE]
    routes = Routes(replace(task, start=state))
    words = list[str]()
    for index, (place, target) in enumerate(zip(state.objects, task.targets, strict=True)):
        if place != target:
            words += [f'object{index}', str(routes.carries[index][place])]
    for at, step in enumerate(plan):
        words += [_THEN] if at else []
        words += _step_words(task, step)
    return words


def _step_words(task: Task, step: Step) -> list[str]:
    """The moves of a step, those that carry first, since the others make room for them."""
    words = list[str]()
    for move in sorted(step, key=lambda each: (not each.carry, each.robot)):
        words += [_base_word(task.bases[move.robot])]
        words += [*_point_words(move.start), *_point_words(move.end)]
        words += [_CARRY if move.carry else _GO]
    return words


def answer_text(text: str, task: Task, mode: str) -> str:
    """The words of an answer in the form that the verifier reads, with robots by their names.

    Args:
        text: what the model wrote.
        task: whose robots are meant; a base without a robot becomes one that is not known.
        mode: as of `map_words`.

    Returns:
        The answer; what is none is left as it came.
    """
    words = text.split()
    told, at = list[str](), 0
    while at + 1 < len(words) and (match := _OBJECT.fullmatch(words[at])):
        told.append(f'{object_name(int(match[1]))} has to be carried {words[at + 1]} times.')
        at += 2
    thoughts = f'<think> {" ".join(told)} </think>\n' if told or words == [_NONE] else ''
    if words[at:] == [_NONE]:
        return thoughts + REFUSAL
    steps = _said_steps(words[at:], task)
    if steps is None or (mode == NEXT_STEP and len(steps) != 1):
        return text
    said = f'[{", ".join(steps)}]' if mode == WHOLE else steps[0]
    return f'{thoughts}```json\n{said}\n```'


def _said_steps(words: Sequence[str], task: Task) -> list[str] | None:
    """The JSON of each step; None where the words are no steps."""
    robots = {_base_word(base): robot for robot, base in enumerate(task.bases)}
    steps, moves = list[str](), list[str]()
    at = 0
    while at < len(words):
        if words[at] == _THEN:
            steps.append(f'{{{", ".join(moves)}}}')
            moves, at = [], at + 1
            continue
        said = _said_move(words[at : at + _MOVE_WORDS], robots)
        if said is None:
            return None
        moves.append(said)
        at += _MOVE_WORDS
    return [*steps, f'{{{", ".join(moves)}}}'] if moves else None


def _said_move(words: Sequence[str], robots: dict[str, int]) -> str | None:
    """A robot and what it does, as in the JSON of a step."""
    if len(words) < _MOVE_WORDS or words[-1] not in (_CARRY, _GO):
        return None
    if _BASE.fullmatch(words[0]) is None:
        return None
    if not all(map(_COORDINATE.fullmatch, words[1:5])):
        return None
    x, y, u, v = words[1:5]
    robot = robots.get(words[0])
    name = robot_name(robot) if robot is not None else f'the robot with {words[0]}'
    return f'"{name}": "[{x}, {y}] -> [{u}, {v}], {words[-1] == _CARRY}"'


def _base_word(base: Point) -> str:
    return f'base{base[0] // UNIT},{base[1] // UNIT}'


def _point_words(point: Point) -> tuple[str, str]:
    return number_text(point[0]), number_text(point[1])

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Rows of a dataset as what a chat model is to imitate: prompts, thoughts and answers.

The paper has a large model write the thoughts. Here every sentence is a fact about the map, derived
from the plan. It names reach, carries, the reason for a move, or why two arms do not touch.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

from safegen_ros.datasets.boxnet.recipe import load_recipe
from safegen_ros.datasets.boxnet.rows import BoxNetRow, read_rows
from safegen_ros.datasets.builder import RECIPE
from safegen_ros.datasets.files import DatasetError, writing
from safegen_ros.tasks.boxnet.answers import REFUSAL
from safegen_ros.tasks.boxnet.astar import Routes, UnsolvableMap, certificate
from safegen_ros.tasks.boxnet.geometry import Point, number_text, point_text
from safegen_ros.tasks.boxnet.model import Move, Plan, State, Step, Task, object_name, robot_name
from safegen_ros.tasks.boxnet.prompts import answer_text, plan_prompt
from safegen_ros.tasks.boxnet.reward import question
from safegen_ros.tasks.boxnet.verifier import judge, take_step
from safegen_ros.tasks.boxnet.words import NEXT_STEP, WHOLE

_AXES = (('left of', 'x'), ('below', 'y'))


def plan_thoughts(task: Task, state: State, plan: Plan) -> str:
    """What leads to a whole plan."""
    lines = ['I first look at what has to be done.', *_survey(task, state)]
    for at, step in enumerate(plan):
        lines += [f'Step {at + 1}.', *_step(task, state, plan[at:])]
        state = _after(task, state, step)
    lines.append(f'All objects are at their targets after {_count(len(plan), "step")}.')
    return '\n'.join(lines)


def step_thoughts(task: Task, state: State, rest: Plan) -> str:
    """What leads to the next step."""
    lines = ['I look at the map as it is now.', *_survey(task, state), 'The next step.']
    return '\n'.join([*lines, *_step(task, state, rest)])


def refusal_thoughts(proof: UnsolvableMap) -> str:
    """What leads to a refusal."""
    return (
        'I look for the robots that each object can be handed to. '
        f'{proof.reason}. So there is no plan, whatever the points that are used.'
    )


def _survey(task: Task, state: State) -> Iterator[str]:
    """What has to be done, object by object, and the steps that this takes at least."""
    routes = Routes(replace(task, start=state))
    least, slowest = 0, ''
    for index, (place, target) in enumerate(zip(state.objects, task.targets, strict=True)):
        name = object_name(index)
        if place == target:
            yield f'{name} is at its target {point_text(target)}.'
            continue
        carries = routes.carries[index][place]
        yield (
            f'{name} is at {point_text(place)}, reached by {_names(routes.robots[place])}, and '
            f'goes to {point_text(target)}, reached by {_names(routes.robots[target])}: '
            f'{_count(carries, "carry", "carries")}.'
        )
        needed = carries + (place not in state.tips)
        if needed > least:
            fetched = '' if place in state.tips else ', after an arm has gone there'
            least, slowest = needed, f'{name} must be carried {_count(carries, "time")}{fetched}'
    if least:
        yield f'{slowest}, so {_count(least, "step")} at least.'


def _step(task: Task, state: State, rest: Plan) -> Iterator[str]:
    """Why each robot acts as it does in the first of some steps, and why none touch."""
    step = rest[0]
    for move in step:
        yield f'{robot_name(move.robot)} {_purpose(task, state, rest, move)}; {_reach(task, move)}.'
    apart = [
        f'{robot_name(one.robot)} and {robot_name(other.robot)}'
        for one, other in combinations(step, 2)
        if other.robot not in task.neighbours[one.robot]
    ]
    for one, other in combinations(step, 2):
        if other.robot in task.neighbours[one.robot]:
            yield _clear(task, one, other)
    if apart:
        yield f'Too far from each other to touch: {", ".join(apart)}.'
    if len(step) > 1:
        yield f'So these {len(step)} can move at once.'


def _purpose(task: Task, state: State, rest: Plan, move: Move) -> str:
    end = point_text(move.end)
    if move.carry:
        index = state.objects.index(move.start)
        if move.end == task.targets[index]:
            return f'carries {object_name(index)} to its target {end}'
        after = _carrier(rest[1:], move.end)
        then = ''
        if after is not None and after != move.robot:
            then = f', where {robot_name(after)} takes it'
        return f'carries {object_name(index)} to {end}{then}'
    if move.end in state.objects:
        return f'goes to {object_name(state.objects.index(move.end))} at {end}'
    if _carrier(rest[1:], move.end) == move.robot:
        return f'goes to {end}, where an object will come'
    return f'goes to {end}, out of the way'


def _carrier(steps: Plan, place: Point) -> int | None:
    """Who is the next to carry something away from a place."""
    return next(
        (move.robot for step in steps for move in step if move.carry and move.start == place), None
    )


def _reach(task: Task, move: Move) -> str:
    base = task.bases[move.robot]
    far = (number_text(abs(at - of)) for at, of in zip(move.end, base, strict=True))
    return f'from its base {point_text(base)} that is {" and ".join(far)}, each less than 1'


def _clear(task: Task, one: Move, other: Move) -> str:
    """Why two robots that could touch do not."""
    names = robot_name(one.robot), robot_name(other.robot)
    points = [(task.bases[move.robot], move.start, move.end) for move in (one, other)]
    for axis, (side, letter) in enumerate(_AXES):
        spans = [[point[axis] for point in own] for own in points]
        for low, high in ((0, 1), (1, 0)):
            if max(spans[low]) < min(spans[high]):
                line = number_text((max(spans[low]) + min(spans[high])) // 2)
                return f'{names[low]} stays {side} {letter} = {line} and {names[high]} does not.'
    return (
        f'{names[0]} and {names[1]} are close, but neither their ways nor their arms after the '
        'step have a point in common.'
    )


def _after(task: Task, state: State, step: Step) -> State:
    found = take_step(task, state, step)
    if not isinstance(found, State):
        raise ValueError(f'{task.id}: the plan is refused: {found.reason}')
    return found


def _names(robots: list[int]) -> str:
    return ', '.join(map(robot_name, sorted(robots))) or 'no robot'


def _count(number: int, one: str, many: str = '') -> str:
    return f'{number} {one if number == 1 else many or one + "s"}'


TRACES = 'traces'
"""Folder of the traces in that of a dataset."""


@dataclass(frozen=True, slots=True)
class Traces:
    """The files of a mode and split.

    Attributes:
        name: of the file, in the folder of the dataset.
        words: of an answer, mean.
    """

    name: str
    count: int
    words: float


def write_traces(folder: Path) -> list[Traces]:
    """Writes the traces of a dataset, for each mode a folder that `safegen train` reads.

    The splits for training are in `train.jsonl`, those unsolvable among them; `test` is in
    `test.jsonl`, for the validation loss.

    Raises:
        DatasetError: a split is unreadable, or a file cannot be written.
    """
    names = [split.name for split in load_recipe(folder / RECIPE).splits]
    found = []
    for mode in (WHOLE, NEXT_STEP):
        for name, splits in (('train', ('train', 'train_unsolvable')), ('test', ('test',))):
            rows = (
                row
                for split in splits
                if split in names
                for row in read_rows(folder / f'{split}.jsonl')
            )
            path = Path(TRACES) / mode / f'{name}.jsonl'
            lengths = list(_write(folder / path, rows, mode))
            mean = fmean(lengths) if lengths else 0.0
            found.append(Traces(str(path), len(lengths), mean))
    return found


def _write(path: Path, rows: Iterable[BoxNetRow], mode: str) -> Iterator[int]:
    """Writes a line for each trace, and returns the number of words of its answer."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open('w', encoding='utf-8') as file:
            for row in rows:
                for prompt, answer, asked in _pairs(row, mode):
                    values = {
                        'prompt': prompt,
                        'completion': answer,
                        'group': 'solvable' if row.plan is not None else 'unsolvable',
                        'task': asked,
                    }
                    file.write(json.dumps(values) + '\n')
                    yield len(answer.split())


def _pairs(row: BoxNetRow, mode: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Prompts and answers of a row, each with the data for its reward."""
    task, plan, whole = row.task, row.plan, mode == WHOLE
    if plan is None:
        proof = certificate(task)
        if proof is None:
            raise DatasetError(f'{task.id}: has a plan, and none is given: build it again')
        answer = f'<think> {refusal_thoughts(proof)} </think>\n{REFUSAL}'
        yield plan_prompt(task, whole=whole), answer, question(task, task.start, None, mode)
        return
    states = [task.start] if whole else judge(task, plan).states[:-1]
    for at, state in enumerate(states):
        left = plan[at:]
        thoughts = (plan_thoughts if whole else step_thoughts)(task, state, left)
        answer = answer_text(thoughts, left if whole else left[:1], whole=whole)
        asked = plan_prompt(replace(task, start=state), whole=whole)
        yield asked, answer, question(task, state, left, mode)

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reads tasks of BoxNet2D and BoxNet3D from JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from safegen_ros.pddl.text_files import read_text
from safegen_ros.schema import no_constant
from safegen_ros.tasks.boxnet.geometry import UNIT, Point
from safegen_ros.tasks.boxnet.model import BoxnetError, State, Task

if TYPE_CHECKING:
    from safegen_ros.tasks.boxnet.spatial import SpatialTask

_FIELDS = ('id', 'width', 'height', 'objects', 'targets', 'bases', 'tips')


def read_task(path: Path, id: str = '') -> Task:
    """The task in a file of one JSON object, or one of a file with a task on each line.

    Args:
        id: of the task; empty for the first one.

    Raises:
        SafegenError: the file cannot be read, or holds no such task.
    """
    text = read_text(path, 'task')
    texts = text.splitlines() if path.suffix == '.jsonl' else [text]
    for number, each in enumerate(texts, 1):
        task = task_of(each, f'{path}:{number}' if len(texts) > 1 else str(path))
        if id in ('', task.id):
            return task
    raise BoxnetError(f'{path}: has no task {id[:40]!a}: name another, or leave out --id')


def is_spatial(task: Task) -> TypeGuard[SpatialTask]:
    """Whether the arms of a task have a shape; only then is `spatial` loaded."""
    return not task.is_flat


def task_of(text: str, source: str) -> Task:
    """A task from its JSON.

    Args:
        text: one object with the fields of `Task.to_json`; others are left alone.
        source: where it is from, for messages.

    Raises:
        BoxnetError: the text is not a task.
    """
    try:
        values = json.loads(text, parse_float=Decimal, parse_constant=no_constant)
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise BoxnetError(f'{source}: is not JSON: {error}: name a task in JSON') from error
    if not isinstance(values, dict) or not values.keys() >= set(_FIELDS):
        raise BoxnetError(f'{source}: is not a task: give the fields {" ".join(_FIELDS)}')
    if not isinstance(values['id'], str) or not values['id'].isprintable():
        raise BoxnetError(f'{source}: id: must be a text')
    for name in ('width', 'height'):
        if type(values[name]) is not int:
            raise BoxnetError(f'{source}: {name}: must be a whole number')
    make: Callable[..., Task] = Task
    if 'arm' in values:
        # Loads numpy, which flat maps do without.
        from safegen_ros.tasks.boxnet.spatial import SpatialTask

        if not isinstance(values['arm'], str):
            raise BoxnetError(f'{source}: arm: must be a text')
        make = partial(SpatialTask, arm=values['arm'])
    points = {
        name: points_of(values[name], f'{source}: {name}')
        for name in ('objects', 'targets', 'bases', 'tips')
    }
    try:
        start = State(points['tips'], points['objects'])
        sizes = values['width'], values['height']
        return make(values['id'], *sizes, points['bases'], start, points['targets'])
    except BoxnetError as error:
        raise BoxnetError(f'{source}: {error.message}') from None


def points_of(value: Any, place: str) -> tuple[Point, ...]:
    """Points from the values of a JSON list of them.

    Raises:
        BoxnetError: the value is not a list of points, or a number is too large or too fine.
    """
    if not isinstance(value, list):
        raise BoxnetError(f'{place}: must be a list of points')
    return tuple(_point(each, f'{place}[{at}]') for at, each in enumerate(value))


def _point(value: Any, place: str) -> Point:
    if not isinstance(value, list) or len(value) != 2:
        raise BoxnetError(f'{place}: must be [x, y]')
    return _coordinate(value[0], place), _coordinate(value[1], place)


def _coordinate(value: Any, place: str) -> int:
    # Compared before it is multiplied: a number of a million digits is not worth the time.
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise BoxnetError(f'{place}: must be two numbers')
    if not -1000 <= value <= 1000:
        raise BoxnetError(f'{place}: is far outside of every map')
    exponent = Decimal(value).as_tuple().exponent
    scaled = Decimal(value) * UNIT  # exact, where the decimals are few
    if not isinstance(exponent, int) or exponent < -12 or scaled != scaled.to_integral_value():
        raise BoxnetError(f'{place}: has more than six decimals: round it')
    return int(scaled)

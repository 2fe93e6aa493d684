# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reads what a planner writes: thoughts between tags, then the steps as JSON (paper, listing 4)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.schema import no_constant
from safegen_ros.tasks.boxnet.findings import Fault, Finding
from safegen_ros.tasks.boxnet.geometry import UNIT, Point
from safegen_ros.tasks.boxnet.model import Move, Plan, Step

MOST_CHARACTERS = 200_000
MOST_STEPS = 500

REFUSAL = 'This is an unsolvable environment'
"""The planner's answer in the paper for a task that no plan solves (appendix C.4)."""

_FENCE = re.compile(r'```(?:json)?[ \t]*\n(.*?)```', re.DOTALL)
_MOVE = re.compile(
    r'\s*\[([^\[\],]*),([^\[\],]*)\]\s*->\s*\[([^\[\],]*),([^\[\],]*)\]\s*,\s*(True|False)\s*'
)
_NUMBER = re.compile(r'\s*(-?)([0-9]+)(?:\.([0-9]+))?\s*')
_FORM = '"[x, y] -> [x, y], True" or "... False"'
_CLOSE = '</think>'

MoveReader = Callable[[Any, int, str, int], Move]
"""Reads the value of a robot: the value, the robot, the place for messages, the step."""


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """What an answer says.

    Attributes:
        formatted: whether it has the form that is asked for: thoughts between tags, then the JSON.
        refused: whether it says that there is no plan; it has no steps then.
    """

    plan: Plan
    formatted: bool = False
    refused: bool = False


class PlanAnswerError(SafegenError):
    """An answer that cannot be read; `fault` says what and where."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.reason, ErrorCode.PLAN_REFUSED)
        self.fault = fault


class _Pairs(list[tuple[str, Any]]):
    """The fields of an object of JSON as they were written, those given twice among them."""


def read_plan(text: str, robots: Mapping[str, int], form: MoveReader | None = None) -> PlanAnswer:
    """The plan of an answer that gives all steps at once.

    Args:
        robots: the index of each robot by its name.
        form: reads a move that is written otherwise than in BoxNet2D.

    Raises:
        AnswerError: the answer has no such plan.
    """
    body, formatted = _body(text)
    if _refuses(body):
        return PlanAnswer((), formatted, refused=True)
    value = _json(body)
    if isinstance(value, _Pairs) or not isinstance(value, list):
        raise unreadable(
            f'the answer is {_kind(value)}: give a JSON list with an object for each step'
        )
    if len(value) > MOST_STEPS:
        raise unreadable(f'the answer has {len(value)} steps: {MOST_STEPS} at most')
    steps = (_step(each, at, robots, form or _move) for at, each in enumerate(value))
    return PlanAnswer(tuple(steps), formatted)


def read_step(text: str, robots: Mapping[str, int], form: MoveReader | None = None) -> PlanAnswer:
    """The step of an answer that gives the next one alone, as a plan; see `read_plan`."""
    body, formatted = _body(text)
    if _refuses(body):
        return PlanAnswer((), formatted, refused=True)
    return PlanAnswer((_step(_json(body), 0, robots, form or _move),), formatted)


def without_strays(text: str, robots: Mapping[str, int]) -> str:
    """The JSON of an answer without unknown robots, and without repetitions.

    Raises:
        AnswerError: there is no JSON.
    """
    value = _json(_body(text)[0])
    if isinstance(value, _Pairs):
        return json.dumps(_known(value, robots))
    steps = value if isinstance(value, list) else [value]
    return json.dumps([_known(step, robots) for step in steps])


def _known(step: Any, robots: Mapping[str, int]) -> Any:
    if not isinstance(step, _Pairs):
        return step
    found: dict[str, Any] = {}
    for name, said in step:
        if name in robots:
            found.setdefault(name, said)
    return found


def has_form(text: str) -> bool:
    """Whether an answer is thoughts between tags and then one fenced text (r_format)."""
    try:
        return _body(text)[1]
    except PlanAnswerError:
        return False


def _body(text: str) -> tuple[str, bool]:
    """The part of an answer behind its thoughts and inside its fence."""
    if len(text) > MOST_CHARACTERS:
        raise unreadable(f'the answer has {len(text):,} characters: {MOST_CHARACTERS:,} at most')
    thoughts, closed, rest = text.rpartition(_CLOSE)
    if not closed and '<think>' in text:
        raise unreadable(f'the thoughts do not end: close them with {_CLOSE}, then give the JSON')
    tagged = bool(closed) and thoughts.lstrip().startswith('<think>')
    fenced = _FENCE.findall(rest)
    if len(fenced) > 1:
        raise unreadable(f'there are {len(fenced)} fenced texts: give one with the whole answer')
    if fenced:
        return fenced[0], tagged
    return rest, tagged and _refuses(rest)


def _refuses(body: str) -> bool:
    return body.strip().rstrip('.') == REFUSAL


def _json(body: str) -> Any:
    try:
        return json.loads(body, object_pairs_hook=_Pairs, parse_constant=no_constant)
    except RecursionError:
        raise unreadable('the JSON is nested too deeply') from None
    except ValueError as error:
        raise unreadable(
            f'the answer is not JSON: {error}: give the JSON alone, in one fence'
        ) from None


def _step(value: Any, at: int, robots: Mapping[str, int], read: MoveReader) -> Step:
    place = f'step {at + 1}'
    if not isinstance(value, _Pairs):
        raise unreadable(f'{place}: is {_kind(value)}: give an object of robots and moves', at)
    moves: dict[int, Move] = {}
    for name, said in value:
        robot = robots.get(name)
        if robot is None:
            raise unreadable(
                f'{place}: there is no robot {name[:40]!a}: use {next(iter(robots))} to '
                f'{next(reversed(list(robots)))}',
                at,
                Finding.UNKNOWN_ROBOT,
            )
        if robot in moves:
            raise unreadable(
                f'{place}: {name} is named twice: give it one move in a step',
                at,
                Finding.REPEATED_ROBOT,
                robot,
            )
        moves[robot] = read(said, robot, f'{place}: {name}', at)
    return tuple(moves.values())


def _move(said: Any, robot: int, place: str, at: int) -> Move:
    match = _MOVE.fullmatch(said) if isinstance(said, str) and len(said) <= 200 else None
    if match is None:
        raise unreadable(f'{place}: is not a move: write {_FORM}', at, robot=robot)
    x, y, u, v = (coordinate(match[n], place, at) for n in range(1, 5))
    start: Point = (x, y)
    return Move(robot, start, (u, v), match[5] == 'True')


def coordinate(text: str, place: str, at: int) -> int:
    """A number of a text in the unit of coordinates.

    Raises:
        AnswerError: the text is not a number, or has too many digits.
    """
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise unreadable(f'{place}: {text.strip()[:20]!a} is not a coordinate: write 1.25', at)
    sign, whole, part = match[1], match[2].lstrip('0'), (match[3] or '').rstrip('0')
    if len(whole) > 4:
        raise unreadable(f'{place}: {text.strip()[:20]!a} is far outside of every map', at)
    if len(part) > 6:
        raise unreadable(f'{place}: {text.strip()[:20]!a} has more than six decimals: round it', at)
    value = int(whole or '0') * UNIT + int(part.ljust(6, '0'))
    return -value if sign else value


def unreadable(
    reason: str, step: int = -1, finding: Finding = Finding.UNPARSEABLE, robot: int | None = None
) -> PlanAnswerError:
    """What to raise of an answer that cannot be read.

    Args:
        step: index of the step; -1 where no single one is meant.
    """
    return PlanAnswerError(Fault(finding, reason, step, () if robot is None else (robot,)))


def _kind(value: Any) -> str:
    if isinstance(value, _Pairs):
        return 'an object'
    return {list: 'a list', str: 'a text', type(None): 'null'}.get(type(value), 'a number or flag')

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reads what a planner writes: thoughts between tags, then the steps as JSON (paper, listing 4)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.worlds.boxnet.findings import Fault, Finding
from safegen_ros.worlds.boxnet.geometry import UNIT, Point
from safegen_ros.worlds.boxnet.model import Move, Plan, Step

MOST_CHARACTERS = 200_000
MOST_STEPS = 500

REFUSAL = 'This is an unsolvable environment'
"""What the paper has a planner say of a task that no plan solves (appendix C.4)."""

_FENCE = re.compile(r'```(?:json)?[ \t]*\n(.*?)```', re.DOTALL)
_MOVE = re.compile(
    r'\s*\[([^\[\],]*),([^\[\],]*)\]\s*->\s*\[([^\[\],]*),([^\[\],]*)\]\s*,\s*(True|False)\s*'
)
_NUMBER = re.compile(r'\s*(-?)([0-9]+)(?:\.([0-9]+))?\s*')
_FORM = '"[x, y] -> [x, y], True" or "... False"'
_CLOSE = '</think>'


@dataclass(frozen=True, slots=True)
class Answer:
    """What an answer says.

    Attributes:
        plan: its steps.
        formatted: whether it has the form that is asked for: thoughts between tags, then the JSON.
        refused: whether it says that there is no plan; it has no steps then.
    """

    plan: Plan
    formatted: bool = False
    refused: bool = False


class AnswerError(SafegenError):
    """An answer that cannot be read; `fault` says what and where."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.reason, ErrorCode.PLAN_REFUSED)
        self.fault = fault


class _Pairs(list[tuple[str, Any]]):
    """The fields of an object of JSON as they were written, those given twice among them."""


def read_plan(text: str, robots: Mapping[str, int]) -> Answer:
    """The plan of an answer that gives all steps at once.

    Args:
        text: the answer.
        robots: the index of each robot by its name.

    Raises:
        AnswerError: it is none.
    """
    body, formatted = _body(text)
    if _refuses(body):
        return Answer((), formatted, refused=True)
    value = _json(body)
    if isinstance(value, _Pairs) or not isinstance(value, list):
        raise _error(f'the answer is {_kind(value)}: give a JSON list with an object for each step')
    if len(value) > MOST_STEPS:
        raise _error(f'the answer has {len(value)} steps: {MOST_STEPS} at most')
    return Answer(tuple(_step(each, at, robots) for at, each in enumerate(value)), formatted)


def read_step(text: str, robots: Mapping[str, int]) -> Answer:
    """The step of an answer that gives the next one alone, as a plan of one step.

    Args:
        text: the answer.
        robots: the index of each robot by its name.

    Raises:
        AnswerError: it is none.
    """
    body, formatted = _body(text)
    if _refuses(body):
        return Answer((), formatted, refused=True)
    return Answer((_step(_json(body), 0, robots),), formatted)


def has_form(text: str) -> bool:
    """Whether an answer is thoughts between tags and then one fenced text (r_format)."""
    try:
        return _body(text)[1]
    except AnswerError:
        return False


def _body(text: str) -> tuple[str, bool]:
    """The part of an answer behind its thoughts and inside its fence."""
    if len(text) > MOST_CHARACTERS:
        raise _error(f'the answer has {len(text):,} characters: {MOST_CHARACTERS:,} at most')
    thoughts, closed, rest = text.rpartition(_CLOSE)
    if not closed and '<think>' in text:
        raise _error(f'the thoughts do not end: close them with {_CLOSE}, then give the JSON')
    tagged = bool(closed) and thoughts.lstrip().startswith('<think>')
    fenced = _FENCE.findall(rest)
    if len(fenced) > 1:
        raise _error(f'there are {len(fenced)} fenced texts: give one with the whole answer')
    if fenced:
        return fenced[0], tagged
    return rest, tagged and _refuses(rest)


def _refuses(body: str) -> bool:
    return body.strip().rstrip('.') == REFUSAL


def _json(body: str) -> Any:
    try:
        return json.loads(body, object_pairs_hook=_Pairs, parse_constant=_no_constant)
    except RecursionError:
        raise _error('the JSON is nested too deeply') from None
    except ValueError as error:
        raise _error(
            f'the answer is not JSON: {error}: give the JSON alone, in one fence'
        ) from None


def _step(value: Any, at: int, robots: Mapping[str, int]) -> Step:
    place = f'step {at + 1}'
    if not isinstance(value, _Pairs):
        raise _error(f'{place}: is {_kind(value)}: give an object of robots and moves', at)
    moves: dict[int, Move] = {}
    for name, said in value:
        robot = robots.get(name)
        if robot is None:
            raise _error(
                f'{place}: there is no robot {name[:40]!a}: use {next(iter(robots))} to '
                f'{next(reversed(list(robots)))}',
                at,
                Finding.UNKNOWN_ROBOT,
            )
        if robot in moves:
            raise _error(
                f'{place}: {name} is named twice: give it one move in a step',
                at,
                Finding.REPEATED_ROBOT,
                robot,
            )
        moves[robot] = _move(said, robot, f'{place}: {name}', at)
    return tuple(moves.values())


def _move(said: Any, robot: int, place: str, at: int) -> Move:
    match = _MOVE.fullmatch(said) if isinstance(said, str) and len(said) <= 200 else None
    if match is None:
        raise _error(f'{place}: is not a move: write {_FORM}', at, robot=robot)
    x, y, u, v = (_coordinate(match[n], place, at) for n in range(1, 5))
    start: Point = (x, y)
    return Move(robot, start, (u, v), match[5] == 'True')


def _coordinate(text: str, place: str, at: int) -> int:
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise _error(f'{place}: {text.strip()[:20]!a} is no coordinate: write it as 1.25', at)
    sign, whole, part = match[1], match[2].lstrip('0'), (match[3] or '').rstrip('0')
    if len(whole) > 4:
        raise _error(f'{place}: {text.strip()[:20]!a} is far outside of every map', at)
    if len(part) > 6:
        raise _error(f'{place}: {text.strip()[:20]!a} has more than six decimals: round it', at)
    value = int(whole or '0') * UNIT + int(part.ljust(6, '0'))
    return -value if sign else value


def _error(
    reason: str, step: int = -1, finding: Finding = Finding.UNPARSEABLE, robot: int | None = None
) -> AnswerError:
    return AnswerError(Fault(finding, reason, step, () if robot is None else (robot,)))


def _kind(value: Any) -> str:
    if isinstance(value, _Pairs):
        return 'an object'
    return {list: 'a list', str: 'a text', type(None): 'null'}.get(type(value), 'a number or flag')


def _no_constant(name: str) -> float:
    raise ValueError(f'{name} is not a number')

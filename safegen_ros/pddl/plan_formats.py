# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plans as the field's planners and libraries write them, put into steps in parentheses.

A text is converted only when all of it is in one of the formats, since a part of a plan is another
plan. `lenient` converts runs of whole lines and leaves every other line as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any

_NAME = r'[A-Za-z0-9_][\w\-]*'
_OBJECT = rf'@?{_NAME}'
_TIME = r'\d{1,20}(?:\.\d{0,20})?'

_STEP = re.compile(rf'\(\s*{_NAME}(?:\s+{_OBJECT})*\s*\)', re.ASCII)
_WORDS = rf'{_NAME}(?:[ \t]+{_OBJECT})*'
_FF = re.compile(rf'(step[ \t]+)?(\d{{1,9}})[ \t]*:[ \t]*({_WORDS})', re.A | re.I)
_CALL = re.compile(
    rf'(?:({_TIME}):[ \t]*)?({_NAME})(\([ \t]*(?:{_OBJECT}(?:[ \t]*,[ \t]*{_OBJECT})*)?[ \t]*\))?'
    rf'(?:[ \t]+(\[{_TIME}\]))?',
    re.ASCII,
)
_LISTED = re.compile(rf'(?:SequentialPlan\(\[|\[)({_NAME}[\w@\- \t,()]*)(?:\]\)|\])', re.ASCII)
_COMMA = re.compile(r',(?![^()]*\))')  # between calls, not inside one
_COUNTED = re.compile(rf'({_WORDS})[ \t]+\(\d{{1,9}}\)', re.ASCII)

_TERMINAL = 'plan:'
_HEADS = ('SequentialPlan:', 'TimeTriggeredPlan:')


def plain(text: str) -> str:
    """The steps of a text that is wholly in one of the ways below; any other text as it is.

    FF prints `step 0: GO A B` with `1: GO B C` below it, unified-planning `go(a, b)` on each line,
    with or without `SequentialPlan:` above, or `[go(a, b), wait]`, the terminal of PlanSys2 `plan:`
    above timed steps, and planning.domains JSON.
    """
    if text.lstrip().startswith('{'):
        return '\n'.join(_from_json(text)) or text
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return text
    head, rest = lines[0], lines[1:]
    if head == _TERMINAL:
        return text.replace(head, ' ' * len(head), 1)  # every place stays where it is
    if head in _HEADS:
        found = [_call(line) for line in rest]
    elif len(lines) == 1 and '(' in head and (listed := _LISTED.fullmatch(head)):
        found = [_call(part.strip()) for part in _COMMA.split(listed[1])]
    elif _FF.fullmatch(head):
        return '\n'.join(_numbered(lines)) or text
    else:
        found = [_call(line) if '(' in line else None for line in lines]
    # One line of another kind, and none is read.
    return text if None in found else '\n'.join(map(str, found))


def lenient(lines: Sequence[str], is_step: Callable[[str], bool]) -> list[str]:
    """The lines of a log with the steps of FF, Fast Downward and unified-planning in parentheses.

    Beside a step in parentheses nothing is changed: that text has two ways, and so is in doubt.

    Args:
        lines: of a text; as many come back.
        is_step: whether a step in parentheses is one of the problem's.
    """
    found = list(lines)
    if any(map(is_step, lines)):
        return found
    for place, line in enumerate(lines):
        text = line.strip()
        if re.match(r'step\s+0\s*:', text, re.I):
            block = takewhile(_FF.fullmatch, map(str.strip, lines[place:]))
            run = _numbered(list(block))
            found[place : place + len(run)] = [f'step {n}: {step}' for n, step in enumerate(run)]
            continue
        counted, call = _COUNTED.fullmatch(text), _CALL.fullmatch(text)
        step = f'({counted[1]})' if counted else _call(text) if call and call[3] else None
        if step is not None and is_step(step):
            found[place] = step
    return found


def _numbered(lines: Sequence[str]) -> list[str]:
    """The steps of FF, `step 0:`, `1:`, `2:` without a gap; none for any other lines."""
    steps = []
    for number, line in enumerate(lines):
        match = _FF.fullmatch(line)
        if match is None or int(match[2]) != number or bool(match[1]) is bool(number):
            return []
        steps.append(f'({match[3]})')
    return steps


def _call(text: str) -> str | None:
    """`go(a, b)` as a step, with its time and its duration; None for any other text."""
    match = _CALL.fullmatch(text)
    if match is None:
        return None
    time, name, arguments, duration = match.groups()
    words = (arguments or '()')[1:-1].replace(',', ' ').split()
    step = f'({" ".join([name, *words])})'
    return f'{time + ": " if time else ""}{step}{" " + duration if duration else ""}'


def _from_json(text: str) -> list[str]:
    """The steps of an answer of planning.domains; none for any other text.

    The plan is `plan`, also inside `result`, a list of steps or of objects that name one, or the
    one text in `result.output`. Two plans, or a `length` that is another one, are doubt, and
    nothing is read.
    """
    try:
        answer = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return []
    result = answer.get('result', {})
    if answer.get('status', 'ok') != 'ok' or not isinstance(result, dict):
        return []
    output = result.get('output')
    plans = [each['plan'] for each in (answer, result) if 'plan' in each]
    texts = list(output.values()) if isinstance(output, dict) else []
    if len(plans) + len(texts) != 1:
        return []
    if texts:
        return texts[0].splitlines() if isinstance(texts[0], str) else []
    items = plans[0] if isinstance(plans[0], list) else []
    steps = [each.get('name') if isinstance(each, dict) else each for each in items]
    whole = all(isinstance(step, str) and _STEP.fullmatch(step) for step in steps)
    whole = whole and all(each.get('length', len(steps)) == len(steps) for each in (answer, result))
    return [str(step) for step in steps] if whole else []


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON whose keys are all different."""
    if len(dict(pairs)) != len(pairs):
        raise ValueError
    return dict(pairs)

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plans, and the strict grammar by which a text becomes one.

A plan is data from a model, from a file or from another process: the grammar accepts steps in
parentheses, comments and the time stamps that planners print, and nothing else. There is no
guessing, since a prefix of a plan is another plan.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from operator import gt
from typing import NamedTuple, TypeVar

from safegen_ros.errors import PlanFormatError
from safegen_ros.pddl.diagnostics import misplaced, place_of
from safegen_ros.pddl.plan_formats import plain

MAX_PLAN_TEXT = 1 << 20
"""Longest plan text that is read [characters]."""

_NAME = r'[A-Za-z0-9_][\w\-]*'
_OBJECT = rf'@?{_NAME}'
_TIME = r'\d{1,20}(?:\.\d{0,20})?'

_GRAMMAR = re.compile(
    rf"""
    (?P<space>\s+) | (?P<comment>;[^\n]*)
    | (?:(?P<stamp>{_TIME}) | [Ss][Tt][Ee][Pp]\s+(?P<number>\d{{1,20}}))\s*:
    | \[\s*(?:(?P<bracket>{_TIME}) | D\s*:\s*(?P<duration>{_TIME})\s*;\s*C\s*:\s*{_TIME})\s*\]
    | \(\s*(?P<step>{_NAME}(?:\s+{_OBJECT})*)\s*\)
    """,
    re.VERBOSE | re.ASCII,
)

_STAMP = re.compile(f'{_TIME}:', re.ASCII)
_LASTING = re.compile(
    rf'[ \t]*(?P<step>\({_NAME}(?:[ \t]+{_OBJECT})*\))[ \t]*\[(?P<duration>{_TIME})\][ \t\r]*',
    re.ASCII,
)
_LINE = re.compile(rf'\({_NAME}(?:[ \t]+{_OBJECT})*\)[ \t\r]*', re.ASCII)

_HAS_DURATION = re.compile(rf'\)[ \t]*\[\s*(?:D\s*:\s*)?{_TIME}', re.ASCII)
_STAMPS_OF_LINES = re.compile(rf'^[ \t]*(?:step[ \t]+)?({_TIME})[ \t]*:', re.M | re.A | re.I)

_AFTER = {
    'step': ('', 'stamp', 'step', 'duration'),
    'stamp': ('', 'step', 'duration'),
    'duration': ('step',),
}
"""What each part may follow."""


class Step(NamedTuple):
    """One ground action."""

    action: str
    arguments: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The step in PDDL, `(stack b1 b2)`."""
        return f'({" ".join((self.action, *self.arguments))})'


_T = TypeVar('_T')

_MOST_KNOWN = 1 << 14
_LONGEST_KNOWN = 100  # characters


def forget_lines() -> None:
    """Forgets the lines that were read, so that reading can be measured from the beginning."""
    for known in (_LINES, _MOVES, _STAMPS):
        known.clear()


@dataclass(frozen=True, slots=True)
class Plan:
    """A sequence of steps; its text is one step per line.

    Attributes:
        steps: in order.
        times: when each step starts and how long it takes [s], by a plan of actions that take time;
            empty for any other plan, and for one whose steps follow each other.
    """

    steps: tuple[Step, ...] = ()
    times: tuple[tuple[Decimal, Decimal], ...] = ()

    def __str__(self) -> str:
        """The plan as text that `parse_plan` reads back."""
        if not self.times:
            return '\n'.join(map(str, self.steps))
        return '\n'.join(
            f'{start:f}: {step} [{duration:f}]'
            for step, (start, duration) in zip(self.steps, self.times, strict=True)
        )

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def spelt(self, spelling: Mapping[str, str]) -> Plan:
        """The plan with names as a text has them (`Problem.spelling`), for who minds capitals."""
        steps = [
            Step(spelling.get(s.action, s.action), tuple(spelling.get(a, a) for a in s.arguments))
            for s in self.steps
        ]
        return Plan(tuple(steps), self.times)


def parse_plan(text: str, *, timed: bool = False) -> Plan:
    """Reads a plan.

    Accepted are steps such as `(stack b1 b2)`, one or several to a line, in any case, with `;`
    comments. The order of the text is the order of the plan; a text without steps is the empty
    plan. Steps may carry the times and durations that planners print, `0:`, `0.000:`, `step 0:` or
    `[0]` before a step, `[0.001]` or `[D:1.0; C:1.0]` behind it. Then all of them must have a
    time, and the times must grow: steps that happen together are not a sequence, and none is made
    of them here. Durations say nothing where actions take no time.

    Where they do (`timed`), steps with a time before and a duration behind, `0.000: (move a b)
    [5.000]`, make a plan with these times, of which none may come before the last one; a step
    without a duration has 0. Where times only number the steps, these follow each other, as above.

    A text may also be wholly in another way of the field's; see `plan_formats.plain`.

    Raises:
        PlanFormatError: any other text, with its line and column.
    """
    if len(text) > MAX_PLAN_TEXT:
        raise PlanFormatError(
            f'the plan text has {len(text):,} characters, more than the limit of {MAX_PLAN_TEXT:,}',
            cure='send one plan',
        )
    if timed and (plan := _read_timed_lines(text)) is not None:
        return plan
    steps = _read_lines(text)
    if steps:
        return Plan(steps)
    return read_whole(plain(text), timed)


def read_whole(text: str, timed: bool) -> Plan:
    """The plan of a text that holds nothing but steps, as `parse_plan` reads and refuses it."""
    if not timed or not has_times(text):
        return Plan(read_steps(text))
    clock = PlanTimes(text)
    steps = read_steps(text, clock)
    return Plan(steps, tuple(zip(clock.starts, clock.durations, strict=True)))


def has_times(text: str) -> bool:
    """Whether a text has a duration behind a step, or times that do not just number its steps."""
    if text.lstrip().startswith('['):  # `[0] (a) [1] (b)` has times before its steps
        return False
    times = _STAMPS_OF_LINES.findall(text)
    numbered = times in ([str(n + first) for n in range(len(times))] for first in (0, 1))
    return not numbered or _HAS_DURATION.search(text) is not None


class _Known(dict[str, _T]):
    """What a reader makes of short texts; quicker than an `lru_cache`.

    Plans of a task share most of their lines, and looking one up takes a tenth of reading it.
    """

    def __init__(self, read: Callable[[str], _T]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, text: str) -> _T:
        found = self._read(text)
        if len(text) <= _LONGEST_KNOWN:
            if len(self) >= _MOST_KNOWN:
                self.clear()
            self[text] = found
        return found


def _read_lines(text: str) -> tuple[Step, ...]:
    """The steps of a text with one bare step on each line; none when it is anything else."""
    try:
        return tuple(map(_LINES.__getitem__, filter(None, text.split('\n'))))
    except ValueError:
        return ()


def _read_timed_lines(text: str) -> Plan | None:
    """The plan in a text of lines such as `0.000: (a b) [5.000]`; None for anything else."""
    words = text.replace(':', ':\n').split('\n')
    if not words[-1]:
        words.pop()
    if not words or len(words) % 2:
        return None
    try:
        starts = tuple(map(_STAMPS.__getitem__, words[::2]))
        steps, durations = zip(*map(_MOVES.__getitem__, words[1::2]), strict=True)
    except ValueError:
        return None
    if any(map(gt, starts, starts[1:])):
        return None
    return Plan(steps, tuple(zip(starts, durations, strict=True)))


def _line(line: str) -> Step:
    """The step of a line that is one bare step.

    Raises:
        ValueError: it is anything else.
    """
    if not _LINE.fullmatch(line):
        raise ValueError(line)
    return _step(line.rstrip()[1:-1])


def _lasting(text: str) -> tuple[Step, Decimal]:
    """The step and the duration behind the time of a line."""
    found = _LASTING.fullmatch(text)
    if found is None:
        raise ValueError(text)
    return _step(found['step'][1:-1]), Decimal(found['duration'])


def _stamp(text: str) -> Decimal:
    if not _STAMP.fullmatch(text):
        raise ValueError(text)
    return Decimal(text[:-1])


_LINES, _MOVES, _STAMPS = _Known(_line), _Known(_lasting), _Known(_stamp)


def _step(words: str) -> Step:
    name, *arguments = words.lower().split()
    return Step(name, tuple(arguments))


def read_steps(text: str, clock: StepTimes | None = None) -> tuple[Step, ...]:
    """The steps of a text by the whole grammar of `parse_plan`, which raises as this does.

    Args:
        text: the plan.
        clock: what the times and durations are given to.
    """
    steps: list[Step] = []
    clock = clock or StepTimes(text)
    brackets_first = text.lstrip().startswith('[')  # `[0] (a)`: they stand before the steps
    previous = ''  # what stands before, space and comments apart
    position = 0
    while position < len(text):
        match = _GRAMMAR.match(text, position)
        if match is None or match.lastgroup is None:
            raise misplaced(text, position, len(steps))
        kind, start, position = match.lastgroup, position, match.end()
        if kind in ('space', 'comment'):
            continue
        value = match[kind]
        if kind == 'number' or (kind == 'bracket' and brackets_first):
            kind = 'stamp'
        elif kind == 'bracket':
            kind = 'duration'
        if previous not in _AFTER[kind]:
            raise misplaced(text, start, len(steps))
        if kind == 'step':
            clock.step(len(steps), start, previous == 'stamp')
            steps.append(_step(value))
        elif kind == 'stamp':
            clock.stamp(len(steps), start, Decimal(value))
        else:
            clock.duration(len(steps), start, Decimal(value))
        previous = kind
    if previous == 'stamp':
        raise misplaced(text, len(text), len(steps))
    return tuple(steps)


class StepTimes:
    """Checks that the times of the steps of a text make them a sequence."""

    cure = (
        'steps that happen together are not a sequence: give every step its own time, in order, '
        'or leave all times out'
    )

    def __init__(self, text: str) -> None:
        self._text = text
        self._last: Decimal | None = None
        self._timed = False

    def stamp(self, steps: int, position: int, time: Decimal) -> None:
        """Checks the time of the next step."""
        if self._last is not None and time <= self._last:
            why = 'is there twice' if time == self._last else f'comes behind {self._last}'
            raise self._error(steps, position, f'the time {time} {why}')
        self._last = time

    def step(self, steps: int, position: int, timed: bool) -> None:
        """Checks that either all steps have a time or none has; the arguments are as above."""
        if steps and timed is not self._timed:
            raise self._error(steps, position, 'some steps have a time and some have none')
        self._timed = timed

    def duration(self, steps: int, position: int, duration: Decimal) -> None:
        """Takes the duration of the last step, which says nothing of a sequence."""

    def _error(self, steps: int, position: int, what: str) -> PlanFormatError:
        line, column = place_of(self._text, position)
        return PlanFormatError(
            f'{what}, after {steps} steps',
            line=line,
            column=column,
            cure=self.cure,
            steps=steps,
        )


class PlanTimes(StepTimes):
    """The times of the steps of a text, which may happen together.

    Attributes:
        starts: when each step starts [s].
        durations: how long each step takes [s].
    """

    cure = 'give every step its time, and list the steps in the order of their times'

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.starts: list[Decimal] = []
        self.durations: list[Decimal] = []

    def stamp(self, steps: int, position: int, time: Decimal) -> None:
        """Takes the time of the next step."""
        if self.starts and time < self.starts[-1]:
            raise self._error(steps, position, f'the time {time} comes behind {self.starts[-1]}')
        self.starts.append(time)

    def step(self, steps: int, position: int, timed: bool) -> None:
        """Checks that the step has a time."""
        if not timed:
            raise self._error(steps, position, 'a step has no time')
        self.durations.append(Decimal(0))

    def duration(self, steps: int, position: int, duration: Decimal) -> None:
        """Takes the duration of the last step."""
        self.durations[-1] = duration

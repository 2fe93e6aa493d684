# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Takes the first list of steps out of a text that holds more, for a caller who asks for that.

The rules, in their order:

1. A text that `parse_plan` reads is the plan, and nothing is skipped.
2. What stands between `<think>` and `</think>` is skipped; behind a `<think>` that is never
   closed there is no answer.
3. A line is a line of steps when `parse_plan` reads it and there are steps in it, or would once the
   marks that lists are made with are taken off both its ends: a bullet, a number such as `1.` or
   `1)`, quotation marks, backticks, asterisks, commas and brackets. Commas between its steps are
   taken out too, with the quotation marks beside them. A step ends on the line it starts on.
4. The first line of steps and those that follow it are the list; empty lines and comments do not
   end it, and any other line does. Numbers and times must grow, as in `parse_plan`.
5. Whatever stands before and after the list is skipped, later lists too. The note says so, since
   a list that was cut off, or a draft, looks the same as a plan.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from safegen_ros.errors import PlanFormatError
from safegen_ros.pddl.plan import MAX_PLAN_TEXT, Plan, parse_plan, read_steps
from safegen_ros.pddl.plan_faults import ONLY_STEPS, found_at, place_of

_THOUGHT = re.compile(r'<think>.*?(?:</think>|(?P<open>\Z))', re.DOTALL | re.IGNORECASE)

_MARKS = r'[\s"\'`*,\[\]{}]*'
_LEAD = re.compile(rf'{_MARKS}(?:[-+\u2022]\s+|(?P<number>\d{{1,9}})[.)]\s+)?{_MARKS}', re.ASCII)
_BETWEEN = re.compile(r'(?<=\))["\'`*\s]*,["\'`*\s]*(?=\()', re.ASCII)


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was taken out of a text, and what was not.

    Attributes:
        steps: how many steps were taken.
        first_line: the line of the first of them, from 1; 0 when there is none.
        last_line: the line of the last of them.
        before: the first thing that was skipped before them, in words; empty when there is none.
        after: the first thing that was skipped after them, likewise.
        other_lists: how many lists of steps were skipped after them.
        marks: whether marks were taken off the lines.
    """

    steps: int
    first_line: int
    last_line: int
    before: str = ''
    after: str = ''
    other_lists: int = 0
    marks: bool = False

    @property
    def whole(self) -> bool:
        """Whether the text was a plan as it stood."""
        return not (self.before or self.after or self.other_lists or self.marks)

    def __str__(self) -> str:
        """What was done, for a person."""
        if self.whole:
            return 'the text is a plan'
        said = [f'took {self.steps} steps from lines {self.first_line} to {self.last_line}']
        if self.marks:
            said.append('left out the marks around them')
        if self.before:
            said.append(f'skipped {self.before} before them')
        if self.after:
            said.append(f'skipped {self.after} after them')
        if self.other_lists:
            said.append(f'skipped {self.other_lists} more lists of steps')
        return ', '.join(said)


def extract_plan(text: str) -> tuple[Plan, Extraction]:
    """The first list of steps in a text, by the rules above, and what was skipped for it.

    Raises:
        PlanFormatError: there is no such list, or its numbers or times do not grow.
    """
    try:
        plan = parse_plan(text)
    except PlanFormatError as error:
        if len(text) > MAX_PLAN_TEXT:
            raise
        return _first_list(text, error)
    lines = text.split('\n')
    taken = [n for n, line in enumerate(lines, start=1) if re.search('[()]', line.split(';')[0])]
    return plan, Extraction(len(plan), min(taken, default=0), max(taken, default=0))


def _without_thoughts(text: str) -> str:
    """The text with blanks for thoughts, so that every place in it stays where it is."""

    def blank(match: re.Match[str]) -> str:
        if match['open'] is not None:
            line, column = place_of(text, match.start())
            raise PlanFormatError(
                "found '<think>' and no '</think>' behind it, so no answer",
                line=line,
                column=column,
                cure='let the model finish its thought and write the plan behind it',
            )
        return re.sub(r'[^\n]', ' ', match.group())

    return _THOUGHT.sub(blank, text)


def _first_list(text: str, refused: PlanFormatError) -> tuple[Plan, Extraction]:
    """The first list of steps in a text that `parse_plan` has refused."""
    spoken = _without_thoughts(text)
    lines = spoken.split('\n')
    cleaned = [_clean(line) for line in lines]
    runs = _runs(cleaned)
    if not runs:
        raise PlanFormatError(
            f'no line of the text is a list of steps; {refused.what}',
            line=refused.line,
            column=refused.column,
            cure=ONLY_STEPS,
        )
    first, end = runs[0]
    try:
        steps = read_steps('\n'.join(line or '' for line in cleaned[first:end]))
    except PlanFormatError as error:
        raise PlanFormatError(
            error.what, line=first + error.line, column=1, cure=error.cure, steps=error.steps
        ) from None
    return Plan(steps), Extraction(
        len(steps),
        first + 1,
        end,
        _skipped(lines, range(first)) or ('a thought' if spoken != text else ''),
        _skipped(lines, range(end, len(lines))),
        len(runs) - 1,
        any(
            c and c != line.strip()
            for c, line in zip(cleaned[first:end], lines[first:end], strict=True)
        ),
    )


def _clean(line: str) -> str | None:
    """A line of steps without the marks around them; '' for an empty line, None for any other."""
    lead = _LEAD.match(line)
    rest = line[lead.end() :] if lead else line
    number = f'{lead["number"]}: ' if lead and lead['number'] else ''
    bare = _BETWEEN.sub(' ', rest.rstrip(' \t\r"\'`*,[]{}'))
    for text in (line.strip(), number + bare):
        try:
            return text if read_steps(text) else ''
        except PlanFormatError:
            continue
    return None


def _runs(cleaned: Sequence[str | None]) -> list[tuple[int, int]]:
    """The first line and the one behind the last line of every list of steps."""
    runs: list[tuple[int, int]] = []
    going = False
    for number, line in enumerate(cleaned):
        if line:
            runs[-1:] = [(runs[-1][0], number + 1)] if going else [*runs[-1:], (number, number + 1)]
            going = True
        elif line is None:
            going = False
    return runs


def _skipped(lines: Sequence[str], numbers: range) -> str:
    """The first of some lines that is not empty, in words."""
    for number in numbers:
        line = lines[number]
        if line.strip():
            kind, shown = found_at(line, len(line) - len(line.lstrip()))
            return f'line {number + 1}, {kind} {shown!r}'
    return ''

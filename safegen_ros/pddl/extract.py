# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Takes the one list of steps out of a text that holds more, for a caller who asks for that.

The rules, in their order:

1. A text that `parse_plan` reads is the plan, and nothing is skipped.
2. What stands between `<think>` and `</think>` at the beginning of the text is skipped; behind a
   `<think>` that is never closed there is no answer.
3. A line is a line of steps when `parse_plan` reads it and there are steps in it, or would once the
   marks that lists are made with are taken off both its ends: a bullet, a number such as `1.` or
   `1)`, quotation marks, backticks, asterisks, commas and brackets. Commas between its steps are
   taken out too, with the quotation marks beside them. A step ends on the line it starts on. A line
   as FF, Fast Downward or unified-planning print a step is one, too: `step 0: GO A B`, `go a b
   (1)`, `go(a, b)`.
4. The lines of steps that follow each other are the list; empty lines and comments do not end it.
   Numbers and times must grow, as in `parse_plan`. Where actions take time the list keeps its times
   and durations, and a number before a time is a mark.
5. Every other line is prose, which is skipped, unless it may hold a step: then the text is refused,
   since a part of a plan is another plan. A second list of steps is refused likewise.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import accumulate, takewhile

from safegen_ros.errors import PlanFormatError
from safegen_ros.pddl.diagnostics import ONLY_STEPS, found_at, place_of
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import MAX_PLAN_TEXT, Plan, parse_plan, read_steps, read_whole
from safegen_ros.pddl.plan_formats import lenient as listed_lines

REMARK = '; of the answer: '
"""The beginning of the comment that says what was left out of an answer."""

_THOUGHTS = re.compile(
    r'\s*(?:<think>.*?</think>\s*)*(?P<open><think>)?', re.DOTALL | re.IGNORECASE
)

_MARKS = r'[\s"\'`*,\[\]{}]*'
_LEAD = re.compile(rf'{_MARKS}(?:[-+\u2022]\s+|(?P<number>\d{{1,9}})[.)]\s+)?{_MARKS}', re.ASCII)
_TIMED = re.compile(r'\d[\d.]*:\s*\(')
_LASTS = re.compile(r'.*\)\s*\[\s*\d[\d.]*\s*\]')
_BETWEEN = re.compile(r'(?<=\))["\'`*\s]*,["\'`*\s]*(?=\()', re.ASCII)


@dataclass(frozen=True, slots=True)
class Extraction:
    """The part taken out of a text, and the rest.

    Attributes:
        steps: how many steps were taken.
        first_line: the line of the first of them, from 1; 0 when there is none.
        last_line: the line of the last of them.
        before: the first thing that was skipped before them, in words; empty when there is none.
        after: the first thing that was skipped after them, likewise.
        marks: whether marks were taken off the lines.
    """

    steps: int
    first_line: int
    last_line: int
    before: str = ''
    after: str = ''
    marks: bool = False

    @property
    def whole(self) -> bool:
        """Whether the text was a plan as it stood."""
        return not (self.before or self.after or self.marks)

    def __str__(self) -> str:
        """The work done, for a person."""
        if self.whole:
            return 'the text is a plan'
        said = [f'took {self.steps} steps from lines {self.first_line} to {self.last_line}']
        if self.marks:
            said.append('left out the marks around them')
        if self.before:
            said.append(f'skipped {self.before} before them')
        if self.after:
            said.append(f'skipped {self.after} after them')
        return ', '.join(said)


def extract_plan(text: str, problem: Problem) -> tuple[Plan, Extraction]:
    """The list of steps in a text, by the rules above, and the skipped text.

    Raises:
        PlanFormatError: there is no such list, or its numbers or times do not grow, or another line
            may hold a step.
    """
    timed = bool(problem.domain.durative)
    try:
        plan = parse_plan(text, timed=timed)
    except PlanFormatError as error:
        if len(text) > MAX_PLAN_TEXT:
            raise
        return _only_list(text, problem, error)
    lines = text.split('\n')
    _check_comments(lines, _Prose(problem))
    taken = [n for n, line in enumerate(lines, start=1) if re.search('[()]', line.split(';')[0])]
    return plan, Extraction(len(plan), min(taken, default=0), max(taken, default=0))


def _without_thoughts(text: str) -> str:
    """The text with blanks for its thoughts, so that every place in it stays where it is."""
    thoughts = _THOUGHTS.match(text)
    if thoughts is None:
        return text
    if thoughts['open'] is not None:
        line, column = place_of(text, thoughts.start('open'))
        raise PlanFormatError(
            "found '<think>' and no '</think>' behind it, so no answer",
            line=line,
            column=column,
            cure='let the model finish its thought and write the plan behind it',
        )
    return re.sub(r'[^\n]', ' ', thoughts.group()) + text[thoughts.end() :]


def _only_list(text: str, problem: Problem, refused: PlanFormatError) -> tuple[Plan, Extraction]:
    """The list of steps in a text that `parse_plan` has refused."""
    spoken = _without_thoughts(text)
    lines = spoken.split('\n')
    prose = _Prose(problem)
    cleaned = [_clean(line) for line in listed_lines(lines, prose.is_step)]
    _check_comments(lines, prose)
    for number, line in enumerate(lines, start=1):
        if cleaned[number - 1] is None and prose.may_hold_step(line):
            raise _left_over(line, number, 'may hold a step, and is not a line of steps only')
    runs = _runs(cleaned)
    if not runs:
        raise PlanFormatError(
            f'no line of the text is a list of steps; {refused.what}',
            line=refused.line,
            column=refused.column,
            cure=ONLY_STEPS,
        )
    if len(runs) > 1:
        number = runs[1][0]
        raise _left_over(lines[number], number + 1, 'begins a second list of steps')
    first, end = runs[0]
    try:
        plan = read_whole(
            '\n'.join(line or '' for line in cleaned[first:end]), bool(problem.domain.durative)
        )
    except PlanFormatError as error:
        raise PlanFormatError(
            error.what, line=first + error.line, column=1, cure=error.cure, steps=error.steps
        ) from None
    return plan, Extraction(
        len(plan),
        first + 1,
        end,
        _skipped(lines, range(first)) or ('a thought' if spoken != text else ''),
        _skipped(lines, range(end, len(lines))),
        any(
            c and c != line.strip()
            for c, line in zip(cleaned[first:end], lines[first:end], strict=True)
        ),
    )


def _check_comments(lines: Sequence[str], prose: _Prose) -> None:
    """Refuses steps in comments, `(pickup b1); (stack b1 b2)`: a model means both."""
    for number, line in enumerate(lines, start=1):
        _, comment, text = line.partition(';')
        if comment and prose.has_step_in_parentheses(text):
            raise _left_over(line, number, 'has a step in a comment')


def _left_over(line: str, number: int, why: str) -> PlanFormatError:
    """The error over a line that would be lost beside the list."""
    column = len(line) - len(line.lstrip()) + 1
    return PlanFormatError(
        f'{line.strip()[:60]!a} {why}',
        line=number,
        column=column,
        cure='write every step of the plan as (ACTION OBJECT ...), one list without a break, and '
        'remove what is not the plan',
    )


class _Prose:
    """Distinguishes prose from a line that may hold a step of a problem in any disguise."""

    def __init__(self, problem: Problem) -> None:
        actions = problem.domain.actions
        self._arity = {name: len(action.parameters) for name, action in actions.items()}
        self._longest = 2 * max(map(len, actions), default=0)
        self._objects = problem.objects
        self._bare = {name.lstrip('@') for name in problem.objects}
        self._most = max(self._longest, *map(len, self._bare), 0)

    def is_step(self, line: str) -> bool:
        """Whether a line is one step of the problem, as far as the names of it go."""
        try:
            (step,) = read_steps(line)
        except (PlanFormatError, ValueError):
            return False
        known = all(name in self._objects for name in step.arguments)
        return known and self._arity.get(step.action) == len(step.arguments)

    def may_hold_step(self, line: str) -> bool:
        """Whether a line has a step in parentheses, or spells one out without them."""
        return self.has_step_in_parentheses(line) or self._spells_out(_WORD.findall(_plain(line)))

    def has_step_in_parentheses(self, text: str) -> bool:
        """Whether a text names an action or an object inside or right before parentheses.

        A word there that is nearly the name of an action counts as one.
        """
        parts = re.split('([()])', _plain(text))  # texts, and the parentheses between them
        beside = set()
        for place in range(0, len(parts), 2):
            text = parts[place]
            whole = [_NO_LETTER.sub('', word) for word in text.split()]
            joined = takewhile(lambda word: len(word) <= self._most, accumulate(whole))
            words = [*joined, *whole, *_WORD.findall(text)]  # `wa it` is `wait`
            before, behind = parts[place - 1 : place], parts[place + 1 : place + 2]
            beside.update(words if '(' in before or ')' in behind else words[-1:] if behind else [])
        return any(map(self._is_name, beside))

    def _is_name(self, word: str) -> bool:
        if word in self._arity or word in self._bare:
            return True
        return len(word) <= self._longest and bool(get_close_matches(word, self._arity, 1, 0.75))

    def _spells_out(self, words: Sequence[str]) -> bool:
        """Whether words are an action and all its objects; one without objects stands alone."""
        for place, word in enumerate(words):
            arity = self._arity.get(word, -1)
            objects = words[place + 1 : place + 1 + arity]
            if arity > 0 and len(objects) == arity and all(o in self._bare for o in objects):
                return True
            if arity == 0 and all(w.isdigit() or w in _ORDER for w in words if w != word):
                return True
        return False


_ORDER = frozenset({'step', 'action', 'first', 'then', 'next', 'finally'})
_NO_LETTER = re.compile(r'[^a-z0-9_-]')
_WORD = re.compile(r'[a-z0-9_][a-z0-9_-]*')  # a name but for an `@` before it


def _plain(line: str) -> str:
    """A line in lower case with plain parentheses, without what hides between its letters."""
    folded = unicodedata.normalize('NFKC', line)
    folded = folded.replace('{', '(').replace('}', ')')
    kinds = {'Ps': '(', 'Pe': ')'}
    shown = (
        c if c.isascii() else kinds.get(unicodedata.category(c), '') for c in folded.casefold()
    )
    return ''.join(c for c in shown if not c or c.isprintable() or c.isspace())


def _clean(line: str) -> str | None:
    """A line of steps without the marks around them; '' for an empty line, None for any other."""
    lead = _LEAD.match(line)
    rest = line[lead.end() :] if lead else line
    number = f'{lead["number"]}: ' if lead and lead['number'] and not _TIMED.match(rest) else ''
    lasts = _LASTS.match(rest)  # the bracket of a duration is not a mark
    end = lasts.end() if lasts else 0
    bare = _BETWEEN.sub(' ', rest[:end] + rest[end:].rstrip(' \t\r"\'`*,[]{}'))
    for text, comments in ((line.strip(), True), (number + bare, False)):
        try:
            if read_steps(text):
                return text
        except PlanFormatError:
            continue
        if comments or ';' not in text:
            return ''
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

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Findings of the linter, and where in a text the things stand that they are about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from safegen_ros.pddl.sexpr import Group, Node, read_sexpr

ERROR, WARNING, NOTE = LEVELS = ('error', 'warning', 'note')
"""An error is refused; a warning is legal and hardly meant; a note may well be meant."""

Place = tuple[int, int]
"""Line and column, both from 1."""


@dataclass(frozen=True, slots=True)
class LintFinding:
    """Something in a text that its author should look at.

    Attributes:
        level: one of `LEVELS`.
        rule: the kind of finding, `unused-type`.
        line: from 1; 0 when the text as a whole is meant.
        column: from 1, likewise.
    """

    level: str
    rule: str
    source: str
    line: int
    column: int
    what: str
    cure: str

    def __str__(self) -> str:
        """One line, as compilers print it."""
        where = f'{self.source}:{self.line}:{self.column}' if self.line else self.source
        return f'{where}: {self.level}: {self.what}: {self.cure} [{self.rule}]'


class SourceMap:
    """Where declarations and parts of actions stand in a text that can be read.

    Args:
        text: a domain or a problem.
    """

    def __init__(self, text: str, source: str) -> None:
        self.source = source
        self._reader, self._top = read_sexpr(text, source)
        self._sections: dict[str, list[Group]] = defaultdict(list)
        for item in self._top.items:
            if isinstance(item, Group):
                self._sections[item.head].append(item)

    def finding(self, level: str, rule: str, place: Place, what: str, cure: str) -> LintFinding:
        """A finding in this text."""
        return LintFinding(level, rule, self.source, *place, what, cure)

    def section(self, head: str) -> Place:
        """The first section of a kind; the whole text when there is none."""
        found = self._sections.get(head)
        return self._of(found[0]) if found else self._of(self._top)

    def declared(self, head: str, name: str) -> Place:
        """A type, a constant, an object or a predicate where its section names it first."""
        for section in self._sections.get(head, ()):
            for index, item in enumerate(section.items[1:], start=1):
                if item == name:
                    return self._reader.place_in(section, index)
                if isinstance(item, Group) and item.head == name:
                    return self._of(item)
        return self.section(head)

    def type_groups(self) -> Iterator[tuple[list[tuple[str, Place]], str]]:
        """The names of each group of `:types`, with the one type that stands behind them."""
        for section in self._sections.get(':types', ()):
            group: list[tuple[str, Place]] = []
            items = section.items
            for index, item in enumerate(items[1:], start=1):
                if items[index - 1] == '-':
                    if isinstance(item, str):
                        yield group, item
                    group = []
                elif isinstance(item, str) and item != '-':
                    group.append((item, self._reader.place_in(section, index)))

    def again(self, head: str) -> Iterator[tuple[str, Place]]:
        """The lists of sections of a kind that declare a name once more."""
        seen: set[str] = set()
        for section in self._sections.get(head, ()):
            for item in section.items:
                if isinstance(item, Group):
                    if item.head in seen:
                        yield item.head, self._of(item)
                    seen.add(item.head)

    def unjoined(self) -> Iterator[LintFinding]:
        """The second of several constraints that no `and` joins."""
        for section in self._sections.get(':constraints', ()):
            for second in section.items[2:3]:
                if isinstance(second, Group):
                    yield self.finding(
                        WARNING, 'constraints-without-and', self._of(second),
                        'constraints stand side by side, and all of them must hold',
                        'join them with (and ...): other tools refuse them',
                    )  # fmt: skip

    def action(self, name: str) -> Place:
        """An action."""
        return self._of(self._action(name))

    def parameter(self, action: str, variable: str) -> Place:
        """A parameter of an action."""
        for item in self._action(action).items:
            if isinstance(item, Group) and variable in item.items:
                return self._reader.place_in(item, list(item.items).index(variable))
        return self.action(action)

    def effect(self, action: str, literal: Sequence[str], negated: bool) -> Place:
        """A literal in the effect of an action, the last of its kind."""
        group = self._action(action)
        items = list(group.items)
        effect = items[items.index(':effect') + 1] if ':effect' in items[:-1] else None
        found = [
            each
            for each, below_not in _literals(effect, False)
            if list(each.items) == list(literal) and below_not is negated
        ]
        return self._of(found[-1]) if found else self._of(group)

    def requirements(self) -> frozenset[str]:
        """The flags of the text."""
        sections = self._sections.get(':requirements', ())
        return frozenset(item for each in sections for item in each.items if isinstance(item, str))

    def words(self) -> Iterator[tuple[str, str, Place]]:
        """Every word of the text with its spelling and its place, lists from the outside in."""
        waiting: list[Group] = [self._top]
        while waiting:
            group = waiting.pop()
            for index, item in enumerate(group.items):
                if isinstance(item, Group):
                    waiting.append(item)
                else:
                    place = self._reader.place_in(group, index)
                    yield item, self._reader.spelling(group, index, len(item)), place

    def _action(self, name: str) -> Group:
        for head in (':action', ':durative-action'):
            for group in self._sections.get(head, ()):
                if name in group.items[1:2]:
                    return group
        return self._top

    def _of(self, group: Group) -> Place:
        return self._reader.place(group.start)


def _literals(item: Node | None, below_not: bool) -> Iterator[tuple[Group, bool]]:
    if isinstance(item, Group):
        yield item, below_not
        for each in item.items:
            yield from _literals(each, item.head == 'not')

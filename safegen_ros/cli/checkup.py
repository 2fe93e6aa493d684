# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Runs checks of an installation, each bounded in time, and shows what they found."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.markup import escape
from rich.table import Table

from safegen_ros.errors import SafegenError
from safegen_ros.terminal import Console

#: Longest time of one check [s]; opening an arm over SSH takes 5 s on a slow computer.
CHECK_TIMEOUT_S = 60.0

OK, WRONG, NOT_TRIED = 'ok', 'wrong', 'not tried'
_COLOURS = {OK: 'green', WRONG: 'red', NOT_TRIED: 'yellow'}


class Wrong(SafegenError):
    """The fault that a check found, and the command that fixes it."""

    def __init__(self, found: str, cure: str) -> None:
        super().__init__(f'{found}: {cure}')
        self.found = found
        self.cure = cure


class NotTried(SafegenError):
    """Why a check was left out."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to look at.

    Attributes:
        look: returns its result; raises `Wrong`, `NotTried` or any error.
        cure: the command that fixes it, where an error names no command.
    """

    name: str
    look: Callable[[], str]
    cure: str = ''


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """What a check found: `state` is `OK`, `WRONG` or `NOT_TRIED`."""

    name: str
    state: str
    found: str
    cure: str = ''


def examine(checks: Sequence[Check], timeout_s: float = CHECK_TIMEOUT_S) -> Iterator[CheckFinding]:
    """Looks at one thing after the other; none can take longer than `timeout_s` [s]."""
    for check in checks:
        results: queue.Queue[CheckFinding] = queue.Queue()
        thread = threading.Thread(
            target=lambda each, into: into.put(_finding(each)), args=(check, results), daemon=True
        )
        thread.start()
        try:
            yield results.get(timeout=timeout_s)
        except queue.Empty:
            found = f'nothing was found within {timeout_s:g} s'
            yield CheckFinding(check.name, WRONG, found, check.cure)


def _finding(check: Check) -> CheckFinding:
    try:
        return CheckFinding(check.name, OK, check.look())
    except NotTried as reason:
        return CheckFinding(check.name, NOT_TRIED, reason.message)
    except Wrong as wrong:
        return CheckFinding(check.name, WRONG, wrong.found, wrong.cure)
    except SafegenError as error:
        return CheckFinding(check.name, WRONG, error.message, check.cure)
    except Exception as error:
        return CheckFinding(check.name, WRONG, f'{type(error).__name__}: {error}', check.cure)


def to_json(findings: Sequence[CheckFinding]) -> dict[str, Any]:
    """The findings for a program."""
    return {'ok': healthy(findings), 'checks': [asdict(each) for each in findings]}


def healthy(findings: Sequence[CheckFinding]) -> bool:
    """Whether nothing is wrong."""
    return all(each.state != WRONG for each in findings)


def show(findings: Sequence[CheckFinding], console: Console) -> None:
    """Prints the findings as a table, and below it the cures, whole, to be copied."""
    table = Table(show_edge=False, pad_edge=False)
    for heading in ('', 'what', 'found'):
        table.add_column(heading, overflow='fold')
    for each in findings:
        state = f'[{_COLOURS[each.state]}]{each.state}[/]'
        table.add_row(state, escape(each.name), escape(each.found))
    console.print(table)
    for each in findings:
        if each.cure:
            text = f'{each.name}: {each.cure}'
            console.print(text, markup=False, highlight=False, soft_wrap=True)

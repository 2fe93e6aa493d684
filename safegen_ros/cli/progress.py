# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Long commands: their progress on a terminal or in a log, and the command line of a repetition."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from safegen_ros.terminal import Console

LINE_EVERY_S = 30.0
"""Least time between two lines about one stage in a log [s]."""


def bars(console: Console) -> Progress:
    """Bars that leave nothing behind."""
    return Progress(
        TextColumn('{task.description}'),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )


@contextmanager
def stages(console: Console) -> Iterator[Callable[[str, int, int], None]]:
    """News of a stage: how much of it is done, and of how much.

    Without a terminal, the log of a run of hours still shows that it goes on.
    """
    if not console.is_terminal:
        yield _Lines(console)
        return
    with bars(console) as progress:
        known: dict[str, TaskID] = {}

        def notify(stage: str, done: int, total: int) -> None:
            if stage not in known:
                known[stage] = progress.add_task(stage, total=total)
            progress.update(known[stage], completed=done, total=total)

        yield notify


class _Lines:
    """Prints a line for each stage once in `LINE_EVERY_S`."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._printed: dict[str, float] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        # The first word about a stage only starts its clock: what is short needs no line.
        if now - self._printed.setdefault(stage, now) >= LINE_EVERY_S:
            self._printed[stage] = now
            self._console.print(f'{stage}: {done} of {total}', highlight=False, soft_wrap=True)


def given_words(context: typer.Context) -> str:
    """The arguments of a command that differ from their defaults.

    Where its results go is left out, unless it has to be said.

    Returns:
        Such as `--domain blocksworld --count 2`; a shell reads it.
    """
    words: list[str] = []
    for parameter in context.command.params:
        value, default = context.params.get(str(parameter.name)), parameter.get_default(context)
        if parameter.name == 'out' and not parameter.required:
            continue
        # An option that may be repeated has an empty list for nothing, and None as its default.
        if (value or default) and str(value) != str(default):
            words += _said(parameter, value)
    return ' '.join(words)


def _said(parameter: Any, value: Any) -> list[str]:
    if isinstance(value, bool):
        return [(parameter.opts if value else parameter.secondary_opts)[0]]
    name = '' if parameter.param_type_name == 'argument' else f'{parameter.opts[0]} '
    many = value if isinstance(value, list | tuple) else (value,)
    return [name + shlex.quote(str(each)) for each in many]

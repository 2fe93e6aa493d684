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


@contextmanager
def stages(
    console: Console, every_s: float = LINE_EVERY_S
) -> Iterator[Callable[[str, int, int], None]]:
    """News of a stage: how much of it is done, and of how much.

    A terminal gets bars that leave nothing behind. Without one, the log of a run of hours still
    shows that it goes on: a line for each stage once in `every_s`.
    """
    if not console.is_terminal:
        printed: dict[str, float] = {}

        def line(stage: str, done: int, total: int) -> None:
            now = time.monotonic()
            # The first word about a stage only starts its clock: what is short needs no line.
            if now - printed.setdefault(stage, now) >= every_s:
                printed[stage] = now
                console.print(f'{stage}: {done} of {total}', highlight=False, soft_wrap=True)

        yield line
        return
    columns = (
        TextColumn('{task.description}'), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True) as progress:
        known: dict[str, TaskID] = {}

        def notify(stage: str, done: int, total: int) -> None:
            if stage not in known:
                known[stage] = progress.add_task(stage, total=total)
            progress.update(known[stage], completed=done, total=total)

        yield notify


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

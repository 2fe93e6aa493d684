# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How far a long command is: bars on a terminal, and now and then a line in a log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

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

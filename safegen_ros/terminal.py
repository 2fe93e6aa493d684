# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The one way to a terminal: styles and the cursor are ours, text cannot steer them.

Rich strips some control characters and lets terminal escapes through. `Console` writes no text with
such characters. `table` lays tables out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import IO

import rich.box
import rich.console
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table

from safegen_ros.untrusted import visible


class Console(rich.console.Console):
    """A console of rich that shows characters that are not seen as their numbers."""

    def on_broken_pipe(self) -> None:
        """Raises the error, which rich would turn into exit status 1."""
        raise BrokenPipeError

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """The segments of something to print; only controls of rich itself hold escapes."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))

    @property
    def file(self) -> IO[str]:
        """The stream behind every guard; a live display of rich puts a second one around ours."""
        found = super().file
        while hasattr(found, 'rich_proxied_file'):
            found = found.rich_proxied_file
        return found

    @file.setter
    def file(self, new_file: IO[str]) -> None:
        self._file = new_file


def table(
    title: str,
    words: Iterable[str],
    numbers: Iterable[str],
    rows: Iterable[Sequence[str]],
) -> Table:
    """A table for a console; a first cell that is that of the row before is left out.

    Args:
        words: headings of the first columns.
        numbers: headings of the others, which are flush right.
        rows: the cells, in which markup of rich counts.
    """
    found = Table(
        title=title, title_justify='left', box=rich.box.SIMPLE_HEAD, pad_edge=False,
        collapse_padding=True,
    )  # fmt: skip
    for heading in words:
        found.add_column(heading, overflow='fold')
    for heading in numbers:
        found.add_column(heading, justify='right')
    before = None
    for first, *others in rows:
        found.add_row('' if first == before else first, *others)
        before = first
    return found


def markdown_table(
    words: Sequence[str], numbers: Sequence[str], rows: Iterable[Sequence[str]]
) -> list[str]:
    """The lines of such a table in Markdown, which repeats every word."""
    rules = [*('---' for _ in words), *('---:' for _ in numbers)]
    return [f'| {" | ".join(cells)} |' for cells in ((*words, *numbers), rules, *rows)]

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The one way to a terminal: styles and the cursor are ours, text cannot steer them.

Rich strips some control characters and lets terminal escapes through. `Console` writes no text with
such characters, and after `guard` neither does `print`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, TextIO

import rich.console
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment

from safegen_ros.untrusted import visible


class Console(rich.console.Console):
    """A console of rich that shows characters that are not seen as their numbers."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """The segments of something to print; only controls of rich itself hold escapes."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))


class _Guarded:
    """A text stream for `print`; a console of rich writes to the one behind it."""

    def __init__(self, stream: TextIO) -> None:
        self.rich_proxied_file = stream  # rich asks for this name

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)

    def write(self, text: str) -> int:
        """Writes a text as it may be seen."""
        self.rich_proxied_file.write(visible(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Writes several."""
        for line in lines:
            self.write(line)


def guard() -> None:
    """Lets `print` and every console write visible text only, from now on."""
    for name in ('stdout', 'stderr'):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, _Guarded):
            setattr(sys, name, _Guarded(stream))

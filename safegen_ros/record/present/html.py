# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""HTML and SVG from untrusted text: the words of a model or a client are only shown.

Markup is written in templates alone. Inserted text is escaped, invisible characters are shown as
numbers, and long text is cut. Only the output of a template is inserted unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from safegen_ros.untrusted import visible

LONGEST = 4000
"""Most characters of one text on a page."""

PRESENT = 'safegen_ros.record.present'


class Fit(str):
    """A text that stands in a page as it is."""

    def __html__(self) -> str:
        """Itself, as Jinja2 asks for it."""
        return self


def upto(text: object, limit: int) -> Fit:
    """A text as it may stand in HTML, between tags or in a quoted attribute.

    Args:
        limit: how much of it is shown; the length of the rest is given [characters].
    """
    whole = str(text)
    left = len(whole) - limit
    more = f' … ({left:,} more characters)' if left > 0 else ''
    return Fit(escape(visible(whole[:limit]) + more))


def _inserted(value: Any) -> Any:
    """What stands in the page for a value: markup of a template, a short number, or text."""
    if hasattr(value, '__html__'):
        return value
    if isinstance(value, float):
        value = f'{value:.2f}'.rstrip('0').rstrip('.')
    return upto(value, LONGEST)


def environment(*packages: str) -> Environment:
    """The HTML templates of packages, those of the first one first."""
    found = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in packages]),
        autoescape=True,
        finalize=_inserted,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters['upto'] = upto
    return found


def macros(template: str, *packages: str) -> Callable[..., str]:
    """Draws a macro of a template, by its name and with its arguments."""
    templates = environment(*packages)

    def part(name: str, *arguments: Any, **more: Any) -> str:
        drawn: str = getattr(templates.get_template(template).module, name)(*arguments, **more)
        return drawn

    return part


part = macros('parts.html', PRESENT)
"""Draws a macro of `parts.html`; what it returns is safe markup."""

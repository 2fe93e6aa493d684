# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""HTML and SVG from text that nobody vouches for: what a model or a client wrote is only shown.

A function whose name ends with `_html` returns markup that may be put into a page as it is; every
other text has to go through `escaped` first.
"""

from __future__ import annotations

import html

from safegen_ros.untrusted import visible

LONGEST = 4000
"""Most characters of one text on a page."""

PARTS_CSS = """
.sg-light, .sg-picture { margin: 0 0 .8em; }
.sg-light svg, .sg-picture svg { max-width: 100%; height: auto; display: block; }
.sg-light figcaption, .sg-picture figcaption { margin: 0 0 .25em; overflow-wrap: anywhere; }
.sg-pair { display: flex; flex-wrap: wrap; gap: 1.5em; align-items: flex-end; }
.sg-picture ul, .sg-picture ol { margin: 0; padding-left: 1.2em; }
.sg-picture ins { font-weight: bold; }
.sg-legend { font-size: .9em; }
.sg-key { white-space: nowrap; margin-right: .8em; }
.sg-key svg { vertical-align: middle; }
.sg-compare { border-collapse: collapse; width: 100%; }
.sg-compare th, .sg-compare td { text-align: left; padding: .2em .6em .2em 0; vertical-align: top; }
.sg-differs td { font-weight: bold; border-top: 1px dashed currentColor; }
"""
"""How what is drawn here looks; a page has it in a style element. All ink is `currentColor`."""


def escaped(text: str, limit: int = LONGEST) -> str:
    """A text as it may stand in HTML, between tags or in a quoted attribute.

    Args:
        text: anything.
        limit: how much of it is shown; what is left out is counted [characters].
    """
    left = len(text) - limit
    shown = html.escape(visible(text[:limit] if left > 0 else text))
    return f'{shown} … ({left:,} more characters)' if left > 0 else shown


def element(name: str, *children: str, **attributes: object) -> str:
    """An element.

    Args:
        name: of its tag.
        children: safe markup.
        attributes: by name, with `_` for `-` and a last one to spare a word of Python; their values
            are escaped, and numbers are rounded to hundredths. One that is None is left out.
    """
    told = ''.join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f'<{name}{told}>{"".join(children)}</{name}>'


def _value(value: object) -> str:
    if isinstance(value, float):
        return f'{value:.2f}'.rstrip('0').rstrip('.')
    return escaped(str(value))


def list_html(items: list[str], **attributes: object) -> str:
    """An unordered list of safe markup."""
    return element('ul', *(element('li', item) for item in items), **attributes)

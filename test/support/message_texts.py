# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Every message of safegen_msgs, and every text field of a message, however deep in it."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

from safegen_msgs import action, msg, srv


def _kinds() -> Iterator[Any]:
    parts = {msg: ('',), srv: ('Request', 'Response'), action: ('Goal', 'Result', 'Feedback')}
    for package, names in parts.items():
        for kind in vars(package).values():
            if isinstance(kind, type) and hasattr(kind, names[0] or '_TYPE_SUPPORT'):
                yield from (getattr(kind, name) if name else kind for name in names)


KINDS = tuple(_kinds())
"""Every message, and every part of a service or an action."""


def texts(message: Any, place: str = '') -> Iterator[tuple[Any, str, str]]:
    """Every text field: the message that has it, its name and its place.

    Each list gets one item, so that its fields are there.
    """
    for name, kind in message.get_fields_and_field_types().items():
        here = f'{place}.{name}' if place else name
        value = getattr(message, name)
        if kind == 'string':
            yield message, name, here
        elif hasattr(value, 'get_fields_and_field_types'):
            yield from texts(value, here)
        elif kind == 'sequence<string>':
            value.append('')
            yield value, '', f'{here}[0]'
        elif kind.startswith('sequence<') and '/' in kind:
            package, inner = kind[len('sequence<') : -1].split('/')
            value.append(getattr(importlib.import_module(f'{package}.msg'), inner)())
            yield from texts(value[0], f'{here}[0]')


def fill(holder: Any, name: str, text: str) -> None:
    """Sets one of the fields."""
    if name:
        setattr(holder, name, text)
    else:
        holder[0] = text

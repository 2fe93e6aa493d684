# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Message definitions as MCAP wants them: a type and, after it, every type that it is made of."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from safegen_ros.record.json_form import RecordError

_SEPARATOR = '=' * 80
_FIELD = re.compile(r'^(?P<type>[A-Za-z]\w*(?:/[A-Za-z]\w*)?)(?:<=\d+)?(?:\[(?:<=)?\d*\])?\s+\w')
_PRIMITIVES = frozenset(
    {'bool', 'byte', 'char', 'float32', 'float64', 'string', 'wstring'}
    | {f'{sign}int{bits}' for sign in ('', 'u') for bits in (8, 16, 32, 64)}
)


def definition_path(package: str, name: str) -> Path:
    """Where a `.msg` file is installed.

    Raises:
        RecordError: no prefix has it.
    """
    prefixes = [
        *filter(None, os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)),
        sys.prefix,
    ]
    for prefix in prefixes:
        path = Path(prefix) / 'share' / package / 'msg' / f'{name}.msg'
        if path.is_file():
            return path
    raise RecordError(
        f'the definition of {package}/msg/{name} is under none of: {", ".join(prefixes)}: '
        f'install the package {package}'
    )


def dependencies(package: str, text: str) -> Iterator[tuple[str, str]]:
    """(package, name) of each message type that a definition names in its fields."""
    for line in text.splitlines():
        field = _FIELD.match(line.split('#', 1)[0].strip())
        if field and field['type'] not in _PRIMITIVES:
            owner, _, name = field['type'].rpartition('/')
            yield owner or package, name


def schema_text(type_name: str) -> str:
    """The full text of a message type, encoding `ros2msg` of the MCAP registry.

    Args:
        type_name: such as 'safegen_msgs/msg/Attempt'.

    Raises:
        RecordError: the type, or one that it is made of, is not installed.
    """
    package, _, name = type_name.split('/')
    found: dict[tuple[str, str], str] = {}
    waiting = [(package, name)]
    while waiting:
        key = waiting.pop(0)
        if key not in found:
            found[key] = definition_path(*key).read_text(encoding='utf-8')
            waiting += dependencies(key[0], found[key])
    (_, first), *rest = found.items()
    parts = [first, *(f'{_SEPARATOR}\nMSG: {p}/{n}\n{text}' for (p, n), text in rest)]
    return '\n'.join(parts)

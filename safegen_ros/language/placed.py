# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""YAML with the place of every value, for messages; what a rule file needs of it and no more."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from safegen_ros.errors import ErrorCode, PddlError
from safegen_ros.pddl.diagnostics import suggestion

MAX_YAML = 200_000
"""Longest text [characters]."""

_MAX_DEPTH = 12
_MAX_TEXT = 2000  # characters of one value
_LARGEST = 1e12


@dataclass(frozen=True, slots=True)
class Placed:
    """A value with its place.

    Attributes:
        value: a number, a truth value, a text, a list or a mapping of placed values, or None.
        source: file name, or a label.
        line: from 1.
        column: from 1.
    """

    value: float | bool | str | tuple[Placed, ...] | Mapping[str, Placed] | None
    source: str
    line: int
    column: int

    def error(self, what: str, cure: str, code: ErrorCode = ErrorCode.BAD_PDDL) -> PddlError:
        """An error at this value."""
        return PddlError(
            what, source=self.source, line=self.line, column=self.column, cure=cure, code=code
        )

    def mapping(self, what: str, known: Collection[str] = ()) -> Mapping[str, Placed]:
        """The value as a mapping.

        Args:
            what: what it holds, for messages.
            known: the keys that it may have; any if there are none.

        Raises:
            PddlError: it is none, or has another key.
        """
        if not isinstance(self.value, Mapping):
            raise self.error(f'{what} must be a mapping', "write 'name: value' below it")
        for key, value in self.value.items():
            if known and key not in known:
                cure = f'{suggestion(key, known)}its keys are {" ".join(known)}'
                raise value.error(f'{key[:40]!a} is no key of {what}', cure)
        return self.value

    def items(self, what: str) -> tuple[Placed, ...]:
        """The value as a list; raises as `mapping`."""
        if not isinstance(self.value, tuple):
            raise self.error(f'{what} must be a list', "write '- ' before each item")
        return self.value

    def text(self, what: str) -> str:
        """The value as a text that is not empty; raises as `mapping`."""
        if not isinstance(self.value, str) or not self.value.strip():
            raise self.error(f'{what} must be a text', 'put it in quotes')
        return self.value


def read_yaml(text: str, source: str) -> Placed:
    """Reads one YAML document as `yaml.safe_load` does, with places and without its traps.

    Raises:
        PddlError: it is no YAML, is too long or too deep, or uses anchors, tags of its own, a key
            twice, or values that are no numbers, truth values, texts, lists or mappings.
    """

    def refuse(what: str, cure: str, mark: Any = None) -> PddlError:
        line, column = (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
        return PddlError(what, source=source, line=line, column=column, cure=cure)

    if len(text) > MAX_YAML:
        raise refuse(f'{len(text):,} characters, more than {MAX_YAML:,}', 'write several files')
    try:
        depth = 0
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > _MAX_DEPTH:
                raise refuse('too deeply nested', 'flatten it', event.start_mark)
            if isinstance(event, yaml.AliasEvent):
                raise refuse('an alias', 'write the value out', event.start_mark)
        loader = yaml.SafeLoader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                raise refuse('the file is empty', 'write attributes and rules')
            return _placed(loader, node, source)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        what = ' '.join(str(error.problem or error.context or 'no YAML').split())[:200]
        raise refuse(ascii(what)[1:-1], 'mend the YAML', error.problem_mark) from error
    except yaml.YAMLError as error:
        raise refuse('characters that YAML does not allow', 'save it as plain text') from error


def _placed(loader: yaml.SafeLoader, node: yaml.Node, source: str) -> Placed:
    line, column = node.start_mark.line + 1, node.start_mark.column + 1
    if isinstance(node, yaml.MappingNode):
        found: dict[str, Placed] = {}
        for key_node, value_node in node.value:
            key = _placed(loader, key_node, source)
            if not isinstance(key.value, str):
                raise key.error('a key that is no text', 'put it in quotes')
            if key.value in found:
                raise key.error(f'{key.value[:40]!a} stands here twice', 'remove one')
            inner = _placed(loader, value_node, source)
            found[key.value] = Placed(inner.value, source, key.line, key.column)
        return Placed(found, source, line, column)
    if isinstance(node, yaml.SequenceNode):
        items = tuple(_placed(loader, item, source) for item in node.value)
        return Placed(items, source, line, column)
    empty = Placed(None, source, line, column)
    try:
        value = loader.construct_object(node)
    except ValueError as error:  # a date that does not exist, a number of too many digits
        raise empty.error('a value that cannot be read', 'put texts in quotes') from error
    if isinstance(value, bool) or value is None:
        return Placed(value, source, line, column)
    if isinstance(value, (int, float)):
        if abs(value) > _LARGEST or not math.isfinite(value):
            raise empty.error('a number that is too large', f'use numbers up to {_LARGEST:g}')
        return Placed(float(value), source, line, column)
    if isinstance(value, str) and len(value) <= _MAX_TEXT:
        return Placed(value, source, line, column)
    raise empty.error(f'a {type(value).__name__} that is not supported', 'put texts in quotes')

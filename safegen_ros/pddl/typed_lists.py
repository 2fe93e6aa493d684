# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Typed lists, `a b - t c - (either t u)`: types, objects, constants and variables."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from safegen_ros.errors import ErrorCode
from safegen_ros.pddl.diagnostics import Remark, suggestion
from safegen_ros.pddl.model import ALL_OF, ANY_OF
from safegen_ros.pddl.sexpr import Group, Node, Reader, is_name
from safegen_ros.pddl.writer import names_text

_MAX_VARIABLES = 100  # of one list; every scope inside copies them
_MAX_ABOVE = 100  # types above one type

Types = tuple[tuple[str, str], ...]


def read_typed_list(
    reader: Reader,
    group: Group,
    first: int,
    what: str,
    types: Collection[str] | None,
    untyped: str = 'object',
) -> Types:
    """Reads names, those before a dash taking the type behind it.

    Args:
        reader: where errors are reported.
        group: the list.
        first: the first of its items that belongs to the typed list.
        what: what is being declared, for messages; variables must start with `?`, and those of a
            `place`, which is what a predicate takes, may have one name more than once. A type or
            an object that is listed again, with another type, has both, as in VAL.
        types: the declared types, or None where types are being declared.
        untyped: the type of names without a dash behind them.

    Raises:
        PddlError: a bad or repeated name, an undeclared type, a dash without a type, or more
            variables than any honest text has.
    """
    items = group.items
    is_variable = what in ('variable', 'place')
    if is_variable and len(items) - first > 3 * _MAX_VARIABLES:
        raise reader.error_in(
            group,
            first,
            f'a variable list of {len(items) - first} words',
            f'use at most {_MAX_VARIABLES} variables',
            ErrorCode.TASK_TOO_LARGE,
        )
    found: list[tuple[str, str]] = []
    seen: dict[str, set[str]] = {}
    first_places: dict[str, int] = {}
    pending: list[tuple[int, str]] = []

    def declare(kind: str) -> None:
        for place, name in pending:
            known = seen.setdefault(name, set())
            if known and what != 'place':
                _check_spelling(reader, group, (first_places[name], place), name)
            again = kind in known and (what != 'type' or name == 'object')
            if known and what != 'place' and (what == 'variable' or again):
                raise reader.error_in(
                    group, place, f'{what} {name[:40]!r} is declared twice', 'remove one of them'
                )
            first_places.setdefault(name, place)
            known.add(kind)
            found.append((name, kind))
        pending.clear()

    index = first
    while index < len(items):
        item = items[index]
        if isinstance(item, str) and item[0] == '-':
            glued = len(item) > 1  # `?x -block`
            # `p0 - part - board` has a group of boards without names, as VAL reads it.
            empty = index > first and not glued and what in ('object', 'constant')
            if not (pending or empty) or (not glued and index + 1 >= len(items)):
                raise reader.error_in(
                    group,
                    index,
                    "'-' needs a name before it and a type behind it",
                    'write NAME - TYPE',
                )
            index += not glued
            either = ANY_OF if is_variable else ALL_OF
            declare(_type(reader, group, index, item[1:] or items[index], types, either))
        else:
            pending.append((index, _declared(reader, group, index, what)))
        index += 1
    declare(untyped)
    if len(seen) < len(found) and what != 'place':
        return tuple((name, _all_of(kinds)) for name, kinds in seen.items())
    return tuple(found)


def _check_spelling(reader: Reader, group: Group, places: tuple[int, int], name: str) -> None:
    """Refuses two names that differ in capitals only: they would be one thing."""
    one, other = (reader.spelling(group, place, len(name)) for place in places)
    if one != other:
        raise reader.error_in(
            group,
            places[1],
            f'{other[:40]!r} and {one[:40]!r} are one name, as PDDL has no capitals',
            'rename one of them',
        )


def _all_of(kinds: set[str]) -> str:
    """The type of a thing that was declared with several."""
    parts = {part for kind in kinds for part in kind.split(ALL_OF)}
    return ALL_OF.join(sorted(parts - {''}))


def _declared(reader: Reader, group: Group, index: int, what: str) -> str:
    if what not in ('variable', 'place'):
        return reader.name(group, index, what)
    text = reader.word(group, index, 'a variable')
    if not text.startswith('?'):
        before = group.items[index - 1] if index else ''
        cure = "a variable starts with '?'"
        if isinstance(before, str) and before.startswith('?'):
            cure += f'; for a type write {before[:40].rstrip("-")} - {text[:40]}'
        raise reader.error_in(group, index, f'{text[:40]!r} is not a variable', cure)
    if not is_name(text[1:]) or text[1] == '@':
        raise reader.error_in(
            group,
            index,
            f'{text[:40]!r} is not a name for a variable',
            "write '?' and letters, digits, - and _",
        )
    return text


def _type(
    reader: Reader,
    group: Group,
    index: int,
    item: Node,
    types: Collection[str] | None,
    either: str,
) -> str:
    """A type as the model writes it; `either` is how the parts of an (either ...) are joined."""
    if isinstance(item, Group) and item.head == 'either':
        if len(item.items) < 2:
            raise reader.error(item, "'either' names no type", 'write (either TYPE TYPE)')
        parts = [reader.name(item, i, 'a type') for i in range(1, len(item.items))]
        for number, part in enumerate(parts, start=1):
            _check_declared(reader, item, number, part, types)
        return either.join(sorted(set(parts)))
    if isinstance(item, Group):
        raise reader.error(
            item, 'expected a type, found a list', 'write TYPE or (either TYPE TYPE)'
        )
    if not is_name(item) or item[0] == '@':
        return reader.name(group, index, 'a type')
    _check_declared(reader, group, index, item, types)
    return item


def remark(reader: Reader, group: Group, index: int, found: Remark) -> None:
    """Notes what an item of a list is read as, where its name is met first."""
    remarks = reader.assumed.remarks if reader.assumed is not None else {}
    if (found.rule, found.name) not in remarks:
        line, column = reader.place_in(group, index)
        placed = replace(found, source=reader.source, line=line, column=column)
        remarks[found.rule, found.name] = placed


def _check_declared(
    reader: Reader, group: Group, index: int, name: str, types: Collection[str] | None
) -> None:
    if types is not None and name != 'object' and name not in types:
        known = sorted({*types, 'object'})
        assumed = reader.assumed
        if assumed is not None and not assumed.full and name != 'number':
            what = f'type {name[:40]!r} is not declared: it is read as a type below object'
            cure = f'{suggestion(name, known)}declare it in (:types {name[:40]})'
            remark(reader, group, index, Remark('undeclared-type', name, what, cure))
            assumed.types[name] = '' if 'object' in types else 'object'
            return
        raise reader.error_in(
            group,
            index,
            f'type {name[:40]!r} is not declared',
            f'{suggestion(name, known)}declared types are {names_text(known)}'
            if types
            else f'declare it in (:types {name[:40]})',
        )


def read_types(reader: Reader, section: Group) -> dict[str, str]:
    """Types to parents. Only where `object` is not declared is it the parent of the others.

    Raises:
        PddlError: as `read_typed_list`; also for a type that is above itself.
    """
    listed = read_typed_list(reader, section, 1, 'type', None, '')
    # `block tool - tool` puts block below tool, and says nothing of tool, as VAL reads it.
    types = {name: kind if name == 'object' else _without(name, kind) for name, kind in listed}
    parents = {part for parent in types.values() for part in parent.split(ALL_OF)}
    types.update(dict.fromkeys(sorted(parents - types.keys() - {'', 'object'}), ''))
    if 'object' not in types:
        types = {name: _below_object(parent) for name, parent in types.items()}
    _check_above(reader, section, types)
    return types


def read_objects(
    reader: Reader, section: Group, what: str, types: Mapping[str, str]
) -> dict[str, str]:
    """Objects or constants to their types.

    In a domain without types everything is an `object`, whatever a problem calls it.

    Raises:
        PddlError: as `read_typed_list`.
    """
    objects = read_typed_list(reader, section, 1, what, types or None)
    if not types:
        return dict.fromkeys((name for name, _ in objects), 'object')
    if 'object' not in types:
        return {name: _below_object(kind) for name, kind in objects}
    return dict(objects)


def _below_object(kind: str) -> str:
    """A type where `object` is above all of them, and so says nothing beside another."""
    return ALL_OF.join(part for part in kind.split(ALL_OF) if part != 'object') or 'object'


def _without(name: str, parent: str) -> str:
    """The parents of a type but for itself."""
    return ALL_OF.join(part for part in parent.split(ALL_OF) if part != name)


def _check_above(reader: Reader, section: Group, types: dict[str, str]) -> None:
    """Refuses circles, and towers of types far beyond hand-written ones."""
    above: dict[str, set[str]] = {'': set(), 'object': set()}
    waiting = [name for name in types if name != 'object']
    while waiting:
        left = []
        for name in waiting:
            parents = types[name].split(ALL_OF)
            if any(parent not in above for parent in parents):
                left.append(name)
                continue
            above[name] = {name}.union(*(above[parent] for parent in parents))
        if len(left) == len(waiting) or any(len(s) > _MAX_ABOVE for s in above.values()):
            name = _above_itself(types, left[0], above) if left else waiting[-1]
            raise reader.error(
                section,
                f'type {name[:40]!r} is above itself, or below more than {_MAX_ABOVE} types',
                'fix its line of parents',
            )
        waiting = left


def _above_itself(types: Mapping[str, str], name: str, done: Mapping[str, set[str]]) -> str:
    """A type of the circle that the parents of a type lead to; `done` lead to none."""
    seen: set[str] = set()
    while name not in seen:
        seen.add(name)
        name = next((part for part in types[name].split(ALL_OF) if part not in done), name)
    return name

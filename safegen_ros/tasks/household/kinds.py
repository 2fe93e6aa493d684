# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The classes of household objects and what can be done with them, by AI2-THOR's names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from safegen_ros.language.placed import Placed, read_yaml
from safegen_ros.pddl.text_files import read_text

FOLDER = Path(__file__).parent

FLAGS = (
    'breakable', 'canFillWithLiquid', 'cookable', 'dirtyable', 'openable', 'pickupable',
    'sliceable', 'toggleable',
)  # fmt: skip
"""The flags of a class, as THOR's metadata has them; `receptacle` follows from its room."""

_KEYS = (
    'size', 'takes', 'room', 'is', 'groups', 'only', 'becomes', 'pieces', 'breaks', 'heats', 'shut',
    'cools', 'fills', 'washes',
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class ObjectKind:
    """A class of objects; see `kinds.yaml` for the meaning of its values.

    Attributes:
        name: THOR's objectType.
        flags: of `FLAGS`.
        size: 1 (fits into a hand) to 4.
        takes: the largest size that it holds; 0 if it is not a receptacle.
        room: how many things it holds.
        only: the classes that it holds; empty for any.
        groups: names that stand for several classes.
        becomes: the class of its slices.
        pieces: how many of them.
        breaks: the class that it breaks into; empty where it keeps its class.
        heats: whether it cooks its contents while it is on.
        shut: whether it must be closed while it is on.
        cools: whether its contents are cold.
        fills: the liquid that it fills things with while it is on.
        washes: whether it cleans its contents while it is on.
    """

    name: str
    flags: frozenset[str]
    size: int = 4
    takes: int = 0
    room: int = 0
    only: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    becomes: str = ''
    pieces: int = 0
    breaks: str = ''
    heats: bool = False
    shut: bool = False
    cools: bool = False
    fills: str = ''
    washes: bool = False

    @property
    def receptacle(self) -> bool:
        """Whether things can be put in or on it."""
        return self.room > 0


@cache
def kinds() -> Mapping[str, ObjectKind]:
    """Every class by its name.

    Raises:
        PddlError: the file of the package was damaged.
    """
    path = FOLDER / 'kinds.yaml'
    found = read_yaml(read_text(path, 'classes'), path.name).mapping('classes')
    return {name: _kind(name, value) for name, value in found.items()}


@cache
def members(name: str) -> tuple[str, ...]:
    """The classes that a class or a group stands for; none where there is no such name."""
    if name in kinds():
        return (name,)
    return tuple(kind.name for kind in kinds().values() if name in kind.groups)


def check_class(value: Placed, *, groups: bool = False) -> str:
    """The name of a class in a file.

    Args:
        groups: whether a group may stand there, too.

    Raises:
        PddlError: there is no such class.
    """
    name = value.text('a class')
    if not (members(name) if groups else name in kinds()):
        raise value.error(f'{name[:40]!a} is not a class of objects', 'see kinds.yaml')
    return name


def _kind(name: str, value: Placed) -> ObjectKind:
    given = value.mapping(name, _KEYS)

    def number(key: str, default: int) -> int:
        found = given[key].value if key in given else default
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise value.error(f'{key} of {name} must be a number', 'correct it')
        return int(found)

    def words(key: str, known: Collection[str] = ()) -> tuple[str, ...]:
        found = [each.text(key) for each in given[key].items(key)] if key in given else []
        for word in found:
            if known and word not in known:
                raise given[key].error(f'{word!a} is not a flag', f'flags are {" ".join(known)}')
        return tuple(found)

    def text(key: str) -> str:
        return given[key].text(key) if key in given else ''

    def flag(key: str) -> bool:
        return key in given and given[key].value is True

    return ObjectKind(
        name, frozenset(words('is', FLAGS)), number('size', 4), number('takes', 0),
        number('room', 0), words('only'), words('groups'), text('becomes'), number('pieces', 0),
        text('breaks'), flag('heats'), flag('shut'), flag('cools'), text('fills'), flag('washes'),
    )  # fmt: skip

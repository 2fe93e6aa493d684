# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What differs between versions of Typer.

Typer 0.9, which rosdep installs, reads neither `X | None` nor postponed annotations. Typer 0.29
keeps the line breaks of a text, and prints `{name}`, `<bool>`, `<list[Path]>` and `[x>=0]`.
"""

from __future__ import annotations

import inspect
import types
import typing

import typer.core
import typer.main
import typer.utils
from typer.core import TyperArgument, TyperOption

READS_UNIONS = (0, 12)
NEW = hasattr(TyperOption, 'display_type_rich')
LINE = '\n' if NEW else '\n\n'
"""The end of a line in an epilog."""


def optional(annotation: object) -> object:
    """The `Optional[X]` of an `X | None`; anything else as it is."""
    if isinstance(annotation, types.UnionType):
        return typing.Union[typing.get_args(annotation)]  # noqa: UP007 (the old form is the point)
    return annotation


def read_unions() -> None:
    """Has Typer convert the annotations of every command; nothing where it reads them itself."""
    if tuple(int(part) for part in typer.__version__.split('.')[:2]) >= READS_UNIONS:
        return
    read = typer.utils.get_params_from_function

    def converted(function: typing.Any) -> dict[str, typing.Any]:
        # It reads `Annotated` from the signature, where a postponed annotation is only a text.
        function.__signature__ = inspect.signature(function, eval_str=True)
        found = read(function)
        for parameter in found.values():
            parameter.annotation = optional(parameter.annotation)
        return found

    vars(typer.main)['get_params_from_function'] = converted


def plain_help() -> None:
    """Has Typer 0.29 print arguments in capitals and without types, and plain types of options."""
    if not NEW:
        return
    option: typing.Any = TyperOption
    argument: typing.Any = TyperArgument
    shown = option.display_type_rich

    def type_of(self: typing.Any, *, ctx: typing.Any) -> typing.Any:
        if self.is_flag:
            return None
        told = shown(self, ctx=ctx).replace('<list[Path]>', '<path>').replace(' range>', '>')
        return told.replace('<list[str]>', '<str>')

    def usage(self: typing.Any) -> str:
        name = str(self.display_name_raw)
        if ' ' in name:  # says itself what may be left out or repeated
            return name
        return (name if self.required else f'[{name}]') + ('...' if self.nargs != 1 else '')

    option.display_type_rich = type_of
    option._get_number_range_help_str = lambda self: None  # an error has it; help needs the room
    argument.display_type_rich = lambda self, *, ctx: None
    argument.display_name_raw = property(lambda self: self.metavar or self.name.upper())
    argument._usage_display_name = usage


def import_less() -> None:
    """Has Typer 0.29 import no pydantic for words and switches."""
    if not NEW:
        return
    core = vars(typer.core)
    build = core['build_runtime_param']
    as_given = types.SimpleNamespace(coerce=lambda value, param, ctx: value)

    def built(told: typing.Any) -> typing.Any:
        info = told.parameter_info
        plain = told.annotation in (str, bool) and info.parser is None and info.envvar is None
        return as_given if plain else build(told)

    core['build_runtime_param'] = built

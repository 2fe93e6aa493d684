# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What differs between versions of Typer.

Typer 0.9, which rosdep installs, reads neither `X | None` nor postponed annotations; Typer 0.29
prints `<bool>` behind each flag.
"""

from __future__ import annotations

import inspect
import types
import typing

import typer.main
import typer.utils
from typer.core import TyperOption

READS_UNIONS = (0, 12)


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


def hide_flag_types() -> None:
    """Leaves the type out of the help of flags; nothing where Typer has no name for it."""
    shown = getattr(TyperOption, 'display_type_rich', None)
    if shown is None:
        return

    def without_flags(self: typing.Any, *, ctx: typing.Any) -> typing.Any:
        return None if self.is_flag else shown(self, ctx=ctx)

    vars_of = typing.cast('typing.Any', TyperOption)
    vars_of.display_type_rich = without_flags

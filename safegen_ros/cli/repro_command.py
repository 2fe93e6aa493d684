# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command line that repeats a command, for the pages that it writes."""

from __future__ import annotations

import shlex
from typing import Any

import typer


def given_words(context: typer.Context) -> str:
    """The arguments of a command that differ from their defaults.

    Where its results go is left out, unless it has to be said.

    Returns:
        Such as `--domain blocksworld --count 2`; a shell reads it.
    """
    words: list[str] = []
    for parameter in context.command.params:
        value, default = context.params.get(str(parameter.name)), parameter.get_default(context)
        if parameter.name == 'out' and not parameter.required:
            continue
        # An option that may be repeated has an empty list for nothing, and None as its default.
        if (value or default) and str(value) != str(default):
            words += _said(parameter, value)
    return ' '.join(words)


def _said(parameter: Any, value: Any) -> list[str]:
    if isinstance(value, bool):
        return [(parameter.opts if value else parameter.secondary_opts)[0]]
    name = '' if parameter.param_type_name == 'argument' else f'{parameter.opts[0]} '
    many = value if isinstance(value, list | tuple) else (value,)
    return [name + shlex.quote(str(each)) for each in many]

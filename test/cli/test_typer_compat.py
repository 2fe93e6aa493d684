# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command line runs with the Typer that rosdep installs."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Annotated, Optional

import pytest
import typer
from typer.testing import CliRunner

from safegen_ros.cli import typer_compat

ROOT = Path(__file__).resolve().parents[2]


def test_a_union_with_none_is_the_optional_that_old_versions_read() -> None:
    assert typer_compat.optional(Path | None) == Optional[Path]  # noqa: UP045
    assert typer_compat.optional(list[str] | None) == Optional[list[str]]  # noqa: UP045
    assert typer_compat.optional(Path) is Path


def test_an_old_version_is_given_options_with_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typer, '__version__', '0.9.0')
    monkeypatch.setattr(typer.main, 'get_params_from_function', typer.main.get_params_from_function)
    typer_compat.read_unions()
    app = typer.Typer()

    @app.command()
    def show(
        file: Annotated[Path | None, typer.Argument()] = None,
        as_json: Annotated[bool, typer.Option('--json')] = False,
    ) -> None:
        print(file, as_json)

    assert CliRunner().invoke(app, ['x.pddl', '--json']).output == 'x.pddl True\n'


def test_it_is_needed_as_long_as_such_a_version_may_be_installed() -> None:
    names = [
        node.value
        for node in ast.walk(ast.parse((ROOT / 'setup.py').read_text()))
        if isinstance(node, ast.Constant) and str(node.value).startswith('typer>=')
    ]
    (least,) = (tuple(map(int, str(each).removeprefix('typer>=').split('.'))) for each in names)
    assert least < typer_compat.READS_UNIONS

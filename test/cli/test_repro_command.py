# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A page names the command that prints it again."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from safegen_ros.cli.repro_command import given_words

app = typer.Typer()


@app.command()
def other() -> None:
    """So that there are two."""


@app.command()
def figures(
    context: typer.Context,
    data: Path,
    work: Annotated[Path, typer.Option()],
    model: Path = Path('models/m'),
    count: int = 25,
    least: int = 3,
    temperature: float = 0.6,
    strategy: list[str] | None = None,
    plots: bool = True,
    propose: bool = False,
    out: Path = Path('docs/results'),
) -> None:
    """Prints how it was called."""
    print(given_words(context))


DATA = 'd --work w'


@pytest.mark.parametrize(
    ('given', 'told'),
    [
        (DATA, DATA),
        ('--work w d --count 25 --model models/m --temperature 0.6', DATA),
        (f'{DATA} --out elsewhere', DATA),
        (f'{DATA} --count 2', f'{DATA} --count 2'),
        (f'{DATA} --least 0 --temperature 0', f'{DATA} --least 0 --temperature 0.0'),
        (f"{DATA} --strategy 'a, b' --strategy c", f"{DATA} --strategy 'a, b' --strategy c"),
        (f'{DATA} --no-plots --propose', f'{DATA} --no-plots --propose'),
    ],
)
def test_what_is_not_the_default_is_told(given: str, told: str) -> None:
    done = CliRunner().invoke(app, ['figures', *shlex.split(given)])
    assert done.stdout.strip() == told
    again = CliRunner().invoke(app, ['figures', *shlex.split(done.stdout)])
    assert again.stdout == done.stdout

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The lines of a long command in a log, its bars, and the command line that repeats it."""

from __future__ import annotations

import io
import shlex
from pathlib import Path
from typing import Annotated

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from safegen_ros.cli import progress
from safegen_ros.cli.progress import given_words


def test_a_log_gets_a_line_for_each_stage_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(progress.time, 'monotonic', lambda: now)
    written = io.StringIO()
    with progress.stages(Console(file=written, force_terminal=False)) as notify:
        for done in range(1, 101):
            notify('goals', done, 100)
            notify('answers', done, 200)
            now += 1.0
    lines = written.getvalue().splitlines()
    assert [line for line in lines if line.startswith('goals')] == [
        f'goals: {done} of 100' for done in (31, 61, 91)
    ]
    assert len(lines) == 6


def test_a_terminal_gets_bars_that_leave_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('TERM', 'xterm')
    written = io.StringIO()
    with progress.stages(Console(file=written, force_terminal=True, width=80)) as notify:
        notify('goals', 1, 2)
        notify('goals', 2, 2)
    assert '2/2' in written.getvalue()
    assert not written.getvalue().endswith('2/2')


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

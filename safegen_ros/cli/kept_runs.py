# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen runs`: what a user may say about recorded runs."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from safegen_ros.cli.failures import JsonOnly
from safegen_ros.errors import SafegenError
from safegen_ros.record.present.share import share_html
from safegen_ros.record.run_log import KeptRun

app = typer.Typer(no_args_is_help=True)


def complete_run(incomplete: str) -> list[str]:
    """Ids of runs that begin so, for the completion of a shell."""
    from safegen_ros.paths import runs_dir
    from safegen_ros.record.history import LAST, list_runs

    names = [LAST, *(run.name for run in list_runs(runs_dir()))]
    return [name for name in names if name.startswith(incomplete)]


RunName = Annotated[
    str,
    typer.Argument(
        metavar='RUN',
        help="run ID or unique part of it, 'last' for the newest, or the path of its folder; "
        "'safegen runs list' lists them",
        autocompletion=complete_run,
    ),
]


@app.command('list')
def list_(
    limit: Annotated[int, typer.Option(min=0, help='maximum number of runs (0: all)')] = 20,
    domain: Annotated[str, typer.Option(help='only runs of this PDDL domain')] = '',
    result: Annotated[
        str,
        typer.Option(
            help='only runs with this result: success, failed (all others), running, '
            'cut_off, or an error code such as unsolvable'
        ),
    ] = '',
    level: Annotated[
        str,
        typer.Option(
            '--planner',
            '--level',
            help='only runs with a plan by this planner, such as model or search',
        ),
    ] = '',
    since: Annotated[
        datetime | None, typer.Option(help='only runs since this time, in UTC')
    ] = None,
    as_json: Annotated[
        bool, typer.Option('--json', help='print one line of JSON per run and nothing else')
    ] = False,
) -> None:
    """List recorded runs, newest first.

    Runs are in the folder of SAFEGEN_RUNS_DIR, else in runs/ of the working directory.

    Exit status: 0 done, 2 a listed run cannot be read.
    """
    from safegen_ros.cli.history import Filter, list_kept, unknown_result

    if wrong := unknown_result(result):
        raise typer.BadParameter(wrong, param_hint='--result')
    raise typer.Exit(list_kept(limit, Filter(domain, result, level, since), as_json))


@app.command()
def show(
    run: RunName,
    as_json: JsonOnly = False,
    events: Annotated[bool, typer.Option(help='list the events')] = True,
    compare: Annotated[
        str,
        typer.Option(
            metavar='RUN',
            help='another run: print only its differences',
            autocompletion=complete_run,
        ),
    ] = '',
) -> None:
    """Print everything about one run: task, attempts, plan, steps, end and events.

    Exit status: 0 done, 2 no such run, or it cannot be read.
    """
    from safegen_ros.cli.show import show_run, show_two

    raise typer.Exit(show_two(run, compare, as_json) if compare else show_run(run, as_json, events))


@app.command()
def replay(
    run: RunName,
    execute: Annotated[
        bool, typer.Option(help='execute the plan again, on the twin or in a symbolic cell')
    ] = True,
    scene: Annotated[
        Path | None, typer.Option(help='YAML of the robot cell (default: the shipped one)')
    ] = None,
    as_json: JsonOnly = False,
) -> None:
    """Verify a recorded run again, execute its plan again, and report differences.

    It needs no ROS and does not touch a running stack.

    Exit status: 0 all as recorded, 1 a difference, 2 the run cannot be read.
    """
    from safegen_ros.cli.replay import replay_run

    raise typer.Exit(replay_run(run, execute, scene, as_json))


@app.command()
def share(
    run: RunName,
    out: Annotated[
        Path | None,
        typer.Option('--out', '-o', help='file to write (default: the run ID with .html)'),
    ] = None,
) -> None:
    """Write a run as one self-contained HTML file.

    The page has the task, every attempt with its verdict, the states, the timeline, the digests of
    the files, and a video unless that is too large. It needs no network and no script.

    Exit status: 0 done, 2 no such run, it cannot be read, or the file cannot be written.
    """
    from safegen_ros.cli.show import named_run
    from safegen_ros.errors import SafegenError, UsageError

    folder, kept = named_run(run)
    to = out or Path(f'{kept.record.run_id}.html')
    try:
        write_share(folder, kept, to)
    except SafegenError as error:
        raise UsageError(error.message) from error
    print(to)


def write_share(folder: Path, kept: KeptRun, to: Path) -> None:
    """Writes the page of a run.

    Raises:
        RecordError: as `share_html`.
        SafegenError: it cannot be written there.
    """
    page = share_html(folder, kept)
    try:
        to.write_text(page, encoding='utf-8')
    except OSError as error:
        raise SafegenError(
            f'{to}: cannot be written: {error.strerror}: name another file with -o'
        ) from error

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen bench`: measures the validator and the planner beside others, against their targets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from safegen_ros.paths import runs_dir

if TYPE_CHECKING:
    from safegen_ros.benchmarks.jobs import NotifyOutcome
    from safegen_ros.benchmarks.report import Report

app = typer.Typer(
    no_args_is_help=True,
    help='Measure the validator and the planner beside others, in one run, against their targets.',
)

Seed = Annotated[int, typer.Option(min=0, max=2**31 - 1, help='seed of problems and plans')]
Out = Annotated[
    Path | None,
    typer.Option(file_okay=False, help='folder for the figures; by default a new one below runs/'),
]


@app.command()
def validator(
    problems: Annotated[int, typer.Option(min=1, help='problems of each domain')] = 8,
    plans: Annotated[int, typer.Option(min=4, help='plans of each problem, at most')] = 60,
    seed: Seed = 0,
    out: Out = None,
) -> None:
    """Speed of the validator beside VAL and unified-planning, of the shield, and memory."""
    from safegen_ros.benchmarks.validator import Settings, measure

    folder = _folder(out)
    console = Console()
    with _progress(console) as progress:
        bars: dict[str, int] = {}

        def notify(stage: str, done: int, total: int) -> None:
            if stage not in bars:
                bars[stage] = progress.add_task(stage, total=total)
            progress.update(bars[stage], completed=done)  # type: ignore[arg-type]

        report = measure(Settings(problems, plans, seed), notify)
    _finish(report, folder, console)


@app.command()
def planner(
    figure3: Annotated[
        bool, typer.Option('--figure3', help="large problems, as in the paper's figure 3")
    ] = False,
    problems: Annotated[
        int, typer.Option(min=1, help='problems of each domain, without --figure3')
    ] = 50,
    per_bin: Annotated[int, typer.Option(min=1, help='problems of each size, with --figure3')] = 8,
    route: Annotated[
        list[str] | None,
        typer.Option(help='auto, in-process or fast-downward; all of them by default'),
    ] = None,
    time_limit: Annotated[float, typer.Option(min=0.1, help='for each problem [s]')] = 60.0,
    memory_limit: Annotated[int, typer.Option(min=64, help='for each problem [MiB]')] = 2048,
    jobs: Annotated[int, typer.Option(min=1, help='problems that are solved at once')] = 1,
    seed: Seed = 0,
    out: Out = None,
) -> None:
    """Time and success of the search planner by route; the same --out goes on where it was."""
    from safegen_ros.benchmarks import figure3 as large
    from safegen_ros.benchmarks import planner as paper
    from safegen_ros.search.solve import Route

    known: tuple[Route, ...] = get_args(Route)
    unknown = [name for name in route or () if name not in known]
    if unknown:
        raise typer.BadParameter(f'{unknown[0]!r} is none of {" ".join(known)}')
    routes = tuple(name for name in known if not route or name in route)
    folder = _folder(out)
    console = Console()
    if figure3:
        asked = large.Settings(per_bin, routes, seed, time_limit, memory_limit, jobs)
        with _outcomes(console, len(large.figure_jobs(asked))) as notify:
            report = large.measure(asked, folder, notify)
    else:
        wanted = paper.Settings(problems, routes, seed, time_limit, memory_limit, jobs)
        with _outcomes(console, len(paper.paper_jobs(wanted))) as notify:
            report = paper.measure(wanted, folder, notify)
    _finish(report, folder, console)


def _folder(out: Path | None) -> Path:
    """The folder of the run; a new one has the time in its name."""
    if out is None:
        out = runs_dir() / f'bench-{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}'
    out.mkdir(parents=True, exist_ok=True)
    return out


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn('{task.description}'),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )


@contextmanager
def _outcomes(console: Console, total: int) -> Iterator[NotifyOutcome]:
    """A bar for the outcomes, with how many there are of each kind."""
    from safegen_ros.benchmarks.jobs import Outcome

    counts: Counter[str] = Counter()
    with _progress(console) as progress:
        bar = progress.add_task('solving', total=total)

        def notify(outcome: Outcome) -> None:
            counts[outcome.status] += 1
            texts = ', '.join(f'{count} {status}' for status, count in sorted(counts.items()))
            progress.update(bar, advance=1, description=texts)

        yield notify


def _finish(report: Report, folder: Path, console: Console) -> None:
    report.write(folder)
    report.print(console)
    console.print(f'figures: {folder}', soft_wrap=True)

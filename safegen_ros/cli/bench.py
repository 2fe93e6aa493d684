# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen bench`: measures the validator and the planner beside others, against their targets."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timezone
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from safegen_ros.cli import boxnet, household, planetarium
from safegen_ros.cli.bench_collections import language, solve
from safegen_ros.cli.failures import ExitStatus, one_of
from safegen_ros.cli.progress import stages
from safegen_ros.console.viser_workarounds import keep_compact
from safegen_ros.paths import runs_dir
from safegen_ros.terminal import Console, table

if TYPE_CHECKING:
    from rich.table import Table

    from safegen_ros.benchmarks.measurement import Notify, Report
    from safegen_ros.benchmarks.stack.fault_runs import FaultRun

app = typer.Typer(
    no_args_is_help=True,
)
for _name, _benchmark, _help in (
    ('boxnet', boxnet.app, 'Many arms on a grid: plans and collisions.'),
    ('household', household.app, 'Household tasks, one action at a time, with constraints (SAPO).'),
    ('planetarium', planetarium.app, 'Text to PDDL: dataset and score.'),
):
    app.add_typer(_benchmark, name=_name, help=_help, rich_help_panel='Benchmarks of other papers')
for _verb in (language, solve):
    app.command()(_verb)

Seed = Annotated[int, typer.Option(min=0, max=2**31 - 1, help='seed of problems and plans')]
Out = Annotated[
    Path | None,
    typer.Option(file_okay=False, help='folder for the figures (default: a new one in runs/)'),
]


_SEARCHED, _ASKED = 50, 8


@app.command()
def validator(
    problems: Annotated[int, typer.Option(min=1, help='problems per domain')] = 8,
    plans: Annotated[int, typer.Option(min=4, help='maximum number of plans per problem')] = 60,
    seed: Seed = 0,
    out: Out = None,
) -> None:
    """Speed of the validator (and VAL and unified-planning) and of the shield, and memory."""
    from safegen_ros.benchmarks.speed.shield import token_costs
    from safegen_ros.benchmarks.speed.validator import measure

    def both(notify: Notify) -> Report:
        report = measure(problems, plans, seed, notify)
        costs = token_costs(problems, seed, notify)
        return replace(report, measurements=(*report.measurements, *costs))

    _run(both, out)


@app.command()
def planner(
    figure3: Annotated[
        bool, typer.Option('--figure3', help="large problems, as in the paper's figure 3")
    ] = False,
    problems: Annotated[
        int | None,
        typer.Option(
            min=1,
            help=f'problems per domain, without --figure3 (default: {_SEARCHED}; {_ASKED} with '
            '--model, which plans each fifteen times)',
        ),
    ] = None,
    per_bin: Annotated[int, typer.Option(min=1, help='problems per size, with --figure3')] = 8,
    route: Annotated[
        list[str] | None,
        typer.Option(help='auto, in-process or fast-downward (default: all)'),
    ] = None,
    time_limit: Annotated[float, typer.Option(min=0.1, help='seconds per problem')] = 60.0,
    memory_limit: Annotated[int, typer.Option(min=64, help='MiB per problem')] = 2048,
    jobs: Annotated[int, typer.Option(min=1, help='problems to solve at once')] = 1,
    model: Annotated[
        str | None,
        typer.Option(help='measure this model, with 1, 8 and 32 goals at once'),
    ] = None,
    prompts: Annotated[
        Path | None,
        typer.Option(help='model folder whose prompts the server of --model gets'),
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option(help="planners to try, in order, with --model (default: the planner node's)"),
    ] = None,
    seed: Seed = 0,
    out: Out = None,
) -> None:
    """Time and success of the search planner by route; the same --out resumes."""
    if figure3 and model is not None:
        raise typer.BadParameter('--figure3 is about search, --model about a model: give one')
    if model is not None:
        _model(model, prompts, problems or _ASKED, strategy, seed, out)
        return
    from safegen_ros.benchmarks.speed import planner as search
    from safegen_ros.search.solve import Route

    known: tuple[Route, ...] = get_args(Route)
    asked_for = [one_of(name, known) for name in route or known]
    routes = tuple(name for name in known if name in asked_for)
    folder = _folder(out)
    console = Console()
    each = per_bin if figure3 else problems or _SEARCHED
    asked = search.PlannerSettings(each, routes, seed, time_limit, memory_limit, jobs)
    measure = search.measure_figure3 if figure3 else search.measure
    total = len((search.figure3_jobs if figure3 else search.paper_jobs)(asked))
    solved = count(1)
    with stages(console) as notify:
        report = measure(asked, folder, lambda outcome: notify('solving', next(solved), total))
    _finish(report, folder, console)


@boxnet.app.command('speed')
def boxnet_speed(
    tasks: Annotated[int, typer.Option(min=1, help='tasks per size and number of objects')] = 10,
    checks: Annotated[int, typer.Option(min=1, help='number of checks of a step')] = 2000,
    seed: Seed = 0,
    out: Out = None,
) -> None:
    """Time to check a step of 25 robots, and to solve tasks of the sizes of BoxNet2D."""
    from safegen_ros.benchmarks.speed.boxnet import measure_boxnet

    _run(lambda notify: measure_boxnet(tasks, checks, seed, notify), out)


@app.command()
def twin(
    towers: Annotated[int, typer.Option(min=1, help='number of towers')] = 20,
    height: Annotated[int, typer.Option(min=2, help='blocks per tower')] = 5,
    sigma: Annotated[
        float, typer.Option(min=0, max=10, help='standard deviation of every pick and place in mm')
    ] = 0.5,
    scene: Annotated[
        Path | None, typer.Option(help='YAML of the cell (default: config/scene.yaml)')
    ] = None,
    seed: Seed = 0,
    out: Out = None,
) -> None:
    """Towers on the physics of the twin with random errors, and the speed of a rehearsal."""
    from safegen_ros.benchmarks.speed.twin import measure

    _run(lambda notify: measure(towers, height, sigma, scene, seed, notify), out)


@app.command()
def link(
    runs: Annotated[int, typer.Option(min=1, help='runs per kind of fault')] = 5,
    out: Out = None,
) -> None:
    """How soon the arm holds when its agent or the link dies: over serial, TCP and SSH."""
    from safegen_ros.benchmarks.stack.link import measure

    _run(lambda notify: measure(runs, notify), out)


@app.command()
def ros(
    goals: Annotated[int, typer.Option(min=1, help='number of goals, one after the other')] = 100,
    idle: Annotated[float, typer.Option(min=1, help='seconds to watch the idle stack')] = 20.0,
    out: Out = None,
) -> None:
    """Cost of the ROS 2 stack per goal and when idle, and its time to start."""
    from safegen_ros.benchmarks.stack.services import measure

    _run(lambda notify: measure(goals, idle, notify), out)


@app.command(name='console')
def console_page(
    stops: Annotated[int, typer.Option(min=1, help='number of stops by a click')] = 10,
    executions: Annotated[
        int, typer.Option(min=1, help='executions with viewers, and as many without')
    ] = 5,
    minutes: Annotated[float, typer.Option(min=0.1, help='minutes to watch the memory')] = 10.0,
    out: Out = None,
) -> None:
    """Delay of the operator's page, its time to stop the arm, and its cost."""
    keep_compact()  # before numpy begins threads
    from safegen_ros.benchmarks.stack.console import measure

    _run(lambda notify: measure(stops, executions, minutes, notify), out)


@app.command(name='goals')
def many_goals(
    goals: Annotated[int, typer.Option(min=1, help='number of goals in all')] = 1000,
    clients: Annotated[int, typer.Option(min=1, max=16, help='number of client processes')] = 8,
    out: Out = None,
) -> None:
    """Many goals from several clients, with their times: none may be lost or mixed up.

    Exit status: 0 all goals reached, 1 a goal was lost, failed, or is not in the journal.
    """
    from safegen_ros.benchmarks.stack.goals import measure

    report = _run(lambda notify: measure(goals, clients, notify), out)
    if any(each.reached is False for each in report.measurements):
        raise typer.Exit(1)


def _model(
    model: str,
    prompts: Path | None,
    problems: int,
    strategy: str | None,
    seed: int,
    out: Path | None,
) -> None:
    """Goals of one model, one at a time and many at once."""
    from safegen_ros.benchmarks.speed.concurrency import AT_ONCE, measure
    from safegen_ros.llm.model_names import is_server, named_model
    from safegen_ros.llm.open_backend import open_backend
    from safegen_ros.llm.openai_backend import RetryPolicy
    from safegen_ros.planning.levels import DEFAULT, level_names
    from safegen_ros.tasks.pddl3.prompts.styles import load_style, style_of

    asked = strategy or DEFAULT
    level_names(asked)
    name, console = named_model(model), Console()
    style = load_style(prompts) if prompts else style_of(name)
    many = RetryPolicy(parallel=max(AT_ONCE))
    with (
        closing(open_backend(name, device='cpu')) as plain,
        closing(open_backend(name, device='cpu', batch=max(AT_ONCE), retry=many)) as shared,
        stages(console) as notify,
    ):
        clock = time.monotonic if is_server(name) else time.process_time
        report = measure(plain, shared, style, problems, asked, seed, notify, clock)
    report = replace(report, settings={'model': model, **report.settings})
    _finish(report, _folder(out), console)


def _folder(out: Path | None) -> Path:
    """The folder of the run; a new one has the time in its name."""
    if out is None:
        out = runs_dir() / f'bench-{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}'
    out.mkdir(parents=True, exist_ok=True)
    return out


def _run(measure: Callable[[Notify], Report], out: Path | None) -> Report:
    console = Console()
    with stages(console) as notify:
        report = measure(notify)
    _finish(report, _folder(out), console)
    return report


def _finish(report: Report, folder: Path, console: Console) -> None:
    report.write(folder)
    report.print(console)
    console.print(f'figures: {folder}', soft_wrap=True)


@app.command()
def faults(
    runs: Annotated[
        int, typer.Option(min=1, help='number of random faults, all kinds in turn')
    ] = 200,
    jobs: Annotated[int, typer.Option(min=1, max=32, help='runs at once')] = 4,
    seed: Annotated[int, typer.Option(min=0, help='seed of the first run')] = 0,
) -> None:
    """Random faults of an emulated arm, its cable and its agent: does each end in a stop?

    After each stop nothing may move or be powered before a reset, and the repaired arm must move
    after it.
    """
    from safegen_ros.benchmarks.stack.fault_runs import run_all
    from safegen_ros.robot.scene import load_scene

    console, ended = Console(), count(1)
    with stages(console) as progress:

        def notify(run: FaultRun) -> None:
            progress('faults', next(ended), runs)
            if run.ended == 'wrong':
                what = f'seed {run.seed}, {run.fault} over {run.transport}: {run.message}'
                console.print(what, markup=False)

        found = run_all(load_scene(), range(seed, seed + runs), jobs, notify)
    console.print(_table(found), highlight=False)
    for line in summary(found):
        console.print(line, highlight=False, soft_wrap=True)
    if any(run.ended == 'wrong' for run in found):
        raise typer.Exit(ExitStatus.FAILED)


def summary(found: list[FaultRun]) -> list[str]:
    """The figures over all runs, each as a sentence."""
    stopped = sum(bool(run.message) for run in found)
    good = sum(run.ended != 'wrong' for run in found)
    transports = ', '.join(
        f'{sum(run.transport == name for run in found)} over {name}'
        for name in dict.fromkeys(sorted(run.transport for run in found))
    )
    lines = [
        f'{len(found)} runs: {transports}',
        f'ended in a stop or well: {good}/{len(found)} ({100 * good / len(found):.1f} %)',
        f'motions after {stopped} stops: {sum(run.motions for run in found)}',
        f'self-resumes before a reset: {sum(run.resumes for run in found)}',
    ]
    frames = sorted(1000 * run.stop_frame for run in found if run.stop_frame is not None)
    if frames:
        lines.append(
            f'stop to the stop command at the arm: median {frames[len(frames) // 2]:.1f} ms, at '
            f'most {frames[-1]:.1f} ms over {len(frames)} stops'
        )
    return lines


def _table(found: list[FaultRun]) -> Table:
    words = ('done', 'stopped', 'wrong')
    rows = []
    for name in dict.fromkeys(run.fault for run in found):
        ended = [run.ended for run in found if run.fault == name]
        rows.append((name, str(len(ended)), *(str(ended.count(word)) for word in words)))
    return table('', ('fault',), ('runs', *words), rows)

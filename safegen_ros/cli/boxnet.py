# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen bench boxnet`: many arms, reach and collision: tasks, plans, verdicts, pictures."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from safegen_ros.cli.boxnet_cell import Depth, compare, run, with_depth
from safegen_ros.cli.dataset import Jobs, build_with, check_with, working
from safegen_ros.cli.failures import ExitStatus, one_of
from safegen_ros.cli.progress import given_words
from safegen_ros.terminal import Console

if TYPE_CHECKING:
    from safegen_ros.tasks.boxnet.model import IdleArms, Plan, Task

app = typer.Typer(no_args_is_help=True)

app.command()(run)
app.command()(compare)

PAPER_RECIPE = 'config/boxnet/paper.json'
"""The recipe with the splits and sizes of the paper."""

LESSON_RECIPE = 'config/boxnet/mini.json'
"""The summary of the small model's training data."""

Folder = Annotated[Path, typer.Argument(file_okay=False, help='folder of the dataset')]
TaskFile = Annotated[
    Path,
    typer.Argument(dir_okay=False, help='task in JSON (several lines: choose by --id)'),
]
Id = Annotated[str, typer.Option('--id', help='ID of the task in the file (default: the first)')]
Rows = Annotated[
    int, typer.Option(min=0, help='maximum number of tasks, spread over the split (0: all)')
]
Idle = Annotated[bool, typer.Option('--idle-arms-block', help='treat idle arms as obstacles')]


@app.command()
def solve(
    task: TaskFile,
    id: Id = '',
    planner: Annotated[
        str, typer.Option(help='optimal, or paper (the A* of the paper with its pruning)')
    ] = 'optimal',
    seed: Annotated[int, typer.Option(min=0, help='seed of the paper planner')] = 0,
    depth: Depth = 'analytic',
    render: Annotated[Path | None, typer.Option(help='draw the plan to this file')] = None,
) -> None:
    """Print a plan as JSON; its length and its proof go to standard error."""
    from safegen_ros.cli.box_pictures import drawing
    from safegen_ros.tasks.boxnet.model import duration, plan_json
    from safegen_ros.tasks.boxnet.optimal import parallelism
    from safegen_ros.tasks.boxnet.verifier import judge

    one_of(planner, ('optimal', 'paper'))
    asked = with_depth(_task(task, id), depth)
    plan, told = _plan(asked, planner, seed)
    console = Console(stderr=True)
    if plan is not None:
        told = (
            f'{len(plan)} steps, {told}; at most {parallelism(plan)} robots at once, '
            f'nominal time {duration(plan):.1f}'
        )
        print(plan_json(plan))
    console.print(f'{asked.id}: {told}', soft_wrap=True, highlight=False)
    if plan is None:
        raise typer.Exit(ExitStatus.FAILED)
    if render is not None:
        drawing(asked).draw_judged(asked, judge(asked, plan), render)


@app.command()
def verify(
    task: TaskFile,
    answer: Annotated[Path, typer.Argument(dir_okay=False, help='plan to check')],
    id: Id = '',
    idle_arms_block: Idle = False,
    depth: Depth = 'analytic',
    render: Annotated[Path | None, typer.Option(help='draw the steps to this file')] = None,
) -> None:
    """Verify a plan: success, or each fault with its robots and place."""
    from dataclasses import replace

    from safegen_ros.cli.box_pictures import drawing
    from safegen_ros.goals.files import read_text
    from safegen_ros.tasks.boxnet.verifier import verify as judge_text

    asked = with_depth(_task(task, id), depth)
    judged = replace(asked, idle_arms=_idle(idle_arms_block))
    found = judge_text(judged, read_text(answer, 'answer'))
    print(f'{found.verdict.category.name} ({found.finding.value}): {found.verdict.reason}')
    if render is not None:
        drawing(asked).draw_judged(asked, found, render)
    raise typer.Exit(ExitStatus.OK if found.verdict.ok else ExitStatus.FAILED)


@app.command()
def render(
    task: TaskFile,
    out: Annotated[Path, typer.Argument(dir_okay=False, help='picture file, such as task.png')],
    id: Id = '',
) -> None:
    """Draw a task; `solve --render` and `verify --render` draw plans and their faults."""
    from safegen_ros.cli.box_pictures import drawing

    asked = _task(task, id)
    drawing(asked).draw_task(asked, out)
    print(out)


@app.command()
def build(
    out: Folder,
    recipe: Annotated[
        Path | None, typer.Option('--recipe', help=f'recipe (default: {PAPER_RECIPE})')
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(min=1, help='maximum number of rows per split (default: from the recipe)'),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help='seed (default: from the recipe)')] = None,
    traces: Annotated[
        bool,
        typer.Option('--traces', help='also write prompts, thoughts and answers for training'),
    ] = False,
    jobs: Jobs = None,
) -> None:
    """Build a dataset with each plan and proof checked. The same command resumes."""
    from dataclasses import replace

    from safegen_ros.datasets.boxnet.recipe import load_recipe, scaled
    from safegen_ros.datasets.boxnet.rows import build as make
    from safegen_ros.paths import data_path

    asked = load_recipe(data_path(recipe or PAPER_RECIPE))
    asked = asked if rows is None else scaled(asked, rows)
    asked = asked if seed is None else replace(asked, seed=seed)
    build_with('safegen bench boxnet', jobs, out, partial(make, out, asked), _show)
    if traces:
        from safegen_ros.datasets.boxnet.traces import write_traces

        for found in write_traces(out):
            print(f'{out / found.name}: {found.count:,} traces, {found.words:.0f} words on average')


@app.command()
def lessons(
    out: Folder,
    recipe: Annotated[
        Path | None, typer.Option('--recipe', help=f'recipe (default: {LESSON_RECIPE})')
    ] = None,
    jobs: Jobs = None,
) -> None:
    """Write training data for a small model: maps in words, with the right next steps."""
    from safegen_ros.datasets.boxnet.lessons import load_lessons, write_lessons
    from safegen_ros.paths import data_path

    asked = load_lessons(data_path(recipe or LESSON_RECIPE))
    with working(jobs, '') as (workers, notify, console):
        count = write_lessons(out, asked, workers, notify)
    console.print(f'{count:,} lessons: {out}', soft_wrap=True)


@app.command()
def check(folder: Folder, jobs: Jobs = None) -> None:
    """Check every file, plan and proof of a dataset."""
    from safegen_ros.datasets.boxnet.rows import check as examine

    check_with(jobs, folder, examine)


@app.command()
def stats(folder: Folder) -> None:
    """Print the composition of a dataset and table 11 of the paper."""
    _show(folder, Console())


@app.command('eval')
def evaluate(
    data: Folder,
    model: Annotated[str, typer.Option(help='model folder, or http://HOST:PORT/v1#MODEL')],
    out: Annotated[
        Path,
        typer.Option(file_okay=False, help='folder for runs and figures (resumable)'),
    ],
    split: Annotated[str, typer.Option(help='split of the dataset')] = 'test',
    mode: Annotated[str, typer.Option(help='full (whole plan) or next (step by step)')] = 'full',
    shield: Annotated[
        str,
        typer.Option(
            help='plain (none), filter (drop bad moves), held (decode good moves only) or '
            'beam (search for the likeliest plan)'
        ),
    ] = 'plain',
    attempts: Annotated[
        int, typer.Option(min=1, help='maximum number of answers per plan or step')
    ] = 1,
    trials: Annotated[int, typer.Option(min=1, help='runs per task')] = 4,
    rows: Rows = 0,
    temperature: Annotated[float, typer.Option(min=0, max=2, help='temperature (0: greedy)')] = 0.6,
    max_new_tokens: Annotated[int, typer.Option(min=1, help='longest answer in tokens')] = 4096,
    seed: Annotated[int, typer.Option(min=0, help='seed of sampling')] = 0,
    batch: Annotated[int, typer.Option(min=1, help='runs per batch')] = 8,
    feedback: Annotated[
        str,
        typer.Option(
            help='what a retry prompt says about the refused plan: binary, category or diagnosis'
        ),
    ] = 'diagnosis',
    idle_arms_block: Idle = False,
    depth: Depth = 'analytic',
    plots: Annotated[bool, typer.Option(help='draw plots of the success')] = False,
) -> None:
    """Have a model plan the tasks of a split; print its score and the paper's."""
    from contextlib import closing
    from dataclasses import replace

    from safegen_ros.benchmarks.boxnet.planners import compare, run_rows, spread
    from safegen_ros.benchmarks.subjects import which_model
    from safegen_ros.benchmarks.tables import present
    from safegen_ros.cli.progress import stages
    from safegen_ros.datasets.boxnet.rows import read_rows
    from safegen_ros.llm.backend import Sampling
    from safegen_ros.llm.model_names import named_model
    from safegen_ros.llm.open_backend import open_backend
    from safegen_ros.tasks.boxnet.planner import PlannerOptions
    from safegen_ros.tasks.boxnet.prompts import style_of

    options = PlannerOptions(
        mode, shield, attempts, feedback=feedback, idle_arms=_idle(idle_arms_block)
    )
    read = list(read_rows(data / f'{split}.jsonl'))
    chosen = [replace(row, task=with_depth(row.task, depth)) for row in spread(read, rows)]
    sampling = Sampling(temperature, max_new_tokens=max_new_tokens, seed=seed)
    console = Console()
    opened = open_backend(named_model(model), batch=batch)
    with closing(opened) as backend, stages(console) as notify:
        found = run_rows(
            chosen, backend, sampling, options, out, model=which_model(named_model(model)),
            trials=trials, at_once=batch, style=style_of(named_model(model)), notify=notify,
        )  # fmt: skip
    facts = (
        f'{len(chosen)} tasks, {trials} runs each, temperature {temperature:g}, seed {seed}, '
        f'answers of at most {max_new_tokens} tokens',
    )
    comparison = compare(found, model, options, facts)
    present(comparison, console, out, plot=plots)


@app.command()
def tables(
    ctx: typer.Context,
    data: Folder,
    model: Annotated[Path, typer.Option(file_okay=False, help='folder of a model with its stages')],
    work: Annotated[
        Path,
        typer.Option(file_okay=False, help='folder for the runs; they resume there'),
    ],
    out: Annotated[Path, typer.Option(file_okay=False, help='folder for the figures')],
    trials: Annotated[int, typer.Option(min=1, help='runs per task')] = 4,
    rows: Rows = 0,
    temperature: Annotated[float, typer.Option(min=0, max=2, help='temperature (0: greedy)')] = 0.6,
    max_new_tokens: Annotated[int, typer.Option(min=1, help='longest answer in tokens')] = 600,
    seed: Annotated[int, typer.Option(min=0, help='seed of sampling')] = 0,
    batch: Annotated[int, typer.Option(min=1, help='runs per batch')] = 64,
) -> None:
    """Measure a small model and its stages on all splits, plain, shielded and by beams."""
    from contextlib import ExitStack, closing

    from safegen_ros.benchmarks.boxnet.tables import Asked, BoxnetStudy, stages_to_ask
    from safegen_ros.benchmarks.boxnet.tables import tables as measure
    from safegen_ros.benchmarks.subjects import model_checksum, which_model
    from safegen_ros.benchmarks.tables import present
    from safegen_ros.cli.progress import stages
    from safegen_ros.llm.backend import Sampling
    from safegen_ros.llm.batching_backend import BatchingBackend
    from safegen_ros.paths import data_path
    from safegen_ros.tasks.boxnet.prompts import style_of

    folder = data_path(model)
    asked = stages_to_ask(folder)
    console = Console()
    with ExitStack() as opened:
        models = [
            Asked(
                name,
                opened.enter_context(closing(BatchingBackend(path, batch=batch))),
                style_of(str(path)),
                splits,
                which_model(str(path)),
            )
            for name, path, splits in asked
        ]
        sampling = Sampling(temperature, max_new_tokens=max_new_tokens, seed=seed)
        study = BoxnetStudy(data, work, sampling, trials, rows, batch)
        told = f'{folder.name}: weights {model_checksum(folder)[:16]}'
        notify = opened.enter_context(stages(console))
        found = measure(models, study, given_words(ctx), (told,), notify)
    for comparison in found:
        present(comparison, console, out, plot=False)


def _show(folder: Path, console: Console) -> None:
    from safegen_ros.benchmarks.boxnet.tables import print_statistics

    print_statistics(folder, console)


def _task(path: Path, id: str) -> Task:
    from safegen_ros.paths import DataNotFoundError, data_path
    from safegen_ros.tasks.boxnet.reader import read_task

    with suppress(DataNotFoundError):  # read_task says it better
        path = data_path(path)
    return read_task(path, id)


def _plan(task: Task, planner: str, seed: int) -> tuple[Plan | None, str]:
    """A plan, and the known facts about it."""
    from safegen_ros.tasks.boxnet.astar import MOST_EXPANSIONS, certificate, plan_as_paper
    from safegen_ros.tasks.boxnet.optimal import solve as shortest

    proof = certificate(task)
    if proof is not None:
        return None, f'unsolvable: {proof.reason}'
    if planner == 'paper':
        plan = plan_as_paper(task, seed)
        if plan is None:
            return None, f'no plan among {MOST_EXPANSIONS} states: its pruning may leave it out'
        return plan, 'by the A* of the paper'
    found = shortest(task)
    if found.certified:
        return found.plan, 'the fewest there can be'
    return found.plan, f'at least {found.lower_bound} are needed'


def _idle(block: bool) -> IdleArms:
    return 'block' if block else 'ignore'

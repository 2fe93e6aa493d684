# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen data`: datasets of problems with proved plans; `safegen train`: models of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from safegen_ros.cli.failures import OptionGroup, one_of, takes_options
from safegen_ros.cli.progress import stages
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.paths import DataNotFoundError, data_path, install
from safegen_ros.terminal import Console

if TYPE_CHECKING:
    from safegen_ros.datasets.builder import Notify
    from safegen_ros.datasets.pddl3.recipe import Recipe
    from safegen_ros.datasets.workers import Workers

BENCH = 'data/safegen-bench'
"""The folder of the dataset that is shipped, in part."""

PLOTS = 'plots'
"""The folder with the plots of a dataset, in that of the dataset."""

app = typer.Typer(no_args_is_help=True)

Out = Annotated[Path, typer.Argument(file_okay=False, help='folder of the dataset')]
RecipeFile = Annotated[
    Path | None, typer.Option('--recipe', help=f'recipe (default: that of {BENCH})')
]
Rows = Annotated[
    int | None, typer.Option(min=0, help='rows of this split per domain (default: from the recipe)')
]
Train = Annotated[
    int | None,
    typer.Option(
        min=1,
        help='training rows per domain, no fewer than renamed ones (default: from the recipe)',
    ),
]
Seed = Annotated[
    int | None, typer.Option(min=0, help='seed of all problems (default: from the recipe)')
]
Domains = Annotated[
    list[str] | None, typer.Option('--domain', help='only this domain (repeatable)')
]
Jobs = Annotated[
    int | None, typer.Option(min=1, help='number of processes (default: one per core)')
]
Ray = Annotated[
    str,
    typer.Option(
        '--ray', metavar='ADDRESS', help='address of a Ray cluster (local: start one here)'
    ),
]
Val = Annotated[bool, typer.Option('--val/--no-val', help='require VAL to accept every plan')]


def _recipe(
    recipe: Path | None, seed: int | None, domain: list[str] | None, val: bool, **rows: int | None
) -> Recipe:
    """The recipe of a file, changed by the command line; `rows` are those of each split."""
    import json

    from safegen_ros.datasets.pddl3.recipe import default_values, load_recipe, recipe_of

    source = recipe or data_path(f'{BENCH}/recipe.json')
    values: dict[str, Any] = json.loads(load_recipe(source).to_json())
    if seed is not None:
        values['seed'] = seed
    if domain:
        known = values['domains']
        values['domains'] = {name: known.get(name) or default_values(name) for name in domain}
    quotas = {split: count for split, count in rows.items() if count is not None}
    for wanted in values['domains'].values():
        renamed = wanted['quotas']['test_renamed']
        wanted['quotas'] |= quotas
        if 'test_renamed' not in quotas:  # which are training rows in other words
            wanted['quotas']['test_renamed'] = min(renamed, wanted['quotas']['train'])
    changed = recipe_of(values, f'{source} with the options')
    return changed if val else replace(changed, val=False)


_ASKED: OptionGroup = {
    'recipe': (RecipeFile, None), 'seed': (Seed, None), 'domain': (Domains, None),
    'train': (Train, None), 'test': (Rows, None), 'test_family': (Rows, None),
    'test_renamed': (Rows, None), 'val': (Val, True),
}  # fmt: skip
"""The options that say what is built."""


@app.command()
@takes_options('asked', _ASKED, _recipe)
def build(
    out: Out = Path('safegen-bench'),
    asked: Any = None,
    jobs: Jobs = None,
    ray: Ray = '',
) -> None:
    """Build a dataset. The same command resumes; the same recipe gives the same bytes."""
    from safegen_ros.benchmarks.pddl3.dataset_report import plots_missing
    from safegen_ros.datasets.pddl3.build import build as make

    with working(jobs, ray) as (workers, notify, console):
        fresh = make(out, asked, workers, notify)
    _tell_built(out, fresh, console)
    if fresh or plots_missing(out, out / PLOTS):  # a build may be killed before it draws
        _show(out, console, out / PLOTS)
    _next(console, f'safegen data check {out}')


@app.command()
@takes_options('asked', _ASKED, _recipe)
def shard(
    out: Out,
    index: Annotated[int, typer.Option(min=0, help='index of the shard, from 0')],
    of: Annotated[int, typer.Option(min=1, help='number of shards')],
    blocks: Annotated[
        int | None, typer.Option(min=1, help='blocks per domain in all (default: an estimate)')
    ] = None,
    asked: Any = None,
    jobs: Jobs = None,
    ray: Ray = '',
) -> None:
    """Build one part of a dataset, on any machine; `merge` joins the parts."""
    from safegen_ros.datasets.pddl3.build import build_shard

    if index >= of:
        raise typer.BadParameter(f'there is no shard {index} of {of}: the first one is 0')
    with working(jobs, ray) as (workers, notify, console):
        made = build_shard(out, asked, workers, notify, index=index, of=of, blocks=blocks)
    console.print(f'made {made} blocks of shard {index} of {of}: {out}', soft_wrap=True)
    _next(console, f'safegen data merge {out}', f', with all {of} shards')


@app.command()
def merge(out: Out, jobs: Jobs = None) -> None:
    """Join all shards to a dataset; its folder .work keeps them."""
    from safegen_ros.datasets.pddl3.build import merge as make

    with working(jobs, '') as (workers, notify, console):
        make(out, workers, notify)
    console.print(f'built: {out}', soft_wrap=True)
    _show(out, console, out / PLOTS)
    _next(console, f'safegen data check {out}')


@app.command()
def lessons(
    out: Out,
    groups: Annotated[
        int, typer.Option(min=1, help='number of groups, whose prompts begin with the same text')
    ] = 600,
    size: Annotated[int, typer.Option(min=1, help='lessons per group')] = 8,
    mix: Annotated[
        str,
        typer.Option(help='kind of lessons: plans, or requests in words'),
    ] = 'plans',
    written: Annotated[
        list[Path] | None,
        typer.Option(help='requests with their meaning, JSON lines, for most groups'),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help='seed of the lessons')] = 1,
    jobs: Jobs = None,
) -> None:
    """Write training data for a language model: many rules, sizes, formats and made-up domains."""
    from safegen_ros.datasets.pddl3.lessons import lesson_group, write_lessons
    from safegen_ros.datasets.requests.lessons import request_group
    from safegen_ros.datasets.requests.written import written_requests

    if written and mix == 'plans':
        raise typer.BadParameter('--written goes with --mix requests')
    known = tuple(each for file in written or () for each in written_requests(file))
    kinds: dict[str, tuple[Callable[[int, int, int], list[str]], str]]
    kinds = {
        'plans': (lesson_group, 'smollm2-sft'),
        'requests': (partial(request_group, known), 'requests'),
    }
    make, recipe = kinds[one_of(mix, kinds)]
    with working(jobs, '') as (workers, notify, console):
        count = write_lessons(out, make, groups, size, seed, workers, notify)
    console.print(f'{count:,} lessons: {out}', soft_wrap=True)
    _next(
        console,
        'safegen train sft --config RECIPE.yaml --out runs/own',
        f', with a recipe as config/train/{recipe}.yaml that has {out} as data.folder',
    )


@app.command()
def check(
    folder: Annotated[Path, typer.Argument(help='folder of a dataset')] = Path(BENCH),
    against: Annotated[
        Path | None,
        typer.Option(help='published dataset to compare with (may be a part of one)'),
    ] = None,
    partial: Annotated[
        bool, typer.Option('--partial', help='allow missing files, as in the shipped dataset')
    ] = False,
    val: Val = True,
    jobs: Jobs = None,
) -> None:
    """Check every file, problem and plan of a dataset."""
    from safegen_ros.datasets.pddl3.check import check as examine
    from safegen_ros.datasets.pddl3.check import check_against

    folder = _dataset(folder)
    published = None if against is None else _dataset(against)
    with working(jobs, '') as (workers, notify, console):
        rows = examine(folder, workers, notify, partial=partial, val=val)
    _tell_checked(folder, rows, console)
    if published is not None:
        files = check_against(folder, published)
        console.print(f'{files:,} files and folders are those of {against}', soft_wrap=True)


@app.command()
def stats(
    folder: Annotated[Path, typer.Argument(help='folder of a dataset')] = Path(BENCH),
    plots: Annotated[
        Path | None, typer.Option(file_okay=False, help='draw plots into this folder')
    ] = None,
) -> None:
    """Print the composition of a dataset and table VIII of the paper."""
    _show(_dataset(folder), Console(), plots)


def _dataset(folder: Path) -> Path:
    """The folder of a dataset that is there.

    Raises:
        SafegenError: there is no such folder, which is an error of the input.
    """
    try:
        return data_path(folder)
    except DataNotFoundError as error:
        raise SafegenError(
            f'{error.message}: name the folder of a dataset', ErrorCode.BAD_PDDL
        ) from error


def _show(folder: Path, console: Console, plots: Path | None) -> None:
    from safegen_ros.benchmarks.pddl3.dataset_report import (
        draw_plots,
        plots_available,
        print_statistics,
    )
    from safegen_ros.datasets.pddl3.statistics import load_statistics

    values = load_statistics(folder)
    print_statistics(values, console)
    if plots is None:
        return
    if not plots_available():
        console.print(f'no plots, matplotlib is missing: run {install("plots")}', markup=False)
        return
    draw_plots(values, plots)
    console.print(f'plots: {plots}', soft_wrap=True)


def build_with(
    group: str,
    jobs: int | None,
    out: Path,
    make: Callable[[Workers, Notify], bool],
    show: Callable[[Path, Console], None],
) -> None:
    """Builds a dataset of another world, and shows its composition.

    Args:
        group: of commands, such as `safegen bench boxnet`.
        jobs: processes; None for one on each core.
        make: builds it, and returns whether there was anything to do.
    """
    with working(jobs, '') as (workers, notify, console):
        fresh = make(workers, notify)
    _tell_built(out, fresh, console)
    show(out, console)
    _next(console, f'{group} check {out}')


def check_with(
    jobs: int | None, folder: Path, examine: Callable[[Path, Workers, Notify], int]
) -> None:
    """Checks a dataset by a function that returns how many rows it has checked."""
    with working(jobs, '') as (workers, notify, console):
        rows = examine(folder, workers, notify)
    _tell_checked(folder, rows, console)


def _tell_built(out: Path, fresh: bool, console: Console) -> None:
    console.print(f'{"built" if fresh else "whole already"}: {out}', soft_wrap=True)


def _next(console: Console, command: str, when: str = '') -> None:
    console.print(f'next{when}: {command}', highlight=False, soft_wrap=True, markup=False)


def _tell_checked(folder: Path, rows: int, console: Console) -> None:
    console.print(f'{rows:,} rows are what they promise: {folder}', soft_wrap=True)


@contextmanager
def working(jobs: int | None, ray: str) -> Iterator[tuple[Workers, Notify, Console]]:
    """Workers, and a bar for each stage of their work."""
    from safegen_ros.datasets.workers import local_workers, ray_workers

    console = Console()
    chosen: AbstractContextManager[Workers] = ray_workers(ray) if ray else local_workers(jobs)
    with chosen as workers, stages(console) as notify:
        yield workers, notify, console


train_app = typer.Typer(no_args_is_help=True)

Config = Annotated[Path, typer.Option(help='recipe, such as config/train/mini.yaml')]
Run = Annotated[Path, typer.Option(help='folder for checkpoints, metrics and the model')]
Resume = Annotated[bool, typer.Option('--resume', help='resume from the last checkpoint there')]
ReportTo = Annotated[
    list[str] | None,
    typer.Option(help='report to tensorboard, wandb or another tracker, too; may be repeated'),
]


@train_app.command()
def sft(config: Config, out: Run, resume: Resume = False, report_to: ReportTo = None) -> None:
    """Learn from the plans of a dataset."""
    _train('sft', config, out, resume, report_to)


@train_app.command()
def grpo(config: Config, out: Run, resume: Resume = False, report_to: ReportTo = None) -> None:
    """Learn from the verdicts on the model's own plans."""
    _train('grpo', config, out, resume, report_to)


def _train(stage: str, config: Path, out: Path, resume: bool, report_to: list[str] | None) -> None:
    from safegen_ros.training.config import load_config

    recipe = data_path(config)
    data = load_config(recipe).data  # a mistake is reported before imports of many seconds
    from safegen_ros.training.run import train

    model = train(recipe, out, resume, stage, report_to or ())
    if os.environ.get('RANK', '0') == '0':  # of the processes of `accelerate launch`
        print(f'model: {model}')
        # The rows of a text world need not be problems.
        rows = f' --data {data.folder}' if data.world == 'pddl3' else ''
        print(f'next: safegen eval model --model {model}{rows}')
        print(f'next: safegen up sim model:={model}')

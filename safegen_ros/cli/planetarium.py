# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen bench planetarium`: from words to problems, the dataset and the score of answers."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from safegen_ros.cli.dataset import Jobs, build_with, check_with
from safegen_ros.cli.failures import ExitStatus, one_of
from safegen_ros.cli.progress import stages
from safegen_ros.paths import data_path
from safegen_ros.terminal import Console

if TYPE_CHECKING:
    from safegen_ros.datasets.planetarium.recipe import PlanetariumRecipe
    from safegen_ros.tasks.planetarium.assess import Assessed
    from safegen_ros.tasks.planetarium.equivalence import Compat

REQUEST_MODEL = 'models/safegen-requests'
"""What reads requests where no model is named."""

PAPER_RECIPE = 'config/planetarium/paper.json'
"""The recipe with the numbers of rows of table 1 of the paper."""

app = typer.Typer(no_args_is_help=True)

Folder = Annotated[Path, typer.Argument(file_okay=False, help='folder of the dataset')]
Placeholder = Annotated[
    bool, typer.Option('--placeholder', help='treat the objects in the goal as placeholders')
]

CompatOption = Annotated[
    str,
    typer.Option(help='planetarium: judge as the published code does, mistakes included'),
]


@app.command()
def build(
    out: Folder,
    recipe: Annotated[
        Path | None, typer.Option('--recipe', help=f'recipe (default: {PAPER_RECIPE})')
    ] = None,
    pairs: Annotated[
        int | None,
        typer.Option(
            min=1, help='rows in all, with the shares of the recipe (default: from the recipe)'
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help='seed (default: from the recipe)')] = None,
    shuffled: Annotated[
        bool,
        typer.Option('--shuffled', help='shuffle the facts of explicit descriptions'),
    ] = False,
    jobs: Jobs = None,
) -> None:
    """Build a dataset with each row checked. The same command resumes."""
    from safegen_ros.datasets.planetarium.build import build as make

    asked = _recipe(recipe, pairs, seed, shuffled)
    build_with('safegen bench planetarium', jobs, out, partial(make, out, asked), _show)


@app.command()
def check(folder: Folder, jobs: Jobs = None) -> None:
    """Check every file, problem and description of a dataset."""
    from safegen_ros.datasets.planetarium.build import check as examine

    check_with(jobs, folder, examine)


@app.command()
def stats(folder: Folder) -> None:
    """Print the composition of a dataset and table 1 of the paper."""
    _show(folder, Console())


@app.command()
def texts(
    data: Folder,
    out: Annotated[
        Path, typer.Argument(file_okay=False, help='folder for train.jsonl and test.jsonl')
    ],
    made_up: Annotated[
        int, typer.Option(min=0, help='number of groups about made-up domains')
    ] = 500,
    known: Annotated[
        int, typer.Option(min=0, help='most groups of summaries of the rows, for each domain')
    ] = 110,
    seed: Annotated[int, typer.Option(min=0, help='seed of the lessons')] = 1,
) -> None:
    """Write training data for a model that reads descriptions, for `safegen train`."""
    from safegen_ros.datasets.planetarium.texts import write_texts

    for kind, groups in write_texts(data, out, made_up, known, seed).items():
        print(f'{kind}: {groups:,} groups to learn from')


@app.command('eval')
def evaluate(
    data: Folder,
    model: Annotated[str, typer.Option(help='model folder, or http://HOST:PORT/v1#MODEL')],
    out: Annotated[
        Path,
        typer.Option(file_okay=False, help='folder for answers and figures (resumable)'),
    ],
    split: Annotated[str, typer.Option(help='test or train')] = 'test',
    rows: Annotated[int, typer.Option(min=0, help='number of random rows (0: all)')] = 0,
    domain: Annotated[list[str] | None, typer.Option(help='only this domain (repeatable)')] = None,
    fold: Annotated[
        int | None, typer.Option(min=0, max=4, help='only rows of this fold, one of five')
    ] = None,
    temperature: Annotated[float, typer.Option(min=0, max=2, help='temperature (0: greedy)')] = 0.0,
    max_new_tokens: Annotated[int, typer.Option(min=1, help='longest answer in tokens')] = 4096,
    seed: Annotated[int, typer.Option(min=0, help='seed of rows and sampling')] = 0,
    batch: Annotated[int, typer.Option(min=1, help='rows per batch')] = 16,
    compat: CompatOption = '',
) -> None:
    """Have a model translate each description of a dataset once, and print its score."""
    from contextlib import closing

    from safegen_ros.benchmarks.planetarium.model import answer_rows, choose
    from safegen_ros.benchmarks.subjects import which_model
    from safegen_ros.errors import SafegenError
    from safegen_ros.llm.backend import Sampling
    from safegen_ros.llm.model_names import named_model
    from safegen_ros.llm.open_backend import open_backend
    from safegen_ros.tasks.planetarium.styles import translation_style_of

    one_of(split, ('train', 'test'))
    chosen = choose(data / f'{split}.jsonl', rows, seed, domain or (), fold)
    name = named_model(model)
    style = translation_style_of(name)
    if style is None:
        raise SafegenError(f'{model}: was not trained to translate: name another model')
    sampling = Sampling(temperature, max_new_tokens=max_new_tokens, seed=seed)
    console = Console()
    with closing(open_backend(name)) as backend, stages(console) as notify:
        answers = answer_rows(
            chosen, backend, sampling, out, model=which_model(name), batch=batch, style=style,
            notify=notify,
        )  # fmt: skip
    score(
        answers, json=out / 'figures.json', details=out / 'details.jsonl', plots=None, compat=compat
    )


@app.command('requests')
def requests_command(
    files: Annotated[
        list[Path],
        typer.Argument(help='requests with their meaning, JSON lines', exists=True, dir_okay=False),
    ],
    model: Annotated[
        str, typer.Option(help='model folder, or http://HOST:PORT/v1#MODEL')
    ] = REQUEST_MODEL,
    seed: Annotated[int, typer.Option(min=0, help='seed of the sampling')] = 0,
    readings: Annotated[int, typer.Option(min=1, help='independent translations of each')] = 2,
    json: Annotated[Path | None, typer.Option(help='also write the figures to this file')] = None,
) -> None:
    """Have a model read requests whose meaning is known, and count those that it understands.

    A reading is right with or without a doubt: a person who reads it says yes.
    """
    import json as writer
    from collections import Counter
    from concurrent.futures import ThreadPoolExecutor
    from contextlib import closing
    from functools import partial

    from safegen_ros.benchmarks.comparison import wilson
    from safegen_ros.benchmarks.planetarium.requests import (
        RequestOutcome,
        doubted,
        understood,
    )
    from safegen_ros.datasets.files import write_atomically
    from safegen_ros.datasets.requests.written import written_requests
    from safegen_ros.errors import SafegenError
    from safegen_ros.llm.model_names import named_model
    from safegen_ros.llm.open_backend import open_backend
    from safegen_ros.tasks.planetarium.styles import translation_style_of

    asked = [each for file in files for each in written_requests(file)]
    if not asked:
        raise SafegenError(
            'the files hold no requests: write one on each line, as in data/requests'
        )
    name = named_model(model)
    style = translation_style_of(name)
    if style is None:
        raise SafegenError(f'{model}: was not trained to translate: name another model')
    console, counts = Console(), Counter[tuple[str, RequestOutcome]]()
    at_once = 16
    with ThreadPoolExecutor(at_once) as pool, closing(open_backend(name, batch=at_once)) as backend:
        read = partial(understood, backend=backend, style=style, seed=seed, readings=readings)
        for each, (became, meaning) in zip(asked, pool.map(read, asked), strict=True):
            counts[each.world, became] += 1
            told = f'{became.value}: {each.text} => {meaning}'
            console.print(told, soft_wrap=True, markup=False, highlight=False)
    lines = []
    for world in (*sorted({world for world, _ in counts}), ''):
        own = Counter[RequestOutcome]()
        for (of, became), count in counts.items():
            own[became] += count if world in (of, '') else 0
        parts = {each.value: own[each] for each in RequestOutcome}
        parts['right'] = own[RequestOutcome.RIGHT] + own[RequestOutcome.DOUBTED]
        console.print(f'{world or "all"}, of {own.total()}:', highlight=False)
        for name, count in parts.items():
            low, high = wilson(count, own.total())
            success = 100 * count / own.total()
            lines.append({'world': world or 'all', 'outcome': name, 'problems': own.total(),
                          'success': success})  # fmt: skip
            share = f'{count / own.total():.0%} ({low:.0%} to {high:.0%})'
            console.print(f'  {name}: {count}, {share}', soft_wrap=True, highlight=False)
    for title, ruled in (('as meant', True), ('without their rule', False)):
        found = [doubt for each in asked if (doubt := doubted(each, ruled=ruled)) is not None]
        console.print(f'readings {title}, no model: {sum(found)} of {len(found)} in doubt')
    if json is not None:
        text = writer.dumps({'model': model, 'seed': seed, 'lines': lines}, indent=1) + '\n'
        write_atomically(json, text.encode())


@app.command()
def score(
    rows: Annotated[
        Path,
        typer.Argument(
            dir_okay=False, help='JSON lines, each a row of the dataset with an "answer"'
        ),
    ],
    json: Annotated[Path | None, typer.Option(help='write the figures to this file')] = None,
    details: Annotated[
        Path | None,
        typer.Option(help='write the faults of each answer to this file, as JSON lines'),
    ] = None,
    plots: Annotated[Path | None, typer.Option(file_okay=False, help='folder for plots')] = None,
    compat: CompatOption = '',
) -> None:
    """Count parseable, solvable and correct answers; print the paper's counts."""
    import json as writer
    from contextlib import ExitStack

    from safegen_ros.benchmarks.planetarium import score as scoring
    from safegen_ros.benchmarks.planetarium.score import print_score
    from safegen_ros.datasets.files import writing

    with ExitStack() as stack:
        if details is not None:
            stack.enter_context(writing(details))
            file = stack.enter_context(details.open('w', encoding='utf-8'))

        def tell(row: scoring.Answer, assessed: Assessed) -> None:
            if details is not None:
                file.write(writer.dumps(scoring.details(row, assessed)) + '\n')

        found = scoring.score(scoring.read_scored(rows), rows.name, tell, _compat(compat))
    console = Console()
    print_score(found, console)
    if json is not None:
        with writing(json):
            json.write_text(writer.dumps(found.as_dict(), indent=1) + '\n', encoding='utf-8')
    if plots is not None:
        from safegen_ros.benchmarks.plots import draw_comparison

        path = draw_comparison(scoring.comparison(found), plots)
        console.print(f'plot: {path}', soft_wrap=True)


@app.command(name='explain')
def explain_command(
    wanted: Annotated[Path, typer.Argument(help='the wanted problem')],
    answer: Annotated[Path, typer.Argument(help="the model's answer, prose around it allowed")],
    placeholder: Placeholder = False,
) -> None:
    """Compare an answer with the wanted problem, and list the changes that it needs."""
    from safegen_ros.benchmarks.planetarium.score import Answer, details, read_wanted
    from safegen_ros.pddl.text_files import read_text
    from safegen_ros.tasks.planetarium.assess import assess

    problem = read_wanted(read_text(wanted, 'problem'), str(wanted))
    text = read_text(answer, 'answer')
    assessed = assess(problem, text, placeholder=placeholder)
    told = details(Answer(str(answer), problem, text, placeholder, ''), assessed)
    console = Console()
    console.print(f'{told["finding"]}: {told["reason"]}', soft_wrap=True, markup=False)
    if assessed.tolerant.finding is not assessed.enforced.finding:
        console.print(f'with types tolerated: {told["finding_tolerant"]}', soft_wrap=True)
    for line in told['explanation']:
        console.print(f'- {line}', soft_wrap=True, markup=False, highlight=False)
    raise typer.Exit(ExitStatus.OK if assessed.enforced.correct else ExitStatus.FAILED)


def _compat(name: str) -> Compat:
    if name == 'planetarium':
        return 'planetarium'
    if name:
        raise typer.BadParameter(f'{name!r} is not planetarium')
    return ''


def _recipe(
    path: Path | None, pairs: int | None, seed: int | None, shuffled: bool
) -> PlanetariumRecipe:
    """The recipe of a file, changed by the command line."""
    from dataclasses import replace

    from safegen_ros.datasets.planetarium.recipe import load_recipe, scaled

    found = load_recipe(data_path(path or PAPER_RECIPE))
    if pairs is not None:
        found = scaled(found, pairs)
    return replace(
        found,
        seed=found.seed if seed is None else seed,
        shuffled=shuffled or found.shuffled,
    )


def _show(folder: Path, console: Console) -> None:
    from safegen_ros.benchmarks.planetarium.score import print_statistics
    from safegen_ros.datasets.planetarium.build import load_statistics

    print_statistics(load_statistics(folder), console)

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen evaluate`: measures models on problems that training never saw, beside the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from safegen_ros.cli.dataset import BENCH
from safegen_ros.cli.progress import stages
from safegen_ros.cli.repro_command import given_words
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.paths import data_path, runs_dir
from safegen_ros.planning.levels import DIAGNOSIS, FEEDBACK, LEVELS, feedback_named, level_names
from safegen_ros.terminal import Console

if TYPE_CHECKING:
    from safegen_ros.benchmarks.comparison import Comparison
    from safegen_ros.benchmarks.pddl3.evaluate import Notify
    from safegen_ros.benchmarks.pddl3.loops import LoopOptions
    from safegen_ros.benchmarks.pddl3.study import Options
    from safegen_ros.benchmarks.subjects import Subject

MODEL = 'models/safegen-mini'
RESULTS = Path('docs/results')

app = typer.Typer(
    no_args_is_help=True,
    help='Measure models on problems that training never saw, beside the figures of the paper.',
)

Model = Annotated[Path, typer.Option(help='folder of the model')]
Stage = Annotated[
    list[str] | None,
    typer.Option(
        metavar='NAME=FOLDER',
        help='a stage PT, SFT or GRPO; may be given several times; else as stages.json of the '
        'model says',
    ),
]
Data = Annotated[Path, typer.Option(help='folder of a dataset; build one from another seed')]
Split = Annotated[str, typer.Option(help='test, test_family or test_renamed')]
Seed = Annotated[int, typer.Option(min=0, help='of the sampling, and of problems that are drawn')]
Most = Annotated[int, typer.Option(min=0, help='of each domain at most; 0 takes all')]
Out = Annotated[Path, typer.Option(file_okay=False, help='folder for JSON, Markdown and plot')]
Batch = Annotated[int, typer.Option(min=1, help='problems that are answered together')]
Tokens = Annotated[int, typer.Option(min=1, help='longest answer')]
Device = Annotated[str, typer.Option(help='cpu, cuda, or auto: a GPU when there is one')]

Strategy = Annotated[
    list[str] | None,
    typer.Option(
        help=f'who is asked for a plan, in order; may be given several times: {", ".join(LEVELS)}'
    ),
]
Feedback = Annotated[
    str, typer.Option(help=f'what a retry is told of a refused plan: {" ".join(FEEDBACK)}')
]
Attempts = Annotated[int, typer.Option(min=1, max=100, help='of the level model')]
Budget = Annotated[float, typer.Option(min=0.1, max=86400, help='for each goal [s]')]

_BATCH, _TOKENS = 50, 256  # as Exam and MAX_NEW_TOKENS, which are not to be imported for --help


@app.command()
def model(
    model: Model = Path(MODEL),
    data: Data = Path(BENCH),
    split: Split = 'test',
    domain: Annotated[list[str] | None, typer.Option(help='only these domains')] = None,
    form: Annotated[str, typer.Option('--format', help='pddl, json or english')] = 'pddl',
    problems: Most = 0,
    seed: Seed = 0,
    modes: Annotated[
        list[str] | None,
        typer.Option('--mode', help='greedy, sampled, feedback, resample, untrained; default all'),
    ] = None,
    batch: Batch = _BATCH,
    max_new_tokens: Tokens = _TOKENS,
    device: Device = 'auto',
    json: Annotated[Path | None, typer.Option(help='also write the figures here')] = None,
) -> None:
    """Measure one model on one split and format, single shot, with retries, and untrained."""
    from safegen_ros.benchmarks.pddl3.evaluate import MODES, evaluate
    from safegen_ros.benchmarks.pddl3.problems import load_problems, load_source
    from safegen_ros.benchmarks.tables import print_report
    from safegen_ros.tasks.pddl3.formats import FORMATS

    chosen = tuple(modes or MODES)
    unknown = [mode for mode in chosen if mode not in MODES]
    if unknown:
        raise typer.BadParameter(f'{unknown[0]!r} is none of {" ".join(MODES)}')
    if form not in FORMATS:
        raise typer.BadParameter(f'{form!r} is none of {" ".join(FORMATS)}')
    folder, data, console = data_path(model), data_path(data), Console()
    source = load_source(data, split)
    with stages(console) as notify:
        report = evaluate(
            folder, load_problems(data, split, domain or (), problems), seed,
            source=source, form=form, modes=chosen, batch=batch,
            max_new_tokens=max_new_tokens, device=device, notify=notify,
        )  # fmt: skip
    print_report(report, console)
    if json is not None:
        report.write(json)


@app.command()
def table2(
    ctx: typer.Context,
    model: Model = Path(MODEL),
    stage: Stage = None,
    data: Data = Path(BENCH),
    problems: Most = 0,
    seed: Seed = 0,
    batch: Batch = _BATCH,
    max_new_tokens: Tokens = _TOKENS,
    device: Device = 'auto',
    out: Out = RESULTS,
) -> None:
    """Stages of training: success and four classes of failures by domain (table II)."""
    from safegen_ros.benchmarks.pddl3 import studies

    given = _given(data, seed, problems, batch, max_new_tokens, device)
    _show(ctx, lambda options: studies.table2(_stages(model, stage, options), options), given)


@app.command()
def table3(
    ctx: typer.Context,
    model: Model = Path(MODEL),
    data: Data = Path(BENCH),
    problems: Most = 0,
    seed: Seed = 0,
    batch: Batch = _BATCH,
    max_new_tokens: Tokens = _TOKENS,
    device: Device = 'auto',
    out: Out = RESULTS,
) -> None:
    """Formats: the same problems in PDDL3, English and JSON (table III)."""
    from safegen_ros.benchmarks.pddl3 import studies

    given = _given(data, seed, problems, batch, max_new_tokens, device)
    _show(ctx, lambda options: studies.table3(_subject(model, options), options), given)


@app.command()
def figure4(
    ctx: typer.Context,
    model: Model = Path(MODEL),
    stage: Stage = None,
    data: Data = Path(BENCH),
    problems: Most = 0,
    seed: Seed = 0,
    batch: Batch = _BATCH,
    max_new_tokens: Tokens = _TOKENS,
    device: Device = 'auto',
    out: Out = RESULTS,
) -> None:
    """Errors in Blocksworld after each stage of training (figure 4)."""
    from safegen_ros.benchmarks.pddl3 import studies

    given = _given(data, seed, problems, batch, max_new_tokens, device)
    _show(ctx, lambda options: studies.figure4(_stages(model, stage, options), options), given)


@app.command()
def figure5(
    ctx: typer.Context,
    model: Model = Path(MODEL),
    data: Data = Path(BENCH),
    problems: Most = 0,
    seed: Seed = 0,
    batch: Batch = _BATCH,
    max_new_tokens: Tokens = _TOKENS,
    device: Device = 'auto',
    out: Out = RESULTS,
) -> None:
    """Success by domain beside the models of the paper and GPT-5 Nano (figure 5)."""
    from safegen_ros.benchmarks.pddl3 import studies

    given = _given(data, seed, problems, batch, max_new_tokens, device)
    _show(ctx, lambda options: studies.figure5(_subject(model, options), options), given)


@app.command()
def heldout(
    ctx: typer.Context,
    model: Model = Path(MODEL),
    data: Data = Path(BENCH),
    problems: Most = 0,
    seed: Seed = 0,
    batch: Batch = _BATCH,
    max_new_tokens: Tokens = _TOKENS,
    device: Device = 'auto',
    out: Out = RESULTS,
) -> None:
    """New problems, problems of constraint families that were held out, and new texts."""
    from safegen_ros.benchmarks.pddl3 import studies

    given = _given(data, seed, problems, batch, max_new_tokens, device)
    _show(ctx, lambda options: studies.heldout(_subject(model, options), options), given)


@app.command()
def larger(
    ctx: typer.Context,
    model: Model = Path(MODEL),
    data: Data = Path(BENCH),
    count: Annotated[int, typer.Option(min=1, help='problems of each size')] = 25,
    domain: Annotated[list[str] | None, typer.Option(help='only these domains')] = None,
    strategy: Strategy = None,
    feedback: Feedback = DIAGNOSIS,
    max_attempts: Attempts = 5,
    time_budget: Budget = 120.0,
    seed: Seed = 0,
    batch: Batch = _BATCH,
    max_new_tokens: Tokens = _TOKENS,
    device: Device = 'auto',
    out: Out = RESULTS,
) -> None:
    """Larger problems than those of training, such as 7 to 30 blocks: each level by itself."""
    from safegen_ros.benchmarks.pddl3 import studies
    from safegen_ros.benchmarks.pddl3.loops import ALONE

    given = _given(data, seed, 0, batch, max_new_tokens, device)
    loop = _loop(strategy or list(ALONE), feedback, max_attempts, time_budget)
    _show(
        ctx,
        lambda options: studies.larger(
            _subject(model, options), options, count, loop, domain or ()
        ),
        given,
    )  # fmt: skip


@app.command()
def table4(
    ctx: typer.Context,
    model: Model = Path(MODEL),
    data: Data = Path(BENCH),
    split: Split = 'test',
    strategy: Strategy = None,
    feedback: Feedback = DIAGNOSIS,
    max_attempts: Attempts = 5,
    time_budget: Budget = 120.0,
    problems: Most = 0,
    controls: Annotated[
        int,
        typer.Option(min=0, help='of each domain for the untrained network; 0 as many as for ours'),
    ] = 12,
    seed: Seed = 0,
    max_new_tokens: Tokens = _TOKENS,
    device: Device = 'auto',
    out: Out = RESULTS,
) -> None:
    """The planning loop by strategy, also with an untrained network (table IV)."""
    from safegen_ros.benchmarks.pddl3.loop_studies import table4

    given = _given(data, seed, problems, _BATCH, max_new_tokens, device)
    loop, folder = _loop(strategy, feedback, max_attempts, time_budget), data_path(model)
    _show(
        ctx,
        lambda options: table4(
            _subject(model, options), folder, options, loop, split, controls
        ),
        given,
    )  # fmt: skip


@app.command()
def safety(
    ctx: typer.Context,
    model: Model = Path(MODEL),
    count: Annotated[int, typer.Option(min=1, help='random problems for each strategy')] = 100,
    strategy: Strategy = None,
    feedback: Feedback = DIAGNOSIS,
    max_attempts: Attempts = 5,
    time_budget: Budget = 120.0,
    seed: Seed = 0,
    max_new_tokens: Tokens = _TOKENS,
    device: Device = 'auto',
    out: Out = RESULTS,
) -> None:
    """Random problems through the planning loop; VAL judges every plan that it publishes."""
    from safegen_ros.benchmarks.pddl3.safety import safety

    given = _given(Path(BENCH), seed, 0, _BATCH, max_new_tokens, device)
    loop = _loop(strategy or ['model, beam'], feedback, max_attempts, time_budget)
    cases = runs_dir() / 'disagreements'
    _show(ctx, lambda options: safety(_subject(model, options), options, loop, count, cases), given)


@app.command()
def controls(
    ctx: typer.Context,
    model: Model = Path(MODEL),
    data: Data = Path(BENCH),
    train_data: Annotated[
        Path | None,
        typer.Option(help='folder of a dataset with its training rows; by default --data'),
    ] = None,
    problems: Most = 0,
    seed: Seed = 0,
    batch: Batch = _BATCH,
    max_new_tokens: Tokens = _TOKENS,
    device: Device = 'auto',
    out: Out = RESULTS,
) -> None:
    """The untrained network, and copies of the plans of the most similar training problems."""
    from safegen_ros.benchmarks.pddl3 import studies

    train = data_path(train_data or data) / 'train.jsonl'
    given = _given(data, seed, problems, batch, max_new_tokens, device)
    folder = data_path(model)
    _show(
        ctx,
        lambda options: studies.controls(_subject(model, options), folder, options, train),
        given,
    )  # fmt: skip


def _given(
    data: Path, seed: int, most: int, batch: int, tokens: int, device: str
) -> Callable[[Notify], Options]:
    """The options of a command, once there is somebody to notify."""
    from safegen_ros.benchmarks.pddl3.study import Options

    folder = data_path(data)
    return lambda notify: Options(folder, seed, most, batch, tokens, device, notify)


def _loop(
    strategies: list[str] | None, feedback: str, max_attempts: int, time_budget_s: float
) -> LoopOptions:
    """How the planning loop is run; refuses what there is not before a model is loaded."""
    from safegen_ros.benchmarks.pddl3.loops import STRATEGIES, LoopOptions

    chosen = tuple(dict.fromkeys(strategies or STRATEGIES))
    for strategy in chosen:
        level_names(strategy)
    feedback_named(feedback)
    return LoopOptions(chosen, feedback, max_attempts, time_budget_s)


def _show(
    ctx: typer.Context,
    measure: Callable[[Options], Comparison],
    given: Callable[[Notify], Options],
) -> None:
    """Measures, prints, and writes the files of `--out`, with the command that repeats it."""
    from safegen_ros.benchmarks.comparison import write_comparison
    from safegen_ros.benchmarks.pddl3.dataset_plots import plots_available
    from safegen_ros.benchmarks.tables import markdown, print_comparison

    console, out = Console(), ctx.params['out']
    with stages(console) as notify:
        again = f'{ctx.info_name} {given_words(ctx)}'.strip()
        comparison = replace(measure(given(notify)), arguments=again)
    paths = write_comparison(comparison, out, markdown(comparison))
    if plots_available():
        from safegen_ros.benchmarks.plots import draw_comparison

        paths.append(draw_comparison(comparison, out))
    print_comparison(comparison, console)
    if not plots_available():
        console.print("no plot, matplotlib is missing: run pip install 'safegen_ros\\[plots]'")
    console.print(f'written: {" ".join(map(str, paths))}', soft_wrap=True)
    if comparison.failed:
        raise SafegenError(comparison.failed, ErrorCode.PLAN_REFUSED)


def _subject(model: Path, options: Options) -> Subject:
    from safegen_ros.benchmarks.subjects import load_subject

    return load_subject(data_path(model), options.device)


def _stages(model: Path, stages: list[str] | None, options: Options) -> Iterator[Subject]:
    """The models of the stages, each loaded when it is its turn."""
    from safegen_ros.benchmarks.subjects import load_stages, load_subject

    given = {}
    for text in stages or ():
        name, separator, folder = text.partition('=')
        if not separator:
            raise typer.BadParameter(f'{text!r} is no stage: write NAME=FOLDER')
        given[name] = data_path(folder)
    # With all stages given, the folder of the last one need not be a model of ours.
    folders = load_stages(model if given else data_path(model), given)
    for name in folders:
        yield load_subject(folders[name], options.device, name)

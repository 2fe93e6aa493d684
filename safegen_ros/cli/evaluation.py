# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen eval`: measures models on problems that training never saw, beside the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from safegen_ros.cli.dataset import BENCH, Ray, working
from safegen_ros.cli.failures import OptionGroup, one_of, takes_options
from safegen_ros.cli.progress import given_words, stages
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.llm.model_names import full_name, is_server, named_model
from safegen_ros.paths import data_path, install, runs_dir
from safegen_ros.planning.levels import DIAGNOSIS, FEEDBACK, LEVELS, feedback_named, level_names
from safegen_ros.terminal import Console

if TYPE_CHECKING:
    from safegen_ros.benchmarks.comparison import ComparisonTable
    from safegen_ros.benchmarks.measurement import Notify
    from safegen_ros.benchmarks.pddl3.loops import LoopOptions
    from safegen_ros.benchmarks.pddl3.study import StudyOptions
    from safegen_ros.benchmarks.subjects import Subject

MODEL = 'models/safegen-mini'
READS_DOMAINS = 'models/safegen-smollm2'
RESULTS = Path('runs/results')

app = typer.Typer(no_args_is_help=True)

Model = Annotated[str, typer.Option(help='folder of the model')]
Models = Annotated[
    list[str] | None,
    typer.Option(help=f'folder of a model (repeatable; default: {MODEL})'),
]
AnyModel = Annotated[
    str, typer.Option(help='model folder, http://HOST:PORT/v1#MODEL, or ollama:MODEL')
]
Stage = Annotated[
    list[str] | None,
    typer.Option(
        metavar='NAME=FOLDER',
        help='stage PT, SFT or GRPO (repeatable; default: from stages.json of the model)',
    ),
]
Data = Annotated[Path, typer.Option(help='folder of a dataset; build one from another seed')]
Split = Annotated[str, typer.Option(help='test, test_family or test_renamed')]
Domains = Annotated[list[str] | None, typer.Option(help='only this domain (repeatable)')]
Form = Annotated[str, typer.Option('--format', help='pddl, json or english')]
Seed = Annotated[int, typer.Option(min=0, help='seed of sampling and drawn problems')]
Most = Annotated[int, typer.Option(min=0, help='maximum number of problems per domain (0: all)')]
Out = Annotated[Path, typer.Option(file_okay=False, help='folder for JSON, Markdown and plot')]
Batch = Annotated[int, typer.Option(min=1, help='problems per batch')]
Tokens = Annotated[int, typer.Option(min=1, help='longest answer in tokens')]
Device = Annotated[str, typer.Option(help='cpu, cuda, or auto (a GPU where there is one)')]

Strategy = Annotated[
    list[str] | None,
    typer.Option(
        help=f'planners to try, in order, comma-separated (repeatable): {", ".join(LEVELS)}'
    ),
]
Feedback = Annotated[
    str,
    typer.Option(help=f'what a retry prompt says about the refused plan: {", ".join(FEEDBACK)}'),
]
Attempts = Annotated[int, typer.Option(min=1, max=100, help='attempts of the planner model')]
Budget = Annotated[float, typer.Option(min=0.1, max=86400, help='seconds per goal')]

_BATCH, _TOKENS = 50, 256  # as Exam and MAX_NEW_TOKENS, which are not to be imported for --help


@app.command()
def model(
    model: AnyModel = MODEL,
    data: Data = Path(BENCH),
    split: Split = 'test',
    domain: Domains = None,
    form: Form = 'pddl',
    problems: Most = 0,
    seed: Seed = 0,
    modes: Annotated[
        list[str] | None,
        typer.Option(
            '--mode',
            help='greedy, sampled, feedback, resample or untrained (repeatable; default: all)',
        ),
    ] = None,
    batch: Batch = _BATCH,
    max_new_tokens: Tokens = _TOKENS,
    device: Device = 'auto',
    jobs: Annotated[int, typer.Option(min=1, help='processes, each of which loads the model')] = 1,
    ray: Ray = '',
    json: Annotated[Path | None, typer.Option(help='also write the figures to this file')] = None,
    against: Annotated[
        Path | None, typer.Option(exists=True, help='--json file of another model, to compare with')
    ] = None,
) -> None:
    """Measure one model on one split and format, single shot, with retries, and untrained."""
    from safegen_ros.benchmarks.pddl3.evaluate import MODES, evaluate
    from safegen_ros.benchmarks.pddl3.problems import load_problems, load_source
    from safegen_ros.benchmarks.tables import print_report
    from safegen_ros.datasets.files import DatasetError, read_json
    from safegen_ros.tasks.pddl3.formats import FORMATS

    server = is_server(full_name(model))
    chosen = tuple(modes or (mode for mode in MODES if mode != 'untrained' or not server))
    for mode in chosen:
        one_of(mode, MODES)
    one_of(form, FORMATS)
    if server and 'untrained' in chosen:
        raise typer.BadParameter('a server has no untrained network: name another --mode')
    if server and (jobs > 1 or ray):
        raise typer.BadParameter('a server has its own batches: leave --jobs and --ray out')
    name, data = named_model(model), data_path(data)
    source = load_source(data, split)
    other = against and read_json(against, DatasetError, 'name another file', 'name another')
    with working(jobs, ray) as (workers, notify, console):
        report = evaluate(
            name, load_problems(data, split, domain or (), problems), seed,
            source=source, form=form, modes=chosen, batch=batch,
            max_new_tokens=max_new_tokens, device=device, notify=notify, workers=workers,
        )  # fmt: skip
    print_report(report, console)
    if json is not None:
        report.write(json)
    for line in report.against(against, other) if against else ():
        console.print(line, soft_wrap=True, highlight=False, markup=False)


@dataclass(frozen=True)
class Given:
    """The options of a study, by name, and the planning loop that they ask for."""

    values: Mapping[str, Any]
    loop: LoopOptions

    def subject(self, options: StudyOptions) -> Subject:
        """The model of `--model`."""
        from safegen_ros.benchmarks.subjects import load_subject

        return load_subject(self.folder, options.device)

    @property
    def folder(self) -> Path:
        """The folder of `--model`."""
        return folder_of(self.values['model'])

    def stages(self, options: StudyOptions) -> Iterator[Subject]:
        """The models of the stages, each loaded when it is its turn."""
        from safegen_ros.benchmarks.subjects import load_stages, load_subject

        given = {}
        for text in self.values['stage'] or ():
            name, separator, folder = text.partition('=')
            if not separator:
                raise typer.BadParameter(f'{text!r} is not a stage: write NAME=FOLDER')
            given[name] = data_path(folder)
        # With all stages given, the folder of the last one need not be a model of ours.
        folders = load_stages(Path(self.values['model']) if given else self.folder, given)
        for name in folders:
            yield load_subject(folders[name], options.device, name)


@dataclass(frozen=True)
class StudyVerb:
    """A verb of `safegen eval`.

    Attributes:
        options: its options and their defaults, in order.
        measure: what it measures; it imports what it needs.
        strategies: those of the planning loop that are measured by default; none means all.
    """

    help: str
    options: OptionGroup
    measure: Callable[[Given, StudyOptions], ComparisonTable]
    strategies: tuple[str, ...] = ()


def _larger(given: Given, options: StudyOptions) -> ComparisonTable:
    from safegen_ros.benchmarks.pddl3.studies import larger

    count, domains = given.values['count'], given.values['domain'] or ()
    return larger(given.subject(options), options, count, given.loop, domains)


def _table4(given: Given, options: StudyOptions) -> ComparisonTable:
    from safegen_ros.benchmarks.pddl3.loop_studies import table4

    split, most = given.values['split'], given.values['controls']
    subject = given.subject(options)
    return table4(subject, given.folder, options, given.loop, split, most)


def _safety(given: Given, options: StudyOptions) -> ComparisonTable:
    from safegen_ros.benchmarks.pddl3.loop_studies import safety

    cases, count = runs_dir() / 'disagreements', given.values['count']
    return safety(given.subject(options), options, given.loop, count, cases)


def _controls(given: Given, options: StudyOptions) -> ComparisonTable:
    from safegen_ros.benchmarks.pddl3.studies import controls

    train = data_path(given.values['train_data'] or given.values['data']) / 'train.jsonl'
    return controls(given.subject(options), given.folder, options, train)


def _kinds(given: Given, options: StudyOptions) -> ComparisonTable:
    from safegen_ros.benchmarks.subjects import load_subject
    from safegen_ros.tasks.pddl3.formats import FORMATS

    form = one_of(given.values['form'], FORMATS)
    named = {model: folder_of(model) for model in given.values['model'] or (MODEL,)}
    subjects = (load_subject(named[model], options.device, model) for model in named)
    table: ComparisonTable = studies().kinds(subjects, options, form)
    return table


def folder_of(model: str) -> Path:
    """The folder of a model that a study measures.

    Raises:
        SafegenError: the model is at a server.
    """
    if is_server(full_name(model)):
        raise SafegenError(
            f"{model}: a study needs the folder of a model: run 'safegen eval model' to measure "
            'one at a server'
        )
    return data_path(model)


def studies() -> ModuleType:
    """The module of the studies, which imports torch."""
    from safegen_ros.benchmarks.pddl3 import studies

    return studies


_MODEL = {'model': (Model, MODEL)}
_MODELS = {'model': (Models, None)}
_DATA = {'data': (Data, Path(BENCH))}
_STAGES = {**_MODEL, 'stage': (Stage, None), **_DATA}
_LOOP = {
    'strategy': (Strategy, None),
    'feedback': (Feedback, DIAGNOSIS),
    'max_attempts': (Attempts, 5),
    'time_budget': (Budget, 120.0),
}
_MOST = {'problems': (Most, 0)}
_SEED = {'seed': (Seed, 0)}
_RUN = {'max_new_tokens': (Tokens, _TOKENS), 'device': (Device, 'auto'), 'out': (Out, RESULTS)}
_SHOTS = {**_MOST, **_SEED, 'batch': (Batch, _BATCH), **_RUN}
_OF_EACH_SIZE = Annotated[int, typer.Option(min=1, help='problems per size')]
_OF_EACH_DOMAIN = Annotated[int, typer.Option(min=1, help='problems per domain')]
_RANDOM = Annotated[int, typer.Option(min=1, help='random problems per strategy')]
_UNTRAINED = Annotated[
    int,
    typer.Option(min=0, help='problems per domain for the untrained network (0: no such control)'),
]
_TRAIN_DATA = Annotated[
    Path | None,
    typer.Option(help='dataset with training rows (default: --data)'),
]

STUDIES: dict[str, StudyVerb] = {
    'table2': StudyVerb(
        'Stages of training: success and four classes of failures by domain (table II).',
        {**_STAGES, **_SHOTS},
        lambda given, options: studies().table2(given.stages(options), options),
    ),
    'table3': StudyVerb(
        'Formats: the same problems in PDDL3, English and JSON (table III).',
        {**_MODEL, **_DATA, **_SHOTS},
        lambda given, options: studies().table3(given.subject(options), options),
    ),
    'figure4': StudyVerb(
        'Errors in Blocksworld after each stage of training (figure 4).',
        {**_STAGES, **_SHOTS},
        lambda given, options: studies().figure4(given.stages(options), options),
    ),
    'figure5': StudyVerb(
        'Success by domain, with the models of the paper and GPT-5 Nano (figure 5).',
        {**_MODEL, **_DATA, **_SHOTS},
        lambda given, options: studies().figure5(given.subject(options), options),
    ),
    'heldout': StudyVerb(
        'New problems, held-out constraint families, and new texts.',
        {**_MODEL, **_DATA, **_SHOTS},
        lambda given, options: studies().heldout(given.subject(options), options),
    ),
    'kinds': StudyVerb(
        'Several models by the number of rules, by size, and by what the goal asks for.',
        {**_MODELS, **_DATA, 'form': (Form, 'pddl'), **_SHOTS}, _kinds,
    ),
    'larger': StudyVerb(
        'Larger problems than those of training, such as 7 to 30 blocks, with each planner alone.',
        {
            **_MODEL, **_DATA, 'count': (_OF_EACH_SIZE, 25), 'domain': (Domains, None), **_LOOP,
            **_SEED, 'batch': (Batch, _BATCH), **_RUN,
        },
        _larger, ('model', 'beam', 'hierarchy', 'search'),
    ),
    'unseen': StudyVerb(
        'Domains that were never trained on, such as elevator, for a model that reads domains.',
        {
            'model': (Model, READS_DOMAINS), 'count': (_OF_EACH_DOMAIN, 12), **_LOOP, **_SEED,
            'batch': (Batch, _BATCH), **_RUN,
        },
        lambda given, options: studies().unseen(
            given.subject(options), options, given.values['count'], given.loop
        ),
        ('beam',),
    ),
    'table4': StudyVerb(
        'The planning loop by strategy, also with an untrained network (table IV).',
        {
            **_MODEL, **_DATA, 'split': (Split, 'test'), **_LOOP, **_MOST,
            'controls': (_UNTRAINED, 12), **_SEED, **_RUN,
        },
        _table4,
    ),
    'safety': StudyVerb(
        'Random problems through the planning loop; VAL judges every plan that it publishes.',
        {**_MODEL, 'count': (_RANDOM, 100), **_LOOP, **_SEED, **_RUN},
        _safety, ('model, beam',),
    ),
    'controls': StudyVerb(
        'The untrained network, and copies of the plans of the most similar training problems.',
        {**_MODEL, **_DATA, 'train_data': (_TRAIN_DATA, None), **_SHOTS}, _controls,
    ),
}  # fmt: skip
"""The studies of `safegen eval`, each a verb."""


def _verb(study: StudyVerb) -> Callable[..., None]:
    """The command of a study, with its options as Typer reads them."""

    @takes_options('values', study.options, dict)
    def command(ctx: typer.Context, values: dict[str, Any]) -> None:
        loop = _loop(values.get('strategy') or study.strategies, values)
        given = Given(values, loop)
        _show(ctx, lambda notify: study.measure(given, _options(values, notify)))

    return command


for _name, _study in STUDIES.items():
    app.command(_name, help=_study.help)(_verb(_study))


def _options(values: Mapping[str, Any], notify: Notify) -> StudyOptions:
    from safegen_ros.benchmarks.pddl3.study import StudyOptions
    from safegen_ros.datasets.files import load_manifest

    data = data_path(values.get('data', Path(BENCH)))
    load_manifest(data)  # a mistake is reported before imports of many seconds
    return StudyOptions(
        data, values['seed'], values.get('problems', 0),
        values.get('batch', _BATCH), values['max_new_tokens'], values['device'], notify,
    )  # fmt: skip


def _loop(strategies: Sequence[str], values: Mapping[str, Any]) -> LoopOptions:
    """How the planning loop is run; refuses what there is not before a model is loaded."""
    from safegen_ros.benchmarks.pddl3.loops import STRATEGIES, LoopOptions

    chosen = tuple(dict.fromkeys(strategies or STRATEGIES))
    for strategy in chosen:
        level_names(strategy)
    feedback = values.get('feedback', DIAGNOSIS)
    feedback_named(feedback)
    return LoopOptions(
        chosen, feedback, values.get('max_attempts', 5), values.get('time_budget', 120.0)
    )


def _show(ctx: typer.Context, measure: Callable[[Notify], ComparisonTable]) -> None:
    """Measures, prints, and writes the files of `--out`, with the command that repeats it."""
    from safegen_ros.benchmarks.pddl3.dataset_report import plots_available
    from safegen_ros.benchmarks.tables import present

    console, out = Console(), ctx.params['out']
    with stages(console) as notify:
        again = f'safegen eval {ctx.info_name} {given_words(ctx)}'.strip()
        comparison = replace(measure(notify), command=again)
    present(comparison, console, out, plot=plots_available())
    if not plots_available():
        console.print(f'no plot, matplotlib is missing: run {install("plots")}', markup=False)
    if comparison.failed:
        raise SafegenError(comparison.failed, ErrorCode.PLAN_REFUSED)

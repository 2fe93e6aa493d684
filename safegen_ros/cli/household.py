# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen bench household`: a household, step by step, under partial observability and one arm."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from safegen_ros.cli.failures import ExitStatus, one_of
from safegen_ros.cli.progress import stages
from safegen_ros.terminal import Console

if TYPE_CHECKING:
    from safegen_ros.llm.backend import Backend, Sampling
    from safegen_ros.tasks.household.episode import Agent
    from safegen_ros.tasks.household.runs import Played, RunOptions
    from safegen_ros.tasks.household.thor import ThorHousehold

app = typer.Typer(no_args_is_help=True)

AgentName = Annotated[
    str, typer.Option('--agent', help='oracle, careless or random (ignored with --model)')
]
Model = Annotated[str, typer.Option(help='model folder, or http://HOST:PORT/v1#MODEL')]
Setting = Annotated[str, typer.Option(help='PO, FO, "IPC (PO)" or "IPC (FO)"')]
CompatOption = Annotated[
    str, typer.Option(help='spoc: count constraints as the published evaluator does')
]
ShieldOption = Annotated[
    str, typer.Option(help='shield against unsafe actions: off, warn or block')
]
Propose = Annotated[
    bool,
    typer.Option(
        '--propose', help='derive safety rules from the words of the task, and enforce them'
    ),
]
Steps = Annotated[int, typer.Option(min=1, max=1000, help='maximum number of actions per run')]
Temperature = Annotated[
    float, typer.Option(min=0, max=2, help='temperature of a model (0: greedy)')
]
Seed = Annotated[int, typer.Option(min=0, max=2**31 - 1, help='seed of the world and of sampling')]


@app.command()
def tasks(
    published: Annotated[
        Path | None,
        typer.Option(
            file_okay=False, help="folder of the authors' task files, to check instead of ours"
        ),
    ] = None,
) -> None:
    """List the 25 tasks, or the faults of published ones."""
    from safegen_ros.tasks.household.runs import HouseholdError
    from safegen_ros.tasks.household.tasks import clean_tasks, defects, read_published

    console = Console()
    if published is None:
        for task in clean_tasks().values():
            _say(console, f'{task.id} ({task.hazard}, {task.scene}): {task.words(True)}')
        return
    files = sorted(published.glob('*.json'))
    if not files:
        raise HouseholdError(f'{published}: holds no *.json: give the folder of the task files')
    faulty = 0
    for path in files:
        task = read_published(path)
        found = defects(task)
        faulty += bool(found)
        setup = f', {len(task.setup)} actions set it up' if task.setup else ''
        _say(console, f'{task.id} ({task.hazard}, {task.scene}{setup}): {task.words(True)}')
        for each in found:
            _say(console, f'  - {each}')
    _say(console, f'{len(files)} files are read, {faulty} have known defects')


@app.command()
def run(
    task: Annotated[
        str,
        typer.Argument(
            help="name of a task ('safegen bench household tasks' lists them), or a published file "
            'with --thor'
        ),
    ],
    agent: AgentName = 'oracle',
    model: Model = '',
    setting: Setting = 'PO',
    implicit: Annotated[
        bool, typer.Option('--implicit', help='hide the constraint from the agent')
    ] = False,
    compat: CompatOption = '',
    shield: ShieldOption = 'off',
    propose: Propose = False,
    steps: Steps = 60,
    temperature: Temperature = 0.0,
    seed: Seed = 0,
    out: Annotated[
        Path | None, typer.Option(dir_okay=False, help='save the run to this file')
    ] = None,
    thor: Annotated[
        bool, typer.Option('--thor', help="run it in AI2-THOR (pip install 'safegen_ros\\[thor]')")
    ] = False,
) -> None:
    """Have an agent do one task, and print the run. Fails unless the task is done safely."""
    import json

    from safegen_ros.datasets.files import writing
    from safegen_ros.tasks.household.runs import clean_task, play
    from safegen_ros.tasks.household.tasks import read_published

    if thor and out is not None:
        raise typer.BadParameter('a run in AI2-THOR cannot be played again: leave --out out')
    options = _options(setting, not implicit, compat, shield, propose, steps)
    wanted = read_published(Path(task)) if thor else clean_task(task)
    with ExitStack() as stack:
        made, name = _agent(agent, model, temperature, seed, stack)
        household = _thor(stack) if thor else None
        played = play(wanted, made, name, options, household)
        for refused in household.not_set_up if household else ():
            typer.echo(f'not set up: {refused}', err=True)
    if out is not None:
        with writing(out):
            out.write_text(json.dumps(played.as_dict(), indent=1) + '\n', encoding='utf-8')
    _print(played)
    raise typer.Exit(ExitStatus.OK if played.episode.score.success else ExitStatus.FAILED)


@app.command()
def show(
    file: Annotated[Path, typer.Argument(help="file saved by 'safegen bench household run --out'")],
    picture: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help='draw positions over time to this file'),
    ] = None,
    pddl: Annotated[
        Path | None,
        typer.Option(
            file_okay=False, help='write the trace as PDDL3 to this folder, for safegen verify'
        ),
    ] = None,
) -> None:
    """Print a saved run; it is replayed and must end as recorded."""
    from safegen_ros.datasets.files import writing
    from safegen_ros.tasks.household.pddl3 import trace_texts
    from safegen_ros.tasks.household.runs import load_run

    played = load_run(file)
    _print(played)
    console = Console()
    if pddl is not None:
        episode = played.episode
        texts = trace_texts(episode.trace, episode.task.constraints, episode.task.goals)
        with writing(pddl):
            pddl.mkdir(parents=True, exist_ok=True)
            for name, text in zip(('domain.pddl', 'problem.pddl', 'plan.txt'), texts, strict=True):
                (pddl / name).write_text(text + '\n', encoding='utf-8')
        _say(console, f'PDDL 3: {pddl}')
    if picture is not None:
        from safegen_ros.benchmarks.household.plots import draw_run

        _say(console, f'picture: {draw_run(played.episode, picture)}')


@app.command('eval')
def evaluate(
    table: Annotated[
        str, typer.Option(help='2 (settings), 3 (explicit and implicit) or all')
    ] = 'all',
    agents: Annotated[
        str, typer.Option(help='agents, comma-separated: oracle, careless, random (empty: none)')
    ] = 'oracle,careless,random',
    model: Annotated[list[str] | None, typer.Option(help='model to compare (repeatable)')] = None,
    runs: Annotated[int, typer.Option(min=1, max=100, help='runs per task')] = 3,
    compat: CompatOption = '',
    shield: ShieldOption = 'off',
    propose: Propose = False,
    steps: Steps = 60,
    temperature: Temperature = 0.0,
    seed: Seed = 0,
    out: Annotated[
        Path | None, typer.Option(file_okay=False, help='also write the figures to this folder')
    ] = None,
) -> None:
    """Print SAPO's tables 2 and 3 for agents and models; shield and rules are those of models."""
    from safegen_ros.benchmarks.household.episodes import SCRIPTED, compare, of_model, scripted
    from safegen_ros.benchmarks.tables import present
    from safegen_ros.tasks.household.tasks import clean_tasks

    one_of(table, ('2', '3', 'all'))
    names = [name for name in agents.split(',') if name]
    for name in names:
        one_of(name, SCRIPTED)
    options = _options('PO', True, compat, shield, propose, steps)
    console = Console()
    with ExitStack() as stack:
        contestants = scripted(names, seed)
        for spec in model or ():
            backend, sampling = _backend(spec, temperature, seed, stack)
            contestants.append(of_model(spec, backend, sampling, options))
        if not contestants:
            raise typer.BadParameter('no agent to measure: give --agents or --model')
        notify = stack.enter_context(stages(console))
        wanted = (2, 3) if table == 'all' else (int(table),)
        given = [f'--table {table}', f'--agents {agents!r}', f'--runs {runs}', f'--seed {seed}']
        given += [f'--model {spec}' for spec in model or ()]
        given += [f'--compat {compat}'] if compat else []
        given += [f'--shield {shield}'] if shield != 'off' else []
        given += ['--propose'] if propose else []
        given += [f'--steps {steps}', f'--temperature {temperature:g}']
        found = compare(
            contestants, wanted, runs, options, ' '.join(given), list(clean_tasks().values()),
            notify,
        )  # fmt: skip
    present(found, console, out, plot=False)


@app.command()
def speed(
    steps: Annotated[int, typer.Option(min=1000, help='number of steps')] = 20_000, seed: Seed = 0
) -> None:
    """Print the speed of the world, also in a sweep over the 25 tasks."""
    from safegen_ros.benchmarks.household.episodes import measure_speed

    measure_speed(steps, seed).print(Console())


def _options(
    setting: str, explicit: bool, compat: str, shield: str, propose: bool, steps: int
) -> RunOptions:
    from safegen_ros.tasks.household.runs import SHIELDS, RunOptions
    from safegen_ros.tasks.household.world import setting_named

    if compat not in ('', 'spoc'):
        raise typer.BadParameter(f'{compat!r} is not spoc')
    mode = one_of(shield, SHIELDS)
    named = setting_named(setting)
    if named is None:
        raise typer.BadParameter(f'{setting!r} is not a setting: PO, FO, "IPC (PO)" or "IPC (FO)"')
    return RunOptions(named.name, explicit, 'spoc' if compat else '', mode, propose, steps)


def _agent(
    name: str, model: str, temperature: float, seed: int, stack: ExitStack
) -> tuple[Agent, str]:
    """The agent that is named, and its name; what it needs is closed by the stack."""
    from safegen_ros.benchmarks.household.episodes import SCRIPTED
    from safegen_ros.tasks.household.react import ReactAgent
    from safegen_ros.tasks.household.scripted import GoalAgent, RandomAgent

    if model:
        backend, sampling = _backend(model, temperature, seed, stack)
        return ReactAgent(backend, sampling), model
    one_of(name, SCRIPTED)
    return (RandomAgent(seed) if name == 'random' else GoalAgent(careful=name == 'oracle')), name


def _thor(stack: ExitStack) -> ThorHousehold:
    from contextlib import closing

    from safegen_ros.tasks.household.thor import open_thor

    return stack.enter_context(closing(open_thor()))


def _backend(
    spec: str, temperature: float, seed: int, stack: ExitStack
) -> tuple[Backend, Sampling]:
    from contextlib import closing

    from safegen_ros.llm.backend import Sampling
    from safegen_ros.llm.model_names import named_model
    from safegen_ros.llm.open_backend import open_backend

    backend = stack.enter_context(closing(open_backend(named_model(spec))))
    return backend, Sampling(temperature, max_new_tokens=512, seed=seed)


def _print(played: Played) -> None:
    from safegen_ros.tasks.household.runs import transcript

    _say(Console(), transcript(played))


def _say(console: Console, text: str) -> None:
    console.print(text, soft_wrap=True, markup=False, highlight=False)

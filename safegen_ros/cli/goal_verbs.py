# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The verbs that start a stack and send goals to it. Heavy imports wait until a verb needs them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from textwrap import TextWrapper
from typing import Annotated, Any, TypeVar

import typer

from safegen_ros.bringup.profiles import PROFILES
from safegen_ros.bringup.table import argument_values, profile_of
from safegen_ros.cli.completion import (
    ProfileArguments,
    TaskFiles,
    complete_problem,
    complete_profile,
    problem_and_domain,
)
from safegen_ros.cli.failures import ExitStatus, print_error, takes_options
from safegen_ros.cli.operate import Namespace
from safegen_ros.cli.text_request import Constraints, Start, TextRequest, Words, Yes, is_request
from safegen_ros.cli.typer_compat import LINE
from safegen_ros.errors import BringupError, ErrorCode, SafegenError
from safegen_ros.goal_options import MAX_BUDGET_S, OWN_PLAN, PLAN_ONLY, Options
from safegen_ros.goals.files import DomainFile, ReadAs, plan_text, without_domain
from safegen_ros.planning.levels import FEEDBACK, LEVELS
from safegen_ros.terminal import Console

app = typer.Typer(pretty_exceptions_enable=False)

_EXAMPLE = [Path('examples/fragile_block.pddl')]
TaskText = Annotated[
    str,
    typer.Argument(
        metavar='PROBLEM',
        help='problem file (PDDL, JSON or English), ID of a benchmark test problem, or a '
        'request in plain words, such as "put b1 on b2". A PDDL domain file may come first',
        autocompletion=complete_problem,
    ),
]
Format = Annotated[
    str,
    typer.Option(
        help='convert the problem to this format before sending: pddl, json or english '
        '(default: that of the file)'
    ),
]
AsJson = Annotated[
    bool,
    typer.Option(
        '--json', help='print one JSON object on standard output; the rest goes to stderr'
    ),
]
TIME_BUDGET_S = 240.0
"""For a goal of the command line, where nothing is said [s]."""

_WRAPPED = TextWrapper(
    78, initial_indent='  ', subsequent_indent='      ', break_on_hyphens=False
)  # of a help page at 80 columns
_TYPES = {'bool': bool, 'int': int, 'float': float, 'str': str}

Result = TypeVar('Result')


def takes_goal_options(verb: str) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Replaces the parameter `options` of a verb by the options that `Options` has for it."""
    mine = [each for each in fields(Options) if verb in each.metadata.get('verbs', ())]
    names = {each.metadata['flag'].removeprefix('--').replace('-', '_'): each for each in mine}

    def made(**values: Any) -> Options:
        return Options(**{names[each].name: value for each, value in values.items()})

    return takes_options('options', {name: _option(each) for name, each in names.items()}, made)


def _option(each: Any) -> tuple[object, object]:
    """The option of a command for a field, and its default."""
    flag, most, default = each.metadata['flag'], each.metadata['most'], each.default
    told: dict[str, Any] = {
        'help': each.metadata['help'].format(levels=', '.join(LEVELS), feedback=' '.join(FEEDBACK))
    }
    if each.name == 'time_budget_s':
        told.update(min=1, max=int(MAX_BUDGET_S))
        default = TIME_BUDGET_S
    elif each.name == 'approval_timeout_s':
        told.update(min=0, max=int(MAX_BUDGET_S))
    elif most is not None:
        told.update(min=0, max=most)
    elif each.name == 'accept_reading':
        told['metavar'] = 'DIGEST'
    switches = (flag,) if flag.startswith('--') else ()
    return Annotated[_TYPES[each.type], typer.Option(*switches, **told)], default


@app.command()
@takes_goal_options('demo')
def demo(
    files: TaskFiles = _EXAMPLE,
    domain: DomainFile = None,
    format: Format = '',
    read_as: ReadAs = '',
    options: Options = Options(),  # noqa: B008 (frozen, and replaced by its parts)
    real_time_factor: Annotated[
        float,
        typer.Option(min=0, max=100, help='simulation speed relative to real time (0: unlimited)'),
    ] = 4.0,
    cell: Annotated[
        str,
        typer.Option(
            help='where to execute: twin (simulated arm), symbolic (any domain, no motion), '
            'or auto (twin where it can show the task)'
        ),
    ] = 'auto',
    model: Annotated[
        str,
        typer.Option(
            help='model folder, http://HOST:PORT/v1#MODEL, or ollama:MODEL (default: from config)'
        ),
    ] = '',
    video: Annotated[bool, typer.Option(help='record a video of the twin')] = True,
) -> None:
    """Bring the stack up, plan, prove and execute one task in simulation, and keep a record."""
    problem, domain = problem_and_domain(files, domain)
    console = Console()
    with console.status('loading safegen'):
        from safegen_ros.cli.demo import run_demo
        from safegen_ros.goals.request import GoalRequest

    asked = GoalRequest.read(problem, options, domain, read_as, format)
    raise typer.Exit(run_demo(asked, cell, real_time_factor, model, video, console))


@app.command()
@takes_goal_options('run')
def run(
    problem: TaskText,
    plans: Annotated[
        list[str] | None,
        typer.Argument(
            metavar='PLAN',
            help='plan file to prove and execute, one step such as (stack a b) per line '
            '(-: stdin; default: the planners write a plan)',
        ),
    ] = None,
    plan_only: Annotated[
        bool, typer.Option('--plan-only', help='print a proved plan; nothing moves')
    ] = False,
    domain: DomainFile = None,
    format: Format = '',
    read_as: ReadAs = '',
    options: Options = Options(),  # noqa: B008 (frozen, and replaced by its parts)
    set_up: Annotated[
        bool,
        typer.Option(
            '--blocks-set-up',
            help='confirm that the real blocks stand as in the initial state of the problem',
        ),
    ] = False,
    video: Annotated[bool, typer.Option('--video', help='record a video of the execution')] = False,
    words: Words = False,
    constraints: Constraints = '',
    start: Start = None,
    yes: Yes = False,
    namespace: Namespace = '',
    as_json: AsJson = False,
) -> None:
    """Send one task to a stack that is already up, and show what happens.

    Your own PLAN is refused unless it is proved safe. With --plan-only the plan is printed on
    standard output and the attempts on standard error.

    A request in words needs --start PROBLEM or --domain NAME. Confirm its reading first.
    """
    with Console(stderr=True).status('loading safegen'):
        from safegen_ros.cli.demo import run_goal
        from safegen_ros.cli.plan_goal import plan_task, run_request
        from safegen_ros.cli.show import print_json
        from safegen_ros.goals.request import GoalRequest
        from safegen_ros.pddl.plan import parse_plan
        from safegen_ros.ros.stack_state import absolute_namespace, require_stack

    names = [problem, *(plans or ())]
    if not is_request(problem):
        domain, names = without_domain(names, domain)
    if len(names) > 2:
        raise typer.BadParameter('give one task and at most one plan')
    problem, plan = names[0], ''.join(names[1:])
    spoken = TextRequest.read(problem, words, domain, constraints, start)
    if plan:
        _refuse_unused(OWN_PLAN, options, {'--plan-only': plan_only, 'a request': spoken})
    elif plan_only:
        unused = {'--blocks-set-up': set_up, '--video': video, '--yes': yes}
        _refuse_unused(PLAN_ONLY, options, unused)
    if spoken is None:
        asked = GoalRequest.read(Path(problem), options, domain, read_as, format)
        if plan:
            asked = replace(asked, plan=parse_plan(plan_text(plan)))
    require_stack(absolute_namespace(namespace))
    if plan_only:
        raise typer.Exit(plan_task(spoken or asked, options, namespace, as_json))
    if set_up:
        require_set_up(namespace)
    console = Console(stderr=as_json)
    done: Callable[[Path], None] = print_json if as_json else lambda folder: None
    if spoken is not None:
        raise typer.Exit(run_request(spoken, options, namespace, console, yes, as_json, done))
    raise typer.Exit(run_goal(asked, namespace, console, video=video, done=done))


def _refuse_unused(use: str, options: Options, given: dict[str, Any]) -> None:
    """Refuses options without effect in a use of `run`."""
    for each in fields(Options):
        flag = each.metadata.get('flag', '').removeprefix('--').replace('_', '-')
        if flag and use not in each.metadata['verbs']:
            given[f'--{flag}'] = getattr(options, each.name) != each.default
    if unused := [name for name, value in given.items() if value]:
        raise typer.BadParameter(f"{unused[0]} has no effect in 'safegen {use}'")


def _profiles_help() -> str:
    """The profiles with their arguments, from the bring-up table."""
    lines = []
    for profile in PROFILES.values():
        told = [f'{profile.name}: {profile.help}. Arguments:']
        for each in profile.args:
            told.append(_WRAPPED.fill(f'{each.name}:={each.default}  {each.help}'))
        lines.append(LINE.join(told))
    return '\n\n'.join(lines)


@app.command(epilog=_profiles_help())
def up(
    profile: Annotated[
        str,
        typer.Argument(
            help='sim (simulated arm) or mycobot (real arm)', autocompletion=complete_profile
        ),
    ] = 'sim',
    arguments: ProfileArguments = None,
    console: Annotated[
        bool, typer.Option('--console', help='serve the operator console; simulate in real time')
    ] = False,
) -> None:
    """Start the nodes of a profile and keep them running until Ctrl-C."""
    try:
        profile_of(profile)  # a misspelling is said also where ROS is not installed
    except BringupError as error:
        print_error(error.message)
        raise typer.Exit(ExitStatus.BAD_INPUT) from None
    values = {'console': 'true'} if console else {}
    if console and profile == 'sim':
        values['real_time_factor'] = '1'
    values |= argument_values(arguments or ())
    with Console().status('loading safegen') as waits:
        if not waits.console.is_terminal:
            print(f'starting the nodes of {profile}, which takes some seconds', flush=True)
        from safegen_ros.bringup.supervisor import SupervisorEvent
        from safegen_ros.bringup.supervisor import up as bring_up

        missing: set[str] = set()

        def note(event: SupervisorEvent) -> None:
            if event.kind == 'started':
                missing.add(event.node.strip('/'))
            elif event.kind == 'ready':
                missing.discard(event.node.strip('/'))
            waits.update(f'waiting for {", ".join(sorted(missing)) or "the page"}')

        def say(line: str) -> None:
            waits.stop()
            print(line, flush=True)

        raise typer.Exit(int(bring_up(profile, values, say=say, on_event=note)))


@app.command()
def down(namespace: Namespace = '') -> None:
    """Stop the stack that is up in this ROS_DOMAIN_ID and namespace."""
    from safegen_ros.ros.stack_state import (
        current_domain,
        down_command,
        running_stacks,
        stop_running,
    )

    domain, place = current_domain(), '/' + namespace.strip('/')
    if stop_running(domain, namespace=place):
        print('stopped')
        return
    others = ' or '.join(f"'{down_command(each.namespace)}'" for each in running_stacks(domain))
    cure = f'; use {others}' if others else ''
    print(f'nothing is up in namespace {place} of ROS domain {domain}{cure}')


def require_set_up(namespace: str) -> None:
    """Says it as `blocks_set_up`; raises `SafegenError` where the executor does not take it."""
    from safegen_ros.cli.operator import command

    answer = command(namespace, 'blocks_set_up')
    if not answer.success:
        raise SafegenError(f'--blocks-set-up: {answer.message}', ErrorCode.GOAL_REJECTED)

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen`: the table of its verbs. The module of a verb is imported when the verb is called."""

from __future__ import annotations

import signal
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from shlex import join
from typing import Annotated, Any, TextIO

import typer
from typer.core import TyperCommand, TyperGroup

from safegen_ros import __version__
from safegen_ros.cli.failures import (
    ExitStatus,
    drop_output,
    is_bad_input,
    missing_part,
    print_error,
    reader_has_gone,
)
from safegen_ros.cli.typer_compat import LINE, import_less, plain_help, read_unions
from safegen_ros.errors import SafegenError
from safegen_ros.untrusted import guard


@dataclass(frozen=True, slots=True)
class VerbSpec:
    """A verb, or a group of verbs, of `safegen`.

    Attributes:
        place: where it is: the module below `safegen_ros.cli`, and its function or its Typer
            application after a colon. Where that application has a verb of this name, it is meant.
        panel: the part of the list that it stands in.
    """

    place: str
    help: str
    panel: str


START, PROVE, RUN, RECORDS = 'Start here', 'Prove (no ROS, no model)', 'Run', 'Records'
ROBOT, EXTEND, LEARN, RESEARCH = 'Robot and site', 'Extend', 'Learn', 'Research'

VERBS = {
    'demo': VerbSpec(
        'goal_verbs:app', 'Plan, prove and execute one task on the simulated arm.', START
    ),
    'doctor': VerbSpec('doctor:doctor', 'Check the installation and suggest fixes.', START),
    'verify': VerbSpec('verify:verify', 'Print the verdict on plans.', PROVE),
    'solve': VerbSpec('solve:solve', 'Print a safe plan of the search planner.', PROVE),
    'rules': VerbSpec('rules:rules', 'Translate rules in plain words into PDDL3.', PROVE),
    'lint': VerbSpec('lint:lint', 'Find mistakes in a PDDL domain or problem.', PROVE),
    'up': VerbSpec('goal_verbs:app', 'Start the nodes of a profile and keep them running.', RUN),
    'down': VerbSpec('goal_verbs:app', "Stop the nodes that 'safegen up' started.", RUN),
    'status': VerbSpec('operate:status', 'Show nodes, stop state and running goals.', RUN),
    'run': VerbSpec(
        'goal_verbs:app', 'Send one task to a running stack, optionally with a plan.', RUN
    ),
    'step': VerbSpec('step:step', 'Plan and execute one step at a time, without ROS.', RUN),
    'approve': VerbSpec('operate:approve', 'Approve or refuse the pending plan.', RUN),
    'stop': VerbSpec(
        'operate:stop',
        'Stop the arm and end every goal, until a reset. This is not a hardware emergency stop.',
        RUN,
    ),
    'reset': VerbSpec('operate:reset', 'Accept goals again after a stop. Nothing moves.', RUN),
    'console': VerbSpec('operate:console', 'Serve the operator console in a browser.', RUN),
    'runs': VerbSpec('kept_runs:app', 'List, show, replay and share recorded runs.', RECORDS),
    'arm': VerbSpec('arm:app', 'Calibrate, emulate and prepare an arm.', ROBOT),
    'security': VerbSpec('operate:security', 'Keys, signed commands and the SROS2 policy.', ROBOT),
    'domain': VerbSpec('domains:app', 'List, start and check PDDL domains.', EXTEND),
    'data': VerbSpec('dataset:app', 'Build problems with rules and proved plans.', LEARN),
    'train': VerbSpec('dataset:train_app', 'Train a model: SFT, then GRPO.', LEARN),
    'eval': VerbSpec(
        'aims:app',  # that of `evaluation`, to which it adds two
        'Measure models on new problems, compared with the paper.',
        LEARN,
    ),
    'bench': VerbSpec('bench:app', 'Speed, faults, and the benchmarks of other papers.', RESEARCH),
}

RENAMED = {
    'validate': 'verify',
    'plan': 'run --plan-only',
    'execute': 'run',
    'history': 'runs list',
    'show': 'runs show',
    'replay': 'runs replay',
    'share': 'runs share',
    'calibrate': 'arm calibrate',
    'emulate': 'arm emulate',
    'release': 'arm release',
    'blocks-set-up': 'arm blocks-set-up',
    'operator new': 'security new-key',
    'operator node': 'security node-key',
    'operator do': 'security send',
    'operator': 'security',
    'policy': 'security policy',
    'domains': 'domain list',
    'new-domain': 'domain new',
    'check-domain': 'domain check',
    'dataset': 'data',
    'evaluate': 'eval',
    'boxnet evaluate': 'bench boxnet eval',
    'planetarium evaluate': 'bench planetarium eval',
    'household evaluate': 'bench household eval',
    'sapo evaluate': 'bench household eval',
    'bench boxnet': 'bench boxnet speed',
    'boxnet': 'bench boxnet',
    'planetarium': 'bench planetarium',
    'household': 'bench household',
    'sapo': 'bench household',
}
"""Commands up to version 0.2, which work in 0.3 as well, with their replacements."""

EXAMPLES = Path(__file__).with_name('examples.txt')  # one a line
NEXT = Path(__file__).with_name('next.txt')  # a command -> what to try after it


def renamed(words: list[str], told: TextIO | None) -> list[str]:
    """The words of a command line with the present name of an old command, which `told` hears."""
    for count in (2, 1):
        old, rest = ' '.join(words[:count]), words[count:]
        new = RENAMED.get(old, '')
        # An old command that is a group today is meant where an option follows.
        option = rest[:1] != ['--help'] and ''.join(rest[:1]).startswith('-')
        if new and (option or not new.startswith(f'{old} ')):
            if told is not None:
                print(f"'safegen {old}' is now 'safegen {new}'", file=told)
            return [*new.split(), *rest]
    return words


def load_verb(name: str) -> Any:
    """The command of a verb, from its module."""
    module, _, attribute = VERBS[name].place.partition(':')
    found = getattr(import_module(f'safegen_ros.cli.{module}'), attribute)
    if isinstance(found, typer.Typer):
        group = typer.main.get_group(found)
        command = group.commands.get(name, group)
    else:
        single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        single.command(name)(found)
        command = typer.main.get_command(single)
    command.name = name
    more = (command.help or '').partition('\n\n')[2]
    command.help = f'{VERBS[name].help}\n\n{more}'.strip()
    _add_examples(command, f'safegen {name}')
    _add_next(command, f'safegen {name}')
    return command


def examples(*lines: str) -> str:
    """The examples of a command as its epilog."""
    return LINE.join(('Examples:', *lines))


def _add_examples(command: Any, words: str) -> None:
    """Puts the examples of a verb behind its help; a group has the first of each verb below it."""
    lines = EXAMPLES.read_text(encoding='utf-8').splitlines()
    found = [line for line in lines if f'{line} '.startswith(f'{words} ')]
    below = getattr(command, 'commands', {})
    if below:
        place = len(words.split())
        found = list({line.split()[place]: line for line in reversed(found)}.values())[::-1]
    if found:
        command.epilog = '\n\n'.join(filter(None, (examples(*found), command.epilog)))
    # Typer 0.29 keeps the line breaks of paragraphs.
    paragraphs = (' '.join(text.split()) for text in (command.help or '').split('\n\n'))
    command.help = '\n\n'.join(paragraphs)
    for name, each in below.items():
        _add_examples(each, f'{words} {name}')


def _add_next(command: Any, words: str) -> None:
    """Has a command, and each below it, end with the next one to try."""
    for name, each in getattr(command, 'commands', {}).items():
        _add_next(each, f'{words} {name}')
    found = dict(line.split(' -> ') for line in NEXT.read_text('utf-8').splitlines())
    run, then = command.callback, found.get(words, '')

    def called(**values: Any) -> None:
        run(**values)
        if not values.get('as_json'):
            lists = {key: v if isinstance(v, list) else [v] for key, v in values.items()}
            print('next:', then.format_map({key: join(map(str, v)) for key, v in lists.items()}))

    if then:
        command.callback = called


class _Verbs(TyperGroup):
    """The group of all verbs, which lists them without importing them."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self._listing = False
        self._loaded: dict[str, Any] = {}
        self.commands = {
            name: TyperCommand(name, help=verb.help, rich_help_panel=verb.panel)
            for name, verb in VERBS.items()
        }

    def invoke(self, ctx: Any) -> Any:
        """Runs a verb, which ends silently where the reader of its output has gone."""
        try:
            try:
                return super().invoke(ctx)
            finally:
                sys.stdout.flush()
        except BrokenPipeError:
            if not reader_has_gone():
                raise
            drop_output()
            raise typer.Exit(ExitStatus.PIPE) from None
        except KeyboardInterrupt:
            print('interrupted', file=sys.stderr)
            raise typer.Exit(ExitStatus.INTERRUPTED) from None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command of the words or old names; an error lists names like an unknown one."""
        words = renamed(args, sys.stderr if not ctx.resilient_parsing else None)
        name = words[0]
        if name not in VERBS and not name.startswith('-') and not ctx.resilient_parsing:
            from difflib import get_close_matches

            near = (RENAMED.get(w, w) for w in get_close_matches(name, [*VERBS, *RENAMED]))
            meant = ' or '.join(f"'safegen {w}'" for w in dict.fromkeys(near))
            ctx.fail(f'No such command {name!r}.' + (f' Did you mean {meant}?' if meant else ''))
        return super().resolve_command(ctx, words)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, or its line of the list while verbs are listed."""
        if self._listing or cmd_name not in VERBS:
            return super().get_command(ctx, cmd_name)
        if cmd_name not in self._loaded:
            self._loaded[cmd_name] = load_verb(cmd_name)
        return self._loaded[cmd_name]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Writes the help from the table of verbs."""
        self._listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._listing = False

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """The verbs that begin so."""
        self._listing = True
        try:
            return super().shell_complete(ctx, incomplete)
        finally:
            self._listing = False


app = typer.Typer(
    cls=_Verbs,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    help='Robot task plans written by a language model and proved safe before anything moves.',
    epilog=examples(
        'safegen solve examples/tower_order.pddl',
        'safegen demo --model http://localhost:8000/v1#NAME',
        'safegen up sim --console',
    ),
)


plain_help()


def main() -> None:
    """Runs the command line; our own errors become one line and an exit status."""
    # A shell starts background jobs with SIGINT ignored, but stopping an arm must always work.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    read_unions()
    import_less()
    try:
        app()
    except SafegenError as error:
        print_error(error.message)
        sys.exit(ExitStatus.BAD_INPUT if is_bad_input(error) else ExitStatus.FAILED)
    except ModuleNotFoundError as error:
        if not (message := missing_part(error)):
            raise
        print_error(message)
        sys.exit(ExitStatus.FAILED)


@app.callback(invoke_without_command=True)
def version(
    show: Annotated[bool, typer.Option('--version', help='print the version and exit')] = False,
) -> None:
    """Print the version when asked."""
    guard()
    if show:
        print(__version__)
        raise typer.Exit


if __name__ == '__main__':
    main()

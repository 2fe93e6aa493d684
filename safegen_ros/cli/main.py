# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen`: the table of its verbs. The module of a verb is imported when the verb is called."""

from __future__ import annotations

import signal
import sys
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from safegen_ros import __version__
from safegen_ros.cli.failures import (
    EXIT_BAD_INPUT,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    is_bad_input,
    print_error,
)
from safegen_ros.cli.typer_compat import read_unions
from safegen_ros.errors import SafegenError
from safegen_ros.terminal import guard


@dataclass(frozen=True, slots=True)
class VerbSpec:
    """A verb, or a group of verbs, of `safegen`.

    Attributes:
        place: where it is: the module below `safegen_ros.cli`, and its function or its Typer
            application after a colon. Where that application has a verb of this name, it is meant.
        help: one line for the list of verbs, the first of its own help.
        hidden: whether the list leaves it out.
    """

    place: str
    help: str
    hidden: bool = False


_HOUSEHOLD = 'Household tasks, one action after the other, with safety constraints (SAPO).'

VERBS = {
    'demo': VerbSpec(
        'goal_verbs:app',
        'Bring the stack up, plan, prove and execute one task in simulation, and keep a record.',
    ),
    'run': VerbSpec(
        'goal_verbs:app', 'Send one task to a stack that is already up, and show what happens.'
    ),
    'plan': VerbSpec(
        'goal_verbs:app', 'Ask a stack that is up for a proved plan, and print it; nothing moves.'
    ),
    'execute': VerbSpec(
        'goal_verbs:app',
        'Have a plan of your own executed by a stack that is up; it is refused unless proved safe.',
    ),
    'up': VerbSpec(
        'goal_verbs:app', 'Start the nodes of a profile and keep them running until Ctrl-C.'
    ),
    'down': VerbSpec(
        'goal_verbs:app', 'Stop the stack that is up in this ROS_DOMAIN_ID and namespace.'
    ),
    'validate': VerbSpec('validate:validate', 'Print the verdict on plans.'),
    'solve': VerbSpec('solve:solve', 'Print a safe plan of the search planner; no model is asked.'),
    'lint': VerbSpec(
        'lint:lint',
        'Say what is refused in a PDDL domain or problem, and what is legal and looks wrong.',
    ),
    'step': VerbSpec(
        'step:step',
        'Work on one task step by step: observe, choose, prove, take one step, observe again.',
    ),
    'rules': VerbSpec(
        'rules:rules', 'Say what rules in plain words mean for a problem, and add them to it.'
    ),
    'history': VerbSpec('kept_runs:history', 'List the runs that are kept, newest first.'),
    'show': VerbSpec(
        'kept_runs:show',
        'Print everything that is known of one run: task, attempts, plan, steps, end and events.',
    ),
    'replay': VerbSpec(
        'kept_runs:replay',
        'Find every recorded verdict anew, carry the plan out again, and name each difference.',
    ),
    'share': VerbSpec(
        'kept_runs:share',
        'Write one run as one HTML file that anybody can read, without a network and without a '
        'script.',
    ),
    'stop': VerbSpec(
        'operate:stop',
        'Stop the arm and end every goal, until a reset. This is not a hardware emergency stop.',
    ),
    'reset': VerbSpec(
        'operate:reset',
        'Allow goals again after a stop. Nothing moves by that; look at the cell first.',
    ),
    'release': VerbSpec(
        'operate:release',
        'Open the gripper, or stop the pump: what it holds falls. Refused while a goal runs.',
    ),
    'blocks-set-up': VerbSpec(
        'operate:blocks_set_up',
        'Say that the blocks of a real table stand as the next goal begins. Look at them first.',
    ),
    'status': VerbSpec(
        'operate:status',
        'Show the nodes, whether the stack is stopped and why, and the goals under way.',
    ),
    'approve': VerbSpec(
        'approve:approve', 'Show the plan that waits for approval, and allow or refuse it.'
    ),
    'console': VerbSpec(
        'console:console',
        "Serve a page that shows the plan, the proof and the arm, and takes an operator's word.",
    ),
    'policy': VerbSpec(
        'policy:policy',
        'Print the SROS2 policy of the nodes: what each of them may publish, call and execute.',
    ),
    'doctor': VerbSpec(
        'doctor:doctor',
        'Look at everything that a profile needs, and say what mends it. Nothing moves.',
    ),
    'calibrate': VerbSpec(
        'calibrate:calibrate',
        'Measure the tool and the slots by touching them, and write a scene that fits this table.',
    ),
    'domains': VerbSpec(
        'domains:domains',
        'List the domains with their sizes and families of safety constraints, as tables.',
    ),
    'new-domain': VerbSpec(
        'domains:new_domain',
        'Make a domain folder that works as it stands, to change it into a domain of your own.',
    ),
    'check-domain': VerbSpec(
        'domains:check_domain',
        'Look whether domain folders contradict themselves, and draw problems from them.',
    ),
    'bench': VerbSpec(
        'bench:app',
        'Measure the validator and the planner beside others, in one run, against their targets.',
    ),
    'dataset': VerbSpec(
        'dataset:app',
        'Problems with safety constraints and proved plans, for training and for measuring.',
    ),
    'emulate': VerbSpec(
        'emulate:app',
        "An emulated arm at a real port, for this stack and for the vendor's own programs.",
    ),
    'operator': VerbSpec('operator_keys:app', 'Keys of operators, and signed commands to a node.'),
    'train': VerbSpec(
        'learning:train_app',
        'Train a model: supervised (sft), then by reinforcement with verified plans (grpo).',
    ),
    'evaluate': VerbSpec(
        'figure6:app',  # that of `evaluation`, to which it adds one
        'Measure models on problems that training never saw, beside the figures of the paper.',
    ),
    'planetarium': VerbSpec(
        'planetarium:app',
        'Problems in plain words with their PDDL: a dataset, and the score of answers.',
    ),
    'boxnet': VerbSpec(
        'boxnet:app',
        'Many arms on a grid carry objects to their targets: reach, collisions, plans.',
    ),
    'household': VerbSpec('household:app', _HOUSEHOLD),
    'sapo': VerbSpec('household:app', _HOUSEHOLD, hidden=True),  # its name until 0.2
}


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
    return command


class _Verbs(TyperGroup):
    """The group of all verbs, which lists them without importing them."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self._listing = False
        self._loaded: dict[str, Any] = {}
        self.commands = {
            name: TyperCommand(name, help=verb.help, hidden=verb.hidden)
            for name, verb in VERBS.items()
        }

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, or while verbs are listed what the list says of it."""
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
)


# What a light installation may lack.
_PARTS = (
    'accelerate', 'action_msgs', 'builtin_interfaces', 'cryptography', 'datasets',
    'diagnostic_msgs', 'geometry_msgs', 'lifecycle_msgs', 'matplotlib', 'mujoco', 'networkx',
    'paramiko', 'peft', 'playwright', 'pymycobot', 'rcl_interfaces', 'rclpy', 'rosgraph_msgs',
    'safegen_msgs', 'sensor_msgs', 'serial', 'std_msgs', 'std_srvs', 'torch', 'transformers',
    'trimesh', 'trl', 'unique_identifier_msgs', 'viser', 'visualization_msgs',
)  # fmt: skip


def main() -> None:
    """Runs the command line; our own errors become one line and an exit status."""
    # A shell starts background jobs with SIGINT ignored, but stopping an arm must always work.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    read_unions()
    try:
        app()
    except SafegenError as error:
        print_error(error.message)
        sys.exit(EXIT_BAD_INPUT if is_bad_input(error) else EXIT_FAILED)
    except ModuleNotFoundError as error:
        if (error.name or '').split('.')[0] not in _PARTS:
            raise
        print_error(
            f"{error.name} is not installed here: run 'make setup' in the repository and "
            'use .venv/bin/safegen, or source a ROS 2 installation that has it'
        )
        sys.exit(EXIT_FAILED)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)


@app.callback(invoke_without_command=True)
def version(
    show: Annotated[bool, typer.Option('--version', help='print the version and end')] = False,
) -> None:
    """Print the version when asked."""
    guard()
    if show:
        print(__version__)
        raise typer.Exit


if __name__ == '__main__':
    main()

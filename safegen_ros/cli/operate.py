# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The commands of an operator: those of a running stack, the console, and keys."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from safegen_ros.cli.failures import print_answer
from safegen_ros.errors import SafegenError

Namespace = Annotated[str, typer.Option(help='namespace of the nodes')]
AsJson = Annotated[bool, typer.Option('--json', help='print machine-readable JSON')]

security = typer.Typer(no_args_is_help=True)
"""Keys, signed commands to a node, and the SROS2 policy."""

_COMMAND_S = 60.0  # a node that is configured may load a model first [s]


def stop(namespace: Namespace = '', as_json: AsJson = False) -> None:
    """Stop the arm and end every goal, until a reset. This is not a hardware emergency stop."""
    from safegen_ros.nodes.release_store import ReleaseStore
    from safegen_ros.nodes.stop_socket import ANSWER_S, stop_at
    from safegen_ros.ros.stack_state import absolute_namespace, current_domain

    place, answer, silent = absolute_namespace(namespace), None, False
    try:  # without the second that ROS takes to start
        answer = stop_at(ReleaseStore(current_domain(), place).socket, ANSWER_S)
    except TimeoutError:
        silent = True
    except SafegenError:
        pass  # no place for a socket
    if answer is not None:
        raise typer.Exit(print_answer(*answer, as_json))
    from safegen_ros.cli.operator import stop_stack

    raise typer.Exit(stop_stack(place, as_json, silent))


def reset(namespace: Namespace = '', as_json: AsJson = False) -> None:
    """Allow goals again after a stop. Nothing moves by that; look at the cell first."""
    from safegen_ros.cli.operator import reset_stack

    raise typer.Exit(reset_stack(namespace, as_json))


def release(namespace: Namespace = '', as_json: AsJson = False) -> None:
    """Open the gripper or stop the pump. What it holds falls. Refused while a goal runs."""
    raise typer.Exit(_command('release', namespace, as_json))


def blocks_set_up(namespace: Namespace = '', as_json: AsJson = False) -> None:
    """Confirm that the real blocks match the start of the next goal. Look at them first."""
    raise typer.Exit(_command('blocks_set_up', namespace, as_json))


def _command(name: str, namespace: str, as_json: bool) -> int:
    from safegen_ros.cli.operator import command

    answer = command(namespace, name)
    return print_answer(answer.success, answer.message, as_json)


def status(namespace: Namespace = '', as_json: AsJson = False) -> None:
    """Show the nodes, whether the stack is stopped and why, and the goals under way."""
    from safegen_ros.cli.stack_status import show_status

    raise typer.Exit(show_status(namespace, as_json))


def approve(
    digest: Annotated[
        str,
        typer.Argument(help='plan digest or prefix; omit to review the pending plan'),
    ] = '',
    refuse: Annotated[bool, typer.Option('--refuse', help='refuse the plan')] = False,
    reason: Annotated[str, typer.Option(help='reason, for the record and the client')] = '',
    wait: Annotated[
        float, typer.Option(min=0, max=86400, help='seconds to wait for a pending plan')
    ] = 2.0,
    namespace: Namespace = '',
    as_json: AsJson = False,
) -> None:
    """Show the plan that waits for approval, and allow or refuse it."""
    from safegen_ros.cli.approval import answer_plan

    raise typer.Exit(answer_plan(digest, not refuse, reason, namespace, wait, as_json))


def console(
    host: Annotated[
        str, typer.Option(help='address to listen on (other than loopback only with --token-file)')
    ] = '127.0.0.1',
    port: Annotated[
        int, typer.Option(min=0, max=65535, help='port to listen on (0: any free one)')
    ] = 8765,
    token_file: Annotated[
        Path | None,
        typer.Option(help='file with the token that opens the page, mode 600'),
    ] = None,
    read_only: Annotated[bool, typer.Option('--read-only', help='view only; no commands')] = False,
    dark: Annotated[bool, typer.Option('--dark', help='start with a dark page')] = False,
    scene_file: Annotated[
        str, typer.Option(help='YAML of the table and the tool (default: the built-in one)')
    ] = '',
    namespace: Namespace = '',
) -> None:
    """Serve a page that shows the plan, the proof and the arm, and takes an operator's word.

    It is a client like any other. It may start before the stack and finds it later.
    """
    from safegen_ros.console.viser_workarounds import keep_compact

    keep_compact()  # before numpy begins threads
    from safegen_ros.console.access import read_token
    from safegen_ros.console.console import OperatorConsole, Settings
    from safegen_ros.ros.stack_state import absolute_namespace

    token = read_token(token_file) if token_file is not None else ''
    place = absolute_namespace(namespace)
    settings = Settings(host, port, token, read_only, place, scene_file, dark)
    with OperatorConsole(settings) as served:
        query = '?token=…' if token else ''
        print(f'console: {served.url}{query}  (Ctrl-C ends it)', flush=True)
        served.wait()


@security.command()
def new_key(
    name: Annotated[
        str, typer.Argument(help='name of the key: lower-case letters, digits, -, _, .')
    ],
    roles: Annotated[
        str, typer.Option(help='roles, comma-separated: operator, sender, engineer')
    ] = 'operator,sender',
) -> None:
    """Make a key, and print the line of its public part for the operators file."""
    from safegen_ros.errors import SafegenError
    from safegen_ros.keys.authority import Role
    from safegen_ros.keys.key_pair import INSTALLATION, KEY_NAME, keys_dir, new_key

    known = [role.value for role in Role if role is not Role.NODE]
    if unknown := [each for each in roles.split(',') if each not in known]:
        raise typer.BadParameter(f'{unknown[0]!a} is not one of: {" ".join(known)}')
    if not KEY_NAME.fullmatch(name) or name == INSTALLATION:
        raise typer.BadParameter(f'{name!a} is not a name: begin with a lower-case letter')
    path = keys_dir() / f'{name}.key'
    try:
        pair = new_key(path)
    except FileExistsError:
        raise SafegenError(f'{path}: the key exists already: choose another name') from None
    except OSError as error:
        raise SafegenError(f'{path}: the key cannot be made: {error.strerror}') from error
    typer.echo(f'{name} {roles} {pair.public.text}')
    typer.echo(f'the private key is {path}: keep it to yourself', err=True)


@security.command()
def node_key() -> None:
    """Print the key line of the nodes of this computer, for an operators file elsewhere."""
    from safegen_ros.keys.key_pair import installation_key

    typer.echo(f'node-name node {installation_key().public.text}')


@security.command()
def send(
    node: Annotated[str, typer.Argument(help='validator, executor or planner')],
    command: Annotated[str, typer.Argument(help='set_parameters, configure, activate, reset ...')],
    argument: Annotated[
        str, typer.Argument(help='for set_parameters: a JSON object of names and values')
    ] = '',
    namespace: Namespace = '',
    as_json: AsJson = False,
) -> None:
    """Send a command to a node, signed with your key where the node has an operators_file."""
    from safegen_ros.client import Client
    from safegen_ros.ros.commands import CommandClient
    from safegen_ros.ros.stack_state import absolute_namespace

    with Client(absolute_namespace(namespace)) as client:
        answer = CommandClient(client.node, node).do(command, argument, timeout_s=_COMMAND_S)
    raise typer.Exit(print_answer(answer.success, answer.message, as_json))


@security.command()
def policy(namespace: Namespace = '') -> None:
    """Print the SROS2 policy: what each node may publish, call and execute.

    The policy alone protects nothing: docs/security.md says how to enforce it.
    """
    from safegen_ros.bringup.table import node_specs
    from safegen_ros.ros.interfaces import policy_xml

    print(policy_xml(node_specs('sim', {'namespace': namespace})[0].namespace), end='')

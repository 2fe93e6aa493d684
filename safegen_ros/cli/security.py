# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen security`: keys, signed commands to a node, and the SROS2 policy."""

from __future__ import annotations

from typing import Annotated

import typer

from safegen_ros.cli.failures import print_answer
from safegen_ros.cli.operate import AsJson, Namespace

app = typer.Typer(no_args_is_help=True)

_ANSWER_S = 60.0  # a node that is configured may load a model first [s]


@app.command()
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


@app.command()
def node_key() -> None:
    """Print the key line of the nodes of this computer, for an operators file elsewhere."""
    from safegen_ros.keys.key_pair import installation_key

    typer.echo(f'node-name node {installation_key().public.text}')


@app.command()
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
        answer = CommandClient(client.node, node).do(command, argument, timeout_s=_ANSWER_S)
    raise typer.Exit(print_answer(answer.success, answer.message, as_json))


@app.command()
def policy(namespace: Namespace = '') -> None:
    """Print the SROS2 policy: what each node may publish, call and execute.

    The policy alone protects nothing: docs/security.md says how to enforce it.
    """
    from safegen_ros.bringup.table import node_specs
    from safegen_ros.ros.interfaces import policy_xml

    print(policy_xml(node_specs('sim', {'namespace': namespace})[0].namespace), end='')

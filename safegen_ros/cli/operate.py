# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The commands of an operator: stop, reset, status, approve, and two of `safegen arm`."""

from __future__ import annotations

from typing import Annotated

import typer

from safegen_ros.errors import ErrorCode, SafegenError

Namespace = Annotated[str, typer.Option(help='namespace of the nodes')]
AsJson = Annotated[bool, typer.Option('--json', help='print machine-readable JSON')]


def stop(namespace: Namespace = '', as_json: AsJson = False) -> None:
    """Stop the arm and end every goal, until a reset. This is not a hardware emergency stop."""
    from safegen_ros.cli.failures import print_answer
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
    from safegen_ros.cli.failures import print_answer
    from safegen_ros.cli.operator import command

    answer = command(namespace, name)
    return print_answer(answer.success, answer.message, as_json)


def require_set_up(namespace: str) -> None:
    """Says it as `blocks_set_up`; raises `SafegenError` where the executor does not take it."""
    from safegen_ros.cli.operator import command

    answer = command(namespace, 'blocks_set_up')
    if not answer.success:
        raise SafegenError(f'--blocks-set-up: {answer.message}', ErrorCode.GOAL_REJECTED)


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

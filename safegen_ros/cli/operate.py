# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen stop`, `reset`, `release`, `status`: what an operator does to a running stack."""

from __future__ import annotations

from typing import Annotated

import typer

Namespace = Annotated[str, typer.Option(help='namespace of the nodes')]
AsJson = Annotated[bool, typer.Option('--json', help='print JSON for a program')]


def stop(namespace: Namespace = '', as_json: AsJson = False) -> None:
    """Stop the arm and end every goal, until a reset. An emergency stop is wired: this is none."""
    from safegen_ros.cli.operator_side import stop_stack

    raise typer.Exit(stop_stack(namespace, as_json))


def reset(namespace: Namespace = '', as_json: AsJson = False) -> None:
    """Allow goals again after a stop. Nothing moves by that; look at the cell first."""
    from safegen_ros.cli.operator_side import reset_stack

    raise typer.Exit(reset_stack(namespace, as_json))


def release(namespace: Namespace = '', as_json: AsJson = False) -> None:
    """Open the gripper, or stop the pump: what it holds falls. Refused while a goal runs."""
    from safegen_ros.cli.operator_side import release_tool

    raise typer.Exit(release_tool(namespace, as_json))


def status(namespace: Namespace = '', as_json: AsJson = False) -> None:
    """Show the nodes, whether the stack is stopped and why, and the goals under way."""
    from safegen_ros.cli.operator_side import show_status

    raise typer.Exit(show_status(namespace, as_json))
